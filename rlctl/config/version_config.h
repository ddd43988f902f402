/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_VERSION_CONFIG_H
#define RLCTL_VERSION_CONFIG_H

#include <edit/history.h>
#include <load/load.h>

/*
 * The configuration that a version of the file at `path` was; nothing is said of its faults. NULL
 * for one that cannot be read, or is none by now. To be freed by config_free().
 */
struct config *version_config(const char *path, const struct version *version);

#endif

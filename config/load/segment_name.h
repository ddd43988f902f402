/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_SEGMENT_NAME_H
#define CONFIG_SEGMENT_NAME_H

/* The segment that a file is about, without a look at the rest of it. */

#include <rl_admin.h>
#include <stdbool.h>

#include "load/load.h"

/* False if there is no file that can be read, or it gives no name that a segment can have. */
bool config_segment_name(const char *path, char name[RL_NAME_MAX + 1]);

#endif

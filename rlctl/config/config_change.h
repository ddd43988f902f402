/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_CONFIG_CHANGE_H
#define RLCTL_CONFIG_CHANGE_H

/* How set, unset and edit change the file. */

#include <edit/replace.h>

#include "config/config_verb.h"

/* Lock the file, or say why not and return false. */
bool change_lock(const struct context *context, unsigned wait_ms, struct locked_file *file);

/*
 * Put a text that is a valid configuration in the file's place, and it into force. *is_bad says
 * whether it is none; the file then stays. Returns the exit status.
 */
int change_commit(const struct context *context, const struct locked_file *file, const char *text,
                  size_t len, bool *is_bad);

#endif

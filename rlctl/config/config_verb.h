/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_CONFIG_VERB_H
#define RLCTL_CONFIG_VERB_H

/* Shared by the verbs below config. */

#include <load/load.h>
#include <stdbool.h>

#include "base/command.h"

/* The file that --config, the environment or else custom names. */
const char *config_file(const struct context *context);

/* Problems go to stderr as they are, for editors find their places; notes go to stdout. */
void config_say(enum config_level level, const char *text, void *arg);

/* False after a message. */
bool config_is_readable(const char *path);

/* The file, or NULL after messages: *status is then EXIT_NO for a bad file, or EXIT_TROUBLE for
 * one that cannot be read. */
struct config *config_need(const char *path, int *status);

/* What --segment or RL_SEGMENT says, or else the file. */
const char *config_segment(const struct context *context, const struct config *config);

/* Put a changed file into force, unless --no-reload. A segment that does not exist yet is no
 * trouble. Returns the exit status. */
int config_follow(const struct context *context, const struct config *config);

/* Say what that would change in the segment. Returns the exit status: yes, whatever it is. */
int config_foresee(const struct context *context, const struct config *config);

#endif

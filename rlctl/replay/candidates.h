/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_CANDIDATES_H
#define RLCTL_CANDIDATES_H

/* The rules that the command line names: by parts, by rates, or by a configuration's rules. All are
 * read as a configuration is. */

#include "base/command.h"
#include "replay/candidate.h"
#include "replay/since_change.h"

/* How many; 0 after a message. */
size_t candidates_read(const struct context *context, struct candidate candidates[CANDIDATES_MAX]);

/*
 * The same of --since-change: its --rule, before and after. The configurations are the candidates'
 * then.
 */
size_t candidates_of_change(const struct context *context, struct since_change *change,
                            struct candidate candidates[CANDIDATES_MAX]);

/* --window alone, which is to be there. False after a message. */
bool window_read(const struct context *context, uint64_t *window_ns);

#endif

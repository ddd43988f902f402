/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_APPLY_H
#define CONFIG_APPLY_H

/* The way of a configuration into a segment. */

#include "model/config.h"
#include "read/sink.h"

struct report;

/*
 * Put it into a segment of this process alone, and report what the library refuses. What it alone
 * knows, as that two networks are the same, is thus told before the file is put into force.
 */
void apply_try(struct report *report, const struct config *config);

/* How a warning ends of what a live segment can have otherwise. */
#define CONFIG_RESIZE "'rlctl resize' changes that, and no count is lost"

/*
 * rl_configure() with its errors told in the file's words, and with what changed told as notes
 * ("login: limit 2 starts anew, its window has changed"). Compares what the file says of the
 * segment (keys, ring, ...) with what it is, and warns of each difference and what to do.
 * 0 or -errno. `flags` as for rl_configure().
 */
int config_apply(struct rl *rl, const struct config *config, unsigned flags,
                 struct rl_config_outcome *outcome, config_sink *sink, void *arg);

/*
 * The notes that `to` would give where `from` is in force, in a segment of this process alone.
 * 0 or -errno.
 */
int config_difference(const struct config *from, const struct config *to, config_sink *sink,
                      void *arg);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_METRICS_H
#define CONFIG_METRICS_H

/*
 * What a segment counts, in the text format of Prometheus (version 0.0.4): one family for each
 * line of rl_counters.def, by rule, and the state of the segment. Shared by rld and rlctl.
 *
 * Labels are the segment and the names of rules, never a key: a metric for each client would
 * tell who they are, and let them fill the memory of who collects it.
 */

#include <rl_admin.h>
#include <stdio.h>

#include "metrics/family.h"

/* Write all. Scans the tags of the whole table to count the used slots. 0 or -ENOMEM. */
int metrics_write(FILE *to, struct rl *rl, uint64_t now_ns);

/* The same for a caller that knows how many slots are used. */
int metrics_write_filled(FILE *to, struct rl *rl, uint64_t now_ns, uint64_t used);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_METRICS_FAMILY_H
#define CONFIG_METRICS_FAMILY_H

/* How a family of metrics is written, in the text format of Prometheus (version 0.0.4). */

#include <rl_admin.h>
#include <stdbool.h>
#include <stdio.h>

enum metrics_kind {
	METRICS_COUNTER,
	METRICS_GAUGE,
	METRICS_HISTOGRAM
};

/* Begin a family: its HELP and TYPE. Its samples follow. */
void metrics_family(FILE *to, const char *name, enum metrics_kind kind, const char *help);

/* The same of one sample without a label but the segment's, whose value follows. */
void metrics_begin(FILE *to, struct rl *rl, const char *name, enum metrics_kind kind,
                   const char *help);

/* A duration or a Unix time as seconds, exact to the nanosecond. */
void metrics_seconds(FILE *to, uint64_t ns);

/* A family of one sample without a label but the segment's; the second one in seconds. */
void metrics_number(FILE *to, struct rl *rl, const char *name, enum metrics_kind kind,
                    const char *help, uint64_t value);
void metrics_duration(FILE *to, struct rl *rl, const char *name, enum metrics_kind kind,
                      const char *help, uint64_t ns);

/*
 * Whether so much can have been counted in this time: by a thousand cores, say, once in 100 ns
 * each. A counter beyond has been written over, and is left out of what is written.
 */
bool metrics_can_be(uint64_t count, uint64_t passed_ns);

/* A label's value as it may stand between quotes. */
void metrics_escape(FILE *to, const char *text);

#endif

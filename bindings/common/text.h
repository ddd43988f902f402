/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLB_TEXT_H
#define RLB_TEXT_H

/*
 * Durations and rates as rl.json(5) writes them, for bindings that take a rule as text and numbers.
 */

#include <stddef.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

/* "10m", "1.5h", "1h30m", or "never", which is RL_NEVER_NS. 0, or -EINVAL. */
int rlb_duration(const char *text, size_t len, uint64_t *ns);

/* What stands behind the stroke of a rate: "min", "5min", or a duration. 0, or -EINVAL. */
int rlb_period(const char *text, size_t len, uint64_t *ns);

/* "5/min", "300/5min", "5/1h30m". 0, or -EINVAL. */
int rlb_rate(const char *text, size_t len, uint32_t *capacity, uint64_t *window_ns);

/* Seconds as nanoseconds, to the nearest. 0, or -EINVAL: negative, not a number, or too many. */
int rlb_seconds(double seconds, uint64_t *ns);

#pragma GCC visibility pop

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_TIMED_H
#define RLCTL_TIMED_H

/* What rlctl shows of overrides for a time, in words and in JSON. */

#include <stdio.h>

#include "base/output.h"
#include "key/active_bans.h"

struct timed_rate {
	char text[64];
};

/* "20/1m": with the window of the limit as it is now; of a concurrency limit "20". */
struct timed_rate timed_rate(struct rl *rl, int rule, unsigned limit, uint32_t capacity);

/* The same of what the rule itself says. */
struct timed_rate timed_rate_before(struct rl *rl, int rule, unsigned limit);

/* Each, as lines that begin with "stands". */
void timed_print(FILE *out, struct rl *rl, const struct active_bans *list);

/* How long, in whole seconds: it ends with one. */
uint64_t timed_left_ns(uint64_t until_ns, uint64_t now_ns);

/* "59m 59s left, until 2026-11-22 10:00:00 UTC" */
void timed_print_until(FILE *out, uint64_t until_ns, uint64_t now_ns);

json_t *timed_json(struct rl *rl, const struct active_ban *timed);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_TIMED_H
#define RLCTL_TIMED_H

/* What rlctl shows of overrides for a time: collected, in words and in JSON. */

#include <rl_admin.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/output.h"

struct timed {
	int rule; /* RL_ANY_RULE: it is not known whose it is */
	unsigned limit;
	struct key_view key; /* its bytes are a copy */
	uint32_t capacity;
	uint64_t until_ns;
	bool has_note; /* else the rest is not known */
	uint32_t author;
	uint64_t since_ns;
	char reason[RL_REASON_MAX + 1]; /* "": none */
};

struct timed_list {
	struct timed *items;
	size_t count, room;
	uint64_t now_ns;
};

/*
 * Those in force for `rule`, or all for RL_ANY_RULE; with `key`, those of that key. Those that end
 * first come first.
 */
struct timed_list timed_collect(struct rl *rl, int rule, const struct key_view *key);
void timed_free(struct timed_list *list);

struct timed_rate {
	char text[64];
};

/* "20/1m": with the window of the limit as it is now; of a concurrency limit "20". */
struct timed_rate timed_rate(struct rl *rl, int rule, unsigned limit, uint32_t capacity);

/* The same of what the rule itself says. */
struct timed_rate timed_rate_before(struct rl *rl, int rule, unsigned limit);

/* Each, as lines that begin with "stands". */
void timed_print(FILE *out, struct rl *rl, const struct timed_list *list);

/* How long, in whole seconds: it ends with one. */
uint64_t timed_left_ns(uint64_t until_ns, uint64_t now_ns);

/* "59m 59s left, until 2026-11-22 10:00:00 UTC" */
void timed_print_until(FILE *out, uint64_t until_ns, uint64_t now_ns);

json_t *timed_json(struct rl *rl, const struct timed *timed);

#endif

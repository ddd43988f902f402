/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_ADAPTER_LIMITS_H
#define RL_ADAPTER_LIMITS_H

/*
 * A storage as the Python library limits asks for it: fixed, moving and sliding windows.
 *
 * Windows come with the calls. So each pair of kind and window is a rule, made when it is first
 * asked for, and a limit is the capacity that a request brings along. Counts of fixed windows are
 * counters by key. Expiries are in seconds. An error is -errno.
 */
#include "key.h"

struct limits {
	struct rl *rl;
	int counters;
	uint32_t ring, rules;
};

int limits_open(struct limits *s, struct rl *rl); /* not negative */
int limits_check(const struct limits *s);         /* 1: it works */

/* The count after it. */
int64_t limits_incr(const struct limits *s, const struct key *k, uint32_t expiry, uint32_t amount,
                    uint64_t now_ns);
/* The count; for get_expiry(), when it ends, or now if there is none. */
int64_t limits_get(const struct limits *s, const struct key *k, uint64_t now_ns, uint64_t *end_ns);

struct limits_window {
	enum {
		LIMITS_MOVING,
		LIMITS_SLIDING
	} kind;
	uint32_t limit, expiry;
};

/* 1 acquired, 0 not. */
int limits_acquire(const struct limits *s, const struct limits_window *w, const struct key *k,
                   uint32_t amount, uint64_t now_ns);

/* How many entries there are, and an expiry before the oldest leaves: now, if there is none. */
int limits_get_moving(const struct limits *s, const struct limits_window *w, const struct key *k,
                      uint64_t now_ns, uint64_t *start_ns);

/*
 * The previous count is the most that it can be: rl tells of its share in the window, rounded up.
 * So what limits makes of it is what the next request is told, or one more that is free.
 */
struct limits_sliding {
	uint64_t previous, current;
	uint64_t previous_ns, current_ns; /* until they count no more */
};
int limits_get_sliding(const struct limits *s, const struct limits_window *w, const struct key *k,
                       uint64_t now_ns, struct limits_sliding *counts);

/* clear() of a key, or with NULL reset() of all: how many counts were forgotten. */
int64_t limits_forget(const struct limits *s, const struct key *k);

#endif

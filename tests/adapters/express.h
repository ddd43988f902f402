/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_ADAPTER_EXPRESS_H
#define RL_ADAPTER_EXPRESS_H

/*
 * A store as express-rate-limit asks for it: hits in a window that begins with the first one,
 * counted beyond the limit as well. A limiter is a rule, so that an administrator sees its limit,
 * and may change it or ban a key. An error is -errno.
 */
#include "key.h"

struct express {
	struct rl *rl;
	int rule;
};

/* total_hits 0: the key has none, and no window. */
struct express_client {
	uint64_t total_hits;
	uint64_t reset_ms; /* Unix time, rounded up */
};

/*
 * Each limiter has a prefix. A limit of 0 is one that the store is not told, as it may be a
 * function.
 */
int express_init(struct express *s, struct rl *rl, const char *prefix, uint64_t window_ms,
                 uint32_t limit);

/* A banned key has one hit more than it may, until the ban's end. */
int express_increment(const struct express *s, const struct key *k, uint64_t now_ns,
                      struct express_client *client);
int express_get(const struct express *s, const struct key *k, uint64_t now_ns,
                struct express_client *client);

/* 1 taken, 0 there was none. */
int express_decrement(const struct express *s, const struct key *k, uint64_t now_ns);

int express_reset_key(const struct express *s, const struct key *k);
int express_reset_all(const struct express *s);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_ADAPTER_EXPRESS_H
#define RL_ADAPTER_EXPRESS_H

/*
 * A store as express-rate-limit asks for it, and what @fastify/rate-limit asks of one. Hits are
 * counters by key, for a store is not told the limit, or with each call another. An error is -errno.
 */
#include "key.h"

struct express {
	struct rl *rl;
	int space;
	uint64_t window_ns;
};

struct express_client {
	uint64_t total_hits;
	uint64_t reset_ms; /* Unix time, rounded up */
};

/* Each limiter has a prefix, and its keys are its own. */
int express_init(struct express *s, struct rl *rl, const char *prefix, uint64_t window_ms);

int express_increment(const struct express *s, const struct key *k, uint64_t now_ns,
                      struct express_client *client);
int express_decrement(const struct express *s, const struct key *k, uint64_t now_ns);
int express_reset_key(const struct express *s, const struct key *k, uint64_t now_ns);
int express_reset_all(const struct express *s);

/* 1 there is one, 0 there is none. */
int express_get(const struct express *s, const struct key *k, uint64_t now_ns,
                struct express_client *client);

/* How a hit beyond `max` moves the window's end. */
enum fastify_beyond {
	FASTIFY_KEEP = 0,
	FASTIFY_CONTINUE = 1, /* continueExceeding: a whole window from now */
	FASTIFY_BACKOFF = 2,  /* exponentialBackoff: twice as long as for the hit before */
};

struct fastify_hits {
	uint64_t current;
	uint64_t ttl_ms; /* rounded up */
};

/* Window and limit come with each hit. */
int fastify_incr(const struct express *s, const struct key *k, uint64_t window_ms, uint64_t max,
                 enum fastify_beyond beyond, uint64_t now_ns, struct fastify_hits *hits);

#endif

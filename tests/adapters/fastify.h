/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_ADAPTER_FASTIFY_H
#define RL_ADAPTER_FASTIFY_H

/*
 * A store as @fastify/rate-limit asks for it, with the ends that its store on Redis sets. Window
 * and limit come with each hit, and may be others each time: so hits are counters by key. An error
 * is -errno.
 */
#include "key.h"

struct fastify {
	struct rl *rl;
	int space;
};

/* Each route's limiter has a name, and its keys are its own. */
int fastify_open(struct fastify *s, struct rl *rl, const char *name);

/* How a hit beyond `max` moves the window's end. */
enum fastify_beyond {
	FASTIFY_KEEP = 0,
	FASTIFY_CONTINUE = 1, /* continueExceeding: a whole window from now */
	FASTIFY_BACKOFF = 2,  /* exponentialBackoff: twice as long as for the hit before */
};

/* Who is to be banned has a `current` above max and `ban` more. */
struct fastify_hits {
	uint64_t current;
	uint64_t ttl_ms; /* rounded up */
};

int fastify_incr(const struct fastify *s, const struct key *k, uint64_t window_ms, uint64_t max,
                 enum fastify_beyond beyond, uint64_t now_ns, struct fastify_hits *hits);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#include "adapters/fastify.h"

#define LIFETIME_MAX (400 * UINT64_C(86400) * RL_SECOND)

int
fastify_open(struct fastify *s, struct rl *rl, const char *name)
{
	*s = (struct fastify){rl, rl_define_counters(rl, name)};
	return s->space < 0 ? s->space : 0;
}

/* The window of the hit that is `over` beyond the limit: doubled over - 1 times. */
static uint64_t
backoff(uint64_t window_ns, uint64_t over)
{
	while (--over > 0 && window_ns < LIFETIME_MAX)
		window_ns *= 2;
	return window_ns < LIFETIME_MAX ? window_ns : LIFETIME_MAX;
}

/*
 * No hit is forgotten by a new end. A process whose clock is late sets one that is as much too
 * early.
 */
int
fastify_incr(const struct fastify *s, const struct key *k, uint64_t window_ms, uint64_t max,
             enum fastify_beyond beyond, uint64_t now_ns, struct fastify_hits *hits)
{
	uint64_t window_ns = window_ms * RL_MILLISECOND;
	struct rl_count hit = {0}, end;
	int done = key_count(s->rl, s->space, RL_COUNTER_ADD, k, 1, window_ns, now_ns, &hit);

	end = hit;
	if (done == 1 && beyond != FASTIFY_KEEP && hit.value > max) {
		if (beyond == FASTIFY_BACKOFF)
			window_ns = backoff(window_ns, hit.value - max);
		key_count(s->rl, s->space, RL_COUNTER_TOUCH, k, 0, window_ns, now_ns, &end);
	}
	*hits = (struct fastify_hits){hit.value,
	                              (end.expires_after_ns + RL_MILLISECOND - 1) / RL_MILLISECOND};
	return done;
}

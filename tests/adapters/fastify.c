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
 * The new end is set with the number that this hit has made. Hits of other processes between the two
 * calls may be forgotten. The number stays above `max` for all that. A process whose clock is late sets
 * an end that is as much too early.
 */
int
fastify_incr(const struct fastify *s, const struct key *k, uint64_t window_ms, uint64_t max,
             enum fastify_beyond beyond, uint64_t now_ns, struct fastify_hits *hits)
{
	uint64_t window_ns = window_ms * RL_MILLISECOND;
	struct rl_count count = {0};
	int done =
		rl_counter_add_at(s->rl, s->space, k->bytes, k->len, 1, window_ns, now_ns, &count);

	if (done == 1 && beyond != FASTIFY_KEEP && count.value > max) {
		if (beyond == FASTIFY_BACKOFF)
			window_ns = backoff(window_ns, count.value - max);
		done = rl_counter_set_at(s->rl, s->space, k->bytes, k->len, count.value, window_ns,
		                         now_ns, &count);
	}
	*hits = (struct fastify_hits){count.value, (count.expires_after_ns + RL_MILLISECOND - 1) /
	                                                   RL_MILLISECOND};
	return done;
}

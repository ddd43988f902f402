/* SPDX-License-Identifier: BSD-2-Clause */
#include "adapters/express.h"

#define LIFETIME_MAX (400 * UINT64_C(86400) * RL_SECOND)

int
express_init(struct express *s, struct rl *rl, const char *prefix, uint64_t window_ms)
{
	*s = (struct express){rl, rl_define_counters(rl, prefix), window_ms * RL_MILLISECOND};
	return s->space < 0 ? s->space : 0;
}

static uint64_t
ms_up(uint64_t ns)
{
	return (ns + RL_MILLISECOND - 1) / RL_MILLISECOND;
}

static struct express_client
client_of(const struct rl_count *count, uint64_t now_ns)
{
	return (struct express_client){count->value, ms_up(now_ns + count->expires_after_ns)};
}

int
express_increment(const struct express *s, const struct key *k, uint64_t now_ns,
                  struct express_client *client)
{
	struct rl_count count = {0};
	int done = rl_counter_add_at(s->rl, s->space, k->bytes, k->len, 1, s->window_ns, now_ns,
	                             &count);

	*client = client_of(&count, now_ns);
	return done;
}

/* A window that is over, or was reset, is not begun for it. */
int
express_decrement(const struct express *s, const struct key *k, uint64_t now_ns)
{
	return rl_counter_add_at(s->rl, s->space, k->bytes, k->len, -1, 0, now_ns, NULL);
}

int
express_reset_key(const struct express *s, const struct key *k, uint64_t now_ns)
{
	return rl_counter_drop_at(s->rl, s->space, k->bytes, k->len, now_ns);
}

int
express_reset_all(const struct express *s)
{
	return rl_reset_matching(s->rl, s->space, NULL, NULL);
}

int
express_get(const struct express *s, const struct key *k, uint64_t now_ns,
            struct express_client *client)
{
	struct rl_count count = {0};
	int is_there = rl_counter_get_at(s->rl, s->space, k->bytes, k->len, now_ns, &count);

	*client = client_of(&count, now_ns);
	return is_there;
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
 * calls may be forgotten. The number stays above `max` for all that.
 */
int
fastify_incr(const struct express *s, const struct key *k, uint64_t window_ms, uint64_t max,
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
	*hits = (struct fastify_hits){count.value, ms_up(count.expires_after_ns)};
	return done;
}

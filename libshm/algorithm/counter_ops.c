/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters by key: no request is ever decided by one. */
#include "algorithm/counter.h"
#include "algorithm/ops.h"

static uint32_t
limit_of_counter(const struct rl_limiter *l, const struct rl_quota *q)
{
	(void)l, (void)q;
	return 0;
}

static void
peek_counter(const struct rl_ask *a, struct rl_decision *d)
{
	d->admits = a->cost <= d->remaining;
}

static uint64_t
idle_at_of_counter(const struct rl_limiter *l, struct rl_u128 word)
{
	(void)l;
	return rl_counter_expires_at(word);
}

static uint32_t
used_most_of_counter(const struct rl_ask *a, const struct rl_window_now *now)
{
	(void)now;
	return rl_counter_has_expired(a->v->word, a->now_ns) ? 0 : rl_counter_used(a->v->word);
}

const struct rl_algorithm_ops rl_counter_ops = {
	.limit = limit_of_counter,
	.peek = peek_counter,
	.idle_at = idle_at_of_counter,
	.used_most = used_most_of_counter,
	.nothing = rl_nothing_but_one,
};

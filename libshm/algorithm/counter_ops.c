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
peek_counter(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v,
             uint32_t cost, uint64_t now_ns, struct rl_decision *d)
{
	(void)l, (void)q, (void)v, (void)now_ns;
	d->admits = cost <= d->remaining;
}

static uint64_t
idle_at_of_counter(const struct rl_limiter *l, struct rl_u128 word)
{
	(void)l;
	return rl_counter_expires_at(word);
}

static uint32_t
used_most_of_counter(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v,
                     const struct rl_limiter_time *at)
{
	(void)l, (void)q;
	return rl_counter_has_expired(v->word, at->now_ns) ? 0 : rl_counter_used(v->word);
}

const struct rl_algorithm_ops rl_counter_ops = {
	.limit = limit_of_counter,
	.peek = peek_counter,
	.idle_at = idle_at_of_counter,
	.used_most = used_most_of_counter,
	.nothing = rl_nothing_but_one,
};

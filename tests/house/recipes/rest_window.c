/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts until nothing was charged for a window: the word is an anchored window's, whose start is
 * the newest charge.
 *
 *	charges   x  x     x
 *	                   |<----- window ----->|  here nothing counts any more
 *
 * A time before the newest charge leaves that where it is. A charge is one CAS, and there is no
 * ring.
 */
#include "algorithm/ops.h"

/* As the request finds it. */
static struct rl_anchored
rest_at(const struct rl_ask *a)
{
	if (a->v->is_zero)
		return (struct rl_anchored){a->now_ns, 0};
	return rl_anchored_at(rl_anchored_unpack(a->v->word), a->l->window_ns, a->now_ns);
}

static void
fill_rest(const struct rl_ask *a, struct rl_anchored at, struct rl_decision *d)
{
	d->remaining = at.cur < a->q->capacity ? a->q->capacity - at.cur : 0;
	d->retry_at_ns = rl_anchored_end(at, a->l->window_ns);
	d->reset_at_ns = at.cur > 0 ? d->retry_at_ns : 0;
}

static void
peek_rest(const struct rl_ask *a, struct rl_decision *d)
{
	fill_rest(a, rest_at(a), d);
	d->admits = a->cost <= d->remaining;
}

static void
decide_rest(const struct rl_ask *a, struct rl_plan *p)
{
	struct rl_anchored at = rest_at(a), after = rl_anchored_add(at, a->cost);

	after.start_ns = a->now_ns > at.start_ns ? a->now_ns : at.start_ns;
	p->charges = (uint64_t)at.cur + a->cost <= a->q->capacity;
	p->step = p->charges ? RL_STEP_ADMIT : RL_STEP_DENY;
	p->next = rl_anchored_pack(after, a->v->slot_bits);
	p->charge_id = after.start_ns;
	p->memory = 0;
	fill_rest(a, p->charges ? after : at, &p->decision);
}

static uint64_t
idle_at_of_rest(const struct rl_limiter *l, struct rl_u128 word)
{
	return rl_anchored_end(rl_anchored_unpack(word), l->window_ns);
}

static uint32_t
used_most_of_rest(const struct rl_ask *a, const struct rl_window_now *now)
{
	(void)now;
	return rest_at(a).cur;
}

static struct rl_u128
nothing_of_rest(const struct rl_limiter *l, uint64_t now_ns, uint64_t slot_bits)
{
	(void)l;
	return rl_anchored_pack((struct rl_anchored){.start_ns = now_ns}, slot_bits);
}

const struct rl_algorithm_ops rl_rest_window_ops = {
	.decide = decide_rest,
	.peek = peek_rest,
	.idle_at = idle_at_of_rest,
	.used_most = used_most_of_rest,
	.nothing = nothing_of_rest,
	.entries = rl_entries_of_used,
	.limit_is_capacity = true,
};

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

/* As a request at now_ns finds it. */
static struct rl_anchored
rest_at(const struct rl_limiter *l, const struct rl_view *v, uint64_t now_ns)
{
	if (v->is_zero)
		return (struct rl_anchored){now_ns, 0};
	return rl_anchored_at(rl_anchored_unpack(v->word), l->window_ns, now_ns);
}

static void
tell_rest(const struct rl_limiter *l, const struct rl_quota *q, struct rl_anchored at,
          struct rl_decision *d)
{
	d->remaining = at.cur < q->capacity ? q->capacity - at.cur : 0;
	d->retry_at_ns = rl_anchored_end(at, l->window_ns);
	d->reset_at_ns = at.cur > 0 ? d->retry_at_ns : 0;
}

static void
peek_rest(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v,
          uint32_t cost, uint64_t now_ns, struct rl_decision *d)
{
	tell_rest(l, q, rest_at(l, v, now_ns), d);
	d->admits = cost <= d->remaining;
}

static void
decide_rest(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v,
            uint32_t cost, uint64_t now_ns, bool is_asked, struct rl_plan *p)
{
	struct rl_anchored at = rest_at(l, v, now_ns), after = rl_anchored_add(at, cost);

	(void)is_asked;
	after.start_ns = now_ns > at.start_ns ? now_ns : at.start_ns;
	p->charges = (uint64_t)at.cur + cost <= q->capacity;
	p->step = p->charges ? RL_STEP_ADMIT : RL_STEP_DENY;
	p->next = rl_anchored_pack(after, v->slot_bits);
	p->charge_id = after.start_ns;
	p->memory = 0;
	tell_rest(l, q, p->charges ? after : at, &p->decision);
}

static uint64_t
idle_at_of_rest(const struct rl_limiter *l, struct rl_u128 word)
{
	return rl_anchored_end(rl_anchored_unpack(word), l->window_ns);
}

static uint32_t
used_most_of_rest(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v,
                  const struct rl_limiter_time *at)
{
	(void)q;
	return rest_at(l, v, at->now_ns).cur;
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

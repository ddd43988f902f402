/* SPDX-License-Identifier: BSD-2-Clause */
#include "decide/without_slot.h"

#include <errno.h>

#include "algorithm/overflow_count.h"
#include "decide/plan.h"
#include "overflow/overflow.h"
#include "segment/stats.h"

static uint32_t
place_of(const struct rl_part *p)
{
	return rl_overflow_place_of(p->segment, p->limit, p->candidates.key, p->network);
}

/* Of a debt, the network may not be known. */
static bool
has_place(const struct rl_part *p)
{
	return !p->limit->has_prefix || p->network[0] > 0;
}

/* A debt of a network that has given way: nobody knows what it would carry. */
static bool
is_lost(const struct rl_part *p)
{
	return !has_place(p) && rl_sets_are_used(p->segment, p->now_ns);
}

static int
lose(const struct rl_part *p)
{
	if (p->result)
		rl_result_undecided(p->result, -ENOSPC);
	return RL_UNDECIDED;
}

/* The key's overflow counter, if any counts something. */
static bool
find_overflow(const struct rl_part *p, struct rl_overflow *c)
{
	return rl_sets_are_used(p->segment, p->now_ns) && has_place(p) &&
	       rl_overflow_load(p->segment, p->limit, place_of(p), c);
}

static int
answer(const struct rl_part *p, const struct rl_decision *d, enum rl_verdict verdict)
{
	struct rl_result *r = p->result;

	rl_part_answer(p, d, verdict);
	if (!r)
		return (int)verdict;
	r->limit = rl_limiter_limit(&p->limit->limiter, &p->quota);
	r->reason = RL_BY_RESERVE;
	return (int)verdict;
}

/* What its overflow counter is asked. */
static struct rl_ask
ask_of(const struct rl_part *p, const struct rl_quota *q, const struct rl_view *v)
{
	return (struct rl_ask){.l = &p->limit->overflow,
	                       .q = q,
	                       .v = v,
	                       .cost = p->cost,
	                       .is_asked = true,
	                       .now_ns = p->now_ns};
}

static void
make_plan(const struct rl_part *p, const struct rl_overflow *c, struct rl_plan *plan)
{
	const struct rl_quota quota = rl_overflow_quota(&p->limit->limiter, &p->quota);
	const struct rl_view v = rl_overflow_view(c);
	const struct rl_ask ask = ask_of(p, &quota, &v);

	if (p->cost <= rl_limiter_limit(ask.l, &quota)) {
		rl_limiter_decide(&ask, plan);
	} else { /* of a cluster, beyond what may be admitted without a share */
		rl_limiter_peek(&ask, &plan->decision);
		plan->charges = false;
	}
}

static int
deny(const struct rl_part *p, const struct rl_decision *d)
{
	rl_stats_add(p->segment, p->rule, RL_COUNT_reserved);
	rl_stats_add(p->segment, p->rule, RL_COUNT_reserve_denied);
	return answer(p, d, RL_DENIED);
}

/* Make the charge that was planned, if the key has no slot by now, either. */
static int
charge(const struct rl_part *p, const struct rl_overflow *c, const struct rl_plan *plan)
{
	if (!rl_overflow_charge(c, plan->next) || rl_overflow_was_left(c, &p->candidates))
		return RL_AGAIN;
	rl_stats_add(p->segment, p->rule, RL_COUNT_reserved);
	if (p->charge)
		rl_part_hand_out_overflow(p);
	return answer(p, &plan->decision, RL_ALLOWED);
}

/*
 * A bucket's overflow counter is open as long as it is not full; so now and then its key looks for
 * a slot all the same.
 */
static bool
looks_all_the_same(const struct rl_part *p)
{
	return rl_limiter_has_bucket(&p->limit->limiter) &&
	       (p->now_ns ^ p->candidates.key) * UINT64_C(0x9e3779b97f4a7c15) >> 60 == 0;
}

bool
rl_without_slot_at_once(const struct rl_part *p, int *decided)
{
	struct rl_overflow c;
	struct rl_plan plan;

	if (is_lost(p)) {
		*decided = lose(p);
		return true;
	}
	if (!find_overflow(p, &c))
		return false;
	make_plan(p, &c, &plan);
	if (!plan.charges && rl_decision_used(&plan.decision) == 0)
		return false; /* of a cluster: a slot may have a share, and an overflow counter has
		                 none */
	if (!plan.charges) {
		*decided = deny(p, &plan.decision);
		return true;
	}
	if (!rl_overflow_is_open(&p->limit->overflow, c.count, p->now_ns) || looks_all_the_same(p))
		return false;
	*decided = charge(p, &c, &plan);
	return true;
}

int
rl_without_slot_charge(const struct rl_part *p)
{
	struct rl_overflow c;
	struct rl_plan plan;
	int error;

	if (!has_place(p))
		return -ENOSPC;
	error = rl_overflow_take(p->segment, p->limit, place_of(p), p->now_ns, &c);
	if (error < 0)
		return error == -EAGAIN ? RL_AGAIN : error;
	make_plan(p, &c, &plan);
	return plan.charges ? charge(p, &c, &plan) : deny(p, &plan.decision);
}

bool
rl_without_slot_peek(const struct rl_part *p, int *decided)
{
	const struct rl_quota quota = rl_overflow_quota(&p->limit->limiter, &p->quota);
	struct rl_view v;
	const struct rl_ask ask = ask_of(p, &quota, &v);
	struct rl_decision d;
	struct rl_overflow c;

	if (!find_overflow(p, &c))
		return false;
	v = rl_overflow_view(&c);
	rl_limiter_peek(&ask, &d);
	if (d.remaining == d.limit) /* nothing counts */
		return false;
	if (p->cost > rl_limiter_limit(&p->limit->limiter, &p->quota))
		*decided = answer(p, &d, RL_NEVER);
	else
		*decided = answer(p, &d, d.admits ? RL_ALLOWED : RL_DENIED);
	return true;
}

bool
rl_without_slot_is_refused(const struct rl_part *p)
{
	return p->segment->geometry.cells > 0 && p->limit->has_overflow &&
	       !rl_sets_could_take(p->segment, p->limit, p->now_ns) &&
	       rl_table_is_crowded(&p->segment->table, &p->candidates);
}

/* The decision tells the rest. */
static bool
is_new(const struct rl_part *p, struct rl_slot slot, struct rl_view *v)
{
	return p->segment->geometry.cells > 0 && p->limit->has_overflow &&
	       rl_view_load(p->segment, slot, v) == RL_SEEN && v->is_zero;
}

bool
rl_without_slot_is_asked(const struct rl_part *p, struct rl_slot slot)
{
	const struct rl_segment *s = p->segment;
	enum rl_seen seen;
	struct rl_view v;

	if (s->geometry.cells == 0)
		return false;
	seen = rl_view_load(s, slot, &v);
	return seen == RL_SEEN_DEAD || (seen == RL_SEEN && v.is_zero);
}

bool
rl_without_slot_over(const struct rl_part *p, struct rl_slot slot, int *decided)
{
	const struct rl_decision none = {.limit = rl_limiter_limit(&p->limit->limiter, &p->quota)};
	struct rl_view v;

	if (!is_new(p, slot, &v))
		return true;
	if (is_lost(p)) {
		*decided = lose(p);
		return false;
	}
	*decided = RL_AGAIN;
	if (rl_overflow_carry(p->segment, p->limit, place_of(p), slot, &v, p->now_ns) ==
	    RL_CARRY_DONE)
		return false;
	if (!rl_sets_are_used(p->segment, p->now_ns) || rl_compiled_holds(p->limit))
		return true;
	*decided = answer(p, &none, RL_DENIED);
	return false;
}

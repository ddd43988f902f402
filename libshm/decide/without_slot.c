/* SPDX-License-Identifier: BSD-2-Clause */
#include "decide/without_slot.h"

#include <errno.h>

#include "algorithm/cell.h"
#include "reserve/reserve.h"
#include "segment/stats.h"

static uint32_t
index_of(const struct rl_request *rq)
{
	return rl_reserve_index(rq->ask.segment, rq->ask.limit, rq->candidates.key, rq->network);
}

/* The key's cell, if any counts something. */
static bool
find_cell(const struct rl_request *rq, struct rl_cell *c)
{
	const struct rl_ask *a = &rq->ask;

	return rl_sets_are_used(a->segment, a->now_ns) &&
	       rl_reserve_load(a->segment, a->limit, index_of(rq), c);
}

static int
answer(const struct rl_request *rq, const struct rl_decision *d, enum rl_verdict verdict)
{
	struct rl_result *r = rq->ask.result;

	if (!r)
		return (int)verdict;
	rl_fill_result(&rq->ask, d, verdict);
	r->limit = rl_limiter_limit(&rq->ask.limit->limiter, &rq->ask.quota);
	r->reason = RL_BY_RESERVE;
	r->delay_ns = verdict == RL_ALLOWED ? d->delay_ns : 0;
	r->retry_after_ns = verdict == RL_DENIED ? rl_until(d->retry_at_ns, rq->ask.now_ns) : 0;
	return (int)verdict;
}

static void
plan(const struct rl_request *rq, const struct rl_cell *c, struct rl_plan *p)
{
	const struct rl_quota quota = rl_cell_quota(&rq->ask.limit->limiter, &rq->ask.quota);
	const struct rl_view v = rl_reserve_view(c);

	if (rq->ask.cost <= rl_limiter_limit(&c->limit->cell, &quota)) {
		rl_limiter_decide(&c->limit->cell, &quota, &v, rq->ask.cost, rq->ask.now_ns, true,
		                  p);
	} else { /* of a cluster, beyond what may be admitted without a share */
		rl_limiter_peek(&c->limit->cell, &quota, &v, rq->ask.cost, rq->ask.now_ns,
		                &p->decision);
		p->charges = false;
	}
}

static int
deny(const struct rl_request *rq, const struct rl_decision *d)
{
	rl_stats_add(rq->ask.segment, rq->rule, RL_COUNT_reserved);
	rl_stats_add(rq->ask.segment, rq->rule, RL_COUNT_reserve_denied);
	return answer(rq, d, RL_DENIED);
}

/* Make the charge that was planned, if the key has no slot by now, either. */
static int
charge(const struct rl_request *rq, const struct rl_cell *c, const struct rl_plan *p)
{
	if (!rl_reserve_charge(c, p->next) || rl_reserve_was_left(c, &rq->candidates))
		return RL_AGAIN;
	rl_stats_add(rq->ask.segment, rq->rule, RL_COUNT_reserved);
	return answer(rq, &p->decision, RL_ALLOWED);
}

/* A bucket's cell is open as long as it is not full; so now and then its key looks for a slot all the same. */
static bool
looks_all_the_same(const struct rl_request *rq)
{
	return rl_limiter_has_bucket(&rq->ask.limit->limiter) &&
	       (rq->ask.now_ns ^ rq->candidates.key) * UINT64_C(0x9e3779b97f4a7c15) >> 60 == 0;
}

bool
rl_without_slot_at_once(const struct rl_request *rq, int *decided)
{
	const struct rl_ask *a = &rq->ask;
	struct rl_cell c;
	struct rl_plan p;

	if (!find_cell(rq, &c))
		return false;
	plan(rq, &c, &p);
	if (!p.charges && rl_decision_used(&p.decision) == 0)
		return false; /* of a cluster: a slot may have a share, and a cell has none */
	if (!p.charges) {
		*decided = deny(rq, &p.decision);
		return true;
	}
	if (!rl_cell_is_open(&a->limit->cell, c.count, a->now_ns) || looks_all_the_same(rq))
		return false;
	*decided = charge(rq, &c, &p);
	return true;
}

int
rl_without_slot_charge(const struct rl_request *rq)
{
	const struct rl_ask *a = &rq->ask;
	struct rl_cell c;
	struct rl_plan p;
	int error;

	error = rl_reserve_take(a->segment, a->limit, index_of(rq), a->now_ns, &c);
	if (error < 0)
		return error == -EAGAIN ? RL_AGAIN : error;
	plan(rq, &c, &p);
	return p.charges ? charge(rq, &c, &p) : deny(rq, &p.decision);
}

bool
rl_without_slot_peek(const struct rl_request *rq, int *decided)
{
	const struct rl_ask *a = &rq->ask;
	const struct rl_quota quota = rl_cell_quota(&a->limit->limiter, &a->quota);
	struct rl_decision d;
	struct rl_view v;
	struct rl_cell c;

	if (!find_cell(rq, &c))
		return false;
	v = rl_reserve_view(&c);
	rl_limiter_peek(&a->limit->cell, &quota, &v, a->cost, a->now_ns, &d);
	if (d.remaining == d.limit) /* nothing counts */
		return false;
	if (a->cost > rl_limiter_limit(&a->limit->limiter, &a->quota)) {
		*decided = answer(rq, &d, RL_NEVER);
		if (a->result)
			a->result->retry_after_ns = RL_NEVER_NS;
	} else {
		*decided = answer(rq, &d, d.admits ? RL_ALLOWED : RL_DENIED);
	}
	return true;
}

bool
rl_without_slot_is_refused(const struct rl_request *rq)
{
	const struct rl_ask *a = &rq->ask;

	return a->segment->geometry.cells > 0 && a->limit->has_cells &&
	       !rl_sets_could_take(a->segment, a->limit, a->now_ns) &&
	       rl_table_is_crowded(&a->segment->table, &rq->candidates);
}

/* The decision tells the rest. */
static bool
is_new(const struct rl_ask *a, struct rl_slot slot, struct rl_view *v)
{
	return a->segment->geometry.cells > 0 && a->limit->has_cells &&
	       rl_view_load(a->segment, slot, v) == RL_SEEN && v->is_zero;
}

bool
rl_without_slot_is_told(const struct rl_request *rq, struct rl_slot slot)
{
	const struct rl_segment *s = rq->ask.segment;
	enum rl_seen seen;
	struct rl_view v;

	if (s->geometry.cells == 0)
		return false;
	seen = rl_view_load(s, slot, &v);
	return seen == RL_SEEN_DEAD || (seen == RL_SEEN && v.is_zero);
}

bool
rl_without_slot_over(const struct rl_request *rq, struct rl_slot slot, int *decided)
{
	const struct rl_ask *a = &rq->ask;
	const struct rl_decision none = {.limit = rl_limiter_limit(&a->limit->limiter, &a->quota)};
	struct rl_view v;

	if (!is_new(a, slot, &v))
		return true;
	*decided = RL_AGAIN;
	if (rl_reserve_carry(a->segment, a->limit, index_of(rq), slot, &v, a->now_ns) ==
	    RL_CARRY_DONE)
		return false;
	if (!rl_sets_are_used(a->segment, a->now_ns) || rl_compiled_holds(a->limit))
		return true;
	*decided = answer(rq, &none, RL_DENIED);
	return false;
}

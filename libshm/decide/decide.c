/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A charge that fails has met another's success, so on a key that has its slot the loop is
 * lock-free. Two keys that fight for the last of their candidate slots may free each other's fresh
 * claims: there, progress is sure only for one that gets a moment alone. The budget is for
 * that, and for a segment that somebody scribbles over.
 */
#include "decide/decide.h"

#include "algorithm/ring.h"
#include "evict/evict.h"
#include "segment/record.h"
#include "segment/stats.h"

/* What a try takes of the budget. */
#define TRY_STEPS 24    /* to find the slot, see its state and change it */
#define CLAIM_STEPS 64  /* to look at all slots and claim one */
#define EVICT_STEPS 512 /* to judge who is there */

void
rl_answer(const struct rl_request *rq, const struct rl_decision *d, struct rl_result *r)
{
	rl_fill_result(rq, d, r);
	if (rq->cost > d->limit) {
		r->verdict = RL_NEVER;
		r->retry_after_ns = RL_NEVER_NS;
	} else if (!d->admits) {
		r->verdict = RL_DENIED;
		r->retry_after_ns = rl_until(d->retry_at_ns, rq->now_ns);
	} else {
		r->verdict = RL_ALLOWED;
		r->delay_ns = d->delay_ns;
	}
}

static void
answer_full(const struct rl_request *rq, uint64_t next_free_ns, struct rl_result *r)
{
	const struct rl_segment *s = &rq->rl->segment;

	r->error = -ENOSPC;
	r->index = rq->index;
	switch (s->geometry.on_full) {
	case RL_FULL_ALLOW:
		r->verdict = RL_ALLOWED;
		rl_stats_add(s, rq->rule, RL_COUNT_full_allowed);
		break;
	case RL_FULL_DENY:
		r->verdict = RL_DENIED;
		r->retry_after_ns = rl_until(next_free_ns, rq->now_ns);
		rl_stats_add(s, rq->rule, RL_COUNT_full_denied);
		break;
	default:
		r->verdict = RL_UNDECIDED;
		rl_stats_add(s, rq->rule, RL_COUNT_full_undecided);
		break;
	}
}

/* Store what a plan to close asks for. False: others did, or will. */
static bool
store_entries(const struct rl_segment *s, const struct rl_limiter *l, struct rl_slot slot,
              const struct rl_view *v, uint32_t entries)
{
	uint64_t *ring = rl_segment_ring(s, slot.index);

	for (uint32_t i = 0; i < entries; i++) {
		uint32_t place;
		uint64_t value;
		rl_limiter_entry(l, v, i, &place, &value);
		if (!rl_ring_store(&ring[place], value, rl_table_state(&s->table, slot.index),
		                   v->word))
			return false;
	}
	return true;
}

/* What it takes to read a ring. */
static uint32_t
ring_steps(const struct rl_limiter *l)
{
	return rl_limiter_is_window(l) ? 2 * l->granularity : 16;
}

/* Do what the plan says; true if that charges. False, too, if others were quicker. */
static bool
carry_out(const struct rl_request *rq, struct rl_slot slot, const struct rl_view *v,
          const struct rl_plan *plan, struct rl_result *r)
{
	const struct rl_segment *s = &rq->rl->segment;

	if (plan->step == RL_STEP_CLOSE &&
	    (!rl_budget_take(rq->budget, plan->entries) ||
	     !store_entries(s, &rq->limit->limiter, slot, v, plan->entries)))
		return false;
	if (!rl_atomic_cas16(rl_table_state(&s->table, slot.index), v->word, plan->next))
		return false;
	if (plan->charges)
		rl_answer_charged(rq, slot, plan, r);
	return plan->charges;
}

static bool
peek_slot(const struct rl_request *rq, struct rl_slot slot, const struct rl_view *v,
          struct rl_result *r)
{
	const struct rl_limiter *l = &rq->limit->limiter;
	struct rl_decision d;

	rl_limiter_peek(l, &rq->quota, v, rq->cost, rq->now_ns, &d);
	if (!rl_view_holds(&rq->rl->segment, l, slot, v))
		return false;
	rl_answer(rq, &d, r);
	return true;
}

/* A key without a slot, or whose slot is being retired, has counted nothing. */
static bool
peek_nothing(const struct rl_request *rq, struct rl_result *r)
{
	struct rl_view none = rl_view_none(&rq->rl->segment);
	struct rl_decision d;

	rl_limiter_peek(&rq->limit->limiter, &rq->quota, &none, rq->cost, rq->now_ns, &d);
	rl_answer(rq, &d, r);
	return true;
}

static bool
decide_seen(const struct rl_request *rq, struct rl_slot slot, const struct rl_view *v,
            enum rl_mode mode, struct rl_result *r)
{
	const struct rl_limiter *l = &rq->limit->limiter;
	struct rl_plan plan;

	rl_budget_take(rq->budget, ring_steps(l));
	if (mode == RL_PEEK && rq->is_asked)
		return peek_slot(rq, slot, v, r);
	rl_limiter_decide(l, &rq->quota, v, rq->cost, rq->now_ns, rq->is_asked, &plan);
	if (plan.step != RL_STEP_DENY && mode == RL_CHARGE)
		return carry_out(rq, slot, v, &plan, r);
	if (!rl_view_holds(&rq->rl->segment, l, slot, v))
		return false;
	if (plan.step == RL_STEP_DENY)
		rl_answer_denied(rq, &plan.decision, r);
	else
		r->verdict = RL_ALLOWED;
	return true;
}

bool
rl_decide_rest(const struct rl_request *rq, struct rl_slot slot, const struct rl_view *v,
               enum rl_seen seen, enum rl_mode mode, struct rl_result *r)
{
	switch (seen) {
	case RL_SEEN_DEAD:
		if (mode == RL_PEEK)
			return peek_nothing(rq, r);
		rl_table_free(&rq->rl->segment.table, slot);
		return false;
	case RL_SEEN_GONE:
		return false;
	case RL_SEEN:
		break;
	}
	return decide_seen(rq, slot, v, mode, r);
}

static void
write_name(const struct rl_request *rq, struct rl_slot slot)
{
	char text[RL_NETWORK_TEXT_MAX];

	if (rq->key)
		rl_record_write(&rq->rl->segment, slot, rq->key, rq->key_len);
	else
		rl_record_write(&rq->rl->segment, slot, text, rl_network_text(rq->network, text));
}

/* A slot for a key that has none. True: *slot is LIVE. False: decided, or try again. */
static bool
claim(const struct rl_request *rq, struct rl_slot *slot, bool *is_decided, struct rl_result *r)
{
	const struct rl_segment *s = &rq->rl->segment;
	struct rl_eviction eviction;

	rl_budget_take(rq->budget, CLAIM_STEPS);
	switch (rl_table_claim(&s->table, &rq->candidates, slot)) {
	case RL_CLAIM_NEW:
		write_name(rq, *slot);
		rl_stats_add(s, rq->rule, RL_COUNT_inserted);
		return true;
	case RL_CLAIM_FOUND:
		return true;
	case RL_CLAIM_BUSY:
		return false;
	case RL_CLAIM_FULL:
		break;
	}
	rl_budget_take(rq->budget, EVICT_STEPS);
	eviction = rl_evict_for(rq->rl, &rq->candidates, rq->budget, rq->now_ns);
	if (!eviction.is_freed) {
		answer_full(rq, eviction.next_free_ns, r);
		*is_decided = true;
	}
	return false;
}

/* One try. True: decided. */
static bool
try_once(struct rl_request *rq, enum rl_mode mode, struct rl_result *r)
{
	struct rl_slot slot;
	bool is_decided = false;

	if (!rl_table_find(&rq->rl->segment.table, &rq->candidates, &slot)) {
		if (mode == RL_PEEK)
			return peek_nothing(rq, r);
		if (!claim(rq, &slot, &is_decided, r))
			return is_decided;
	}
	rq->slot = slot;
	return rl_decide_slot(rq, slot, mode, r);
}

static enum rl_verdict
undecided(int error, struct rl_result *r)
{
	r->error = error;
	return r->verdict = RL_UNDECIDED;
}

/* Above the limit, what is told is what a peek tells: no cost is as high. */
enum rl_verdict
rl_decide(struct rl_request *rq, uint64_t cost, enum rl_mode mode, struct rl_result *r)
{
	bool is_never = cost > rl_limiter_limit(&rq->limit->limiter, &rq->quota);

	if (mode == RL_CHARGE && !rq->rl->segment.is_writable)
		return undecided(-EROFS, r);
	rq->cost = is_never ? UINT32_MAX : cost > 0 ? (uint32_t)cost : 1;
	if (is_never) {
		mode = RL_PEEK;
		rq->is_asked = true;
	}
	while (rl_budget_take(rq->budget, TRY_STEPS)) {
		rq->slot.tag = 0;
		if (try_once(rq, mode, r))
			return r->verdict;
		rl_atomic_pause();
	}
	return undecided(-EBUSY, r);
}

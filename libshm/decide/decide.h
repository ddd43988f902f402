/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_DECIDE_H
#define RL_DECIDE_H

/*
 * Deciding about one limit: where table and algorithm meet. The journey of a key: find its slot,
 * load the state, ask the arithmetic what to do, and do it with one CAS16; if somebody else was
 * quicker, again from the find. What most requests meet is inline, so that it stays in registers:
 * a window that only has to add, or that one sub-bucket has used up. All else is a call away.
 */

#include "decide/ask.h"
#include "segment/view.h"

/* The clock is signed in most callers' languages; later times count as this one. */
#define RL_NOW_MAX (UINT64_MAX >> 1)

static inline uint64_t
rl_clamp_now(uint64_t now_ns)
{
	return now_ns < RL_NOW_MAX ? now_ns : RL_NOW_MAX;
}

/* For deciding so many limits. */
static inline struct rl_budget
rl_decision_budget(const struct rl_segment *s, unsigned limits)
{
	return (struct rl_budget){RL_DECIDE_STEPS + limits * RL_RING_TRIES * s->geometry.ring};
}

/* The candidate slots of a key's hash under a limit; the cache is told to expect them. */
static inline void
rl_request_candidates(const struct rl *rl, const struct rl_compiled *limit, uint64_t hash,
                      struct rl_candidates *candidates)
{
	*candidates = rl_table_candidates(&rl->segment.table, limit->owner, hash ^ limit->mix);
	rl_table_prefetch(&rl->segment.table, candidates);
}

/*
 * Decide about a cost, and charge it if that is the mode; cost 0 is a peek at 1. Returns the verdict of
 * the limit, and fills *ask.result: see rl_request_lift_shadow().
 */
enum rl_verdict rl_decide(struct rl_request *rq, uint64_t cost, enum rl_mode mode);

/*
 * If tables change: point a request at the table where its key is, which may move it there. 0; -EAGAIN; -ENOSPC: there is no
 * room for what is on its way; -ENOMEM. With rl_must_bring() only.
 */
int rl_request_bring(struct rl_request *rq);

/* A slot for a request's key that has none. 0; -EAGAIN; -ENOSPC. */
int rl_decide_claim(struct rl_request *rq, struct rl_slot *slot);

/*
 * Take units in flight, at a LIVE slot, 1 <= cost <= limit: the verdict; -EAGAIN the slot has changed; -ENOSPC
 * there is no seat for this process, or no place for its tally; -ENOMEM. There is to be a charge to fill.
 */
int rl_decide_units(struct rl *rl, const struct rl_ask *ask, const struct rl_candidates *candidates,
                    struct rl_slot slot, struct rl_budget *budget);

/* The answer if that is the decision, which charges nothing. Returns the verdict. */
enum rl_verdict rl_answer(const struct rl_ask *ask, const struct rl_decision *decision);

/* A peek at a key without a slot, or whose slot is being retired: it has counted nothing. */
enum rl_verdict rl_peek_nothing(const struct rl_ask *ask);

/*
 * All that rl_decide_slot() is not inline for. `budget` may be NULL: one of its own, and a slot that was never
 * charged is not decided where it may first have to be carried: see without_slot.h.
 */
int rl_decide_rest(const struct rl_ask *ask, struct rl_slot slot, const struct rl_view *view,
                   enum rl_seen seen, enum rl_mode mode, struct rl_budget *budget);

/* Fill *ask.charge with what `plan` has charged to the slot. Of units in flight that is not enough. */
void rl_hand_out(const struct rl_ask *ask, struct rl_slot slot, const struct rl_plan *plan);

static inline __attribute__((always_inline)) enum rl_verdict
rl_answer_charged(const struct rl_ask *a, struct rl_slot slot, const struct rl_plan *plan)
{
	if (a->charge)
		rl_hand_out(a, slot, plan);
	if (!a->result)
		return RL_ALLOWED;
	rl_fill_result(a, &plan->decision, RL_ALLOWED);
	a->result->delay_ns = plan->decision.delay_ns;
	return RL_ALLOWED;
}

static inline enum rl_verdict
rl_answer_denied(const struct rl_ask *a, const struct rl_decision *d)
{
	if (a->result) {
		rl_fill_result(a, d, RL_DENIED);
		a->result->retry_after_ns = rl_until(d->retry_at_ns, a->now_ns);
	}
	return RL_DENIED;
}

/* Make a charge that was planned for the state `seen`, and answer: the only CAS that charges. */
static inline __attribute__((always_inline)) int
rl_charge_planned(const struct rl_ask *a, struct rl_slot slot, struct rl_u128 seen,
                  const struct rl_plan *plan)
{
	if (!rl_atomic_cas16(rl_table_state(&a->segment->table, slot.index), seen, plan->next))
		return RL_AGAIN;
	return (int)rl_answer_charged(a, slot, plan);
}

/* Plan to charge a LIVE slot. False, unless one CAS of *seen does it. Writes nothing shared. */
static inline bool
rl_plan_charge(const struct rl_ask *a, struct rl_slot slot, struct rl_u128 *seen,
               struct rl_plan *plan)
{
	const struct rl_limiter *l = &a->limit->limiter;
	struct rl_view v;

	if (rl_view_load(a->segment, slot, &v) != RL_SEEN || v.is_zero)
		return false;
	*seen = v.word;
	if (rl_limiter_is_window(l))
		return rl_limiter_adds(l, &a->quota, &v, a->cost, a->now_ns, plan);
	rl_limiter_decide(l, &a->quota, &v, a->cost, a->now_ns, false, plan);
	return plan->step == RL_STEP_ADMIT;
}

/*
 * Decide by the state of a LIVE slot, 1 <= cost <= limit, and charge it there. The verdict, or
 * RL_AGAIN, from the find on.
 */
static inline __attribute__((always_inline)) int
rl_decide_slot(const struct rl_ask *a, struct rl_slot slot, enum rl_mode mode,
               struct rl_budget *budget)
{
	const struct rl_limiter *l = &a->limit->limiter;
	struct rl_view v, copy;
	struct rl_ask other;
	struct rl_plan plan;
	uint64_t used;
	bool admits;
	enum rl_seen seen = rl_view_load(a->segment, slot, &v);

	if (seen == RL_SEEN && rl_limiter_is_window(l) && a->cost <= a->quota.capacity) {
		if (mode == RL_CHARGE &&
		    rl_limiter_adds(l, &a->quota, &v, a->cost, a->now_ns, &plan))
			return rl_charge_planned(a, slot, v.word, &plan);
		if (a->quota.counts_denied)
			goto rest;
		if (rl_limiter_is_used_up(l, &a->quota, &v, a->cost, a->now_ns, &plan.decision))
			return (int)rl_answer_denied(a, &plan.decision);
		if (rl_limiter_counts(l, &v, a->now_ns, &used)) {
			admits = used + a->cost <= a->quota.capacity;
			if (!a->result && mode == RL_PEEK)
				return admits ? RL_ALLOWED : RL_DENIED;
			if (!a->result && !admits)
				return RL_DENIED;
			if (mode == RL_PEEK && admits && v.word.lo >> RL_STATE_CUR_SHIFT > 0) {
				plan.decision =
					rl_limiter_decision(l, &a->quota, a->cost, used, a->now_ns);
				return (int)rl_answer(a, &plan.decision);
			}
		}
	} else if (seen == RL_SEEN && mode == RL_CHARGE && l->is_anchored &&
	           rl_limiter_adds_anchored(l, &a->quota, &v, a->cost, a->now_ns, &plan)) {
		return rl_charge_planned(a, slot, v.word, &plan);
	}
rest:
	other = *a; /* what is passed on does not stay in registers */
	copy = v;
	return rl_decide_rest(&other, slot, &copy, seen, mode, budget);
}

/* The part of rl_decide_lent() that is not inline: more than an addition, and a wish for a larger share. */
int rl_decide_lent_rest(const struct rl_ask *ask, struct rl_slot slot, const struct rl_view *view,
                        enum rl_seen seen, const void *key, size_t key_len,
                        struct rl_budget *budget);
void rl_decide_wish(const struct rl_ask *ask, struct rl_slot slot, const void *key, size_t key_len);

/*
 * Of a share that is nearly used up, or more than that was asked for, there is to be more if there is any. That is no
 * longer so if all that the rule gives is here; of a key to which the store gives more, nobody here knows how much.
 */
static inline bool
rl_lent_wants_more(const struct rl_quota *q, uint32_t limit, uint32_t used, uint32_t remaining,
                   int decided)
{
	uint32_t lent = used + remaining;

	if (q->has_lease && lent == limit)
		return false;
	return decided == RL_DENIED || remaining < lent / 4 + (lent < 4);
}

/*
 * Decide about a LIVE slot under a limit of a cluster, 1 <= cost <= limit, and charge it there; a larger share is
 * wished for if it is time. `key` is the name that the cluster knows it by. The verdict, or RL_AGAIN.
 */
static inline __attribute__((always_inline)) int
rl_decide_lent(const struct rl_ask *a, struct rl_slot slot, const void *key, size_t key_len,
               struct rl_budget *budget)
{
	const struct rl_decision *d;
	struct rl_view v, copy;
	struct rl_ask other;
	struct rl_plan plan;
	enum rl_seen seen = rl_view_load(a->segment, slot, &v);
	int decided;

	if (seen != RL_SEEN ||
	    !rl_limiter_lent_adds(&a->limit->limiter, &a->quota, &v, a->cost, a->now_ns, &plan)) {
		other = *a; /* as in rl_decide_slot() */
		copy = v;
		return rl_decide_lent_rest(&other, slot, &copy, seen, key, key_len, budget);
	}
	decided = rl_charge_planned(a, slot, v.word, &plan);
	d = &plan.decision;
	if (decided == RL_ALLOWED && rl_lent_wants_more(&a->quota, a->quota.capacity,
	                                                rl_decision_used(d), d->remaining, decided))
		rl_decide_wish(a, slot, key, key_len);
	return decided;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_DECIDE_H
#define RL_DECIDE_H

/*
 * Deciding about one limit: where table and algorithm meet. The journey of a key: find its slot,
 * load the state, ask the arithmetic what to do, and do it with one CAS16; if somebody else was
 * quicker, again from the find. What most requests meet is inline, so that it stays in registers:
 * a window that only has to add, or that one sub-bucket has used up. All else is a call away.
 */

#include "rule/address.h"
#include "rule/policy.h"
#include "segment/view.h"
#include "shared/budget.h"

/* The clock is signed in most callers' languages; later times count as this one. */
#define RL_NOW_MAX (UINT64_MAX >> 1)

static inline uint64_t
rl_clamp_now(uint64_t now_ns)
{
	return now_ns < RL_NOW_MAX ? now_ns : RL_NOW_MAX;
}

enum rl_mode {
	RL_CHARGE,
	RL_PEEK, /* writes nothing */
};

/* What is asked of a limit. All of it stays in registers, where the slot is at hand. */
struct rl_ask {
	const struct rl_segment *segment;
	const struct rl_compiled *limit;
	struct rl_quota quota;
	uint64_t now_ns;
	uint32_t cost;            /* at least 1 */
	unsigned index;           /* which of its rule's limits */
	struct rl_result *result; /* NULL: for the verdict alone */
	uint64_t hash;            /* of the key, whatever the limit */
	struct rl_charge *charge; /* NULL, or to be filled if it is charged */
};

/* The same of a key, whose candidate slots are known. */
struct rl_request {
	struct rl_ask ask;
	struct rl *rl;
	int rule;        /* whose limit, and whose statistics */
	const void *key; /* NULL: it is `network` */
	size_t key_len;
	uint32_t tier; /* the capacity that it has brought along for this limit; 0: none */
	struct rl_candidates candidates;
	struct rl_slot slot;      /* where it was decided, if slot.tag is not 0 */
	struct rl_budget *budget; /* set by who decides */
	unsigned char network[RL_NETWORK_KEY_MAX];
};

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

/* What a decision is before there is one: somebody else was quicker, or the slot is the key's no more. */
#define RL_AGAIN (-1)

/*
 * Decide about a cost, and charge it if that is the mode; cost 0 is a peek at 1. Returns the verdict of
 * the limit, and fills *ask.result: see rl_request_lift_shadow().
 */
enum rl_verdict rl_decide(struct rl_request *rq, uint64_t cost, enum rl_mode mode);

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

/* All that rl_decide_slot() is not inline for. `budget` may be NULL: one of its own. */
int rl_decide_rest(const struct rl_ask *ask, struct rl_slot slot, const struct rl_view *view,
                   enum rl_seen seen, enum rl_mode mode, struct rl_budget *budget);

/* Fill *ask.charge with what `plan` has charged to the slot. Of units in flight that is not enough. */
void rl_hand_out(const struct rl_ask *ask, struct rl_slot slot, const struct rl_plan *plan);

_Static_assert(sizeof(struct rl_charge) == 32, "callers keep them");
_Static_assert(sizeof(struct rl_hold) == 32, "as large as a charge");
_Static_assert(sizeof(struct rl_result) == 64, "a line");

static inline uint64_t
rl_until(uint64_t then_ns, uint64_t now_ns)
{
	if (then_ns == UINT64_MAX) /* an epoch that only damage makes */
		return RL_NEVER_NS;
	return then_ns > now_ns ? then_ns - now_ns : 0;
}

static inline void
rl_fill_result(const struct rl_ask *a, const struct rl_decision *d, enum rl_verdict verdict)
{
	struct rl_result *r = a->result;

	r->verdict = verdict;
	r->error = 0;
	r->reason = RL_BY_LIMIT;
	r->index = a->index;
	r->limit = d->limit;
	r->remaining = d->remaining;
	r->used = d->limit - d->remaining + d->beyond;
	r->retry_after_ns = 0;
	r->reset_after_ns = rl_until(d->reset_at_ns, a->now_ns);
	r->delay_ns = 0;
	r->window_ns = a->limit->limiter.window_ns;
	r->is_shadow_denied = 0;
}

static inline enum rl_verdict
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
static inline int
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

	if (rl_view_load(a->segment, slot, &v) != RL_SEEN)
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
	} else if (seen == RL_SEEN && mode == RL_CHARGE && l->algorithm == RL_ANCHORED_WINDOW &&
	           rl_limiter_adds_anchored(l, &a->quota, &v, a->cost, a->now_ns, &plan)) {
		return rl_charge_planned(a, slot, v.word, &plan);
	}
rest:
	other = *a; /* what is passed on does not stay in registers */
	copy = v;
	return rl_decide_rest(&other, slot, &copy, seen, mode, budget);
}

#endif

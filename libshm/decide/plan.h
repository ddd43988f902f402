/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_PLAN_H
#define RL_PLAN_H

/*
 * Where table and algorithm meet: a key's slot is found and its state loaded, the limit's row says
 * what is to be done, and one CAS16 does it. Whoever was quicker makes that CAS fail, and nothing
 * was done. Most decisions are no more than this, so it is inline.
 */

#include "algorithm/adds.h"
#include "decide/expect.h"
#include "decide/share_wish.h"
#include "holder/holder.h"

/* Fill *p->charge with what was charged at the part's slot. */
void rl_part_hand_out(const struct rl_part *p, uint64_t charge_id, uint32_t memory);

/* The same of what was charged to an overflow counter. */
void rl_part_hand_out_overflow(const struct rl_part *p);

/*
 * Find the key's slot, and load its state. True: it is there, and was charged before. Writes
 * nothing.
 */
static inline __attribute__((always_inline)) bool
rl_part_see(struct rl_part *p)
{
	return rl_table_find(&p->segment->table, &p->candidates, &p->slot) &&
	       rl_view_load(p->segment, p->slot, &p->view) == RL_SEEN && !p->view.is_zero;
}

/* A window of this host: what it is asked stays in registers. */
static inline __attribute__((always_inline)) bool
rl_part_adds(struct rl_part *p)
{
	const struct rl_ask ask = rl_part_ask(p);

	return rl_adds_to_window(&ask, &p->plan);
}

/*
 * Plan by the state that was seen, 1 <= cost <= `most`, which is the limit; a peek may cost more.
 * RL_ALLOWED: p->plan is to be carried out, if it is no peek. A denial is answered, unless the plan
 * counts it. RL_AGAIN: what was read of the ring is of another state. Writes nothing.
 */
static inline __attribute__((always_inline)) int
rl_part_plan(struct rl_part *p, enum rl_how how, uint32_t most)
{
	const struct rl_limiter *l = &p->limit->limiter;
	enum rl_verdict verdict = RL_DENIED;
	struct rl_plan *plan = &p->plan;
	struct rl_ask ask;

	plan->decision = (struct rl_decision){.limit = most};
	if (how == RL_CHECK && l->is_window && rl_part_adds(p))
		return RL_ALLOWED;
	ask = rl_part_ask(p);
	if (how == RL_PEEK) {
		l->ops->peek(&ask, &plan->decision);
		verdict = rl_part_peeked(p);
	} else {
		l->ops->decide(&ask, plan);
		if (plan->step != RL_STEP_DENY)
			return plan->step == RL_STEP_COUNT ? RL_DENIED : RL_ALLOWED;
	}
	if (!rl_view_holds(p->segment, l, p->slot, &p->view))
		return RL_AGAIN;
	return (int)rl_part_answer(p, &plan->decision, verdict);
}

/*
 * The same by a look at the key's slot and nothing else. RL_AGAIN, too: it takes more than a slot
 * that was charged before. 1 <= cost.
 */
static inline __attribute__((always_inline)) int
rl_part_look(struct rl_part *p, uint64_t cost, enum rl_how how)
{
	const struct rl_limiter *l = &p->limit->limiter;
	uint32_t most = rl_limiter_limit(l, &p->quota);

	if (cost > most || (how == RL_CHECK && !p->segment->is_writable))
		return RL_AGAIN;
	if (l->is_held) {
		if (rl_table_is_filling(&p->segment->table))
			return RL_AGAIN;
		p->quota.label = rl_holders_label(p->rl->handle->holders);
	}
	if (!rl_part_see(p))
		return RL_AGAIN;
	rl_expect_record(p->rl, p->slot, p->now_ns);
	p->cost = (uint32_t)cost;
	return rl_part_plan(p, how, most);
}

/* Is one CAS all that is left of a charge that a look has planned? Of a denial it is nothing. */
static inline bool
rl_part_is_one_step(const struct rl_part *p)
{
	return p->plan.step == RL_STEP_DENY || p->plan.step == RL_STEP_ADMIT;
}

/*
 * Make the plan's only step, or its last: the verdict; RL_AGAIN: others were quicker, or that
 * decides nothing. A denial is answered, and an admission is for the caller to answer.
 */
static inline __attribute__((always_inline)) int
rl_part_carry_out(struct rl_part *p)
{
	const struct rl_plan *plan = &p->plan;

	if (!rl_atomic_cas16(rl_table_state(&p->segment->table, p->slot.index), p->view.word,
	                     plan->next))
		return RL_AGAIN;
	if (__builtin_expect(!plan->charges, 0))
		return plan->step == RL_STEP_COUNT
		               ? (int)rl_part_answer(p, &plan->decision, RL_DENIED)
		               : RL_AGAIN;
	if (p->charge)
		rl_part_hand_out(p, plan->charge_id, plan->memory);
	if (p->limit->limiter.is_shared)
		rl_share_wish(p, RL_ALLOWED);
	return RL_ALLOWED;
}

/* The same, answered. */
static inline __attribute__((always_inline)) int
rl_part_charge(struct rl_part *p)
{
	int verdict = rl_part_carry_out(p);

	return verdict == RL_ALLOWED ? (int)rl_part_answer(p, &p->plan.decision, RL_ALLOWED)
	                             : verdict;
}

/* A charge was denied as planned, and the request is. */
static inline void
rl_part_denied(const struct rl_part *p)
{
	if (p->limit->limiter.is_shared)
		rl_share_wish(p, RL_DENIED);
}

#endif

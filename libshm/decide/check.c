/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One item. What a look plans, one CAS charges; what takes more than a look is rl_decide()'s.
 */
#include "decide/check.h"

#include "decide/ahead.h"
#include "decide/answered.h"
#include "decide/plan.h"
#include "decide/several.h"
#include "move/follow.h"

/* As a look at its slot plans it; or by whatever it takes. */
static inline __attribute__((always_inline)) int
charge_alone(struct rl_part *p, uint64_t cost)
{
	int decided = RL_AGAIN;

	if (p->quota.prefetch > 0 && p->tier == 0)
		decided = rl_ahead_charge(p, cost);
	if (decided != RL_AGAIN)
		return decided;
	decided = rl_part_look(p, cost, RL_CHARGE);
	if (decided == RL_ALLOWED && rl_part_is_one_step(p))
		decided = rl_part_charge(p);
	else if (decided == RL_DENIED && rl_part_is_one_step(p))
		rl_part_denied(p);
	else if (decided != RL_AGAIN)
		decided = rl_decide_carry_out(p);
	return decided == RL_AGAIN ? (int)rl_decide(p, cost, RL_CHARGE) : decided;
}

static inline __attribute__((always_inline)) int
peek_alone(struct rl_part *p)
{
	bool is_filling = rl_table_is_filling(&p->segment->table); /* before the look: it may end */
	int decided = rl_part_look(p, 1, RL_PEEK);

	if (decided == RL_AGAIN && p->slot.tag == 0 && !is_filling)
		decided = rl_decide_absent(p);
	return decided == RL_AGAIN ? (int)rl_decide(p, 0, RL_PEEK) : decided;
}

/* An item of one part: there is no other that might say no, so it is charged at once. */
static inline __attribute__((always_inline)) enum rl_verdict
decide_alone(const struct rl_item *item, uint64_t now_ns, struct rl_part *p,
             struct rl_result *result)
{
	struct rl_budget budget = rl_decision_budget(p->segment, 1);
	struct rl_charges *to = item->charges;
	struct rl_result unused;
	enum rl_verdict verdict;

	p->budget = &budget;
	p->is_asked = result || p->tier > 0;
	p->result = result ? result : &unused;
	if (to) {
		p->charge = to->charge;
		p->charge->cost = 0;
	}
	verdict = (enum rl_verdict)(item->cost > 0 ? charge_alone(p, item->cost) : peek_alone(p));
	if (to)
		to->count = p->charge->cost > 0;
	if (item->cost == 0)
		return rl_part_lift_shadow(p, verdict);
	if (verdict == RL_ALLOWED && p->tier == 0) {
		rl_answered_allowed(p->segment, p->rule, p->slot, p->cost);
		return verdict;
	}
	verdict = rl_part_lift_shadow(p, verdict);
	rl_answered(p->rl, p->rule, item, p, 1, p, p->result, now_ns);
	return verdict;
}

enum rl_verdict
rl_check_one(struct rl *rl, int rule, const struct rl_item *item, const struct rl_booking *booking,
             uint64_t now_ns, struct rl_result *result)
{
	struct rl_result unused, *r = result ? result : &unused;
	struct rl_part part[RL_LIMITS_MAX];
	unsigned parts = 0;

	if (!booking)
		parts = rl_request_take(rl_here_known(rl), rule, item, now_ns, part);
	if (parts == 0)
		parts = rl_request_make(rl_here(rl), rule, item, booking, now_ns, part,
		                        RL_LIMITS_MAX, r);
	return parts == 1 ? decide_alone(item, now_ns, part, result)
	                  : rl_several_decide(rl_here(rl), item, now_ns, part, parts, r);
}

enum rl_verdict
rl_reserve_item_at(struct rl *rl, const struct rl_item *item, uint64_t max_wait_ns, uint64_t now_ns,
                   struct rl_result *result)
{
	const struct rl_booking booking = {.max_wait_ns = max_wait_ns};

	return rl_check_one(rl, item->rule, item, &booking, now_ns, result);
}

enum rl_verdict
rl_check_all_at(struct rl *rl, const struct rl_item *items, size_t count, uint64_t now_ns,
                struct rl_result *results, size_t *decided)
{
	return rl_several_check(rl, items, count, NULL, now_ns, results, decided);
}

enum rl_verdict
rl_reserve_all_at(struct rl *rl, const struct rl_item *items, size_t count, uint64_t max_wait_ns,
                  uint64_t now_ns, struct rl_result *results, size_t *decided)
{
	const struct rl_booking booking = {.max_wait_ns = max_wait_ns};

	return rl_several_check(rl, items, count, &booking, now_ns, results, decided);
}

enum rl_verdict
rl_check_all(struct rl *rl, const struct rl_item *items, size_t count, struct rl_result *results,
             size_t *decided)
{
	return rl_check_all_at(rl, items, count, rl_segment_now(&rl->segment), results, decided);
}

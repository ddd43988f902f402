/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One item. What a look plans, one CAS charges; what takes more than a look is rl_part_decide()'s.
 */
#include "decide/check.h"

#include "decide/answered.h"
#include "decide/exception.h"
#include "decide/plan.h"
#include "decide/prefetch.h"
#include "decide/several.h"
#include "decide/spend.h"
#include "move/follow.h"

/* As a look at its slot plans it; or by whatever it takes. */
static inline __attribute__((always_inline)) int
charge_alone(struct rl_part *p, uint64_t cost)
{
	int decided = RL_AGAIN;

	if (p->quota.prefetch > 0 && p->tier == 0)
		decided = rl_prefetch_charge(p, cost);
	if (decided != RL_AGAIN)
		return decided;
	decided = rl_part_look(p, cost, RL_CHECK);
	if (decided == RL_ALLOWED && rl_part_is_one_step(p))
		decided = rl_part_charge(p);
	else if (decided == RL_DENIED && rl_part_is_one_step(p))
		rl_part_denied(p);
	else if (decided != RL_AGAIN)
		decided = rl_decide_carry_out(p);
	return decided == RL_AGAIN ? (int)rl_part_decide(p, cost, RL_CHECK) : decided;
}

static inline __attribute__((always_inline)) int
peek_alone(struct rl_part *p)
{
	bool is_filling = rl_table_is_filling(&p->segment->table); /* before the look: it may end */
	int decided = rl_part_look(p, 1, RL_PEEK);

	if (decided == RL_AGAIN && p->slot.tag == 0 && !is_filling)
		decided = rl_decide_absent(p);
	return decided == RL_AGAIN ? (int)rl_part_decide(p, 0, RL_PEEK) : decided;
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
	verdict = (enum rl_verdict)(p->asked > 0 ? charge_alone(p, p->asked) : peek_alone(p));
	if (to)
		to->count = p->charge->cost > 0;
	if (item->cost == 0)
		return rl_part_lift_shadow(p, verdict);
	if (verdict == RL_ALLOWED && p->tier == 0) {
		rl_stats_add(p->segment, p->rule, RL_COUNT_allowed);
		return verdict;
	}
	verdict = rl_part_lift_shadow(p, verdict);
	rl_answered(p->rl, p->rule, item, p, 1, p, p->result, now_ns);
	return verdict;
}

/*
 * RL_UNANSWERED: the item, whose rule has one limit for whole keys, is that part, and is left to
 * decide. Else it is answered, or RL_AGAIN.
 */
static inline __attribute__((always_inline)) int
take(struct rl *rl, int rule, const struct rl_item *item, uint64_t now_ns,
     const struct rl_policy_look *look, struct rl_part *p, struct rl_result *result)
{
	const struct rl_segment *s = &rl->segment;
	uint64_t hash;

	if (!rl_request_take_limits(rl, rule, item, now_ns, look, 1, p))
		return RL_AGAIN;
	hash = rl_hash_of_key(s->key_start, item->key, item->key_len);
	if (__builtin_expect((look->steps & RL_POLICY_ASKS) != 0, 0) &&
	    !rl_policy_has_none_for(rl, rule, look->version, item->key, item->key_len, hash)) {
		struct rl_exception_left left =
			rl_exception_of_key(rl, rule, item->key, item->key_len, item->cost, now_ns,
		                            result, look->cached, look->sequence);

		if (left.decided != RL_UNANSWERED)
			return left.decided;
		if (left.capacity > 0)
			rl_policy_set_capacity(&p->limit->limiter, left.capacity, &p->quota);
	}
	rl_request_place(p, hash);
	return RL_UNANSWERED;
}

/*
 * By what is cached of its rule: the parts that are left to decide. 0: *decided says so already, or
 * it is RL_AGAIN.
 */
static inline __attribute__((always_inline)) unsigned
take_cached(struct rl *rl, int rule, const struct rl_item *item, const struct rl_booking *booking,
            uint64_t now_ns, struct rl_part part[static RL_LIMITS_MAX], struct rl_result *result,
            int *decided)
{
	struct rl_policy_look look;

	*decided = RL_AGAIN;
	rl_request_clear(item);
	if (!rl_request_look(rl, rule, item, now_ns, &look))
		return 0;
	if (look.steps & (RL_POLICY_PREFIXES | RL_POLICY_MORE) ||
	    rl_request_has_wishes(item, booking))
		return rl_request_take_all(rl, rule, item, booking, now_ns, look, part,
		                           RL_LIMITS_MAX);
	*decided = take(rl, rule, item, now_ns, &look, part, result);
	return *decided == RL_UNANSWERED;
}

enum rl_verdict
rl_check_one(struct rl *rl, int rule, const struct rl_item *item, const struct rl_booking *booking,
             uint64_t now_ns, struct rl_result *result)
{
	struct rl_result unused, *r = result ? result : &unused;
	struct rl_part part[RL_LIMITS_MAX];
	unsigned parts;
	int decided;

	parts = take_cached(rl_here_known(rl), rule, item, booking, now_ns, part, result, &decided);
	if (parts == 0 && decided != RL_AGAIN)
		return (enum rl_verdict)decided;
	if (parts == 0 && item->flags & RL_ITEM_SPEND)
		return rl_spend_item(rl_here(rl), rule, item, now_ns, r);
	if (parts == 0)
		parts = rl_request_make(rl_here(rl), rule, item, booking, now_ns, part,
		                        RL_LIMITS_MAX, r);
	return parts == 1 ? decide_alone(item, now_ns, part, result)
	                  : rl_several_decide(rl_here(rl), item, now_ns, part, parts, r);
}

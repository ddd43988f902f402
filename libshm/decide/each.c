/* SPDX-License-Identifier: BSD-2-Clause */
#include "decide/each.h"

#include "decide/answered.h"
#include "decide/plan.h"
#include "decide/refund.h"

#define TRIES 16 /* to charge a limit, before those before it are given back */

/* A limit: where the key is, what was seen there, and what is planned. */
struct each {
	struct rl_usual u;
	struct rl_view view;
	struct rl_plan plan;
};

/* What the rule says. False: that is of another kind, or does not hold. */
static inline __attribute__((always_inline)) bool
take(int rule, uint64_t cost, const struct rl_policy_look *look, unsigned count, struct each *each)
{
	const uint64_t known = RL_POLICY_ASKS | RL_POLICY_BUCKET | RL_POLICY_MORE;
	bool has_room = true;

	if ((look->steps & ~known) != rl_policy_plain_steps(rule))
		return false;
	for (unsigned i = 0; i < count; i++) {
		rl_usual_take_limit(look->steps, &look->cached->policy.limit[i], &each[i].u);
		has_room &= cost - 1 < each[i].u.quota.capacity;
	}
	return rl_policy_look_holds(look) && has_room;
}

/* A denial says in the plan until when. */
static inline __attribute__((always_inline)) int
plan(const struct rl *rl, uint64_t cost, uint64_t now_ns, struct each *e)
{
	const struct rl_limiter *l = &e->u.limit->limiter;
	bool is_bucket = rl_limiter_is_bucket(l);
	const struct rl_ask ask = {
		.l = l, .q = &e->u.quota, .v = &e->view, .cost = (uint32_t)cost, .now_ns = now_ns};

	if (!rl_usual_find(rl, now_ns, &e->u) ||
	    rl_view_load(&rl->segment, e->u.slot, &e->view) != RL_SEEN)
		return RL_AGAIN;
	if (is_bucket ? rl_adds_to_bucket(&ask, &e->plan) : rl_adds(&ask, &e->plan))
		return RL_ALLOWED;
	return (is_bucket ? rl_adds_nothing_to_bucket(&ask, &e->plan.decision)
	                  : rl_adds_nothing(&ask, &e->plan.decision))
	               ? RL_DENIED
	               : RL_AGAIN;
}

/* Of those that deny, the one that does so the longest; NULL: all admit it. Or RL_AGAIN. */
static inline __attribute__((always_inline)) int
plan_all(const struct rl *rl, uint64_t cost, uint64_t now_ns, struct each *each, unsigned count,
         struct each **denier)
{
	*denier = NULL;
	for (struct each *e = each; e < each + count; e++) {
		int planned = plan(rl, cost, now_ns, e);

		if (planned == RL_AGAIN)
			return RL_AGAIN;
		if (planned == RL_DENIED &&
		    (!*denier ||
		     e->plan.decision.retry_at_ns > (*denier)->plan.decision.retry_at_ns))
			*denier = e;
	}
	return *denier ? RL_DENIED : RL_ALLOWED;
}

/* As it was planned, or as it can be planned by now. */
static inline __attribute__((always_inline)) bool
charge(const struct rl *rl, uint64_t cost, uint64_t now_ns, struct each *e)
{
	for (int tries = 0; tries < TRIES; tries++) {
		if (__builtin_expect(
			    rl_atomic_cas16(rl_table_state(&rl->segment.table, e->u.slot.index),
		                            e->view.word, e->plan.next),
			    1))
			return true;
		if (plan(rl, cost, now_ns, e) != RL_ALLOWED)
			return false;
	}
	return false;
}

static __attribute__((noinline, cold)) void
give_back(struct rl *rl, uint64_t cost, uint64_t now_ns, const struct each *e)
{
	struct rl_charge charge;
	struct rl_part p;

	p.segment = &rl->segment;
	p.limit = e->u.limit;
	p.quota.capacity = e->u.quota.capacity;
	p.hash = e->u.hash;
	p.candidates = e->u.candidates;
	p.slot = e->u.slot;
	p.cost = (uint32_t)cost;
	p.charge = &charge;
	rl_part_hand_out(&p, e->plan.charge_id, e->plan.memory);
	rl_refund_charge(rl, &charge, now_ns);
}

/* All of them, or nothing. */
static inline __attribute__((always_inline)) bool
charge_all(struct rl *rl, uint64_t cost, uint64_t now_ns, struct each *each, unsigned count)
{
	for (struct each *e = each; e < each + count; e++) {
		if (__builtin_expect(charge(rl, cost, now_ns, e), 1))
			continue;
		while (e-- > each)
			give_back(rl, cost, now_ns, e);
		return false;
	}
	return true;
}

/* It is denied as its plan says. But for the key, that is a part. */
static inline __attribute__((always_inline)) void
deny(struct rl *rl, int rule, uint64_t now_ns, struct rl_result *result, const struct each *denier,
     unsigned index, struct rl_part *p)
{
	p->rl = rl;
	p->segment = &rl->segment;
	p->now_ns = now_ns;
	p->rule = rule;
	p->slot = denier->u.slot;
	p->index = index;
	p->limit = denier->u.limit;
	p->result = result;
	p->is_asked = true;
	rl_part_answer(p, &denier->plan.decision, RL_DENIED);
}

/* What has the least left says so, and what delays the longest, for how long. */
static inline __attribute__((always_inline)) void
answer(const struct each *each, unsigned count, uint64_t now_ns, struct rl_result *result)
{
	const struct each *best = each;
	uint64_t delay_ns = each->plan.decision.delay_ns;

	for (const struct each *e = each + 1; e < each + count; e++) {
		if (e->plan.decision.remaining < best->plan.decision.remaining)
			best = e;
		if (e->plan.decision.delay_ns > delay_ns)
			delay_ns = e->plan.decision.delay_ns;
	}
	rl_result_fill(result, RL_ALLOWED, (unsigned)(best - each),
	               best->u.limit->limiter.window_ns, &best->plan.decision, now_ns);
	result->delay_ns = delay_ns;
}

int
rl_each_decide(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t hash,
               uint64_t cost, uint64_t now_ns, struct rl_result *result,
               const struct rl_policy_look *look)
{
	unsigned count = (unsigned)(look->steps >> RL_POLICY_MORE_SHIFT & RL_POLICY_MORE_MASK) + 1;
	struct each each[RL_LIMITS_MAX], *denier;
	struct rl_result unused;
	struct rl_part p;
	int decided;

	if (!take(rule, cost, look, count, each))
		return RL_AGAIN;
	for (unsigned i = 0; i < count; i++) {
		rl_usual_place(rl, hash, &each[i].u);
		rl_table_prefetch(&rl->segment.table, &each[i].u.candidates);
	}
	decided = plan_all(rl, cost, now_ns, each, count, &denier);
	if (decided == RL_DENIED) {
		deny(rl, rule, now_ns, result ? result : &unused, denier, (unsigned)(denier - each),
		     &p);
		p.key = key;
		p.key_len = key_len;
		rl_answered_denied(&p, key, key_len);
		return RL_DENIED;
	}
	if (decided == RL_AGAIN || !charge_all(rl, cost, now_ns, each, count))
		return RL_AGAIN;
	rl_stats_add(&rl->segment, rule, RL_COUNT_allowed);
	if (result)
		answer(each, count, now_ns, result);
	return RL_ALLOWED;
}

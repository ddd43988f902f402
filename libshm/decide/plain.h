/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_PLAIN_H
#define RL_PLAIN_H

/*
 * A request that needs no look aside: its rule has one limit for whole keys and nothing for this
 * key alone, and the key has its slot. Most requests are of this kind, so all of it is inline.
 */

#include "decide/answered.h"
#include "reserve/sets.h"

struct rl_plain {
	struct rl_ask ask;
	struct rl_candidates candidates;
};

/* False: it is of another kind, or unsound. `kind`: as for rl_policy_plain_of(). */
static inline __attribute__((always_inline)) bool
rl_plain_make(struct rl *rl, const struct rl_item *item, uint64_t now_ns, struct rl_result *result,
              uint64_t kind, struct rl_plain *plain)
{
	const struct rl_segment *s = &rl->segment;
	struct rl_policy_limit own;

	if ((item->capacity | item->flags) > 0 || item->key_len - 1 >= RL_KEY_MAX || !item->key ||
	    !rl_policy_plain_of(rl, item->rule, item->key, item->key_len, now_ns, kind, &own))
		return false;
	plain->ask = (struct rl_ask){
		.segment = s,
		.limit = own.limit,
		.quota = own.quota,
		.now_ns = rl_clamp_now(now_ns),
		.cost = item->cost > 0 ? (uint32_t)item->cost : 1,
		.result = result,
		.hash = rl_hash_of_key(s->key_start, item->key, item->key_len),
		.charge = rl_item_charge(item),
	};
	plain->candidates =
		rl_table_candidates(&s->table, own.limit->owner, plain->ask.hash ^ own.limit->mix);
	return true;
}

/* May rl_decide_slot() decide about it? */
static inline __attribute__((always_inline)) bool
rl_plain_fits(const struct rl_ask *a, uint64_t cost)
{
	return (cost > 0 ? cost : 1) <= rl_limiter_limit(&a->limit->limiter, &a->quota) &&
	       (cost == 0 || a->segment->is_writable);
}

/* A copy: what is passed on does not stay in registers. */
static __attribute__((noinline)) int
rl_plain_peek_nothing(struct rl_ask a)
{
	const struct rl_table *t = &a.segment->table;

	if (rl_sets_are_used(a.segment, a.now_ns) || rl_table_is_filling(t) || rl_table_is_left(t))
		return RL_AGAIN; /* it may be counted elsewhere */
	return (int)rl_peek_nothing(&a);
}

/* Charge it at its key's slot, as its kind does that. RL_AGAIN: nothing was done, or it takes many steps. */
static inline __attribute__((always_inline)) int
rl_plain_charge(struct rl *rl, const struct rl_item *item, const struct rl_plain *plain,
                struct rl_slot slot, uint64_t kind)
{
	struct rl_budget budget = {RL_DECIDE_STEPS / 64};
	const struct rl_ask *a = &plain->ask;
	int decided;

	if (kind == RL_POLICY_LENT)
		return rl_decide_lent(a, slot, item->key, item->key_len, NULL);
	if (kind != RL_POLICY_HELD)
		return rl_decide_slot(a, slot, RL_CHARGE, NULL);
	if (!a->charge || rl_table_is_filling(&a->segment->table))
		return RL_AGAIN;
	decided = rl_decide_units(rl, a, &plain->candidates, slot, &budget);
	return decided < 0 || (decided == RL_DENIED && budget.left == 0) ? RL_AGAIN : decided;
}

/* Decide, by the key's slot if that was found, and answer. RL_AGAIN: nothing was done. */
static inline __attribute__((always_inline)) int
rl_plain_decide(struct rl *rl, const struct rl_item *item, const struct rl_plain *plain,
                bool is_found, struct rl_slot slot, uint64_t kind)
{
	const struct rl_ask *a = &plain->ask;
	int decided;

	if (!rl_plain_fits(a, item->cost) || (!is_found && item->cost > 0))
		return RL_AGAIN;
	if (item->cost == 0)
		decided = is_found ? rl_decide_slot(a, slot, RL_PEEK, NULL)
		                   : rl_plain_peek_nothing(*a);
	else
		decided = rl_plain_charge(rl, item, plain, slot, kind);
	if (decided == RL_AGAIN)
		return RL_AGAIN;
	if (item->cost > 0)
		rl_answered(rl, item, a, slot, (enum rl_verdict)decided);
	rl_item_charged(item);
	return (int)rl_request_lift_shadow(a, (enum rl_verdict)decided);
}

#endif

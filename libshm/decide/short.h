/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_SHORT_H
#define RL_SHORT_H

/*
 * The fast path of a decision. Most rules have one limit that counts whole keys, and neither an
 * override nor a ban to look for; most requests are for a key that has its slot, in the sub-bucket
 * that the slot's state is in; and most are admitted. All this is inline, so that it stays in
 * registers. Each step says false to whatever else there is: then request.c and decision.c decide,
 * which answer the same to what takes the fast path.
 */

#include "decide/request.h"

/*
 * Of a rule's references, the only limit, if it is the rule's and counts whole keys. Whether its row
 * holds it is still to be asked.
 */
static inline const struct rl_compiled *
rl_short_limit(const struct rl *rl, int rule, struct rl_u128 refs)
{
	const struct rl_compiled *limit;

	if (refs.hi != rl_rule_refs_tag(rule) || refs.lo > RL_REF_MASK)
		return NULL;
	limit = rl_handle_known(rl, (int)refs.lo - 1);
	return limit && limit->rule == rl_rule_row(rule) && !limit->has_prefix ? limit : NULL;
}

/* Is the row the rule's still, now that its list was read, without an override or a ban? */
static inline bool
rl_short_flags(const struct rl_segment *s, int rule)
{
	const uint64_t others = RL_ROW_INCARNATION_MASK << RL_ROW_INCARNATION_SHIFT |
	                        RL_ROW_OVERRIDES | RL_ROW_OVERRIDES << 1 | RL_ROW_BANS;
	uint64_t flags = rl_atomic_load(&rl_rules_at(s, rule)->flags);

	return (flags & others) == rl_rule_incarnation(rule) << RL_ROW_INCARNATION_SHIFT;
}

/*
 * Most rules have one limit that counts whole keys, and nothing is configured for single keys or
 * banned: these terms are the same for every key. False: ask rl_terms_load().
 */
static inline bool
rl_short_terms(struct rl *rl, int rule, const struct rl_compiled **limit, struct rl_quota *quota)
{
	const struct rl_segment *s = &rl->segment;
	uint64_t g = rl_atomic_load(&s->header->generation);
	struct rl_u128 refs;
	enum rl_bank bank = rl_rules_in_force(s, rule, g, &refs);

	*limit = rl_short_limit(rl, rule, refs);
	if (!*limit || !rl_short_flags(s, rule) || rl_lengths_have(&s->header->any_bans))
		return false;
	rl_rules_quota((*limit)->row, bank, quota);
	if (!rl_compiled_holds(*limit)) /* after the quota: see the head of rows.c */
		return false;
	rl_atomic_fence();
	return rl_atomic_load(&s->header->generation) == g;
}

/* The request of a sound item. False: nothing was made. */
static inline bool
rl_short_make(struct rl *rl, const struct rl_item *item, uint64_t now_ns, struct rl_request *rq)
{
	if (item->key_len == 0 || item->capacity != 0 ||
	    !rl_short_terms(rl, item->rule, &rq->limit, &rq->quota))
		return false;
	rl_request_begin(rl, item, 0, now_ns, rq);
	rl_request_candidates(rl, rq->limit, rq->key, rq->key_len, &rq->candidates);
	return true;
}

/* Only windows take the fast path, and only what can be charged. */
static inline bool
rl_short_may_charge(const struct rl_request *rq, uint64_t cost)
{
	return rl_limiter_is_window(&rq->limit->limiter) && cost <= rq->quota.capacity &&
	       rq->rl->segment.is_writable;
}

/* The key's slot, and its state. */
static inline __attribute__((always_inline)) bool
rl_short_view(const struct rl_request *rq, struct rl_slot *slot, struct rl_view *v)
{
	const struct rl_segment *s = &rq->rl->segment;

	return rl_table_find(&s->table, &rq->candidates, slot) &&
	       rl_view_load(s, *slot, v) == RL_SEEN;
}

/* Would `cost` be charged? Writes nothing. */
static inline bool
rl_short_would_add(const struct rl_request *rq, uint64_t cost)
{
	struct rl_slot slot;
	struct rl_plan plan;
	struct rl_view v;

	return rl_short_may_charge(rq, cost) && rl_short_view(rq, &slot, &v) &&
	       rl_limiter_adds(&rq->limit->limiter, &rq->quota, &v, (uint32_t)cost, rq->now_ns,
	                       &plan);
}

/* Charge it, and fill *result; 1 <= cost <= capacity. */
static inline __attribute__((always_inline)) bool
rl_short_add(const struct rl_request *rq, uint32_t cost, struct rl_slot slot,
             const struct rl_view *v, struct rl_result *r)
{
	struct rl_plan plan;

	if (!rl_limiter_adds(&rq->limit->limiter, &rq->quota, v, cost, rq->now_ns, &plan) ||
	    !rl_atomic_cas16(rl_table_state(&rq->rl->segment.table, slot.index), v->word,
	                     plan.next))
		return false;
	rl_answer_charged(rq, cost, slot, &plan, r);
	return true;
}

/* Deny it, and fill *result. */
static inline __attribute__((always_inline)) bool
rl_short_deny(const struct rl_request *rq, uint32_t cost, const struct rl_view *v,
              struct rl_result *r)
{
	struct rl_decision d;

	if (rq->quota.is_shadow ||
	    !rl_limiter_is_used_up(&rq->limit->limiter, &rq->quota, v, cost, rq->now_ns, &d))
		return false;
	rl_fill_result(rq, &d, r);
	r->verdict = RL_DENIED;
	r->retry_after_ns = rl_until(d.retry_at_ns, rq->now_ns);
	return true;
}

#endif

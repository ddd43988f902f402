/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_SHORT_H
#define RL_SHORT_H

/*
 * The short way of a decision. Most rules have one limit that counts whole keys, and neither an
 * override nor a ban to look for; most requests are for a key that has its slot, in the sub-bucket
 * that the slot's state is in; and most are admitted. All this is inline, so that it stays in
 * registers. Each step says false to whatever else there is: then request.c and decision.c decide,
 * which answer the same to what goes the short way.
 */

#include "request.h"

/* Of a rule's references, the only limit, if it counts whole keys. */
static inline const struct rl_compiled *
rl_short_limit(struct rl *rl, struct rl_word16 refs)
{
	const struct rl_compiled *limit;

	if (refs.hi != 0 || refs.lo > RL_REF_MASK)
		return NULL;
	limit = rl_handle_limit(rl, (int)refs.lo - 1);
	return limit && !limit->has_prefix ? limit : NULL;
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
	struct rl_word16 refs;
	enum rl_half half = rl_rules_in_force(s, rule, g, &refs);

	*limit = rl_short_limit(rl, refs);
	if (!*limit ||
	    (rl_atomic_load(&s->rows[rule].flags) & (RL_ROW_OVERRIDES | RL_ROW_OVERRIDES << 1)) !=
	            0 ||
	    rl_terms_have_bans(s, rule))
		return false;
	rl_rules_quota((*limit)->row, half, quota);
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
	rl_request_places(rl, rq->limit, rq->key, rq->key_len, &rq->places);
	return true;
}

/* A charge of `cost` <= capacity that only has to add. Writes nothing. */
static inline __attribute__((always_inline)) bool
rl_short_plan(const struct rl_request *rq, uint32_t cost, struct rl_slot *slot, struct rl_view *v,
              struct rl_plan *plan)
{
	const struct rl_segment *s = &rq->rl->segment;

	return rl_table_find(&s->table, &rq->places, slot) &&
	       rl_view_load(s, *slot, v) == RL_SEEN &&
	       rl_limiter_adds(&rq->limit->limiter, &rq->quota, v, cost, rq->now_ns, plan);
}

/* Would it be charged? Writes nothing. */
static inline bool
rl_short_would_add(const struct rl_request *rq, uint64_t cost)
{
	struct rl_slot slot;
	struct rl_plan plan;
	struct rl_view v;

	return cost <= rq->quota.capacity && rl_short_plan(rq, (uint32_t)cost, &slot, &v, &plan);
}

/* Charge it, and fill *result. */
static inline bool
rl_short_add(const struct rl_request *rq, uint64_t cost, struct rl_result *r)
{
	const struct rl_segment *s = &rq->rl->segment;
	struct rl_slot slot;
	struct rl_plan plan;
	struct rl_view v;

	if (!s->is_writable || cost > rq->quota.capacity ||
	    !rl_short_plan(rq, (uint32_t)cost, &slot, &v, &plan) ||
	    !rl_atomic_cas16(rl_table_state(&s->table, slot.index), v.word, plan.next))
		return false;
	rl_answer_charged(rq, (uint32_t)cost, slot, &plan, r);
	return true;
}

#endif

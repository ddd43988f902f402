/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One request under one rule. Most rules have one limit that counts whole keys, and most keys have
 * their slot: these go through rl_check_one() without a look aside.
 */
#include "decide/check.h"

#include "decide/multi.h"
#include "segment/record.h"
#include "segment/stats.h"

static enum rl_verdict
decide_one(struct rl *rl, const struct rl_item *item, struct rl_request *rq, struct rl_result *r)
{
	rl_decide(rq, item->cost, item->cost > 0 ? RL_CHARGE : RL_PEEK, r);
	rl_request_lift_shadow(rq, r);
	if (item->cost > 0)
		rl_request_count(rl, item->rule, rq, r);
	return r->verdict;
}

enum rl_verdict
rl_check_made(struct rl *rl, const struct rl_item *item, uint64_t now_ns, struct rl_request *part,
              unsigned parts, struct rl_result *r)
{
	struct rl_budget budget = rl_decision_budget(rl, 1);
	struct rl_result part_result[RL_LIMITS_MAX];

	part[0].budget = &budget;
	if (parts == 1)
		return decide_one(rl, item, part, r);
	return rl_multi_decide(rl, item, now_ns, part, parts, part_result, r);
}

/* Of any rule, with whatever there is for the key. */
static __attribute__((noinline)) enum rl_verdict
check_any(struct rl *rl, const struct rl_item *item, const struct rl_booking *booking,
          uint64_t now_ns, struct rl_result *result)
{
	struct rl_result unused, *r = result ? result : &unused;
	struct rl_request part[RL_LIMITS_MAX];
	unsigned parts;

	parts = rl_request_make(rl, item, booking, now_ns, part, RL_LIMITS_MAX, r);
	for (unsigned i = 0; i < parts; i++)
		part[i].is_asked = result != NULL;
	return rl_check_made(rl, item, now_ns, part, parts, r);
}

/* The rest of rl_check_one(): no slot yet, others were quicker, or the cost is too high. */
static __attribute__((noinline)) enum rl_verdict
check_again(const struct rl_item *item, struct rl_request *rq, struct rl_result *result)
{
	struct rl_result unused, *r = result ? result : &unused;

	rl_result_clear(r);
	return decide_one(rq->rl, item, rq, r);
}

static inline void
count(const struct rl_request *rq, struct rl_slot slot, struct rl_result *r)
{
	const struct rl_segment *s = &rq->rl->segment;

	if (r->verdict == RL_ALLOWED) {
		rl_stats_add(s, rq->rule, RL_COUNT_allowed);
		if (r->is_shadow_denied)
			rl_stats_add(s, rq->rule, RL_COUNT_shadow_denied);
		return;
	}
	rl_stats_add(s, rq->rule, RL_COUNT_denied);
	rl_record_sample_denied(s, slot, rq->now_ns);
}

/* May rl_decide_slot() decide about it? */
static inline bool
fits(const struct rl_request *rq, uint64_t cost)
{
	return cost <= rl_limiter_limit(&rq->limit->limiter, &rq->quota) &&
	       (cost == 0 || rq->rl->segment.is_writable);
}

enum rl_verdict
rl_check_one(struct rl *rl, const struct rl_item *item, const struct rl_booking *booking,
             uint64_t now_ns, struct rl_result *result)
{
	struct rl_result unused, *r = result ? result : &unused;
	struct rl_policy_limit own;
	struct rl_budget budget = rl_decision_budget(rl, 1);
	struct rl_request rq, other;
	struct rl_slot slot;

	if (booking || item->capacity > 0 || item->key_len - 1 >= RL_KEY_MAX || !item->key ||
	    !rl_policy_plain(rl, item->rule, &own))
		return check_any(rl, item, booking, now_ns, result);
	rl_request_begin(rl, item, 0, rl_clamp_now(now_ns), &rq);
	rq.limit = own.limit;
	rq.quota = own.quota;
	rq.cost = item->cost > 0 ? (uint32_t)item->cost : 1;
	rq.is_asked = result != NULL;
	rq.budget = &budget;
	rl_request_candidates(rl, rq.limit,
	                      rl_hash_of_key(rl->segment.key_start, rq.key, rq.key_len),
	                      &rq.candidates);
	rl_result_clear(r);
	if (!fits(&rq, item->cost) || !rl_table_find(&rl->segment.table, &rq.candidates, &slot) ||
	    !rl_decide_slot(&rq, slot, item->cost > 0 ? RL_CHARGE : RL_PEEK, r)) {
		other = rq; /* which itself stays in registers */
		return check_again(item, &other, result);
	}
	rl_request_lift_shadow(&rq, r);
	if (item->cost > 0)
		count(&rq, slot, r);
	return r->verdict;
}

enum rl_verdict
rl_check_item_at(struct rl *rl, const struct rl_item *item, uint64_t now_ns,
                 struct rl_result *result)
{
	return rl_check_one(rl, item, NULL, now_ns, result);
}

enum rl_verdict
rl_check_limits_at(struct rl *rl, const struct rl_item *item, uint64_t now_ns,
                   struct rl_result *result, size_t *count, struct rl_result results[RL_LIMITS_MAX])
{
	struct rl_request part[RL_LIMITS_MAX];
	struct rl_result unused, *r = result ? result : &unused;
	unsigned parts = rl_request_make(rl, item, NULL, now_ns, part, RL_LIMITS_MAX, r);

	*count = parts;
	rl_multi_decide(rl, item, now_ns, part, parts, results, r);
	for (unsigned i = 0; i < parts; i++)
		results[i].charges = 0; /* they are the answer's to give back */
	return r->verdict;
}

enum rl_verdict
rl_reserve_item_at(struct rl *rl, const struct rl_item *item, uint64_t max_wait_ns, uint64_t now_ns,
                   struct rl_result *result)
{
	const struct rl_booking booking = {.max_wait_ns = max_wait_ns};

	return rl_check_one(rl, item, &booking, now_ns, result);
}

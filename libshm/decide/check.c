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
decide_one(struct rl *rl, const struct rl_item *item, struct rl_request *rq)
{
	enum rl_mode mode = item->cost > 0 ? RL_CHARGE : RL_PEEK;
	enum rl_verdict verdict = rl_request_lift_shadow(&rq->ask, rl_decide(rq, item->cost, mode));

	if (mode == RL_CHARGE)
		rl_request_count(rl, item->rule, rq, rq->ask.result);
	return verdict;
}

enum rl_verdict
rl_check_made(struct rl *rl, const struct rl_item *item, uint64_t now_ns, struct rl_request *part,
              unsigned parts, struct rl_result *r)
{
	struct rl_budget budget = rl_decision_budget(&rl->segment, 1);
	struct rl_result part_result[RL_LIMITS_MAX];

	if (parts != 1)
		return rl_multi_decide(rl, item, now_ns, part, parts, part_result, r);
	part[0].budget = &budget;
	part[0].ask.result = r;
	return decide_one(rl, item, part);
}

/* Of any rule, with whatever there is for the key. */
static __attribute__((noinline)) enum rl_verdict
check_any(struct rl *rl, const struct rl_item *item, const struct rl_booking *booking,
          uint64_t now_ns, struct rl_result *result)
{
	struct rl_result unused, *r = result ? result : &unused;
	struct rl_request part[RL_LIMITS_MAX];
	unsigned parts = rl_request_make(rl, item, booking, now_ns, part, RL_LIMITS_MAX, r);

	return rl_check_made(rl, item, now_ns, part, parts, r);
}

static inline void
count(const struct rl_ask *a, int rule, struct rl_slot slot, enum rl_verdict limit_says)
{
	const struct rl_segment *s = a->segment;

	if (limit_says != RL_ALLOWED && !a->quota.is_shadow) {
		rl_stats_add(s, rule, RL_COUNT_denied);
		rl_record_sample_denied(s, slot, a->now_ns);
		return;
	}
	rl_stats_add(s, rule, RL_COUNT_allowed);
	if (limit_says != RL_ALLOWED)
		rl_stats_add(s, rule, RL_COUNT_shadow_denied);
}

/* May rl_decide_slot() decide about it? */
static inline bool
fits(const struct rl_ask *a, uint64_t cost)
{
	return cost <= rl_limiter_limit(&a->limit->limiter, &a->quota) &&
	       (cost == 0 || a->segment->is_writable);
}

/* A copy: what is passed on does not stay in registers. */
static __attribute__((noinline)) int
peek_nothing(struct rl_ask a)
{
	return (int)rl_peek_nothing(&a);
}

enum rl_verdict
rl_check_one(struct rl *rl, const struct rl_item *item, const struct rl_booking *booking,
             uint64_t now_ns, struct rl_result *result)
{
	struct rl_candidates candidates;
	struct rl_policy_limit own;
	struct rl_slot slot;
	struct rl_ask a;
	int decided;

	if (booking || item->capacity > 0 || item->key_len - 1 >= RL_KEY_MAX || !item->key ||
	    !rl_policy_plain(rl, item->rule, &own))
		return check_any(rl, item, booking, now_ns, result);
	a = (struct rl_ask){&rl->segment, own.limit, own.quota, rl_clamp_now(now_ns), 1, 0, result};
	rl_request_candidates(rl, own.limit,
	                      rl_hash_of_key(rl->segment.key_start, item->key, item->key_len),
	                      &candidates);
	a.cost = item->cost > 0 ? (uint32_t)item->cost : 1;
	if (!fits(&a, item->cost))
		decided = RL_AGAIN;
	else if (!rl_table_find(&rl->segment.table, &candidates, &slot))
		decided = item->cost == 0 ? peek_nothing(a) : RL_AGAIN;
	else if (item->cost == 0)
		decided = rl_decide_slot(&a, slot, RL_PEEK, NULL);
	else
		decided = rl_decide_slot(&a, slot, RL_CHARGE, NULL);
	if (decided == RL_AGAIN)
		return check_any(rl, item, NULL, now_ns, result);
	if (item->cost > 0)
		count(&a, item->rule, slot, (enum rl_verdict)decided);
	return rl_request_lift_shadow(&a, (enum rl_verdict)decided);
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

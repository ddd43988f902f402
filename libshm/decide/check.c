/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One request under one rule. Most rules have one limit that counts whole keys, and most keys have
 * their slot: these go through rl_check_one() without a look aside.
 */
#include "decide/check.h"

#include "decide/multi.h"
#include "decide/plain.h"

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

enum rl_verdict
rl_check_any(struct rl *rl, const struct rl_item *item, const struct rl_booking *booking,
             uint64_t now_ns, struct rl_result *result)
{
	struct rl_result unused, *r = result ? result : &unused;
	struct rl_request part[RL_LIMITS_MAX];
	unsigned parts = rl_request_make(rl, item, booking, now_ns, part, RL_LIMITS_MAX, r);

	return rl_check_made(rl, item, now_ns, part, parts, r);
}

enum rl_verdict
rl_check_one(struct rl *rl, const struct rl_item *item, const struct rl_booking *booking,
             uint64_t now_ns, struct rl_result *result)
{
	struct rl_plain plain;
	struct rl_slot slot = {0};
	bool is_found;
	int decided;

	if (booking || !rl_plain_make(rl, item, now_ns, result, &plain))
		return rl_check_any(rl, item, booking, now_ns, result);
	rl_table_prefetch(&rl->segment.table, &plain.candidates);
	is_found = rl_table_find(&rl->segment.table, &plain.candidates, &slot);
	decided = rl_plain_decide(item, &plain.ask, is_found, slot);
	if (decided == RL_AGAIN)
		return rl_check_any(rl, item, NULL, now_ns, result);
	return (enum rl_verdict)decided;
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

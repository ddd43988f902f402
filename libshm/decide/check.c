/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One request under one rule. Most rules have one limit that counts whole keys, and most keys have
 * their slot: these go through rl_check_one() without a look aside.
 */
#include "decide/check.h"

#include "decide/ahead.h"
#include "decide/multi.h"
#include "decide/plain.h"
#include "move/follow.h"

/* Of an item that nothing bans, under its only limit: from what was taken ahead, if it has that. */
static inline bool
charge_ahead(struct rl *rl, const struct rl_item *item, struct rl_ask *a,
             const struct rl_candidates *candidates)
{
	if (item->cost == 0 || item->cost > a->quota.prefetch || item->capacity > 0)
		return false;
	a->cost = (uint32_t)item->cost;
	if (rl_ahead_charge(rl, a, candidates) != RL_ALLOWED)
		return false;
	rl_item_charged(item);
	rl_stats_add(&rl->segment, item->rule, RL_COUNT_allowed);
	return true;
}

static enum rl_verdict
decide_one(struct rl *rl, const struct rl_item *item, struct rl_request *rq)
{
	enum rl_mode mode = item->cost > 0 ? RL_CHARGE : RL_PEEK;
	enum rl_verdict verdict;

	rq->ask.charge = rl_item_charge(item);
	if (charge_ahead(rl, item, &rq->ask, &rq->candidates))
		return RL_ALLOWED;
	verdict = rl_request_lift_shadow(&rq->ask, rl_decide(rq, item->cost, mode));
	rl_item_charged(item);
	if (mode == RL_CHARGE) {
		rl_request_count(rl, item, rq, rq->ask.result, rq->ask.now_ns);
		rl_request_count_shadow(rq, rq->ask.result);
		rl_request_keep_last(rq, verdict);
	}
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
	unsigned parts;

	rl = rl_here(rl);
	parts = rl_request_make(rl, item, booking, now_ns, part, RL_LIMITS_MAX, r);
	return rl_check_made(rl, item, now_ns, part, parts, r);
}

/* By the only limit of its rule, and the slot of its key. */
static inline __attribute__((always_inline)) enum rl_verdict
check_plain(struct rl *rl, const struct rl_item *item, uint64_t now_ns, struct rl_result *result,
            const struct rl_plain *plain)
{
	struct rl_slot slot = {0};
	bool is_found;
	int decided;

	is_found = rl_table_find(&rl->segment.table, &plain->candidates, &slot);
	if (is_found)
		rl_tell_expect(rl, slot, plain->ask.now_ns);
	decided = rl_plain_decide(rl, item, &plain->ask, is_found, slot);
	if (decided == RL_AGAIN)
		return rl_check_any(rl, item, NULL, now_ns, result);
	return (enum rl_verdict)decided;
}

/*
 * The kinds of plain rules. Each is made in a function of its own, so that all of it stays in registers, and the
 * compiler is told what is usual.
 *
 * Units in flight, which a request that cannot give them back does not get. What takes many steps is decided by
 * rl_check_any(), which has a budget for it.
 */
static __attribute__((noinline)) enum rl_verdict
check_held(struct rl *rl, const struct rl_item *item, uint64_t now_ns, struct rl_result *result)
{
	struct rl_budget budget = {RL_DECIDE_STEPS / 64};
	struct rl_plain plain;
	struct rl_slot slot;
	int decided;

	if (!rl_plain_make(rl, item, now_ns, result, RL_POLICY_HELD, &plain))
		return rl_check_any(rl, item, NULL, now_ns, result);
	if (item->cost == 0)
		return check_plain(rl, item, now_ns, result, &plain);
	if (!item->charges || !rl_plain_fits(&plain.ask, item->cost) ||
	    rl_table_is_filling(&rl->segment.table) ||
	    !rl_table_find(&rl->segment.table, &plain.candidates, &slot))
		return rl_check_any(rl, item, NULL, now_ns, result);
	decided = rl_decide_units(rl, &plain.ask, &plain.candidates, slot, &budget);
	if (decided < 0 || (decided == RL_DENIED && budget.left == 0))
		return rl_check_any(rl, item, NULL, now_ns, result);
	rl_plain_count(rl, &plain.ask, item, slot, (enum rl_verdict)decided);
	rl_item_charged(item);
	return rl_request_lift_shadow(&plain.ask, (enum rl_verdict)decided);
}

/* By this host's share of a cluster's limit. */
static __attribute__((noinline)) enum rl_verdict
check_lent(struct rl *rl, const struct rl_item *item, uint64_t now_ns, struct rl_result *result)
{
	struct rl_plain plain;
	struct rl_ask *a = &plain.ask;
	struct rl_slot slot;
	int decided = RL_AGAIN;

	if (__builtin_expect(rl_plain_make(rl, item, now_ns, result, RL_POLICY_LENT, &plain), 1)) {
		rl_table_prefetch(&rl->segment.table, &plain.candidates);
		rl_policy_lend(a->segment, a->limit, a->now_ns, &a->quota);
		if (item->cost > 0 && rl_plain_fits(a, item->cost) &&
		    rl_table_find(&rl->segment.table, &plain.candidates, &slot))
			decided = rl_decide_lent(a, slot, item->key, item->key_len, NULL);
	}
	if (__builtin_expect(decided == RL_AGAIN, 0))
		return rl_check_any(rl, item, NULL, now_ns, result);
	rl_plain_count(rl, a, item, slot, (enum rl_verdict)decided);
	if (decided == RL_ALLOWED)
		rl_request_keep_cost(a, slot);
	rl_item_charged(item);
	return rl_request_lift_shadow(a, (enum rl_verdict)decided);
}

/* The lines that all processes write are asked for only if nothing was taken ahead. */
static __attribute__((noinline)) enum rl_verdict
check_ahead(struct rl *rl, const struct rl_item *item, uint64_t now_ns, struct rl_result *result)
{
	struct rl_plain plain;

	if (!rl_plain_make(rl, item, now_ns, result, RL_POLICY_PREFETCHES, &plain))
		return rl_check_any(rl, item, NULL, now_ns, result);
	if (charge_ahead(rl, item, &plain.ask, &plain.candidates))
		return RL_ALLOWED;
	return check_plain(rl, item, now_ns, result, &plain);
}

static __attribute__((noinline)) enum rl_verdict
check_special(struct rl *rl, const struct rl_item *item, const struct rl_booking *booking,
              uint64_t now_ns, struct rl_result *result)
{
	uint64_t kind = booking ? 0 : rl_policy_kind(rl, item->rule);

	if (kind == RL_POLICY_HELD)
		return check_held(rl, item, now_ns, result);
	if (kind == RL_POLICY_PREFETCHES)
		return check_ahead(rl, item, now_ns, result);
	return rl_check_any(rl, item, booking, now_ns, result);
}

static __attribute__((noinline)) enum rl_verdict
check_most(struct rl *rl, const struct rl_item *item, const struct rl_booking *booking,
           uint64_t now_ns, struct rl_result *result)
{
	struct rl_plain plain;

	if (__builtin_expect(booking || !rl_plain_make(rl, item, now_ns, result, 0, &plain), 0))
		return check_special(rl, item, booking, now_ns, result);
	rl_table_prefetch(&rl->segment.table, &plain.candidates);
	return check_plain(rl, item, now_ns, result, &plain);
}

enum rl_verdict
rl_check_one(struct rl *rl, const struct rl_item *item, const struct rl_booking *booking,
             uint64_t now_ns, struct rl_result *result)
{
	rl = rl_here_known(rl);
	if (rl->segment.geometry.clustered && !booking &&
	    rl_policy_kind(rl, item->rule) == RL_POLICY_LENT)
		return check_lent(rl, item, now_ns, result);
	return check_most(rl, item, booking, now_ns, result);
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
	unsigned parts;

	rl = rl_here(rl);
	parts = rl_request_make(rl, item, NULL, now_ns, part, RL_LIMITS_MAX, r);
	*count = parts;
	rl_multi_decide(rl, item, now_ns, part, parts, results, r);
	return r->verdict;
}

enum rl_verdict
rl_reserve_item_at(struct rl *rl, const struct rl_item *item, uint64_t max_wait_ns, uint64_t now_ns,
                   struct rl_result *result)
{
	const struct rl_booking booking = {.max_wait_ns = max_wait_ns};

	return rl_check_one(rl, item, &booking, now_ns, result);
}

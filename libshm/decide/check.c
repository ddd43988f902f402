/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One request under one rule. Most rules have one limit that counts whole keys, and most keys have their slot: these
 * are decided by check_plain(), without a look aside. All else, and what that cannot decide, is rl_check_any()'s.
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
	return rl_ahead_charge(rl, a, candidates) == RL_ALLOWED;
}

static enum rl_verdict
decide_one(struct rl *rl, const struct rl_item *item, struct rl_request *rq)
{
	enum rl_mode mode = item->cost > 0 ? RL_CHARGE : RL_PEEK;
	enum rl_verdict verdict = RL_ALLOWED;

	rq->ask.charge = rl_item_charge(item);
	if (!charge_ahead(rl, item, &rq->ask, &rq->candidates))
		verdict = rl_request_lift_shadow(&rq->ask, rl_decide(rq, item->cost, mode));
	rl_item_charged(item);
	if (mode == RL_CHARGE) {
		rl_answered_item(rl, item, rq, rq->ask.result, rq->ask.now_ns);
		rl_answered_part(rq, rq->ask.result, verdict);
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

/*
 * By the only limit of its rule, and the slot of its key. RL_AGAIN: nothing was done. `kind` is a constant: each has
 * this for itself, so that all of it stays in registers.
 */
static inline __attribute__((always_inline)) int
check_plain(struct rl *rl, const struct rl_item *item, uint64_t now_ns, struct rl_result *result,
            uint64_t kind)
{
	struct rl_slot slot = {0};
	struct rl_plain plain;
	bool is_found;

	if (__builtin_expect(!rl_plain_make(rl, item, now_ns, result, kind, &plain), 0))
		return RL_AGAIN;
	if (kind == RL_POLICY_PREFETCHES && charge_ahead(rl, item, &plain.ask, &plain.candidates)) {
		rl_answered(rl, item, &plain.ask, slot, RL_ALLOWED);
		rl_item_charged(item);
		return RL_ALLOWED;
	}
	rl_table_prefetch(&rl->segment.table, &plain.candidates);
	if (kind == RL_POLICY_LENT)
		rl_policy_lend(plain.ask.segment, plain.ask.limit, plain.ask.now_ns,
		               &plain.ask.quota);
	is_found = rl_table_find(&rl->segment.table, &plain.candidates, &slot);
	if (is_found)
		rl_tell_expect(rl, slot, plain.ask.now_ns);
	return rl_plain_decide(rl, item, &plain, is_found, slot, kind);
}

/* Each ends in a call, so that none has a frame for what is seldom. */
static __attribute__((noinline)) enum rl_verdict
check_lent(struct rl *rl, const struct rl_item *item, uint64_t now_ns, struct rl_result *result)
{
	int decided = check_plain(rl, item, now_ns, result, RL_POLICY_LENT);

	if (__builtin_expect(decided == RL_AGAIN, 0))
		return rl_check_any(rl, item, NULL, now_ns, result);
	return (enum rl_verdict)decided;
}

static __attribute__((noinline)) enum rl_verdict
check_held(struct rl *rl, const struct rl_item *item, uint64_t now_ns, struct rl_result *result)
{
	int decided = check_plain(rl, item, now_ns, result, RL_POLICY_HELD);

	if (__builtin_expect(decided == RL_AGAIN, 0))
		return rl_check_any(rl, item, NULL, now_ns, result);
	return (enum rl_verdict)decided;
}

static __attribute__((noinline)) enum rl_verdict
check_ahead(struct rl *rl, const struct rl_item *item, uint64_t now_ns, struct rl_result *result)
{
	int decided = check_plain(rl, item, now_ns, result, RL_POLICY_PREFETCHES);

	if (__builtin_expect(decided == RL_AGAIN, 0))
		return rl_check_any(rl, item, NULL, now_ns, result);
	return (enum rl_verdict)decided;
}

/* Of a rule of another kind than is usual. */
static __attribute__((noinline)) enum rl_verdict
check_special(struct rl *rl, const struct rl_item *item, uint64_t now_ns, struct rl_result *result)
{
	switch (rl_policy_kind(rl, item->rule)) {
	case RL_POLICY_LENT:
		return check_lent(rl, item, now_ns, result);
	case RL_POLICY_HELD:
		return check_held(rl, item, now_ns, result);
	case RL_POLICY_PREFETCHES:
		return check_ahead(rl, item, now_ns, result);
	default:
		return rl_check_any(rl, item, NULL, now_ns, result);
	}
}

static __attribute__((noinline)) enum rl_verdict
check_usual(struct rl *rl, const struct rl_item *item, uint64_t now_ns, struct rl_result *result)
{
	int decided = check_plain(rl, item, now_ns, result, 0);

	if (__builtin_expect(decided == RL_AGAIN, 0))
		return check_special(rl, item, now_ns, result);
	return (enum rl_verdict)decided;
}

enum rl_verdict
rl_check_one(struct rl *rl, const struct rl_item *item, const struct rl_booking *booking,
             uint64_t now_ns, struct rl_result *result)
{
	rl = rl_here_known(rl);
	if (__builtin_expect(booking != NULL, 0))
		return rl_check_any(rl, item, booking, now_ns, result);
	if (rl->segment.geometry.clustered && rl_policy_kind(rl, item->rule) == RL_POLICY_LENT)
		return check_lent(rl, item, now_ns, result);
	return check_usual(rl, item, now_ns, result);
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

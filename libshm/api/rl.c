/* SPDX-License-Identifier: BSD-2-Clause */
#include "rl.h"

#include <errno.h>

#include "decide/check.h"
#include "decide/key_limits.h"
#include "segment/stats.h"

#define TRIES 1000

enum rl_verdict
rl_check_at(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t cost,
            uint64_t now_ns, struct rl_result *result)
{
	const struct rl_item item = {.rule = rule, .key = key, .key_len = key_len, .cost = cost};

	return rl_check_one(rl, &item, NULL, now_ns, result);
}

enum rl_verdict
rl_peek_at(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t now_ns,
           struct rl_result *result)
{
	return rl_check_at(rl, rule, key, key_len, 0, now_ns, result);
}

enum rl_verdict
rl_check(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t cost,
         struct rl_result *result)
{
	return rl_check_at(rl, rule, key, key_len, cost, rl_now(rl), result);
}

enum rl_verdict
rl_peek(struct rl *rl, int rule, const void *key, size_t key_len, struct rl_result *result)
{
	return rl_peek_at(rl, rule, key, key_len, rl_now(rl), result);
}

enum rl_verdict
rl_reserve_at(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t cost,
              uint64_t max_wait_ns, uint64_t now_ns, struct rl_result *result)
{
	const struct rl_item item = {.rule = rule, .key = key, .key_len = key_len, .cost = cost};

	return rl_reserve_item_at(rl, &item, max_wait_ns, now_ns, result);
}

enum rl_verdict
rl_reserve(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t cost,
           uint64_t max_wait_ns, struct rl_result *result)
{
	return rl_reserve_at(rl, rule, key, key_len, cost, max_wait_ns, rl_now(rl), result);
}

/* One try to take a charge back: 1 done, 0 too late, -1 again. */
static int
try_refund(const struct rl_segment *s, const struct rl_compiled *limit, struct rl_slot slot,
           const struct rl_charge *charge, uint64_t now_ns)
{
	struct rl_quota quota = {0};
	struct rl_u128 next;
	struct rl_view v;
	unsigned index;

	rl_policy_of_limit(s, rl_tag_limit(charge->tag), &quota, &index);
	quota.capacity = charge->capacity; /* its tier's, or as it was */
	if (rl_view_load(s, slot, &v) != RL_SEEN || v.is_zero ||
	    !rl_limiter_refund(&limit->limiter, &quota, &v, charge, now_ns, &next))
		return 0;
	return rl_atomic_cas16(rl_table_state(&s->table, slot.index), v.word, next) ? 1 : -1;
}

/* True if it was given back. */
static bool
refund_one(struct rl *rl, const struct rl_charge *charge, uint64_t now_ns)
{
	const struct rl_segment *s = &rl->segment;
	struct rl_slot slot = {.index = charge->slot, .tag = charge->tag};
	const struct rl_compiled *limit = rl_handle_limit(rl, rl_tag_limit(charge->tag));
	int done = -1;

	if (charge->cost == 0 || charge->capacity == 0 || charge->capacity > RL_CAPACITY_MAX ||
	    !limit || slot.index >= rl_segment_slots(s) ||
	    rl_atomic_load(rl_table_tag(&s->table, slot.index)) != slot.tag)
		return false;
	for (int tries = 0; tries < TRIES && done < 0; tries++)
		done = try_refund(s, limit, slot, charge, rl_clamp_now(now_ns));
	if (done == 1)
		rl_stats_add(s, limit->rule, RL_COUNT_refunded);
	return done == 1;
}

int
rl_refund_at(struct rl *rl, struct rl_result *result, uint64_t now_ns)
{
	unsigned charges = result->charges < RL_LIMITS_MAX ? result->charges : RL_LIMITS_MAX;
	int done = 0;

	if (!rl->segment.is_writable)
		return -EROFS;
	result->charges = 0;
	for (unsigned i = 0; i < charges; i++)
		done |= refund_one(rl, &result->charge[i], now_ns);
	return done;
}

int
rl_refund(struct rl *rl, struct rl_result *result)
{
	return rl_refund_at(rl, result, rl_now(rl));
}

/* One try to forget a key under one limit: 1 forgotten, 0 nothing there, -1 again. */
static int
try_forget(const struct rl_segment *s, const struct rl_request *rq)
{
	struct rl_slot slot;
	struct rl_view v;

	if (!rl_table_find(&s->table, &rq->candidates, &slot))
		return 0;
	switch (rl_view_load(s, slot, &v)) {
	case RL_SEEN:
		if (v.is_zero)
			return 0;
		return rl_table_retire(&s->table, slot, v.word) ? 1 : -1;
	case RL_SEEN_DEAD:
		rl_table_free(&s->table, slot);
		break;
	case RL_SEEN_GONE:
		break;
	}
	return -1;
}

static int
forget(const struct rl_segment *s, const struct rl_request *rq)
{
	int done = -1;

	for (int tries = 0; tries < TRIES && done < 0; tries++)
		done = try_forget(s, rq);
	return done < 0 ? -EBUSY : done;
}

int
rl_reset(struct rl *rl, int rule, const void *key, size_t key_len)
{
	struct rl_request rq[RL_LIMITS_MAX];
	int limits = rl_key_requests(rl, rule, key, key_len, rq), done = 0, error = 0;

	if (limits < 0)
		return limits;
	if (!rl->segment.is_writable)
		return -EROFS;
	for (int i = 0; i < limits; i++) {
		int one = forget(&rl->segment, &rq[i]);
		done |= one == 1;
		error = one < 0 ? one : error;
	}
	if (done)
		rl_stats_add(&rl->segment, rule, RL_COUNT_reset);
	return error < 0 ? error : done;
}

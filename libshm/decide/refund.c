/* SPDX-License-Identifier: BSD-2-Clause */
/* Charges given back: a refund of a decision, and what a request of several limits charged before one
 * of them said no. */
#include "rl.h"

#include <errno.h>

#include "decide/decide.h"
#include "rule/policy.h"
#include "segment/stats.h"
#include "segment/view.h"

#define TRIES 1000

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
	return rl_refund_at(rl, result, rl_segment_now(&rl->segment));
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "rl.h"

#include <string.h>

#include "request.h"
#include "stats.h"

#define TRIES 1000

enum rl_verdict
rl_check_item_at(struct rl *rl, const struct rl_item *item, uint64_t now_ns,
                 struct rl_result *result)
{
	struct rl_result unused, *r = result ? result : &unused;
	struct rl_request rq;
	bool is_open = rl_request_make(rl, item, now_ns, &rq, r);

	return rl_request_finish(&rq, is_open, item->cost, r);
}

enum rl_verdict
rl_check_at(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t cost,
            uint64_t now_ns, struct rl_result *result)
{
	const struct rl_item item = {.rule = rule, .key = key, .key_len = key_len, .cost = cost};

	return rl_check_item_at(rl, &item, now_ns, result);
}

enum rl_verdict
rl_peek_at(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t now_ns,
           struct rl_result *result)
{
	struct rl_result unused, *r = result ? result : &unused;
	const struct rl_item item = {.rule = rule, .key = key, .key_len = key_len};
	struct rl_request rq;

	return rl_request_make(rl, &item, now_ns, &rq, r) ? rl_request_look(&rq, 0, r) : r->verdict;
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

/* One try to take a charge back: 1 done, 0 too late, -1 again. */
static int
give_back(const struct rl_segment *s, const struct rl_compiled *rule, struct rl_slot slot,
          const struct rl_charge *charge, uint64_t now_ns)
{
	struct rl_quota quota = rl_rules_quota(rule);
	struct rl_word16 next;
	struct rl_view v;

	quota.capacity = charge->capacity; /* its tier's, or as it was */
	if (rl_view_load(s, slot, &v) != RL_SEEN || v.is_zero ||
	    !rl_limiter_refund(&rule->limiter, &quota, &v, charge->epoch, charge->cost, now_ns,
	                       &next))
		return 0;
	return rl_atomic_cas16(&s->table.states[slot.index], v.word, next) ? 1 : -1;
}

int
rl_refund_at(struct rl *rl, struct rl_result *result, uint64_t now_ns)
{
	const struct rl_segment *s = &rl->segment;
	struct rl_charge charge = result->charge;
	struct rl_slot slot = {.index = charge.slot, .tag = charge.tag};
	const struct rl_compiled *rule = rl_handle_rule(rl, rl_tag_rule(charge.tag));
	int done = -1;

	if (!s->is_writable)
		return -EROFS;
	result->charge = (struct rl_charge){0};
	if (charge.cost == 0 || charge.capacity == 0 || !rule ||
	    slot.index >= rl_segment_slots(s) ||
	    rl_atomic_load(&s->table.tags[slot.index]) != slot.tag)
		return 0;
	for (int tries = 0; tries < TRIES && done < 0; tries++)
		done = give_back(s, rule, slot, &charge, rl_clamp_now(now_ns));
	if (done != 1)
		return 0;
	rl_stats_add(s, rl_tag_rule(charge.tag), RL_COUNT_refunded);
	return 1;
}

int
rl_refund(struct rl *rl, struct rl_result *result)
{
	return rl_refund_at(rl, result, rl_now(rl));
}

/* One try to forget a key: 1 forgotten, 0 nothing there, -1 again. */
static int
forget(const struct rl_segment *s, const struct rl_request *rq)
{
	struct rl_slot slot;
	struct rl_view v;

	if (!rl_table_find(&s->table, &rq->places, &slot))
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

int
rl_reset(struct rl *rl, int rule, const void *key, size_t key_len)
{
	const struct rl_segment *s = &rl->segment;
	const struct rl_item item = {.rule = rule, .key = key, .key_len = key_len};
	struct rl_result r;
	struct rl_request rq;
	int done = -1;

	if (!rl_request_make(rl, &item, 0, &rq, &r))
		return r.error;
	if (!s->is_writable)
		return -EROFS;
	for (int tries = 0; tries < TRIES && done < 0; tries++)
		done = forget(s, &rq);
	if (done == 1)
		rl_stats_add(s, rule, RL_COUNT_reset);
	return done < 0 ? -EBUSY : done;
}

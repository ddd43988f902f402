/* SPDX-License-Identifier: BSD-2-Clause */
#include "rl.h"

#include <string.h>

#include "decision.h"
#include "stats.h"

#define TRIES 1000

static enum rl_verdict
undecided(struct rl_result *r, int error)
{
	r->verdict = RL_UNDECIDED;
	r->error = error;
	return RL_UNDECIDED;
}

/* 0 when the request can be looked at, else the error of an undecided one. */
static int
prepare(struct rl_request *rq, struct rl *rl, int rule, const void *key, size_t key_len,
        uint64_t now_ns)
{
	*rq = (struct rl_request){
		.rl = rl,
		.rule = rl_handle_rule(rl, rule),
		.id = rule,
		.key = key,
		.key_len = key_len,
		.now_ns = rl_clamp_now(now_ns),
	};
	if (!rq->rule)
		return rl_handle_no_rule(rl, rule);
	if (key_len > RL_KEY_MAX)
		return -ENAMETOOLONG;
	if (!key && key_len > 0)
		return -EINVAL;
	rq->quota = rl_rules_quota(rq->rule);
	return 0;
}

static enum rl_verdict
empty_key(const struct rl_request *rq, struct rl_result *r)
{
	r->limit = r->remaining = rl_limiter_limit(&rq->rule->limiter, &rq->quota);
	return r->verdict = RL_ALLOWED;
}

static const enum rl_counter verdict_counter[] = {
	[RL_ALLOWED] = RL_COUNT_allowed,
	[RL_DENIED] = RL_COUNT_denied,
	[RL_NEVER] = RL_COUNT_never,
	[RL_UNDECIDED] = RL_COUNT_undecided,
};

static enum rl_verdict
check(struct rl_request *rq, uint64_t cost, struct rl_result *r)
{
	const struct rl_segment *s = &rq->rl->segment;

	if (!s->is_writable)
		return undecided(r, -EROFS);
	rq->places = rl_request_places(rq->rl, rq->id, rq->key, rq->key_len);
	r->limit = rl_limiter_limit(&rq->rule->limiter, &rq->quota);
	if (cost > r->limit) {
		rq->cost = UINT32_MAX;
		rl_look(rq, r);
	} else {
		rq->cost = (uint32_t)cost;
		rl_decide(rq, r);
	}
	rl_stats_add(s, rq->id, verdict_counter[r->verdict]);
	return r->verdict;
}

enum rl_verdict
rl_peek_at(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t now_ns,
           struct rl_result *result)
{
	struct rl_result unused, *r = result ? result : &unused;
	struct rl_request rq;
	int error;

	*r = (struct rl_result){0};
	error = prepare(&rq, rl, rule, key, key_len, now_ns);
	if (error < 0)
		return undecided(r, error);
	if (key_len == 0)
		return empty_key(&rq, r);
	rq.cost = 1;
	rq.places = rl_request_places(rl, rule, key, key_len);

	rl_look(&rq, r);
	return r->verdict;
}

enum rl_verdict
rl_check_at(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t cost,
            uint64_t now_ns, struct rl_result *result)
{
	struct rl_result unused, *r = result ? result : &unused;
	struct rl_request rq;
	int error;

	if (cost == 0)
		return rl_peek_at(rl, rule, key, key_len, now_ns, result);
	*r = (struct rl_result){0};
	error = prepare(&rq, rl, rule, key, key_len, now_ns);
	if (error < 0) {
		if (rq.rule && rl->segment.is_writable)
			rl_stats_add(&rl->segment, rule, RL_COUNT_undecided);
		return undecided(r, error);
	}
	if (key_len == 0)
		return empty_key(&rq, r);
	return check(&rq, cost, r);
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
	if (charge.cost == 0 || !rule || slot.index >= rl_segment_slots(s) ||
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
	struct rl_request rq;
	int done = prepare(&rq, rl, rule, key, key_len, 0);

	if (done < 0)
		return done;
	if (!s->is_writable)
		return -EROFS;
	rq.places = rl_request_places(rl, rule, key, key_len);
	done = -1;
	for (int tries = 0; tries < TRIES && done < 0; tries++)
		done = forget(s, &rq);
	if (done == 1)
		rl_stats_add(s, rule, RL_COUNT_reset);
	return done < 0 ? -EBUSY : done;
}

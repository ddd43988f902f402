/* SPDX-License-Identifier: BSD-2-Clause */
#include "request.h"

#include "stats.h"

static const enum rl_counter verdict_counter[] = {
	[RL_ALLOWED] = RL_COUNT_allowed,
	[RL_DENIED] = RL_COUNT_denied,
	[RL_NEVER] = RL_COUNT_never,
	[RL_UNDECIDED] = RL_COUNT_undecided,
};

void
rl_request_count(struct rl *rl, int rule, enum rl_verdict verdict)
{
	if (rl->segment.is_writable && rl_handle_rule(rl, rule))
		rl_stats_add(&rl->segment, rule, verdict_counter[verdict]);
}

/* A tier's capacity in place of the rule's. */
static int
apply_tier(const struct rl_item *item, struct rl_request *rq)
{
	const struct rl_limiter *l = &rq->rule->limiter;

	if (item->capacity == 0)
		return 0;
	if (item->capacity > RL_CAPACITY_MAX)
		return -EINVAL;
	if (l->algorithm == RL_SLIDING_LOG && item->capacity > l->ring_entries)
		return RL_ERING;
	rq->quota.capacity = item->capacity;
	if (l->algorithm == RL_TOKEN_BUCKET)
		rq->quota.burst =
			item->capacity < RL_CAPACITY_MAX ? item->capacity : RL_CAPACITY_MAX - 1;
	return 0;
}

/* 0, or the error of an undecided request. */
static int
prepare(struct rl *rl, const struct rl_item *item, uint64_t now_ns, struct rl_request *rq)
{
	*rq = (struct rl_request){
		.rl = rl,
		.rule = rl_handle_rule(rl, item->rule),
		.id = item->rule,
		.key = item->key,
		.key_len = item->key_len,
		.now_ns = rl_clamp_now(now_ns),
	};
	if (!rq->rule)
		return rl_handle_no_rule(rl, item->rule);
	if (item->key_len > RL_KEY_MAX)
		return -ENAMETOOLONG;
	if (!item->key && item->key_len > 0)
		return -EINVAL;
	rq->quota = rl_rules_quota(rq->rule);
	return apply_tier(item, rq);
}

bool
rl_request_make(struct rl *rl, const struct rl_item *item, uint64_t now_ns, struct rl_request *rq,
                struct rl_result *r)
{
	int error = prepare(rl, item, now_ns, rq);

	*r = (struct rl_result){0};
	if (error < 0) {
		r->verdict = RL_UNDECIDED;
		r->error = error;
		return false;
	}
	r->limit = rl_limiter_limit(&rq->rule->limiter, &rq->quota);
	if (item->key_len == 0) {
		r->remaining = r->limit;
		return false;
	}
	rq->places = rl_request_places(rl, item->rule, item->key, item->key_len);
	return true;
}

/* A shadow limit says what it would have done, and enforces nothing. */
static void
lift_shadow(const struct rl_request *rq, struct rl_result *r)
{
	if (!rq->quota.is_shadow || r->verdict == RL_ALLOWED)
		return;
	r->is_shadow_denied = r->verdict != RL_UNDECIDED;
	r->verdict = RL_ALLOWED;
}

enum rl_verdict
rl_request_look(struct rl_request *rq, uint64_t cost, struct rl_result *r)
{
	rq->cost = cost > UINT32_MAX ? UINT32_MAX : (uint32_t)cost;
	if (cost == 0)
		rq->cost = 1;
	rl_look(rq, r);
	lift_shadow(rq, r);
	return r->verdict;
}

enum rl_verdict
rl_request_spend(struct rl_request *rq, uint64_t cost, struct rl_result *r)
{
	if (!rq->rl->segment.is_writable) {
		r->verdict = RL_UNDECIDED;
		r->error = -EROFS;
		return RL_UNDECIDED;
	}
	if (cost > r->limit) {
		rq->cost = UINT32_MAX;
		rl_look(rq, r);
	} else {
		rq->cost = (uint32_t)cost;
		rl_decide(rq, r);
	}
	lift_shadow(rq, r);
	if (r->is_shadow_denied)
		rl_stats_add(&rq->rl->segment, rq->id, RL_COUNT_shadow_denied);
	rl_stats_add(&rq->rl->segment, rq->id, verdict_counter[r->verdict]);
	return r->verdict;
}

enum rl_verdict
rl_request_finish(struct rl_request *rq, bool is_open, uint64_t cost, struct rl_result *r)
{
	if (is_open)
		return cost == 0 ? rl_request_look(rq, 0, r) : rl_request_spend(rq, cost, r);
	if (r->verdict == RL_UNDECIDED && cost > 0)
		rl_request_count(rq->rl, rq->id, RL_UNDECIDED);
	return r->verdict;
}

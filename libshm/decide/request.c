/* SPDX-License-Identifier: BSD-2-Clause */
#include "decide/request.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "decide/short.h"
#include "rule/ban.h"
#include "rule/terms.h"
#include "segment/record.h"
#include "segment/stats.h"

static const enum rl_counter verdict_counter[] = {
	[RL_ALLOWED] = RL_COUNT_allowed,
	[RL_DENIED] = RL_COUNT_denied,
	[RL_NEVER] = RL_COUNT_never,
	[RL_UNDECIDED] = RL_COUNT_undecided,
};

bool
rl_request_is_counted(const struct rl_result *r)
{
	return r->verdict == RL_UNDECIDED || r->reason != RL_BY_LIMIT;
}

void
rl_request_count(struct rl *rl, int rule, const struct rl_request *rq, const struct rl_result *r)
{
	const struct rl_segment *s = &rl->segment;

	if (!s->is_writable || !rl_handle_has(rl, rule))
		return;
	rl_stats_add(s, rule, verdict_counter[r->verdict]);
	if (r->is_shadow_denied && r->verdict == RL_ALLOWED)
		rl_stats_add(s, rule, RL_COUNT_shadow_denied);
	if (r->reason != RL_BY_LIMIT)
		rl_stats_add(s, rule, r->reason == RL_BY_BAN ? RL_COUNT_banned : RL_COUNT_exempted);
	if (rq && r->verdict == RL_DENIED && rq->slot.tag != 0)
		rl_record_sample_denied(s, rq->slot, rq->now_ns);
}

/* Does the configuration ban the key? Without an end, and behind what rl_ban() and its like say. */
static bool
is_configured_ban(const struct rl_terms *t)
{
	return t->has_override && t->kind == RL_OVERRIDE_BANNED;
}

static void
answer_banned(uint64_t until_ns, uint64_t now_ns, struct rl_result *r)
{
	r->reason = RL_BY_BAN;
	r->verdict = RL_DENIED;
	r->remaining = 0;
	r->retry_after_ns = until_ns == RL_NEVER_NS ? RL_NEVER_NS : until_ns - now_ns;
	r->reset_after_ns = r->retry_after_ns;
}

/* A ban denies, or an exemption allows. */
static bool
answered_by_ban(struct rl *rl, const struct rl_item *item, const struct rl_terms *t,
                uint64_t now_ns, struct rl_budget *budget, struct rl_result *r)
{
	struct rl_address address = t->address;
	bool has_address = t->has_address;
	struct rl_standing standing;

	has_address = has_address || rl_address_parse(item->key, item->key_len, &address);
	if (!rl_ban_of_key(&rl->segment, item->rule, item->key, item->key_len,
	                   has_address ? &address : NULL, now_ns, budget, &standing))
		return false;
	if (standing.first.is_exemption)
		r->reason = RL_BY_EXEMPTION;
	else
		answer_banned(is_configured_ban(t) && !standing.is_exempt_then ? RL_NEVER_NS
		                                                               : standing.until_ns,
		              now_ns, r);
	return true;
}

/* The same by an override of the configuration. */
static bool
answered_by_override(const struct rl_terms *t, struct rl_result *r)
{
	if (!t->has_override || t->kind == RL_OVERRIDE_CAPACITY)
		return false;
	if (is_configured_ban(t))
		answer_banned(RL_NEVER_NS, 0, r);
	else
		r->reason = RL_BY_EXEMPTION;
	return true;
}

bool
rl_request_answered_by_exception(struct rl *rl, const struct rl_item *item,
                                 const struct rl_terms *t, uint64_t now_ns,
                                 struct rl_budget *budget, struct rl_result *r)
{
	if (rl_terms_have_bans(&rl->segment, item->rule) &&
	    answered_by_ban(rl, item, t, now_ns, budget, r))
		return true;
	if (budget->left == 0)
		return !rl_result_undecided(r, RL_ECOST);
	return answered_by_override(t, r);
}

/* Without a look at a counter; if the budget has ended, because of that. */
static bool
is_answered(struct rl *rl, const struct rl_item *item, const struct rl_terms *t, uint64_t now_ns,
            struct rl_budget *budget, struct rl_result *r)
{
	bool may_be = rl_terms_have_bans(&rl->segment, item->rule);

	if (item->key_len > 0 && t->count > 0 && !may_be && !t->has_override)
		return false;
	if (t->is_removed)
		r->error = RL_EREMOVED;
	if (t->count > 0)
		r->limit = r->remaining = rl_limiter_limit(&t->limit[0]->limiter, &t->quota[0]);
	return item->key_len == 0 ||
	       rl_request_answered_by_exception(rl, item, t, now_ns, budget, r);
}

/* A tier's capacity in place of the first limit's, unless the key has one of its own. */
static int
apply_tier(const struct rl_item *item, struct rl_terms *t)
{
	if (item->capacity == 0 || t->keeps_first || t->count == 0 || t->index[0] != 0)
		return 0;
	return rl_terms_set_capacity(&t->limit[0]->limiter, item->capacity, &t->quota[0]);
}

/* All of them can book ahead, or none of the request is. */
static int
apply_wish(const struct rl_wish *wish, struct rl_terms *t)
{
	for (unsigned i = 0; wish && wish->is_booking && i < t->count; i++) {
		enum rl_algorithm algorithm = t->limit[i]->limiter.algorithm;
		if (algorithm != RL_TOKEN_BUCKET && algorithm != RL_LEAKY_BUCKET)
			return -EINVAL;
		t->quota[i].is_booking = true;
		t->quota[i].max_wait_ns = wish->max_wait_ns;
	}
	return 0;
}

void
rl_request_fill(struct rl *rl, const struct rl_item *item, const struct rl_terms *t, unsigned i,
                uint64_t now_ns, struct rl_request *rq)
{
	const struct rl_compiled *limit = t->limit[i];

	rl_request_begin(rl, item, t->index[i], now_ns, rq);
	rq->limit = limit;
	rq->quota = t->quota[i];
	if (limit->has_prefix) {
		rq->key = NULL;
		rq->key_len = rl_network_key(&t->address, rl_compiled_prefix(limit, &t->address),
		                             rq->network);
	}
	rl_request_candidates(rl, limit, rq->key ? rq->key : rq->network, rq->key_len,
	                      &rq->candidates);
}

unsigned
rl_request_make(struct rl *rl, const struct rl_item *item, const struct rl_wish *wish,
                uint64_t now_ns, struct rl_request *requests, unsigned room, struct rl_result *r)
{
	struct rl_budget budget = {RL_LOOKUP_STEPS};
	uint64_t now = rl_clamp_now(now_ns);
	struct rl_terms t;
	int error;

	rl_result_clear(r);
	if (!rl_request_is_sound(rl, item, r))
		return 0;
	if (!wish && room > 0 && rl_short_make(rl, item, now, requests))
		return 1;
	error = rl_terms_load(rl, item->rule, item->key, item->key_len, &budget, &t);
	if (error == 0)
		error = apply_tier(item, &t);
	if (error == 0)
		error = apply_wish(wish, &t);
	if (error == 0 && t.count > room)
		error = -EOVERFLOW;
	if (error < 0)
		return (unsigned)rl_result_undecided(r, error);
	if (is_answered(rl, item, &t, now, &budget, r))
		return 0;
	for (unsigned i = 0; i < t.count; i++)
		rl_request_fill(rl, item, &t, i, now, &requests[i]);
	return t.count;
}

void
rl_request_lift_shadow(const struct rl_request *rq, struct rl_result *r)
{
	if (!rq->quota.is_shadow || r->verdict == RL_ALLOWED)
		return;
	r->is_shadow_denied = r->verdict != RL_UNDECIDED;
	r->verdict = RL_ALLOWED;
}

enum rl_verdict
rl_request_peek(struct rl_request *rq, uint64_t cost, struct rl_result *r)
{
	rq->cost = cost > UINT32_MAX ? UINT32_MAX : (uint32_t)cost;
	if (cost == 0)
		rq->cost = 1;
	rl_peek_limit(rq, r);
	rl_request_lift_shadow(rq, r);
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
	if (cost > rl_limiter_limit(&rq->limit->limiter, &rq->quota)) {
		rq->cost = UINT32_MAX;
		rl_peek_limit(rq, r);
	} else {
		rq->cost = (uint32_t)cost;
		rl_decide(rq, r);
	}
	rl_request_lift_shadow(rq, r);
	return r->verdict;
}

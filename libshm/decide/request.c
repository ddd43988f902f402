/* SPDX-License-Identifier: BSD-2-Clause */
#include "decide/request.h"

#include <errno.h>
#include <string.h>

#include "rule/ban.h"
#include "rule/ban_note.h"
#include "rule/history.h"
#include "segment/record.h"
#include "segment/stats.h"

#define ITEM_FLAGS (unsigned)(RL_ITEM_BURST | RL_ITEM_UNDELAYED)

bool
rl_request_is_counted(const struct rl_result *r)
{
	return r->verdict == RL_UNDECIDED || r->reason != RL_BY_LIMIT;
}

/* Does the configuration ban the key? Without an end, and behind what rl_ban() and its like say. */
static bool
is_configured_ban(const struct rl_key_policy *k)
{
	return k->has_override && k->kind == RL_OVERRIDE_BANNED;
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

static bool
is_configured_exemption(const struct rl_key_policy *k)
{
	return k->has_override && k->kind == RL_OVERRIDE_UNLIMITED;
}

/* A ban denies, or an exemption allows. */
static bool
answered_by_ban(struct rl *rl, const struct rl_item *item, struct rl_key_policy *k, uint64_t now_ns,
                struct rl_budget *budget, struct rl_result *r)
{
	struct rl_standing standing;

	if (!k->has_address && rl_lengths_have_networks(&k->rule.bans))
		k->has_address = rl_address_parse(item->key, item->key_len, &k->address);
	rl_ban_of_key(&rl->segment, item->rule, &k->rule.bans, item->key, item->key_len,
	              k->has_address ? &k->address : NULL, now_ns, budget, &standing);
	if (!is_configured_exemption(k) && budget->left > 0)
		rl_standing_add_automatic(&standing);
	if (!standing.is_found)
		return false;
	k->has_ban = true;
	k->ban_slot = standing.first.slot;
	if (standing.first.is_exemption)
		r->reason = RL_BY_EXEMPTION;
	else
		answer_banned(is_configured_ban(k) && !standing.is_exempt_then ? RL_NEVER_NS
		                                                               : standing.until_ns,
		              now_ns, r);
	return true;
}

/* The same by an override of the configuration. */
static bool
answered_by_override(const struct rl_key_policy *k, struct rl_result *r)
{
	if (!k->has_override || k->kind == RL_OVERRIDE_CAPACITY)
		return false;
	if (is_configured_ban(k))
		answer_banned(RL_NEVER_NS, 0, r);
	else
		r->reason = RL_BY_EXEMPTION;
	return true;
}

bool
rl_request_answered_by_exception(struct rl *rl, const struct rl_item *item, struct rl_key_policy *k,
                                 uint64_t now_ns, struct rl_budget *budget, struct rl_result *r)
{
	if (k->rule.has_bans && answered_by_ban(rl, item, k, now_ns, budget, r))
		return true;
	if (budget->left == 0)
		return !rl_result_undecided(r, RL_ECOST);
	return answered_by_override(k, r);
}

/* Without a look at a counter; if the budget has ended, because of that. */
static bool
is_answered(struct rl *rl, const struct rl_item *item, struct rl_key_policy *k, uint64_t now_ns,
            struct rl_budget *budget, struct rl_result *r)
{
	if (item->key_len > 0 && k->rule.count > 0 && !k->rule.has_bans && !k->has_override)
		return false;
	if (k->rule.is_removed)
		r->error = RL_EREMOVED;
	else if (item->key_len == 0)
		r->error = RL_EEMPTY;
	if (k->rule.count > 0) {
		r->limit = r->remaining =
			rl_limiter_limit(&k->rule.limit[0].limit->limiter, &k->rule.limit[0].quota);
		r->window_ns = k->rule.limit[0].limit->limiter.window_ns;
	}
	k->has_ban = false;
	if (item->key_len > 0 && !rl_request_answered_by_exception(rl, item, k, now_ns, budget, r))
		return false;
	if (k->has_ban && item->cost > 0 && rl->segment.is_writable)
		rl_ban_note_hit(&rl->segment, k->ban_slot);
	return true;
}

/* A burst in place of the limit's own. `has` is what its algorithm has. */
static int
apply_burst(uint32_t burst, bool keeps_own, unsigned has, struct rl_quota *q)
{
	if (!(has & RL_HAS_BURST) || burst >= RL_CAPACITY_MAX)
		return -EINVAL;
	if (has & RL_BURST_IS_CAPACITY && burst == 0)
		burst = q->capacity < RL_CAPACITY_MAX ? q->capacity : RL_CAPACITY_MAX - 1;
	if (!keeps_own || !(has & RL_BURST_IS_CAPACITY))
		q->burst = burst;
	return 0;
}

static int
apply_to(const struct rl_item *item, bool keeps_own, struct rl_policy_limit *first)
{
	const struct rl_algorithm_info *info = rl_algorithm_info(first->limit->limiter.algorithm);
	struct rl_quota *q = &first->quota;
	int error = 0;

	if (!info) /* a space of counters */
		return -EINVAL;
	if (item->capacity > 0 && !keeps_own)
		error = rl_policy_set_capacity(&first->limit->limiter, item->capacity, q);
	if (error == 0 && item->flags & RL_ITEM_BURST)
		error = apply_burst(item->burst, keeps_own, info->flags, q);
	if (error < 0 || !(item->flags & RL_ITEM_UNDELAYED))
		return error;
	if (!(info->flags & RL_HAS_UNDELAYED) || item->undelayed > q->burst)
		return -EINVAL;
	q->undelayed = item->undelayed;
	return 0;
}

/* The request's own capacity, burst and undelayed take the place of the first limit's. */
static int
apply_item(const struct rl_item *item, struct rl_key_policy *k)
{
	if ((item->capacity | item->flags) == 0 || k->rule.count == 0 ||
	    k->rule.limit[0].index != 0)
		return 0;
	return apply_to(item, k->keeps_first, &k->rule.limit[0]);
}

/* All of them can book ahead, or none of the request is. */
static int
apply_booking(const struct rl_booking *booking, struct rl_key_policy *k)
{
	for (unsigned i = 0; booking && i < k->rule.count; i++) {
		if (!rl_limiter_is_bucket(&k->rule.limit[i].limit->limiter))
			return -EINVAL;
		k->rule.limit[i].quota.is_booking = true;
		k->rule.limit[i].quota.max_wait_ns = booking->max_wait_ns;
	}
	return 0;
}

/* The most that a cluster's limits admit on this host at now_ns. */
static void
lend_all(const struct rl_segment *s, uint64_t now_ns, struct rl_key_policy *k)
{
	for (unsigned i = 0; i < k->rule.count; i++)
		rl_policy_lend(s, k->rule.limit[i].limit, now_ns, &k->rule.limit[i].quota);
}

/* Units that are held are given back by their charge, so there has to be one. */
static int
apply_kinds(const struct rl *rl, const struct rl_item *item, uint64_t now_ns,
            struct rl_key_policy *k)
{
	lend_all(&rl->segment, now_ns, k);
	return k->rule.kinds & RL_POLICY_HAS_HELD && item->cost > 0 && !item->charges ? -EINVAL : 0;
}

/* The network that a limit counts the key by. */
static void
set_network(const struct rl_address *address, struct rl_request *rq)
{
	rq->key = NULL;
	rq->key_len =
		rl_network_key(address, rl_compiled_prefix(rq->ask.limit, address), rq->network);
}

/* Limits of one prefix have one hash, too. */
static bool
is_same_key(const struct rl_request *a, const struct rl_request *b)
{
	return a->key == b->key && a->key_len == b->key_len &&
	       (a->key || memcmp(a->network, b->network, a->key_len) == 0);
}

void
rl_request_fill(struct rl *rl, const struct rl_item *item, const struct rl_key_policy *k,
                uint64_t now_ns, struct rl_request *requests)
{
	uint64_t hash = 0;

	for (unsigned i = 0; i < k->rule.count; i++) {
		const struct rl_policy_limit *l = &k->rule.limit[i];
		struct rl_request *rq = &requests[i];

		rq->ask = (struct rl_ask){
			.segment = &rl->segment,
			.limit = l->limit,
			.quota = l->quota,
			.now_ns = now_ns,
			.cost = 1,
			.index = l->index,
		};
		rq->rl = rl;
		rq->rule = item->rule;
		rq->key = item->key;
		rq->key_len = item->key_len;
		rq->tier = l->index == 0 ? item->capacity : 0;
		rq->slot.tag = 0;
		rq->budget = NULL;
		if (l->limit->has_prefix)
			set_network(&k->address, rq);
		if (i == 0 || !is_same_key(rq, &requests[i - 1]))
			hash = rl_hash_of_key(rl->segment.key_start,
			                      rq->key ? rq->key : rq->network, rq->key_len);
		rq->ask.hash = hash;
		rl_request_candidates(rl, l->limit, hash, &rq->candidates);
	}
}

static bool
is_sound(struct rl *rl, const struct rl_item *item, struct rl_result *r)
{
	if (!rl_rules_had(&rl->segment, item->rule))
		return rl_result_undecided(r, -EINVAL);
	if (item->key_len > RL_KEY_MAX)
		return rl_result_undecided(r, -ENAMETOOLONG);
	if ((!item->key && item->key_len > 0) || item->capacity > RL_CAPACITY_MAX ||
	    item->flags & ~ITEM_FLAGS)
		return rl_result_undecided(r, -EINVAL);
	return true;
}

unsigned
rl_request_make(struct rl *rl, const struct rl_item *item, const struct rl_booking *booking,
                uint64_t now_ns, struct rl_request *requests, unsigned room, struct rl_result *r)
{
	struct rl_budget budget = {RL_LOOKUP_STEPS};
	uint64_t now = rl_clamp_now(now_ns);
	struct rl_key_policy k;
	int error;

	rl_result_clear(r);
	if (item->charges)
		item->charges->count = 0;
	if (!is_sound(rl, item, r))
		return 0;
	rl_history_look(rl, item->rule, now);
	error = rl_policy_of_key(rl, item->rule, item->key, item->key_len, &budget, &k);
	if (error == 0)
		error = apply_item(item, &k);
	if (error == 0)
		error = apply_booking(booking, &k);
	if (error == 0 && k.rule.kinds > 0)
		error = apply_kinds(rl, item, now, &k);
	if (error == 0 && k.rule.count > room)
		error = -EOVERFLOW;
	if (error < 0)
		return (unsigned)rl_result_undecided(r, error);
	if (is_answered(rl, item, &k, now, &budget, r))
		return 0;
	rl_request_fill(rl, item, &k, now, requests);
	return k.rule.count;
}

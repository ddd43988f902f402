/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A policy is read from one bank of the configuration (see enum rl_bank), and holds if `generation`
 * is the same before and after: the bank of generation g is written again only when g + 1 is in
 * force already. It is kept if nobody was changing anything when the reading began, and nobody had
 * begun when it ended: then it is what every process reads until `begun` moves.
 */
#include "rule/policy.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "algorithm/adds.h"
#include "algorithm/in_flight.h"
#include "algorithm/log.h"
#include "algorithm/ops.h"
#include "rule/denials.h"

#define TRIES 16
#define TRY_STEPS 64 /* a rule's references, and its limits' quota */

int
rl_policy_set_capacity(const struct rl_limiter *l, uint32_t capacity, struct rl_quota *q)
{
	if (l->algorithm == RL_SLIDING_LOG && capacity > rl_log_capacity(l->ring_entries))
		return RL_ERING;
	if (l->algorithm == RL_IN_FLIGHT && capacity > RL_IN_FLIGHT_MAX)
		return -EINVAL;
	q->capacity = capacity;
	if (l->algorithm == RL_TOKEN_BUCKET)
		q->burst = capacity < RL_CAPACITY_MAX ? capacity : RL_CAPACITY_MAX - 1;
	return 0;
}

uint32_t
rl_policy_apply_tier(const struct rl_segment *s, uint64_t slot, const struct rl_compiled *limit,
                     unsigned index, struct rl_quota *q)
{
	uint32_t tier = index == 0 ? rl_record_tier(s, slot) : 0;

	return tier > 0 && rl_policy_set_capacity(&limit->limiter, tier, q) == 0 ? tier : 0;
}

static uint64_t
kinds_of(const struct rl_compiled *limit)
{
	const struct rl_limiter *l = &limit->limiter;

	return (l->is_held ? RL_POLICY_HELD : 0) |
	       (rl_limiter_is_bucket(l) ? RL_POLICY_BUCKET
	        : rl_adds_knows(l)      ? 0
	                                : RL_POLICY_OTHER) |
	       (l->counts_requests ? RL_POLICY_REQUESTS : 0) |
	       (l->is_shared ? RL_POLICY_SHARED : 0) | (limit->has_prefix ? RL_POLICY_PREFIXES : 0);
}

/* -EAGAIN: a row that is referred to is another's by now, or its limit has started anew. */
static int
load_limits(struct rl *rl, int rule, struct rl_u128 refs, struct rl_policy *p)
{
	const struct rl_u128 list = refs;
	int id;

	p->count = 0;
	p->has_new = false;
	while ((id = rl_refs_take(&rl->segment, &refs)) >= 0) {
		struct rl_policy_limit *l = &p->limit[p->count];

		l->limit = rl_handle_limit(rl, id);
		if (!l->limit)
			return rl_handle_no_limit(rl, id);
		if (l->limit->rule != rl_rule_row(rule))
			return -EAGAIN;
		rl_rules_quota(l->limit->row, p->bank, &l->quota);
		rl_limiter_keep_rate(&l->limit->limiter, &l->quota);
		if (!rl_rules_settle(&rl->segment, rule, p->generation, list, l->limit->row))
			return -EAGAIN;
		rl_denials_begin(&rl->segment, rule, l->limit->row, p->count);
		if (!rl_compiled_holds(l->limit)) /* last: see the head of rows.c */
			return -EAGAIN;
		p->has_new |= rl_rules_is_new(l->limit->row);
		p->kinds |= kinds_of(l->limit);
		l->index = p->count++;
	}
	return 0;
}

static void
load_patterns(const struct rl_segment *s, int rule, uint64_t flags, struct rl_policy *p)
{
	const struct rl_row *row = rl_rules_at(s, rule);

	p->has_overrides = p->bank < RL_BANK_APP && (flags & (uint64_t)RL_ROW_OVERRIDES << p->bank);
	if (p->has_overrides)
		p->overrides = rl_lengths_load(&row->overrides[p->bank]);
	p->bans = rl_lengths_load(&s->header->any_bans);
	if (flags & RL_ROW_BANS)
		p->bans = rl_lengths_both(p->bans, rl_lengths_load(&row->bans));
	p->has_bans = rl_lengths_have(&p->bans);
	p->has_timed = (flags & RL_ROW_TIMED) != 0;
}

/*
 * As of generation `g`, if that is still in force at the end. Last: was the row the rule's while it
 * was read? Else the rule is as if removed; 0, or -EINVAL if there never was such a one.
 */
static int
load_at(struct rl *rl, int rule, uint64_t g, struct rl_policy *p)
{
	const struct rl_segment *s = &rl->segment;
	struct rl_u128 refs;
	uint64_t flags;
	int error;

	*p = (struct rl_policy){.rule = rule, .generation = g};
	p->bank = rl_rules_in_force(s, rule, g, &refs);
	p->is_removed = p->bank == RL_BANKS;
	error = load_limits(rl, rule, refs, p);
	if (error < 0)
		return error;
	flags = rl_atomic_load(&rl_rules_at(s, rule)->flags);
	load_patterns(s, rule, flags, p);
	if (rl_rule_has_flags(rule, flags))
		return 0;
	p->count = 0;
	p->kinds = 0;
	p->has_overrides = false;
	p->is_removed = true;
	return rl_rule_incarnation(rule) > rl_row_incarnation(flags) ? -EINVAL : 0;
}

bool
rl_policy_is_of(const struct rl_segment *s, uint64_t generation)
{
	rl_atomic_fence();
	return rl_atomic_load(&s->header->generation) == generation;
}

/* Of a version that is cached, the filters have all that it may find of a key. */
static void
make_askable(struct rl_policy *p, uint64_t version)
{
	p->is_cached = 1;
	p->version = version;
	p->ask.lengths = p->has_overrides ? rl_lengths_both(p->bans, p->overrides) : p->bans;
	p->ask.kinds = (p->has_bans ? RL_FILTER_BANS : 0u) |
	               (p->has_overrides ? RL_FILTER_OVERRIDES : 0u) |
	               (p->has_timed ? RL_FILTER_TIMED : 0u) |
	               (p->bank == RL_BANK_B ? RL_FILTER_BANK : 0u) |
	               (rl_lengths_have_networks(&p->ask.lengths) ? RL_FILTER_NETWORKS : 0u) |
	               (p->ask.lengths.text > 1 ? RL_FILTER_BEGINNINGS : 0u) |
	               (p->ask.lengths.text & 1 ? RL_FILTER_KEYS : 0u);
}

static uint64_t
steps_of(const struct rl_policy *p)
{
	bool is_other = false;

	for (unsigned i = 0; i < p->count; i++)
		is_other |= rl_quota_is_other(&p->limit[i].quota);
	if (p->count == 0 || p->is_removed)
		return 0;
	if (p->kinds & RL_POLICY_REQUESTS)
		return p->kinds; /* no rule's plain steps: each request is made by make_any() */
	return rl_policy_plain_steps(p->rule) | (uint64_t)(p->count - 1) << RL_POLICY_MORE_SHIFT |
	       p->kinds | (p->has_overrides || p->has_bans ? RL_POLICY_ASKS : 0) |
	       (is_other ? RL_POLICY_OTHER : 0);
}

/* For all threads, unless another is at it. */
static void
keep(struct rl *rl, uint64_t version, const struct rl_policy *p)
{
	struct rl_policy_cached *cached = &rl->policies[rl_rule_row(p->rule)];
	uint64_t me = (uint64_t)getpid(), writer = rl_atomic_own_load(&cached->writer), sequence;

	if (writer == me || !rl_atomic_own_cas(&cached->writer, writer, me))
		return;
	sequence = rl_atomic_own_load(&cached->sequence) | 1;
	rl_atomic_own_store(&cached->sequence, sequence);
	rl_atomic_own_fence();
	rl_atomic_own_copy(&cached->policy, p, sizeof *p);
	rl_atomic_own_store(&cached->version, version);
	rl_atomic_own_store(&cached->steps, steps_of(p));
	rl_atomic_own_store(&cached->sequence, sequence + 1);
	rl_atomic_own_store(&cached->writer, 0);
}

/* What is cached, if it is of this rule and version. */
static bool
recall(const struct rl *rl, int rule, uint64_t version, struct rl_policy *p)
{
	const struct rl_policy_cached *cached = &rl->policies[rl_rule_row(rule)];
	uint64_t sequence = rl_atomic_own_load(&cached->sequence);

	if ((sequence & 1) || rl_atomic_own_load(&cached->version) != version || sequence == 0)
		return false;
	rl_atomic_own_copy(p, &cached->policy, offsetof(struct rl_policy, limit));
	if (p->count > RL_LIMITS_MAX)
		return false; /* it is being written */
	rl_atomic_own_copy(p->limit, cached->policy.limit, p->count * sizeof p->limit[0]);
	rl_atomic_own_fence();
	return rl_atomic_own_load(&cached->sequence) == sequence && p->rule == rule;
}

int
rl_policy_load(struct rl *rl, int rule, struct rl_budget *budget, struct rl_policy *p)
{
	const struct rl_segment *s = &rl->segment;
	uint64_t version;

	if (recall(rl, rule, rl_change_version(s), p))
		return 0;
	while (rl_budget_take(budget, TRY_STEPS)) {
		bool may_keep = rl_change_is_quiet(s, &version);
		uint64_t g = rl_atomic_load(&s->header->generation);
		int error = load_at(rl, rule, g, p);

		if (!rl_policy_is_of(s, g) || error == -EAGAIN)
			continue;
		if (error == 0 && may_keep && !p->has_new && rl_change_version(s) == version) {
			make_askable(p, version);
			keep(rl, version, p);
		}
		return error;
	}
	return RL_ECOST;
}

static __attribute__((noinline)) bool
may_have_address(const struct rl_segment *s, const struct rl_filter_ask *ask, const void *key,
                 size_t key_len, uint64_t hash)
{
	struct rl_address address;
	bool is_address = rl_address_parse(key, key_len, &address);

	return rl_filter_may_have(s, ask, key, key_len, hash, is_address ? &address : NULL);
}

bool
rl_policy_has_none_for(const struct rl *rl, int rule, uint64_t version, const void *key,
                       size_t key_len, uint64_t hash)
{
	const struct rl_segment *s = &rl->segment;
	const struct rl_filter_ask *ask = &rl->policies[rl_rule_row(rule)].policy.ask;
	bool may_have = rl_atomic_own_load(&ask->kinds) & RL_FILTER_NETWORKS
	                        ? may_have_address(s, ask, key, key_len, hash)
	                        : rl_filter_may_have(s, ask, key, key_len, hash, NULL);

	return !may_have && rl_change_version(s) == version;
}

uint32_t
rl_policy_worth_away(const struct rl_segment *s, uint32_t most, unsigned away)
{
	uint64_t hosts = rl_atomic_load_relaxed(&s->header->cluster_hosts);

	switch ((enum rl_away)away) {
	case RL_AWAY_KEEP:
		return RL_SHARE_KEEP;
	case RL_AWAY_OPEN:
		return most;
	case RL_AWAY_CLOSED:
		return 0;
	case RL_AWAY_LOCAL_SHARE:
		break;
	}
	if (hosts == 0) /* nothing was lent yet */
		return 0;
	return hosts < most ? most / (uint32_t)hosts : 1;
}

bool
rl_policy_of_limit(const struct rl_segment *s, int limit, struct rl_quota *quota, unsigned *index)
{
	const uint64_t *generation = &s->header->generation;
	int row = rl_rules_of_limit(s, limit);
	struct rl_refs refs;

	for (int tries = 0; row >= 0 && tries < TRIES; tries++) {
		uint64_t g = rl_atomic_load(generation);
		int rule = rl_rules_handle(s, row);
		enum rl_bank bank = rl_rules_list(s, rule, g, &refs);

		for (*index = 0; *index < refs.count && refs.limit[*index] != limit; ++*index)
			;
		if (*index < refs.count)
			rl_rules_quota(&s->limits[limit], bank, quota);
		rl_atomic_fence();
		if (rl_atomic_load(generation) == g && rl_rules_has(s, rule))
			return *index < refs.count;
	}
	*index = 0; /* in force, for all one can tell while it changes all the time */
	if (row >= 0)
		rl_rules_quota(&s->limits[limit], RL_BANK_APP, quota);
	return row >= 0;
}

bool
rl_policy_has_overrides(const struct rl_segment *s, int rule)
{
	uint64_t flags = rl_atomic_load(&rl_rules_at(s, rule)->flags);

	return (flags & (RL_ROW_OVERRIDES | RL_ROW_OVERRIDES << 1 | RL_ROW_TIMED)) != 0;
}

bool
rl_policy_has_bans(const struct rl_segment *s, int rule)
{
	return (rl_atomic_load(&rl_rules_at(s, rule)->flags) & RL_ROW_BANS) != 0 ||
	       rl_lengths_have(&s->header->any_bans);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "decide/exception.h"

#include "decide/answered.h"
#include "decide/usual.h"
#include "rule/ban_note.h"

bool
rl_exception_find(const struct rl *rl, int rule, const struct rl_policy_look *look,
                  struct rl_hash key, uint64_t now_ns, struct rl_budget *budget,
                  struct rl_exception *e)
{
	const struct rl_policy *policy = &look->cached->policy;
	const struct rl_segment *s = &rl->segment;
	uint64_t kinds = rl_atomic_own_load(&policy->ask.kinds);
	uint64_t generation = rl_atomic_own_load(&policy->generation);

	e->has_override = false;
	e->has_bans = (kinds & RL_FILTER_BANS) != 0;
	if (!rl_policy_look_holds(look))
		return false;
	if (kinds & RL_FILTER_OVERRIDES) {
		e->has_override = rl_override_find(s, (kinds & RL_FILTER_BANK) != 0,
		                                   rl_pattern_hash_in(key, rl_pattern_scope(rule)),
		                                   budget, &e->override);
		if (!rl_policy_is_of(s, generation))
			return false;
	}
	if (e->has_bans) {
		e->standing = (struct rl_standing){.until_ns = now_ns};
		rl_ban_of_pattern(s, rule, key, budget, &e->standing);
	}
	return budget->left > 0;
}

static bool
is_configured(const struct rl_exception *e, enum rl_override_kind kind)
{
	return e->has_override && e->override.kind == kind;
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

/*
 * A ban denies, or an exemption allows. What the configuration bans, it bans without an end, and
 * behind these.
 */
static bool
bans_answer(struct rl_exception *e, uint64_t now_ns, const struct rl_budget *budget,
            struct rl_result *r)
{
	struct rl_standing *standing = &e->standing;

	if (!is_configured(e, RL_OVERRIDE_UNLIMITED) && budget->left > 0)
		rl_standing_add_automatic(standing);
	if (!standing->is_found)
		return false;
	if (standing->first.is_exemption)
		r->reason = RL_BY_EXEMPTION;
	else if (is_configured(e, RL_OVERRIDE_BANNED) && !standing->is_exempt_then)
		answer_banned(RL_NEVER_NS, now_ns, r);
	else
		answer_banned(standing->until_ns, now_ns, r);
	return true;
}

bool
rl_exception_answers(struct rl_exception *e, uint64_t now_ns, const struct rl_budget *budget,
                     struct rl_result *r)
{
	if (e->has_bans && bans_answer(e, now_ns, budget, r))
		return true;
	if (budget->left == 0)
		return !rl_result_undecided(r, RL_ECOST);
	if (!e->has_override || e->override.kind == RL_OVERRIDE_CAPACITY)
		return false;
	if (is_configured(e, RL_OVERRIDE_BANNED))
		answer_banned(RL_NEVER_NS, 0, r);
	else
		r->reason = RL_BY_EXEMPTION;
	return true;
}

/* What is said of the limit, whatever answers. False: that is no longer so. */
static bool
begin_answer(const struct rl_policy_look *look, uint32_t capacity, struct rl_result *r)
{
	const struct rl_policy_limit *at = &look->cached->policy.limit[0];
	const struct rl_compiled *limit = rl_atomic_own_load(&at->limit);
	struct rl_quota q;

	rl_atomic_own_copy(&q, &at->quota, sizeof q);
	if (!rl_policy_look_holds(look))
		return false;
	if (capacity > 0)
		rl_policy_set_capacity(&limit->limiter, capacity, &q);
	rl_result_clear(r);
	r->limit = r->remaining = rl_limiter_limit(&limit->limiter, &q);
	r->window_ns = limit->limiter.window_ns;
	return true;
}

struct rl_exception_left
rl_exception_of_key(const struct rl *rl, int rule, const void *key, size_t key_len, uint64_t cost,
                    uint64_t now_ns, struct rl_result *result,
                    const struct rl_policy_cached *cached, uint64_t sequence)
{
	const struct rl_policy_look look = rl_policy_looked(cached, sequence);
	const struct rl_sip of_key = rl_sip_of_key(rl->segment.key_start, key, key_len);
	const struct rl_hash hash = rl_hash_both(of_key);
	struct rl_exception_left left = {.decided = RL_AGAIN};
	struct rl_result unused, *r = result ? result : &unused;
	struct rl_budget budget = {RL_LOOKUP_STEPS};
	struct rl_exception e;

	if (!rl_exception_is_of_keys(&look) ||
	    !rl_exception_find(rl, rule, &look, hash, now_ns, &budget, &e))
		return left;
	left.capacity = e.has_override ? e.override.capacity[0] : 0;
	if (!begin_answer(&look, left.capacity, r))
		return left;
	left.decided = RL_UNANSWERED;
	if (!rl_exception_answers(&e, now_ns, &budget, r))
		return left;
	left.decided = (int)r->verdict;
	if (cost == 0 || !rl->segment.is_writable)
		return left;
	if (rl_exception_is_noted(&e))
		rl_ban_note_hit(&rl->segment, e.standing.first.slot);
	rl_answered_without_counter(&rl->segment, rule, key, key_len, hash.a, now_ns, r);
	return left;
}

int
rl_exception_usual(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t cost,
                   uint64_t now_ns, struct rl_result *result, const struct rl_compiled *limit,
                   uint32_t capacity, uint64_t hash, const struct rl_policy_cached *cached,
                   uint64_t sequence)
{
	struct rl_exception_left left =
		rl_exception_of_key(rl, rule, key, key_len, cost, now_ns, result, cached, sequence);
	const struct rl_table *table = &rl->segment.table;
	struct rl_usual u = {.limit = limit};

	u.quota.capacity = left.capacity > 0 ? left.capacity : capacity;
	if (left.decided != RL_UNANSWERED)
		return left.decided;
	if (!limit->limiter.is_window || cost > u.quota.capacity)
		return RL_AGAIN;
	rl_usual_place(rl, hash, &u);
	rl_table_prefetch(table, &u.candidates);
	if (!rl_usual_find(rl, now_ns, &u))
		return RL_AGAIN;
	return rl_usual_decide(rl, 0, rule, key, key_len, cost, now_ns, result, &u);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "decide/exception.h"

#include "decide/answered.h"
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

int
rl_exception_answer(const struct rl_part *p, const struct rl_item *item, struct rl_exception *e,
                    const struct rl_budget *budget, struct rl_result *result)
{
	const struct rl_limiter *l = &p->limit->limiter;
	struct rl_result unused, *r = result ? result : &unused;

	rl_result_clear(r);
	r->limit = r->remaining = rl_limiter_limit(l, &p->quota);
	r->window_ns = l->window_ns;
	if (!rl_exception_answers(e, p->now_ns, budget, r))
		return RL_AGAIN;
	if (item->cost == 0 || !p->segment->is_writable)
		return (int)r->verdict;
	if (rl_exception_is_noted(e))
		rl_ban_note_hit(p->segment, e->standing.first.slot);
	rl_answered_without_counter(p->segment, p->rule, p->key, p->key_len, p->hash, p->now_ns, r);
	return (int)r->verdict;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * on_full reserve: of the rule that has most of the 16, the key that has used the least share,
 * whatever that is, if the newcomer's rule has fewer by two at least. So no rule is pushed below
 * its share by another, and within a rule nobody is evicted. What the key has used is folded into
 * its overflow counter before.
 */
#include "evict/give_way.h"

#include "algorithm/overflow_count.h"
#include "evict/admit.h"
#include "overflow/overflow.h"

#define NO_RULE (-1)
#define PINNED_FEW 4       /* of a rule's that can be in no overflow counter */
#define GIVE_WAY_STEPS 768 /* to judge a rule's keys, and fold one of them */

/* The rule whose key is at a candidate slot. */
static int
rule_at(struct rl *rl, uint64_t index)
{
	struct rl_candidate c;

	rl_candidate_inspect(rl, index, &c);
	return c.limit && c.is_in_force ? c.limit->rule : NO_RULE;
}

/* A counter has no overflow counter that could go on with it, nor has a cluster's bucket. */
static bool
can_give_way(const struct rl_candidate *c)
{
	return !rl_candidate_must_stay(c) && c->limit->limiter.algorithm != RL_COUNTER &&
	       (c->limit->has_overflow || !c->limit->limiter.is_shared);
}

static unsigned
count_of(const int rules[static RL_CANDIDATES], int rule)
{
	unsigned count = 0;

	for (unsigned i = 0; i < RL_CANDIDATES; i++)
		count += rules[i] == rule;
	return count;
}

/* The rule that has most of them, and more than so many; or NO_RULE. */
static int
most_of(const int rules[static RL_CANDIDATES], unsigned most)
{
	int of = NO_RULE;

	for (unsigned i = 0; i < RL_CANDIDATES; i++) {
		unsigned count = rules[i] == NO_RULE ? 0 : count_of(rules, rules[i]);

		if (count > most) {
			most = count;
			of = rules[i];
		}
	}
	return of;
}

/* Units in flight that nobody holds count nothing, and are in no overflow counter. */
static bool
fold(struct rl *rl, const struct rl_candidate *c, uint64_t now_ns)
{
	return !c->limit->has_overflow ||
	       rl_overflow_fold(&rl->segment, c->limit, c->slot, &c->view, now_ns);
}

/*
 * What its overflow counter would have of it, as a share: that is longer than the slot counts it.
 */
static uint64_t
share_of_fold(const struct rl_candidate *c, uint64_t share)
{
	const struct rl_limiter *overflow = &c->limit->overflow;
	struct rl_u128 word;
	struct rl_state s;
	uint64_t used;

	if (!c->limit->has_overflow || rl_limiter_has_bucket(overflow))
		return share;
	word = rl_overflow_folded(&c->limit->limiter, overflow, &c->view, (struct rl_u128){0});
	s = rl_state_unpack(word, &overflow->window);
	used = (((uint64_t)s.cur + s.sum) << 32) / (c->quota.capacity ? c->quota.capacity : 1);
	return used > share ? used : share;
}

/* Of a rule's keys, the least used one that can be folded; those of `tried` are left out. */
static bool
find_least(struct rl *rl, const struct rl_candidates *candidates, const int rules[RL_CANDIDATES],
           int rule, struct rl_budget *budget, uint64_t now_ns, unsigned *tried,
           struct rl_candidate *least)
{
	uint64_t least_share = UINT64_MAX;
	unsigned found = RL_CANDIDATES;

	for (unsigned i = 0; i < RL_CANDIDATES; i++) {
		struct rl_candidate c;
		uint64_t share;

		if (rules[i] != rule || (*tried >> i & 1))
			continue;
		rl_candidate_inspect(rl, rl_table_candidate(candidates, i), &c);
		share = can_give_way(&c) ? rl_candidate_share_of(rl, budget, now_ns, &c)
		                         : UINT64_MAX;
		if (share != UINT64_MAX)
			share = share_of_fold(&c, share);
		if (share < least_share) {
			least_share = share;
			*least = c;
			found = i;
		}
	}
	*tried |= 1u << found;
	return found < RL_CANDIDATES;
}

/* Fold the least used of a rule's, and free its slot. */
static bool
free_least(struct rl *rl, const struct rl_candidates *candidates, const int rules[RL_CANDIDATES],
           int rule, struct rl_budget *budget, uint64_t now_ns)
{
	struct rl_candidate least;
	unsigned tried = 0;

	while (rule != NO_RULE && rl_budget_take(budget, GIVE_WAY_STEPS) &&
	       find_least(rl, candidates, rules, rule, budget, now_ns, &tried, &least)) {
		if (!fold(rl, &least, now_ns))
			continue;
		rl_candidate_retire(rl, &least, RL_COUNT_folded);
		return true;
	}
	return false;
}

bool
rl_evict_give_to_pinned(struct rl *rl, int newcomer, const struct rl_candidates *candidates,
                        struct rl_budget *budget, uint64_t now_ns)
{
	int rules[RL_CANDIDATES];
	unsigned own = 0;

	for (unsigned i = 0; i < RL_CANDIDATES; i++) {
		struct rl_candidate c;

		rl_candidate_inspect(rl, rl_table_candidate(candidates, i), &c);
		rules[i] = can_give_way(&c) ? c.limit->rule : NO_RULE;
		if (rules[i] != NO_RULE && c.limit->limiter.is_held) {
			rl_candidate_retire(rl, &c, RL_COUNT_retired);
			return true;
		}
		own += rl_admit_is_pinned(&c, now_ns) && c.limit->rule == newcomer;
	}
	return own <= PINNED_FEW &&
	       free_least(rl, candidates, rules, most_of(rules, 0), budget, now_ns);
}

bool
rl_evict_give_way(struct rl *rl, int newcomer, const struct rl_candidates *candidates,
                  struct rl_budget *budget, uint64_t now_ns)
{
	int rules[RL_CANDIDATES];

	for (unsigned i = 0; i < RL_CANDIDATES; i++)
		rules[i] = rule_at(rl, rl_table_candidate(candidates, i));
	return free_least(rl, candidates, rules, most_of(rules, count_of(rules, newcomer) + 1),
	                  budget, now_ns);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_EXCEPTION_H
#define RL_EXCEPTION_H

/*
 * What answers a request without a look at a counter: a ban, an exemption, an override that bans or
 * exempts. A rule that has such things for whole keys alone is asked for them by the key's hash, at
 * once, once the filter has said maybe.
 */

#include "decide/part.h"
#include "rule/ban.h"
#include "rule/policy.h"

/* What there is for a key. */
struct rl_exception {
	bool has_override;
	bool has_bans; /* there may be some: they were looked for, and `standing` has them */
	struct rl_override_found override; /* with has_override */
	struct rl_standing standing;
};

/* The patterns that it may match are of whole keys alone, and no override is for a time. */
static inline bool
rl_exception_is_of_keys(const struct rl_policy_look *look)
{
	return !(rl_atomic_own_load(&look->cached->policy.ask.kinds) &
	         (RL_FILTER_NETWORKS | RL_FILTER_BEGINNINGS | RL_FILTER_TIMED));
}

/*
 * Look for it by the hash of a key, where that is so. False: what was read of the rule does not
 * hold any more, or the budget has ended.
 */
bool rl_exception_find(const struct rl *rl, int rule, const struct rl_policy_look *look,
                       struct rl_hash key, uint64_t now_ns, struct rl_budget *budget,
                       struct rl_exception *exception);

/* Is a ban or an exemption the answer, and not the configuration? After rl_exception_answers(). */
static inline bool
rl_exception_is_noted(const struct rl_exception *e)
{
	return e->has_bans && e->standing.is_found;
}

/*
 * Is it an answer? Then it is in *result, which is clear but for limit, remaining and window.
 * Undecided where the budget has ended.
 */
bool rl_exception_answers(struct rl_exception *exception, uint64_t now_ns,
                          const struct rl_budget *budget, struct rl_result *result);

/*
 * The same of an item, by its rule's only part, with what there is to count. The verdict, or
 * RL_AGAIN: it is no answer.
 */
int rl_exception_answer(const struct rl_part *part, const struct rl_item *item,
                        struct rl_exception *exception, const struct rl_budget *budget,
                        struct rl_result *result);

#endif

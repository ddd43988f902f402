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

/* There may be something for the key, but it is no answer. */
#define RL_UNANSWERED (-2)

struct rl_exception_left {
	int decided;       /* the verdict; RL_UNANSWERED; RL_AGAIN: look for it by all of the key */
	uint32_t capacity; /* RL_UNANSWERED: what the key has in place of the limit's; 0: nothing */
};

/*
 * All of it, of a key about which the filter has said maybe, under a rule of one limit, by what was
 * looked at of the rule; with what there is to count of a cost above 0.
 */
struct rl_exception_left rl_exception_of_key(const struct rl *rl, int rule, const void *key,
                                             size_t key_len, uint64_t cost, uint64_t now_ns,
                                             struct rl_result *result,
                                             const struct rl_policy_cached *cached,
                                             uint64_t sequence);

/*
 * A usual request, about whose key of that hash the filter has said maybe: what there is, or as
 * usual by what it may have. RL_AGAIN: usual.h. A call, and of words alone, so that who has nothing
 * keeps what it knows in registers.
 */
int rl_exception_usual(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t cost,
                       uint64_t now_ns, struct rl_result *result, const struct rl_compiled *limit,
                       uint32_t capacity, uint64_t hash, const struct rl_policy_cached *cached,
                       uint64_t sequence);

#endif

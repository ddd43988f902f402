/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_EACH_H
#define RL_EACH_H

/*
 * The usual request of several limits: windows and buckets of this host, for whole keys or for
 * networks. It is usual.h for each of them. All are planned before one is charged; then one CAS
 * charges each. RL_AGAIN: a limit takes more than that, or others were quicker; nothing stays
 * charged.
 */

#include "decide/usual.h"

/* Does it take the hash of the whole key? */
static inline bool
rl_each_asks_hash(const struct rl_policy_look *look)
{
	return (look->steps & (RL_POLICY_PREFIXES | RL_POLICY_ASKS)) != RL_POLICY_PREFIXES;
}

/* Of one rule, of which the look is, and a key of that hash, which nothing is for alone. */
int rl_each_decide(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t hash,
                   uint64_t cost, uint64_t now_ns, struct rl_result *result,
                   const struct rl_policy_look *look);

/* Of several items, if all of them are admitted; `results` may be NULL. */
int rl_each_admit(struct rl *rl, const struct rl_item *items, size_t count, uint64_t now_ns,
                  struct rl_result *results);

#endif

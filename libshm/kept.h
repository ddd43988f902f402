/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_KEPT_H
#define RL_KEPT_H

/* A key's counters, whatever bans and overrides say of it: to show, forget or restore them. */

#include "decision.h"
#include "record.h"

/*
 * One request for each limit of the rule that counts the key; under a rule with prefixes, the key
 * may be a network, and then only the limits of that prefix do. How many, or -EINVAL,
 * RL_EADDRESS, -ENOMEM, RL_ECOST.
 */
int rl_kept_requests(struct rl *rl, int rule, const void *key, size_t key_len,
                     struct rl_request requests[static RL_LIMITS_MAX]);

/* Has the rule any overrides, in force or about to be? */
bool rl_kept_has_overrides(const struct rl_segment *s, int rule);

/* What a limit admits the key of that name, where its rule has overrides; else false. */
bool rl_kept_quota(struct rl *rl, const struct rl_kept *kept, const struct rl_compiled *limit,
                   struct rl_budget *budget, struct rl_quota *quota);

#endif

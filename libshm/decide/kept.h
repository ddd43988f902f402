/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_KEPT_H
#define RL_KEPT_H

/* A key's counters, whatever bans and overrides say of it: to show, forget or restore them. */

#include "decide/decision.h"
#include "rule/terms.h"
#include "segment/record.h"

/*
 * The terms of a key; under a rule with prefixes, the key may be a network, and then they are of the
 * limits of that prefix, and of what is configured for all of the network. 0, or -EINVAL, RL_EADDRESS,
 * -ENOMEM, RL_ECOST.
 */
int rl_kept_terms(struct rl *rl, int rule, const void *key, size_t key_len,
                  struct rl_budget *budget, struct rl_terms *terms);

/*
 * One request for each limit of the rule that counts the key; under a rule with prefixes, the key
 * may be a network, and then only the limits of that prefix do. How many, or -EINVAL,
 * RL_EADDRESS, -ENOMEM, RL_ECOST.
 */
int rl_kept_requests(struct rl *rl, int rule, const void *key, size_t key_len,
                     struct rl_request requests[static RL_LIMITS_MAX]);

/* Has the rule any overrides, in force or about to be? */
bool rl_kept_has_overrides(const struct rl_segment *s, int rule);

/* The terms of the key of that name, and what they say of a limit; false if that is not known. */
bool rl_kept_terms_of(struct rl *rl, const struct rl_kept *kept, const struct rl_compiled *limit,
                      struct rl_budget *budget, struct rl_terms *terms, struct rl_quota *quota);

/* What a limit admits the key of that name, where its rule has overrides; else false. */
bool rl_kept_quota(struct rl *rl, const struct rl_kept *kept, const struct rl_compiled *limit,
                   struct rl_budget *budget, struct rl_quota *quota);

#endif

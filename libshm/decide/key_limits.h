/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_KEY_LIMITS_H
#define RL_KEY_LIMITS_H

/* A key's counters, whatever bans and overrides say of it: to show, forget or restore them. */

#include "decide/decide.h"

/*
 * One request for each limit of the rule that counts the key; under a rule with prefixes, the key
 * may be a network, and then only the limits of that prefix do. How many, or -EINVAL,
 * RL_EADDRESS, -ENOMEM, RL_ECOST.
 */
int rl_key_requests(struct rl *rl, int rule, const void *key, size_t key_len,
                    struct rl_request requests[static RL_LIMITS_MAX]);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_EACH_H
#define RL_EACH_H

/*
 * The usual request of a rule of several windows or buckets of this host, for whole keys: usual.h
 * for each of them. All are planned before one is charged; then one CAS charges each. RL_AGAIN: a
 * limit takes more than that, or others were quicker; nothing stays charged.
 */

#include "decide/usual.h"

int rl_each_decide(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t hash,
                   uint64_t cost, uint64_t now_ns, struct rl_result *result,
                   const struct rl_policy_look *look);

#endif

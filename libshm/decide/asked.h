/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_ASKED_H
#define RL_ASKED_H

#include "rl.h"

/*
 * A request that were usual, if its rule had nothing for single keys. What it has is for whole
 * keys: the filter is asked about the hash that the key has anyway, and mostly says no. The
 * verdict; RL_AGAIN: it is of another kind, and nothing was done.
 */
int rl_asked_check(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t cost,
                   uint64_t now_ns, struct rl_result *result);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_MULTI_H
#define RL_MULTI_H

#include "decide/request.h"

/*
 * Decide, charge and count an item whose requests are made, all or nothing. Fills what each says,
 * and the answer; with no requests the latter is filled already, and only counted.
 */
enum rl_verdict rl_multi_decide(struct rl *rl, const struct rl_item *item, uint64_t now_ns,
                                struct rl_request *part, unsigned parts,
                                struct rl_result *part_result, struct rl_result *result);

#endif

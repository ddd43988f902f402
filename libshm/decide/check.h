/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_CHECK_H
#define RL_CHECK_H

#include "decide/request.h"

/*
 * Decide, charge and count one item, whose rule may have several limits. `booking` and `result` may
 * be NULL; `rule` is the item's.
 */
enum rl_verdict rl_check_one(struct rl *rl, int rule, const struct rl_item *item,
                             const struct rl_booking *booking, uint64_t now_ns,
                             struct rl_result *result);

#endif

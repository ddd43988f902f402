/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_ITEMS_H
#define RL_ITEMS_H

#include "decide/request.h"

/* Decide, charge and count one item, whose rule may have several limits. `wish` may be NULL. */
enum rl_verdict rl_items_check(struct rl *rl, const struct rl_item *item,
                               const struct rl_wish *wish, uint64_t now_ns,
                               struct rl_result *result);

#endif

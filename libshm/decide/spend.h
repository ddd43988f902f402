/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_SPEND_H
#define RL_SPEND_H

#include "decide/request.h"

/*
 * An item that was spent already (RL_ITEM_SPEND): each limit is charged, whatever is left. Allowed,
 * and *result says what counts; or what an exception answers; undecided: some limit has no room for
 * it, or is of what is in flight.
 */
enum rl_verdict rl_spend_item(struct rl *rl, int rule, const struct rl_item *item, uint64_t now_ns,
                              struct rl_result *result);

#endif

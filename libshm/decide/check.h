/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_CHECK_H
#define RL_CHECK_H

#include "decide/request.h"

/*
 * Decide, charge and count one item, whose rule may have several limits. `booking` and `result` may
 * be NULL.
 */
enum rl_verdict rl_check_one(struct rl *rl, const struct rl_item *item,
                             const struct rl_booking *booking, uint64_t now_ns,
                             struct rl_result *result);

/* The same, of any rule and with whatever there is for the key: what is not plain. See plain.h. */
enum rl_verdict rl_check_any(struct rl *rl, const struct rl_item *item,
                             const struct rl_booking *booking, uint64_t now_ns,
                             struct rl_result *result);

/* The same when its requests are made; `result` is not NULL. */
enum rl_verdict rl_check_made(struct rl *rl, const struct rl_item *item, uint64_t now_ns,
                              struct rl_request *part, unsigned parts, struct rl_result *result);

#endif

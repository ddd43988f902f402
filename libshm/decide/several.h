/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_SEVERAL_H
#define RL_SEVERAL_H

#include "decide/request.h"

/*
 * Decide, charge and count an item whose parts are made: several, all or nothing, or none, and
 * *result is filled.
 */
enum rl_verdict rl_several_decide(struct rl *rl, const struct rl_item *item, uint64_t now_ns,
                                  struct rl_part *part, unsigned parts, struct rl_result *result);

/* rl_check_all() at a time that is known, or with a booking. */
enum rl_verdict rl_several_check(struct rl *rl, const struct rl_item *items, size_t count,
                                 const struct rl_booking *booking, uint64_t now_ns,
                                 struct rl_result *results, size_t *decided);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_GIVE_WAY_H
#define RL_GIVE_WAY_H

/* What is done where all candidate slots of a key count: with the segment's on_full `reserve`. */

#include "evict/candidate.h"

/*
 * One gives way to a key of that rule. True if there was one, even if its process was quicker: then
 * claim again.
 */
bool rl_evict_give_way(struct rl *rl, int newcomer, const struct rl_candidates *candidates,
                       struct rl_budget *budget, uint64_t now_ns);

/*
 * The same for a key of that rule that can be counted in a slot alone, while its rule has few such:
 * one that can be counted elsewhere, or that counts nothing.
 */
bool rl_evict_give_to_pinned(struct rl *rl, int newcomer, const struct rl_candidates *candidates,
                             struct rl_budget *budget, uint64_t now_ns);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_ADMIT_H
#define RL_ADMIT_H

/*
 * Who may claim a slot, of keys that count in nothing else: counters, and units in flight. While
 * they count they can be neither forgotten nor folded, so a flood of them would keep the whole
 * table. What can be counted in an overflow counter gives way, and is not asked.
 *
 * A new one is refused where its rule's are the most, here and around:
 *
 *	of the 16      its rule's are three times what others' leave free, or more: alone it stops
 *	               at 12
 *	of 128 slots   from its first bucket on its limit has 92 or more. The `keys` of a table are
 *	               60 per cent of its slots: 77; 92 are rare enough to be in nobody's way
 *
 * This is advice and no promise: two that claim at the same time may be one too many.
 */

#include "evict/candidate.h"

/* Can its keys be counted nowhere but in a slot? */
bool rl_admit_is_pinned_kind(const struct rl_compiled *limit);

/* Can it be neither folded nor forgotten now? */
bool rl_admit_is_pinned(const struct rl_candidate *c, uint64_t now_ns);

/* May a key of the limit that has no slot claim one? */
bool rl_admit(struct rl *rl, const struct rl_compiled *limit,
              const struct rl_candidates *candidates, struct rl_budget *budget, uint64_t now_ns);

#endif

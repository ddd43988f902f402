/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_CARRY_H
#define RL_CARRY_H

/*
 * What a slot counts goes on in another one, whose ring may be longer: which words of the ring to
 * store there, and which word then replaces its state. A view here is of a sealed state (layout.h):
 * all that it rests on stands still, but for entries that a process stores which slept, and these
 * are of sub-buckets and units that do not count.
 *
 *	window     each entry of this incarnation, at its place, with the other slot's gen
 *	log        the times of the units that a decision may ask for: half a ring of those before
 *	           the pending ones. They are numbered anew, from 1 on.
 *	in flight  the tallies, at their places; at that of the newest, which is in the word, it
 *	           does not matter
 *	others     the word is all there is
 */

#include "algorithm/limiter.h"

/* How many entries of the ring may have to be stored. */
uint32_t rl_carry_entries(const struct rl_limiter *limiter, const struct rl_view *view);

/* The i-th of them, for a slot with that gen: where, and what. False: there is none to store. */
bool rl_carry_entry(const struct rl_limiter *from, const struct rl_limiter *to,
                    const struct rl_view *view, uint8_t gen, uint32_t i, uint32_t *place,
                    uint64_t *value);

/* The word. */
struct rl_u128 rl_carry_word(const struct rl_limiter *from, const struct rl_view *view,
                             uint64_t slot_bits);

#endif

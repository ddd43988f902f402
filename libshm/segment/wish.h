/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_WISH_H
#define RL_WISH_H

/*
 * Wishes: keys that want a larger share. A bit for each slot, set by whoever is nearly out of it or
 * denied, and a summary with a bit for each word of these, so that to look for wishes reads next to
 * nothing. Whose wish it is says the slot, once the bit was taken; a bit of a slot that has become
 * another key's costs one look.
 *
 *	worker   bit of the slot, then bit of the summary; neither is written if it is set
 *	taker    clears the bit of the summary, then takes the word of bits, then reads the slots'
 *	         states
 *
 * A bit that is set while it is taken is seen now or is in a summary that is set after that. A
 * worker that is killed between its two steps leaves a bit without a summary: the next one that
 * wishes sets that.
 */

#include "segment/segment.h"

/* Note that a slot's key wishes for a share. True: the bit was not set before. */
bool rl_wish_set(const struct rl_segment *s, uint64_t slot);

/* Is it noted? */
bool rl_wish_is_set(const struct rl_segment *s, uint64_t slot);

/*
 * Take the wishes of the next 64 slots from *at on that have any; *at is a slot, and goes on.
 * Returns the bits, of the slots from *first on; 0: there are no more.
 */
uint64_t rl_wish_take(const struct rl_segment *s, uint64_t *at, uint64_t *first);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_WISH_H
#define RL_WISH_H

/*
 * Wishes: keys that want a larger share, and what was denied them for want of one. Half a word for
 * each slot, and a summary with a bit for each 64 of these, so that to look for wishes reads next
 * to nothing. Whose wish it is says the slot, once it was taken; one of a slot that has become
 * another key's costs one look.
 *
 *	31        17 16 15         0
 *	+-----------+--+------------+
 *	|  sum:15   |w |  largest:16|
 *	+-----------+--+------------+
 *
 * The largest, and the sum of the costs denied since the last look, as a share is written
 * (algorithm/share.h); w: of those some wait. All 0: no wish. No largest, and a sum of 1: nothing
 * was denied, the share runs low. The sum stops at what the key's limit gives at all, so that a
 * flood of denials does not write.
 *
 *	worker   half of the slot, then bit of the summary; neither is written if it stays as it is
 *	taker    clears the bit of the summary, then takes the words, then reads the slots' states
 *
 * What is noted while it is taken is seen now or is in a summary that is set after that: each of
 * the two writes one word and then reads the other, with a fence in between. A worker
 * that is killed between its two steps leaves a wish without a summary: the next one that wishes
 * sets that.
 */

#include "segment/segment.h"

struct rl_wish {
	uint32_t denied, largest; /* 0: the share runs low */
	bool waits;
};

/* Note that a slot's key has nearly used up its share. True: there was no wish before. */
bool rl_wish_low(const struct rl_segment *s, uint64_t slot);

/* The same of one that was denied so much; `most` is where the sum may stop. */
bool rl_wish_denied(const struct rl_segment *s, uint64_t slot, uint32_t cost, uint32_t most);

/* Note beside a wish, if there is one, that who was denied comes again in milliseconds. */
void rl_wish_waits(const struct rl_segment *s, uint64_t slot);

/*
 * Is there nothing to lend to the slot's key, as far as the taker knows? Who is denied then need
 * not wait. Behind the summary a bit for each slot, which the taker alone sets. It may be of the
 * key before: the first that is denied under another one clears it.
 */
bool rl_wish_is_dry(const struct rl_segment *s, uint64_t slot);
void rl_wish_dry(const struct rl_segment *s, uint64_t slot, bool is_dry);

/* A key has moved from one table to another: so has what it wishes. */
void rl_wish_carry(const struct rl_segment *from, uint64_t old, const struct rl_segment *to,
                   uint64_t slot);

/*
 * Take the wishes of the next 64 slots from *at on that have any; *at is a slot, and goes on.
 * Returns a bit for each slot from *first on whose wish is in of[]; 0: there are no more.
 */
uint64_t rl_wish_take(const struct rl_segment *s, uint64_t *at, uint64_t *first,
                      struct rl_wish of[RL_WISH_SLOTS]);

#endif

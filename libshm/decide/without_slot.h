/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_WITHOUT_SLOT_H
#define RL_WITHOUT_SLOT_H

/*
 * Deciding about a key that has no slot, by the overflow counter that it shares with others:
 * overflow/overflow.c.
 */

#include "decide/part.h"

/*
 * Decide about a key whose overflow counter stands in the way of a slot: it denies the request, or
 * it has been charged in its newest epoch, which a slot would have to carry on. False: the key is
 * to have a slot if there is one.
 */
bool rl_without_slot_at_once(const struct rl_part *p, int *decided);

/*
 * Decide about a key that finds no slot. The verdict, RL_AGAIN, or -ENOSPC: there is no overflow
 * counter for it.
 */
int rl_without_slot_charge(const struct rl_part *p);

/* The answer that a charge would get. False: the key has counted nothing. */
bool rl_without_slot_peek(const struct rl_part *p, int *decided);

/*
 * Would the key of a charge find neither a slot nor an overflow counter, as far as tags and sets
 * say? So a request of several limits is denied before one of them is charged.
 */
bool rl_without_slot_is_refused(const struct rl_part *p);

/*
 * Does a peek at a LIVE slot ask the key's overflow counter, for it was never charged, or is being
 * retired?
 */
bool rl_without_slot_is_asked(const struct rl_part *p, struct rl_slot slot);

/*
 * Before a LIVE slot is charged: one that never was begins with what its key has in its overflow
 * counter. False: *decided, or RL_AGAIN. Denied is a request whose limit has started anew since it
 * was read: what its key had in the overflow counters is gone, and to the new one it would not
 * count.
 */
bool rl_without_slot_over(const struct rl_part *p, struct rl_slot slot, int *decided);

#endif

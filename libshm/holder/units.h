/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_UNITS_H
#define RL_UNITS_H

/*
 * Units in flight of one key: to take them, to give them back, and to give back those of processes
 * that have ended. Whose they are is known by the seat of a process (holder.h); what they are is in
 * the state and the ring of a slot (algorithm/in_flight.h).
 *
 * Each is one step, which a CAS16 makes, and which begins anew if somebody else was quicker. So a
 * process that is killed has made it or not, and whoever looks later finds its units with its
 * label.
 */

#include "algorithm/in_flight.h"
#include "rule/handle.h"
#include "segment/view.h"

struct rl_units_taken {
	uint32_t total; /* that is held, by all; also if nothing was taken */
	uint32_t label;
	uint32_t place;
};

/* What is looked at and tried on the way is taken of a budget, where there is one. */

/*
 * Take `cost` units at a LIVE slot, if with them no more than `most` are held. 1 taken; 0 too many
 * are held; -EAGAIN the slot has changed; -ENOSPC there is no seat for this process, or no place
 * for its tally; -ENOMEM.
 */
int rl_units_take(struct rl *rl, const struct rl_compiled *limit, struct rl_slot slot,
                  uint32_t cost, uint32_t most, struct rl_budget *budget,
                  struct rl_units_taken *taken);

/*
 * Give back what was taken. 1; 0: there is nothing to give back, for its holder was judged dead or
 * the key was reset; -EBUSY.
 */
int rl_units_give(const struct rl_segment *s, const struct rl_limiter *limiter, struct rl_slot slot,
                  uint32_t label, uint32_t place, uint32_t cost);

/* Give back what processes that have ended hold at a LIVE slot. */
void rl_units_reclaim(struct rl *rl, const struct rl_compiled *limit, struct rl_slot slot,
                      struct rl_budget *budget);

/*
 * What each process holds at a LIVE slot, and how many there are; -EAGAIN: the slot has changed.
 * For people.
 */
int rl_units_list(const struct rl_segment *s, const struct rl_limiter *limiter, struct rl_slot slot,
                  struct rl_tally tallies[static RL_IN_FLIGHT_PLACES_MAX]);

/*
 * May a sweep free a slot at which nothing is held? When it meets it for the second time: so a key
 * that is busy is not inserted anew with each request. The first time leaves a mark.
 */
bool rl_units_were_swept(const struct rl_segment *s, const struct rl_limiter *limiter,
                         struct rl_slot slot, const struct rl_view *view);

/* How a charge tells them: marked in its `place`, above the candidate's number. */
#define RL_CHARGE_HELD 0x80
#define RL_CHARGE_CELL 0x40 /* of an overflow counter; epoch is a network's first bytes */

#endif

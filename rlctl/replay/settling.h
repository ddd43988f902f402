/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_REPLAY_SETTLING_H
#define RLCTL_REPLAY_SETTLING_H

/*
 * Requests that were charged an estimate and are under way: what each candidate charged, until the
 * time at which the request is settled to what it has cost.
 *
 *	due      heap of (time, actual, place), the earliest on top
 *	                                  |
 *	charges  one of each candidate for each place; places are used again
 */

#include "replay/candidate.h"
#include "replay/waiting.h"

struct settling {
	struct candidate *candidates;
	size_t candidate_count;
	struct waiting due;
	struct rl_charges *charges;
	size_t places, room;
	uint32_t *free; /* places */
	size_t free_count, free_room;
};

/* A place for the charges of a request, one for each candidate. */
uint32_t settling_place(struct settling *settling);
struct rl_charges *settling_charges(struct settling *settling, uint32_t place, size_t candidate);

/* The request is settled to so much at that time, on the clock of clock_of(). */
void settling_add(struct settling *settling, uint32_t place, uint64_t time_ns, uint32_t actual);

/* Settle what is due by then. False after a message. */
bool settling_until(struct settling *settling, uint64_t now_ns);

void settling_free(struct settling *settling);

#endif

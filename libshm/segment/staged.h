/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_STAGED_H
#define RL_STAGED_H

/*
 * A number that is counted in stages: exactly up to 64, then one in four, and so on, so that a
 * large one costs few writes. What is stored is how often it was written, its steps:
 *
 *	steps    0 .. 64    .. 112    .. 160     .. 208      .. + 48
 *	one in   1          4         16         64          x 4
 *	number   0 .. 64    .. 256    .. 1,024   .. 4,096    .. x 4
 *
 * `last` is the stage after which there is no other: its steps go on for ever. From a step to the
 * next it takes 4^stage events on the average, with a variance of 16^stage - 4^stage.
 */

#include <stdint.h>

#define RL_STAGED_EXACT 64
#define RL_STAGED_STEPS 48 /* of each further stage */

static inline unsigned
rl_staged_stage(uint64_t steps, unsigned last)
{
	uint64_t stage =
		steps < RL_STAGED_EXACT ? 0 : 1 + (steps - RL_STAGED_EXACT) / RL_STAGED_STEPS;

	return stage < last ? (unsigned)stage : last;
}

/* Is the next event one to write, by a random word? Larger stages are parts of the smaller ones. */
static inline int
rl_staged_counts(uint64_t steps, unsigned last, uint64_t chance)
{
	unsigned stage = rl_staged_stage(steps, last);

	return stage == 0 || chance >> (64 - 2 * stage) == 0;
}

/* About how many events there were, and the variance of that; 0: exactly so many. */
static inline uint64_t
rl_staged_number(uint64_t steps, unsigned last, uint64_t *variance)
{
	uint64_t number = steps < RL_STAGED_EXACT ? steps : RL_STAGED_EXACT, left = steps - number;

	*variance = 0;
	for (unsigned stage = 1; left > 0; stage++) {
		uint64_t here = left > RL_STAGED_STEPS && stage < last ? RL_STAGED_STEPS : left;
		uint64_t each = UINT64_C(1) << 2 * stage;

		number += here * each;
		*variance += here * (each * each - each);
		left -= here;
	}
	return number;
}

#endif

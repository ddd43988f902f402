/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_CHANCE_H
#define RL_CHANCE_H

/* Chances, for what is sampled. */

#include <stdint.h>

extern _Thread_local uint64_t rl_chance_state;

/*
 * A word whose highest bits are random, by a linear congruential generator of this thread alone.
 * The time goes into it, for children inherit its state. Where there is no state yet, its address
 * tells threads apart.
 */
static inline uint64_t
rl_chance(uint64_t now_ns)
{
	uint64_t *x = &rl_chance_state;

	*x = (*x + now_ns + (uint64_t)(uintptr_t)x) * UINT64_C(6364136223846793005) + 1;
	return *x;
}

#endif

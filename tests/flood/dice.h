/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_DICE_H
#define RL_DICE_H

/* Repeatable pseudo-random numbers (splitmix64), for programs that are no tests of cmocka. */

#include <stdint.h>

static inline uint64_t
dice_mix(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

static inline uint64_t
dice(uint64_t *seed)
{
	uint64_t x = dice_mix(*seed);

	*seed += UINT64_C(0x9e3779b97f4a7c15);
	return x;
}

/* A number below `limit`. */
static inline uint64_t
dice_below(uint64_t *seed, uint64_t limit)
{
	return dice(seed) % limit;
}

static inline int
dice_one_in(uint64_t *seed, uint64_t n)
{
	return dice(seed) % n == 0;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_SHARED_LESSER_H
#define RL_SHARED_LESSER_H

#include <stdint.h>

static inline uint32_t
rl_lesser(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static inline uint32_t
rl_larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static inline uint64_t
rl_lesser_u64(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

#endif

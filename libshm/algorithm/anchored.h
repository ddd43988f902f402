/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_ANCHORED_H
#define RL_ANCHORED_H

/*
 * A window that begins with the key's first charge, as Redis' INCR and EXPIRE count it. Pure: no
 * clock, no memory.
 *
 *	first charge                                   the first charge after the end
 *	 |<----------------- window ----------------->|       |<----------------- ...
 *	 start                                      start + window
 *
 *	lo   63                         36 35                                 0
 *	    +-----------------------------+-----------------------------------+
 *	    |          cur:28             |       start, low 36 bits          |
 *	    +-----------------------------+-----------------------------------+
 *	hi   63                         39 38               12 11             0
 *	    +-----------------------------+-------------------+---------------+
 *	    |              0              | start, high:27    |    slot:12    |
 *	    +-----------------------------+-------------------+---------------+
 *
 *	start  in ns since 1970, of 63 bits
 *	cur    what was admitted since; more than the capacity where denials are counted
 *
 * The state is one word, so a charge is one CAS16 and there is nothing to help. A time before the
 * start is counted in the window: the start of a key never goes back. The halves of a word are
 * loaded one after the other, and `lo` is the same before and after; so they belong together unless
 * two windows began meanwhile, the second a multiple of 2^36 ns after the first, with the same
 * count. Then a denial may be wrong once; a charge is not, for its CAS16 compares both.
 */

#include <stdbool.h>
#include <stdint.h>

#include "shared/layout.h"

#define RL_ANCHORED_HIGH_SHIFT 12
#define RL_ANCHORED_HIGH_MASK ((UINT64_C(1) << 27) - 1)
#define RL_ANCHORED_CUR_MAX ((UINT32_C(1) << 28) - 1)

struct rl_anchored {
	uint64_t start_ns;
	uint32_t cur;
};

static inline struct rl_anchored
rl_anchored_unpack(struct rl_u128 word)
{
	uint64_t high = word.hi >> RL_ANCHORED_HIGH_SHIFT & RL_ANCHORED_HIGH_MASK;

	return (struct rl_anchored){
		.start_ns = (word.lo & RL_STATE_EPOCH_MASK) | high << RL_STATE_EPOCH_BITS,
		.cur = (uint32_t)(word.lo >> RL_STATE_EPOCH_BITS),
	};
}

static inline struct rl_u128
rl_anchored_pack(struct rl_anchored a, uint64_t slot_bits)
{
	return (struct rl_u128){
		.lo = (a.start_ns & RL_STATE_EPOCH_MASK) | (uint64_t)a.cur << RL_STATE_EPOCH_BITS,
		.hi = a.start_ns >> RL_STATE_EPOCH_BITS << RL_ANCHORED_HIGH_SHIFT | slot_bits,
	};
}

/* The first timestamp at which nothing counts; UINT64_MAX: never. */
static inline uint64_t
rl_anchored_end(struct rl_anchored a, uint64_t window_ns)
{
	uint64_t end_ns;

	return __builtin_add_overflow(a.start_ns, window_ns, &end_ns) ? UINT64_MAX : end_ns;
}

/* As a request finds it: a window that is over is one that begins now. */
static inline struct rl_anchored
rl_anchored_at(struct rl_anchored a, uint64_t window_ns, uint64_t now_ns)
{
	return now_ns < rl_anchored_end(a, window_ns) ? a : (struct rl_anchored){now_ns, 0};
}

/* The same with `cost` more; what does not fit the word is not counted. */
static inline struct rl_anchored
rl_anchored_add(struct rl_anchored a, uint32_t cost)
{
	a.cur = cost < RL_ANCHORED_CUR_MAX - a.cur ? a.cur + cost : RL_ANCHORED_CUR_MAX;
	return a;
}

#endif

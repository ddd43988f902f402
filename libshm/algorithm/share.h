/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_SHARE_H
#define RL_SHARE_H

/*
 * The state words of a cluster's limits: a count, and beside it the share of the capacity that this
 * host may use. One word, so a charge and a change of the share are each one CAS16 of the same 16
 * bytes, and neither can miss the other. The share stands directly above the slot's twelve bits,
 * whatever the algorithm:
 *
 *	window   lo  cur:28 | epoch:36       hi  sum:28 | span:4 | jump:4 | share:16 | slot:12
 *	log      lo  newest, ns:64           hi  units:14 | pending:13 | 0:9 | share:16 | slot:12
 *	bucket   lo  full again at, ns:64    hi  scale:28 | part:8 | share:16 | slot:12
 *
 * A word of a window or a log is one of an unclustered limit with less room: span and jump are at
 * most 8, and 36 bits of sub-buckets of 125 ms last until 2242. So it is taken apart into that word
 * and the share, is decided about as that, and put together again. A bucket has words of its own:
 * share_bucket.c.
 *
 * A share is part of its incarnation, as the count is: under another gen it is 0.
 *
 *	code   15    12 11                      0
 *	      +--------+-------------------------+
 *	      |  low:4 |           m:12          |     low = 0: m; else (4096 + m) << (low - 1)
 *	      +--------+-------------------------+
 *
 * Up to 8,191 it is exact; above, a share is rounded down by less than a 4,096th. The code says by
 * itself how much it is: a capacity that changes does not change what a share is.
 */

#include <stdbool.h>
#include <stdint.h>

#include "algorithm/window.h"
#include "shared/layout.h"

#define RL_SHARE_EXACT 4096u /* 2^12 */
#define RL_SHARE_LOW_BITS 12
#define RL_SHARE_CODE_MAX 0xffffu

/*
 * At most so many sub-buckets, each at least so long; and a bucket is full after so long at most.
 */
#define RL_SHARE_GRANULARITY_MAX 8u
#define RL_SHARE_WIDTH_MIN (125 * RL_MILLISECOND)
#define RL_SHARE_FILL_MAX (UINT64_C(1) << 50)

static inline uint32_t
rl_share_tokens(uint32_t code)
{
	uint32_t low = code >> RL_SHARE_LOW_BITS, m = code & (RL_SHARE_EXACT - 1);

	return low == 0 ? m : (RL_SHARE_EXACT + m) << (low - 1);
}

/* The largest share that is not more. */
static inline uint32_t
rl_share_code(uint32_t tokens)
{
	uint32_t low = 0;

	if (tokens < RL_SHARE_EXACT)
		return tokens;
	while (tokens >> low >= 2 * RL_SHARE_EXACT)
		low++;
	if (low > 14)
		return RL_SHARE_CODE_MAX;
	return (low + 1) << RL_SHARE_LOW_BITS | ((tokens >> low) - RL_SHARE_EXACT);
}

/* The smallest that is not less, or the largest that there is. */
static inline uint32_t
rl_share_code_up(uint32_t tokens)
{
	uint32_t code = rl_share_code(tokens);

	return rl_share_tokens(code) < tokens && code < RL_SHARE_CODE_MAX ? code + 1 : code;
}

/* The share in a word, which is of its slot's present incarnation. */
static inline uint32_t
rl_share_of(struct rl_u128 word)
{
	return rl_share_tokens((uint32_t)((word.hi & RL_STATE_SHARE_MASK) >> RL_STATE_SHARE_SHIFT));
}

static inline uint64_t
rl_share_bits(uint32_t code)
{
	return (uint64_t)code << RL_STATE_SHARE_SHIFT;
}

/* The same word with another share, and all else as it was. */
static inline struct rl_u128
rl_share_put(struct rl_u128 word, uint32_t code)
{
	word.hi = (word.hi & ~RL_STATE_SHARE_MASK) | rl_share_bits(code);
	return word;
}

#define RL_SHARE_SPAN_SHIFT 32
#define RL_SHARE_JUMP_SHIFT 28
#define RL_SHARE_STEPS_MASK UINT64_C(0xf)
#define RL_SHARE_SUM_MASK (~((UINT64_C(1) << RL_STATE_SUM_SHIFT) - 1))

/* Without its share, as the word of a window of this host alone. */
static inline struct rl_u128
rl_share_window_alone(struct rl_u128 word)
{
	uint64_t span = word.hi >> RL_SHARE_SPAN_SHIFT & RL_SHARE_STEPS_MASK;
	uint64_t jump = word.hi >> RL_SHARE_JUMP_SHIFT & RL_SHARE_STEPS_MASK;

	word.hi = (word.hi & (RL_SHARE_SUM_MASK | RL_STATE_SLOT_MASK)) |
	          span << RL_STATE_SPAN_SHIFT | jump << RL_STATE_JUMP_SHIFT;
	return word;
}

/* The other way round, of a window with at most RL_SHARE_GRANULARITY_MAX sub-buckets. */
static inline struct rl_u128
rl_share_window(struct rl_u128 alone, uint64_t share_bits)
{
	uint64_t span = alone.hi >> RL_STATE_SPAN_SHIFT & RL_SHARE_STEPS_MASK;
	uint64_t jump = alone.hi >> RL_STATE_JUMP_SHIFT & RL_SHARE_STEPS_MASK;

	alone.hi = (alone.hi & (RL_SHARE_SUM_MASK | RL_STATE_SLOT_MASK)) |
	           span << RL_SHARE_SPAN_SHIFT | jump << RL_SHARE_JUMP_SHIFT | share_bits;
	return alone;
}

/* rl_window_adds() of such a word. */
static inline __attribute__((always_inline)) bool
rl_share_window_adds(struct rl_u128 word, uint64_t epoch, uint32_t capacity, uint32_t cost,
                     struct rl_u128 *next, uint64_t *used)
{
	*used = (word.lo >> RL_STATE_CUR_SHIFT) + (word.hi >> RL_STATE_SUM_SHIFT);
	next->lo = word.lo + ((uint64_t)cost << RL_STATE_CUR_SHIFT);
	next->hi = word.hi;
	return (word.lo & RL_STATE_EPOCH_MASK) == epoch &&
	       (word.hi & RL_SHARE_STEPS_MASK << RL_SHARE_JUMP_SHIFT) == 0 &&
	       *used + cost <= capacity;
}

#endif

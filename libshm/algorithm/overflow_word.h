/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_OVERFLOW_WORD_H
#define RL_OVERFLOW_WORD_H

/*
 * The 16 bytes of an overflow counter, and what they count of a key.
 *
 * Of a window, a log and an anchored window it is eight lanes. A key has two of them, by its hash.
 * Each lane is never less than what any of its keys was admitted, so neither is the lesser of a
 * key's two, and that is what the key is judged by. A charge raises both to the lesser and the
 * cost; a lane that has more stays. So a stranger is in a key's way only if he has both of its
 * lanes.
 *
 *	hi   63          40 39       36 35       28 27        14 13     12 11        0
 *	    +--------------+-----------+-----------+------------+---------+-----------+
 *	    |  cur, high   | epoch,high| serial:8  | epoch, low |  mode   |   folds   |
 *	    +--------------+-----------+-----------+------------+---------+-----------+
 *	lo   63          44 43                                                       0
 *	    +--------------+----------------------------------------------------------+
 *	    |   cur, low   |                          sum                             |
 *	    +--------------+----------------------------------------------------------+
 *
 *	cur, sum  44 bits each: the lanes of the newest epoch, and of the one before. By mode they
 *	          are 8 of 5 bits, 4 of 11, 2 of 22, or 1 of 28
 *	epoch     18 bits of it. The whole one is the newest that is not after the set's `until`,
 *	          which is raised before any charge: exact for 2^18 windows, then too new
 *	serial    of whom it counts, see overflow/sets.h: under another one it counts nothing
 *	folds     how often a slot was folded into it, modulo 2^12
 *
 * A lane that overflows makes all of them half as many, each the larger of the two whose place it
 * takes. A new epoch makes them more again, as many as what counts has room in.
 *
 * A bucket has one lane, which is its word, with serial and folds where they stand above.
 */

#include "algorithm/limiter.h"
#include "algorithm/ops.h"

#define RL_OVERFLOW_SERIAL_SHIFT 28
#define RL_OVERFLOW_FOLDS_MASK UINT64_C(0xfff)
#define RL_OVERFLOW_LANES 8
#define RL_OVERFLOW_LANES_BITS 6 /* to name the two of a key */

static inline uint8_t
rl_overflow_serial(struct rl_u128 word)
{
	return (uint8_t)(word.hi >> RL_OVERFLOW_SERIAL_SHIFT);
}

static inline uint32_t
rl_overflow_folds(struct rl_u128 word)
{
	return (uint32_t)(word.hi & RL_OVERFLOW_FOLDS_MASK);
}

/* The two lanes of a key, three bits each: by bits of its tag that choose no overflow counter. */
static inline uint32_t
rl_overflow_lanes(uint64_t tag)
{
	uint32_t one = (uint32_t)(tag >> 34) & 7, apart = 1 + (uint32_t)(tag >> 37 & 7) % 7;

	return one | ((one + apart) & 7) << 3;
}

/* Of as many keys as there are names of two lanes, so many have these two: see above. */
#define RL_OVERFLOW_PAIRS (1U << RL_OVERFLOW_LANES_BITS)

static inline uint32_t
rl_overflow_keys_of(uint32_t lane, uint32_t other)
{
	uint32_t apart = (other - lane) % RL_OVERFLOW_LANES;

	return apart == 1 || apart == RL_OVERFLOW_LANES - 1 ? 3 : 2;
}

/* A count, which is a word of an overflow counter's limiter that has no bucket; and back. */
struct rl_overflow_parts rl_overflow_parts_of(const struct rl_limiter *overflow,
                                              struct rl_u128 count);
struct rl_u128 rl_overflow_count_of(const struct rl_overflow_parts *parts);

/*
 * What an overflow counter of a set of that serial, whose counters count something until then,
 * counts of a key with such lanes. False: nothing, whatever it says.
 */
bool rl_overflow_unpack(const struct rl_limiter *overflow, struct rl_u128 word, uint8_t serial,
                        uint64_t until_ns, uint32_t lanes, struct rl_u128 *count);

/*
 * The word after what it counted of the key, `seen`, has become `count`, in the same epoch or a
 * later one, and so many folds. NULL: nothing of the word counts.
 */
struct rl_u128 rl_overflow_pack(const struct rl_limiter *overflow, struct rl_u128 word,
                                const struct rl_u128 *seen, struct rl_u128 count, uint32_t lanes,
                                uint8_t serial, uint32_t folds);

#endif

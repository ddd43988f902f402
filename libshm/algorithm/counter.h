/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_ALGORITHM_COUNTER_H
#define RL_ALGORITHM_COUNTER_H

/*
 * The word of a counter with a lifetime, and what may be done to it. Pure: no clock, no memory.
 *
 *	lo   63                                    22 21                      0
 *	    +----------------------------------------+-------------------------+
 *	    |        expiry, Unix time in ms:42      |          seq:22         |
 *	    +----------------------------------------+-------------------------+
 *	hi   63                                       16 15     12 11         0
 *	    +--------------------------------------------+--------+------------+
 *	    |                  value:48                  |    0   |    slot    |
 *	    +--------------------------------------------+--------+------------+
 *
 *	expiry  the first ms at which it counts no more, never 0; all ones: never. Until 15 May 2109
 *	seq     one more with each change, so that the two halves of a word that are loaded one
 *	        after the other belong together: lo is the same before and after only if hi was not
 *	        changed in between, or 2^22 times, and then hi is one that was there in between
 *
 * Every operation is a function of the word and the time, and one CAS16. So to sleep between load
 * and CAS does no harm, even if the word has come back meanwhile: it is then the word that it is
 * applied to.
 */

#include <stdbool.h>
#include <stdint.h>

#include "rl_counter.h"
#include "shared/layout.h"

#define RL_COUNTER_SEQ_BITS 22
#define RL_COUNTER_SEQ_MASK ((UINT64_C(1) << RL_COUNTER_SEQ_BITS) - 1)
#define RL_COUNTER_EXPIRY_NEVER ((UINT64_C(1) << 42) - 1)
#define RL_COUNTER_VALUE_SHIFT 16

static inline uint64_t
rl_counter_expiry_ms(struct rl_u128 word)
{
	return word.lo >> RL_COUNTER_SEQ_BITS;
}

static inline uint64_t
rl_counter_value(struct rl_u128 word)
{
	return word.hi >> RL_COUNTER_VALUE_SHIFT;
}

/* As what is used of a limit is told. */
static inline uint32_t
rl_counter_used(struct rl_u128 word)
{
	return rl_counter_value(word) < UINT32_MAX ? (uint32_t)rl_counter_value(word) : UINT32_MAX;
}

/* The first nanosecond at which it counts no more; UINT64_MAX: never. */
static inline uint64_t
rl_counter_expires_at(struct rl_u128 word)
{
	uint64_t ms = rl_counter_expiry_ms(word);

	return ms == RL_COUNTER_EXPIRY_NEVER ? UINT64_MAX : ms * RL_MILLISECOND;
}

static inline bool
rl_counter_has_expired(struct rl_u128 word, uint64_t now_ns)
{
	return rl_counter_expires_at(word) <= now_ns;
}

/* When a lifetime that begins now is over, up to a whole ms; 0 if that has no word. */
static inline uint64_t
rl_counter_expiry(uint64_t now_ns, uint64_t lifetime_ns)
{
	uint64_t at_ns, ms;

	if (lifetime_ns == RL_NEVER_NS)
		return RL_COUNTER_EXPIRY_NEVER;
	if (__builtin_add_overflow(now_ns, lifetime_ns, &at_ns))
		return 0;
	ms = at_ns / RL_MILLISECOND + (at_ns % RL_MILLISECOND > 0);
	return ms < RL_COUNTER_EXPIRY_NEVER ? ms : 0;
}

/* value + amount, 0 .. RL_COUNT_MAX. */
static inline uint64_t
rl_counter_sum(uint64_t value, int64_t amount)
{
	if (amount < 0)
		return value > -(uint64_t)amount ? value - -(uint64_t)amount : 0;
	return (uint64_t)amount < RL_COUNT_MAX - value ? value + (uint64_t)amount : RL_COUNT_MAX;
}

/* The word that follows `before`. */
static inline struct rl_u128
rl_counter_word(struct rl_u128 before, uint64_t expiry_ms, uint64_t value, uint64_t slot_bits)
{
	return (struct rl_u128){
		.lo = expiry_ms << RL_COUNTER_SEQ_BITS | ((before.lo + 1) & RL_COUNTER_SEQ_MASK),
		.hi = value << RL_COUNTER_VALUE_SHIFT | slot_bits,
	};
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_GCRA_H
#define RL_GCRA_H

/*
 * Token and leaky bucket as one time: the generic cell rate algorithm (ITU-T I.371). Pure
 * integer arithmetic: no clock, no memory.
 *
 * A bucket of `burst` tokens that fills at `capacity` per window is told by the time at which
 * it will be full again, tat ("theoretical arrival time"). A token takes T = window / capacity
 * to come. A request of cost c at t finds the bucket short of max(tat, t) - t, and
 *
 *	is admitted    iff  max(tat, t) - t + c * T <= bound
 *	and then       tat = max(tat, t) + c * T
 *
 * As a leaky bucket, the shortage is the queue ahead of the request: the time to wait.
 *
 *	now                  tat
 *	 |<---- shortage ---->|<- c*T ->|           allowed while it all fits into bound
 *
 * bound is burst * T. Who books ahead may overdraw the bucket by as much as comes in while he is
 * willing to wait.
 *
 * Exact. Time is counted in ticks of 1 / capacity ns, of which T has exactly `window_ns`: nothing
 * is rounded, and the last of `capacity` tokens comes when the window is over, not a tick later.
 * What another capacity has left (a tier, a change of the rule) is rounded up to whole
 * nanoseconds.
 *
 * State word:
 *
 *	lo   63                                                               0
 *	    +-----------------------------------------------------------------+
 *	    |                       whole nanoseconds of tat                  |
 *	    +-----------------------------------------------------------------+
 *	hi   63             36 35            22 21        13    12   11        0
 *	    +-----------------+----------------+------------+-------+-----------+
 *	    | ticks of tat:28 |  returned:14   |  ahead:9   |waits:1|   slot    |
 *	    +-----------------+----------------+------------+-------+-----------+
 *
 * Ticks are 0 .. capacity - 1, and stand in an interval of their own: capacity c has the c numbers
 * from c * (c - 1) / 2 on. So who reads them knows whether they were written under his capacity.
 * For that, 28 bits are enough up to a capacity of 23,169; what is above shares numbers with
 * others, and is taken for another by a chance of one in 2^28 / capacity.
 *
 * Giving back. To give back x of charge j is to go on as if it had been smaller: tat falls by x.
 * That is sound if each request k that was admitted since would have found a bucket fuller by x,
 * and none that overflowed, for what overflows is lost: x <= tat - t[k], tat as k found it. With n
 * the newest t[k], tat[j] what j left, and d what tat has been lowered by since, it is so if
 *
 *	x <= tat[j] - d - n
 *
 * Of what was lowered, only what stood before j can have moved it. So d is at most what j found
 * the bucket short of. The word has, rounded so that x gets smaller:
 *
 *	ahead     tat - n, in tokens, down: n has come at tat - ahead * T at the latest. Each
 *	          number up to 255; beyond, steps of which 255 are some capacity: a
 *	          power of two
 *	returned  the sum of all that was given back, in steps of a 4096th of the capacity or more,
 *	          a power of two, each time up, modulo 16384: d is the difference
 *	waits     the newest charge was booked for a time to come. Whoever waits keeps the time he
 *	          was told, so nothing before him can be given to another for the same time.
 *
 * No clock of the one who gives back comes into this: it may be as late as it likes. If nobody
 * was admitted since, which shows in tat and `returned` being what j left, x is all of it,
 * tat is what it was before, and nothing has moved that was charged earlier: that is not added
 * to `returned`. A charge remembers tat[j], `returned`, and what it found the bucket short of.
 */

#include <stdbool.h>
#include <stdint.h>

#include "rl.h"
#include "shared/layout.h"

typedef unsigned __int128 rl_wide;

/* A window, to be divided by without a division: by its highest 36 bits. */
struct rl_gcra_divisor {
	unsigned spare;   /* how many bits are left out */
	uint64_t inverse; /* 2^64 - 1 divided by those */
};

/*
 * The part of a bucket that does not depend on the request, so that it may be kept. All zero: none
 * is kept.
 */
struct rl_gcra_rate {
	uint32_t capacity; /* for which, */
	uint32_t burst;    /* and which wish, the rest is */
	uint32_t size;     /* tokens the bucket holds */
	uint32_t step_ticks;
	uint64_t step_ns;
};

struct rl_gcra {
	uint64_t window_ns;  /* and T, in ticks */
	uint32_t capacity;   /* and ticks of a nanosecond */
	uint32_t burst;      /* tokens the bucket holds, at least 1 */
	uint32_t most;       /* how far ahead of now a charge may bring tat: so many tokens, */
	uint64_t wait_ns;    /* and so long; 0 of who does not book ahead */
	uint64_t step_ns;    /* T, whole nanoseconds, */
	uint32_t step_ticks; /* and the rest of it */
	struct rl_gcra_divisor divisor;
};

/* The meaning of a word. All zero: a full bucket. */
struct rl_level {
	uint64_t ns; /* tat */
	uint32_t ticks;
	uint32_t ahead; /* the code of it */
	uint32_t returned;
	bool waits;
};

/* To fill a bucket takes a century at most, so that a time that is booked fits its word. */
#define RL_GCRA_FILL_MAX (UINT64_C(100) * 366 * 86400 * RL_SECOND)

/* `burst`, or as many tokens as a century brings. */
uint32_t rl_gcra_burst(uint64_t window_ns, uint32_t capacity, uint32_t burst);

struct rl_gcra_divisor rl_gcra_divisor(uint64_t window_ns);

/* The part to keep of a bucket that fills with `capacity` per window and holds `burst`. */
struct rl_gcra_rate rl_gcra_rate(uint64_t window_ns, uint32_t capacity, uint32_t burst);

/* A request that was admitted. */
struct rl_gcra_charge {
	struct rl_level after;
	uint32_t remaining; /* tokens in the bucket then */
	uint32_t memory;    /* for rl_gcra_give(), beside after.ns */
};

/* What of it is in line is part of every decision about a bucket. */
#define RL_GCRA_INLINE static inline __attribute__((always_inline))

/* A bucket, of what was kept. */
RL_GCRA_INLINE struct rl_gcra
rl_gcra_of(uint64_t window_ns, const struct rl_gcra_divisor *divisor,
           const struct rl_gcra_rate *rate)
{
	return (struct rl_gcra){
		.window_ns = window_ns,
		.capacity = rate->capacity,
		.burst = rate->size,
		.most = rate->size,
		.wait_ns = 0,
		.step_ns = rate->step_ns,
		.step_ticks = rate->step_ticks,
		.divisor = *divisor,
	};
}

/* The same of nothing; `burst` as rl_gcra_burst() gives it. */
struct rl_gcra rl_gcra_make(uint64_t window_ns, uint32_t capacity, uint32_t burst);

#define RL_GCRA_TICKS_BITS 28
#define RL_GCRA_TICKS_SHIFT 36
#define RL_GCRA_RETURNED_SHIFT 22
#define RL_GCRA_RETURNED_MASK UINT64_C(0x3fff)
#define RL_GCRA_AHEAD_SHIFT 13
#define RL_GCRA_AHEAD_MASK UINT64_C(0x1ff)
#define RL_GCRA_WAITS (UINT64_C(1) << 12)
#define RL_GCRA_AHEAD_EXACT 256u   /* codes that are as many tokens */
#define RL_GCRA_OWN_NUMBERS 23169u /* the last capacity c for which c * (c + 1) / 2 <= 2^28 */

/* How many bits a number has: 0 for 0. */
RL_GCRA_INLINE unsigned
rl_gcra_bits(uint32_t number)
{
	return number > 0 ? 32 - (unsigned)__builtin_clz(number) : 0;
}

/* A step of `ahead` beyond what is exact, and one of `returned`, in bits. */
RL_GCRA_INLINE unsigned
rl_gcra_ahead_step(uint32_t capacity)
{
	return 31 - (unsigned)__builtin_clz(capacity >> 7 | 1); /* the bits of capacity >> 8 */
}

RL_GCRA_INLINE unsigned
rl_gcra_returned_step(uint32_t capacity)
{
	return rl_gcra_bits((capacity - 1) >> 12);
}

/* So many tokens in steps of `returned`, rounded up. */
RL_GCRA_INLINE uint32_t
rl_gcra_returned_of(uint32_t capacity, uint32_t tokens)
{
	unsigned step = rl_gcra_returned_step(capacity);

	return (uint32_t)((tokens + (UINT64_C(1) << step) - 1) >> step);
}

/* Tokens by the code of `ahead`, and the code of tokens, rounded down. */
RL_GCRA_INLINE uint32_t
rl_gcra_ahead_of(uint32_t capacity, uint32_t code)
{
	if (__builtin_expect(code < RL_GCRA_AHEAD_EXACT, 1))
		return code;
	return RL_GCRA_AHEAD_EXACT + ((code - RL_GCRA_AHEAD_EXACT) << rl_gcra_ahead_step(capacity));
}

RL_GCRA_INLINE uint32_t
rl_gcra_ahead_code(uint32_t capacity, uint32_t tokens)
{
	uint32_t code;

	if (__builtin_expect(tokens < RL_GCRA_AHEAD_EXACT, 1))
		return tokens;
	code = RL_GCRA_AHEAD_EXACT +
	       ((tokens - RL_GCRA_AHEAD_EXACT) >> rl_gcra_ahead_step(capacity));
	return code < RL_GCRA_AHEAD_MASK ? code : (uint32_t)RL_GCRA_AHEAD_MASK;
}

/* The first of the numbers that stand for the ticks of a capacity; the last fits 28 bits. */
RL_GCRA_INLINE uint32_t
rl_gcra_first_number(uint32_t capacity)
{
	uint64_t room = (UINT64_C(1) << RL_GCRA_TICKS_BITS) - capacity;

	if (capacity <= RL_GCRA_OWN_NUMBERS)
		return (uint32_t)((uint64_t)capacity * (capacity - 1) / 2);
	return (uint32_t)((uint64_t)(capacity * UINT32_C(0x9e3779b1)) * room >> 32);
}

RL_GCRA_INLINE struct rl_level
rl_gcra_unpack(const struct rl_gcra *g, struct rl_u128 word)
{
	struct rl_level level = {
		.ns = word.lo,
		.ticks = (uint32_t)(word.hi >> RL_GCRA_TICKS_SHIFT) -
	                 rl_gcra_first_number(g->capacity),
		.ahead = (uint32_t)(word.hi >> RL_GCRA_AHEAD_SHIFT & RL_GCRA_AHEAD_MASK),
		.returned = (uint32_t)(word.hi >> RL_GCRA_RETURNED_SHIFT & RL_GCRA_RETURNED_MASK),
		.waits = (word.hi & RL_GCRA_WAITS) != 0,
	};

	if (level.ticks < g->capacity)
		return level;
	/* Another capacity's: the next nanosecond, and its tokens are no measure. */
	level.ns += level.ns < UINT64_MAX;
	level.ticks = level.ahead = 0;
	return level;
}

RL_GCRA_INLINE struct rl_u128
rl_gcra_pack(const struct rl_gcra *g, const struct rl_level *level, uint64_t slot_bits)
{
	uint64_t number = rl_gcra_first_number(g->capacity) + (uint64_t)level->ticks;

	return (struct rl_u128){
		.lo = level->ns,
		.hi = number << RL_GCRA_TICKS_SHIFT |
	              (uint64_t)level->returned << RL_GCRA_RETURNED_SHIFT |
	              (uint64_t)level->ahead << RL_GCRA_AHEAD_SHIFT |
	              (level->waits ? RL_GCRA_WAITS : 0) | slot_bits,
	};
}

/* So many tokens, in ticks. */
RL_GCRA_INLINE rl_wide
rl_gcra_time(const struct rl_gcra *g, uint64_t tokens)
{
	return (rl_wide)g->window_ns * tokens;
}

/* How many ticks a bucket is short of full. */
RL_GCRA_INLINE rl_wide
rl_gcra_shortage(const struct rl_gcra *g, const struct rl_level *level, uint64_t now_ns)
{
	return level->ns < now_ns ? 0 : (rl_wide)(level->ns - now_ns) * g->capacity + level->ticks;
}

/*
 * time / T, up to 2^28, on 64 bits: of both as many low bits are left out as leave T 36. That
 * raises the quotient by less than one, and the product with the inverse is the quotient or one
 * less; so what is left over is above -T and below 2 T. Only who books ahead can be short of more
 * than 2^28 tokens.
 */
RL_GCRA_INLINE uint32_t
rl_gcra_tokens(const struct rl_gcra *g, rl_wide time, bool *has_rest)
{
	const int64_t whole = (int64_t)g->window_ns;
	uint64_t most;
	int64_t rest;

	*has_rest = time > 0;
	if (time < g->window_ns)
		return 0;
	if (g->wait_ns > 0 && time >> RL_GCRA_TICKS_BITS >= g->window_ns)
		return UINT32_C(1) << RL_GCRA_TICKS_BITS;
	most = (uint64_t)(((rl_wide)(uint64_t)(time >> (g->divisor.spare & 63)) *
	                   g->divisor.inverse) >>
	                  64);
	rest = (int64_t)((uint64_t)time - g->window_ns * most);
	*has_rest = rest != 0 && rest != whole;
	return (uint32_t)(most + (rest >= whole) - (rest < 0));
}

/* Let the bucket be full `cost` tokens later: the most costs are 1, and most T whole ns. */
RL_GCRA_INLINE void
rl_gcra_add_tokens(const struct rl_gcra *g, uint32_t cost, struct rl_level *level)
{
	uint64_t ticks = level->ticks + (uint64_t)g->step_ticks * cost;

	level->ns += g->step_ns * cost;
	if (ticks >= g->capacity) {
		level->ns += ticks / g->capacity;
		ticks %= g->capacity;
	}
	level->ticks = (uint32_t)ticks;
}

/* A charge's memory: returned:14 | ticks | before, `returned` lowest. */
#define RL_GCRA_MEMORY_SHIFT 14
#define RL_GCRA_MEMORY_BITS (32 - RL_GCRA_MEMORY_SHIFT)

/* Is T whole nanoseconds? Then so is every tat, under this capacity. */
RL_GCRA_INLINE bool
rl_gcra_has_no_ticks(const struct rl_gcra *g)
{
	return g->step_ticks == 0;
}

/* How many bits of a charge's memory tell its ticks: all or none. */
RL_GCRA_INLINE int
rl_gcra_memory_ticks_bits(const struct rl_gcra *g)
{
	int bits = rl_gcra_has_no_ticks(g) ? 0 : 32 - __builtin_clz(g->capacity - 1);

	return bits <= RL_GCRA_MEMORY_BITS ? bits : 0;
}

/*
 * `before`: tokens that were lacking before it, in steps of `returned`. As many as have no room are
 * all ones.
 */
RL_GCRA_INLINE uint32_t
rl_gcra_remember(const struct rl_gcra *g, const struct rl_level *after, uint32_t before)
{
	int bits = rl_gcra_memory_ticks_bits(g);
	uint32_t most = (UINT32_C(1) << (RL_GCRA_MEMORY_BITS - bits)) - 1;
	uint32_t ticks = bits > 0 ? after->ticks : 0;

	before = rl_gcra_returned_of(g->capacity, before);
	before = before < most ? before : most;
	return (before << bits | ticks) << RL_GCRA_MEMORY_SHIFT | after->returned;
}

/* A request of `cost` at now_ns; false if it is not admitted, and *charge is not set. */
RL_GCRA_INLINE bool
rl_gcra_take(const struct rl_gcra *g, const struct rl_level *level, uint64_t now_ns, uint32_t cost,
             struct rl_gcra_charge *charge)
{
	rl_wide lacks = rl_gcra_shortage(g, level, now_ns), after = lacks + rl_gcra_time(g, cost);
	uint32_t behind, before, ahead;
	bool has_rest;

	if (after > rl_gcra_time(g, g->most) + (rl_wide)g->wait_ns * g->capacity)
		return false;
	charge->after = *level;
	if (lacks == 0) {
		charge->after.ns = now_ns;
		charge->after.ticks = 0;
	}
	rl_gcra_add_tokens(g, cost, &charge->after);

	behind = rl_gcra_tokens(g, lacks, &has_rest);
	before = behind + has_rest;
	ahead = rl_gcra_ahead_of(g->capacity, level->ahead);
	charge->after.ahead =
		rl_gcra_ahead_code(g->capacity, cost + (ahead < behind ? ahead : behind));
	charge->after.waits = after > rl_gcra_time(g, g->burst);
	charge->remaining = before + cost < g->burst ? g->burst - before - cost : 0;
	charge->memory = rl_gcra_remember(g, &charge->after, before);
	return true;
}

/* The first nanosecond of tat less so many tokens; no less than there are. */
RL_GCRA_INLINE uint64_t
rl_gcra_earlier(const struct rl_gcra *g, const struct rl_level *level, uint32_t tokens)
{
	uint64_t ns = g->step_ns * tokens, ticks = (uint64_t)g->step_ticks * tokens;

	if (ticks <= level->ticks)
		return level->ns - ns + (level->ticks > ticks);
	return level->ns - ns - (ticks - level->ticks) / g->capacity;
}

/* How long until it is short of so many tokens and no more; rounded up. */
RL_GCRA_INLINE uint64_t
rl_gcra_wait(const struct rl_gcra *g, const struct rl_level *level, uint64_t now_ns,
             uint32_t tokens)
{
	return rl_gcra_shortage(g, level, now_ns) > rl_gcra_time(g, tokens)
	               ? rl_gcra_earlier(g, level, tokens) - now_ns
	               : 0;
}

/* Tokens in the bucket. */
RL_GCRA_INLINE uint32_t
rl_gcra_remaining(const struct rl_gcra *g, const struct rl_level *level, uint64_t now_ns)
{
	rl_wide lacks = rl_gcra_shortage(g, level, now_ns);
	bool has_rest;
	uint32_t tokens;

	if (lacks >= rl_gcra_time(g, g->burst))
		return 0;
	tokens = rl_gcra_tokens(g, lacks, &has_rest);
	return g->burst - tokens - has_rest;
}

/* So much time, above 0, in tokens, rounded up; at most RL_CAPACITY_MAX. */
uint32_t rl_gcra_debt(const struct rl_gcra *g, rl_wide time);

/* At most burst - remaining, whatever the burst: without a division of 128 bits. */
uint32_t rl_gcra_used_most(uint64_t window_ns, uint32_t capacity, struct rl_u128 word,
                           uint64_t now_ns);

/* The first nanosecond at which `cost` <= burst is admitted, which is not admitted now. */
RL_GCRA_INLINE uint64_t
rl_gcra_retry_at(const struct rl_gcra *g, const struct rl_level *level, uint32_t cost)
{
	return rl_gcra_earlier(g, level, g->most - cost) - g->wait_ns;
}

/* When the bucket is full: the first nanosecond. */
RL_GCRA_INLINE uint64_t
rl_gcra_full_at(const struct rl_level *level)
{
	return level->ns + (level->ticks > 0 && level->ns < UINT64_MAX);
}

/*
 * `level` with as much of a charge of `cost` given back as can be: how many tokens, rounded up;
 * charged_ns and `memory` are of what it left. What is full by now_ns needs nothing.
 */
uint32_t rl_gcra_give(const struct rl_gcra *g, const struct rl_level *level, uint64_t charged_ns,
                      uint32_t memory, uint64_t now_ns, uint32_t cost, struct rl_level *next);

/*
 * The same of whichever were charged last. Each charge that is made smaller is, by then, followed
 * by none that found the bucket less than so far ahead: that is what `ahead` says of the newest.
 */
uint32_t rl_gcra_give_newest(const struct rl_gcra *g, const struct rl_level *level, uint64_t now_ns,
                             uint32_t cost, struct rl_level *next);

#endif

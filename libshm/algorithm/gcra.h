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
 * the bucket short of. The word has, in tokens, rounded so that x gets smaller:
 *
 *	ahead     tat - n, down: n has come at tat - ahead * T at the latest; at most 511
 *	returned  the sum of all that was given back, up, modulo 16384: d is the difference
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

/* A window, to be divided by without a division: its highest 36 bits, and their inverse. */
struct rl_gcra_divisor {
	unsigned spare; /* how many bits are left out */
	uint64_t high;
	uint64_t inverse; /* 2^64 - 1 divided by `high` */
};

/* The part of a bucket that does not depend on the request, so that it may be kept. All zero: none is kept. */
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
	rl_wide bound;       /* ticks: how far ahead of now a charge may bring tat */
	uint64_t step_ns;    /* T, whole nanoseconds, */
	uint32_t step_ticks; /* and the rest of it */
	struct rl_gcra_divisor divisor;
};

/* The meaning of a word. All zero: a full bucket. */
struct rl_level {
	uint64_t ns; /* tat */
	uint32_t ticks;
	uint32_t ahead;
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

/* A bucket, of what was kept. */
static inline struct rl_gcra
rl_gcra_of(uint64_t window_ns, const struct rl_gcra_divisor *divisor,
           const struct rl_gcra_rate *rate)
{
	return (struct rl_gcra){
		.window_ns = window_ns,
		.capacity = rate->capacity,
		.burst = rate->size,
		.bound = (rl_wide)window_ns * rate->size,
		.step_ns = rate->step_ns,
		.step_ticks = rate->step_ticks,
		.divisor = *divisor,
	};
}
/* The same of nothing; `burst` as rl_gcra_burst() gives it. */
struct rl_gcra rl_gcra_make(uint64_t window_ns, uint32_t capacity, uint32_t burst);

/* Book ahead: a request may wait for up to `max_wait_ns`, counted as by rl_gcra_wait(). */
void rl_gcra_book_tokens(struct rl_gcra *g, uint64_t max_wait_ns);
void rl_gcra_book_queue(struct rl_gcra *g, uint64_t max_wait_ns, uint32_t undelayed, uint32_t cost);

struct rl_level rl_gcra_unpack(const struct rl_gcra *g, struct rl_u128 word);
struct rl_u128 rl_gcra_pack(const struct rl_gcra *g, const struct rl_level *level,
                            uint64_t slot_bits);

/* A request that was admitted. */
struct rl_gcra_charge {
	struct rl_level after;
	uint32_t remaining; /* tokens in the bucket then */
	uint32_t memory;    /* for rl_gcra_give(), beside after.ns */
};

/* A request of `cost` at now_ns; false if it is not admitted, and *charge is not set. */
bool rl_gcra_take(const struct rl_gcra *g, const struct rl_level *level, uint64_t now_ns,
                  uint32_t cost, struct rl_gcra_charge *charge);

/* How long a request at now_ns would wait for those before it, but for `undelayed` of them. */
uint64_t rl_gcra_delay(const struct rl_gcra *g, const struct rl_level *level, uint64_t now_ns,
                       uint32_t undelayed);

/* How long a charge that left `level` has to wait for its tokens. */
uint64_t rl_gcra_wait(const struct rl_gcra *g, const struct rl_level *level, uint64_t now_ns);

/* Tokens in the bucket. */
uint32_t rl_gcra_remaining(const struct rl_gcra *g, const struct rl_level *level, uint64_t now_ns);

/* At most burst - remaining, whatever the burst: without a division of 128 bits. */
uint32_t rl_gcra_used_most(uint64_t window_ns, uint32_t capacity, struct rl_u128 word,
                           uint64_t now_ns);

/* The first nanosecond at which `cost` <= burst is admitted. */
uint64_t rl_gcra_retry_at(const struct rl_gcra *g, const struct rl_level *level, uint32_t cost);

/* The first nanosecond at which the bucket is full. */
uint64_t rl_gcra_full_at(const struct rl_level *level);

/*
 * `level` with as much of a charge of `cost` given back as can be, or false if that is nothing;
 * charged_ns and `memory` are of what it left. What is full by now_ns needs nothing.
 */
bool rl_gcra_give(const struct rl_gcra *g, const struct rl_level *level, uint64_t charged_ns,
                  uint32_t memory, uint64_t now_ns, uint32_t cost, struct rl_level *next);

/*
 * The same without a charge: `level` with as many of `cost` tokens given back, of whichever were charged
 * last, as can be. How many. Each charge that is made smaller is, by then, followed by none that found
 * the bucket less than so far ahead: that is what `ahead` says of the newest.
 */
uint32_t rl_gcra_give_newest(const struct rl_gcra *g, const struct rl_level *level, uint64_t now_ns,
                             uint32_t cost, struct rl_level *next);

#endif

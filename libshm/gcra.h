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
 * Times are nanoseconds with 40 binary digits after the point, T rounded up: after a million
 * million requests the rate is less than a nanosecond behind, and never ahead.
 *
 * State word: lo is the whole nanoseconds of tat, hi its fraction above 24 bits for the slot.
 */

#include <stdbool.h>
#include <stdint.h>

#include "layout.h"
#include "rl.h"

typedef unsigned __int128 rl_wide;

#define RL_GCRA_FRACTION 40

struct rl_gcra {
	rl_wide interval; /* T */
	uint32_t burst;   /* tokens the bucket holds, at least 1 */
	rl_wide bound;    /* how far ahead of now a charge may bring tat: burst * T, or as booked */
};

/* To fill a bucket takes a century at most, so that a time that is booked fits its word. */
#define RL_GCRA_FILL_MAX (UINT64_C(100) * 366 * 86400 * RL_SECOND)

/* `burst`, or as many tokens as a century brings. */
uint32_t rl_gcra_burst(uint64_t window_ns, uint32_t capacity, uint32_t burst);

/* `burst` as rl_gcra_burst() gives it. */
struct rl_gcra rl_gcra_make(uint64_t window_ns, uint32_t capacity, uint32_t burst);

/* Book ahead: a request may wait for up to `patience_ns`, counted as by rl_gcra_wait(). */
void rl_gcra_book_tokens(struct rl_gcra *g, uint64_t patience_ns);
void rl_gcra_book_queue(struct rl_gcra *g, uint64_t patience_ns, uint32_t undelayed, uint32_t cost);

rl_wide rl_gcra_unpack(struct rl_word16 word);
struct rl_word16 rl_gcra_pack(rl_wide tat, uint64_t slot_bits);

/* tat after a request of `cost` at now_ns; false if it is not admitted. */
bool rl_gcra_take(const struct rl_gcra *g, rl_wide tat, uint64_t now_ns, uint32_t cost,
                  rl_wide *next);

/* How long a request at now_ns would wait for those before it, but for `undelayed` of them. */
uint64_t rl_gcra_delay(const struct rl_gcra *g, rl_wide tat, uint64_t now_ns, uint32_t undelayed);

/* How long a charge that left `tat` has to wait for its tokens. */
uint64_t rl_gcra_wait(const struct rl_gcra *g, rl_wide tat, uint64_t now_ns);

/* Tokens in the bucket. */
uint32_t rl_gcra_remaining(const struct rl_gcra *g, rl_wide tat, uint64_t now_ns);

/* At most burst - remaining, whatever the burst: without a division of 128 bits. */
uint32_t rl_gcra_used_most(uint64_t window_ns, uint32_t capacity, struct rl_word16 word,
                           uint64_t now_ns);

/* The first nanosecond at which `cost` <= burst is admitted. */
uint64_t rl_gcra_retry_at(const struct rl_gcra *g, rl_wide tat, uint32_t cost);

/* The first nanosecond at which the bucket is full. */
uint64_t rl_gcra_full_at(rl_wide tat);

/*
 * tat with as much of `cost` given back as has not come back by now_ns anyway, or false if that
 * is nothing. What has come back may be spent again already: twice given, it would be too much.
 */
bool rl_gcra_give(const struct rl_gcra *g, rl_wide tat, uint64_t charged_tat_ns, uint64_t now_ns,
                  uint32_t cost, rl_wide *next);

#endif

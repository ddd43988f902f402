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
 *	is admitted    iff  max(tat, t) - t + c * T <= burst * T
 *	and then       tat = max(tat, t) + c * T
 *
 * As a leaky bucket, the shortage is the queue ahead of the request: the time to wait.
 *
 *	now                  tat
 *	 |<---- shortage ---->|<- c*T ->|           allowed while it all fits into burst * T
 *
 * Times are nanoseconds with 40 binary digits after the point, T rounded up: after a million
 * million requests the rate is less than a nanosecond behind, and never ahead.
 *
 * State word: lo is the whole nanoseconds of tat, hi its fraction above 24 bits for the slot.
 */

#include <stdbool.h>
#include <stdint.h>

#include "layout.h"

typedef unsigned __int128 rl_wide;

#define RL_GCRA_FRACTION 40

struct rl_gcra {
	rl_wide interval; /* T */
	uint32_t burst;   /* tokens the bucket holds, at least 1 */
};

struct rl_gcra rl_gcra_make(uint64_t window_ns, uint32_t capacity, uint32_t burst);

rl_wide rl_gcra_unpack(struct rl_word16 word);
struct rl_word16 rl_gcra_pack(rl_wide tat, uint64_t slot_bits);

/* tat after a request of `cost` at now_ns; false if it is not admitted. */
bool rl_gcra_take(const struct rl_gcra *g, rl_wide tat, uint64_t now_ns, uint32_t cost,
                  rl_wide *next);

/* How long a request at now_ns would wait for those before it, but for `undelayed` of them. */
uint64_t rl_gcra_delay(const struct rl_gcra *g, rl_wide tat, uint64_t now_ns, uint32_t undelayed);

/* Tokens in the bucket. */
uint32_t rl_gcra_remaining(const struct rl_gcra *g, rl_wide tat, uint64_t now_ns);

/* The first nanosecond at which `cost` <= burst is admitted. */
uint64_t rl_gcra_retry_at(const struct rl_gcra *g, rl_wide tat, uint32_t cost);

/* The first nanosecond at which the bucket is full. */
uint64_t rl_gcra_full_at(rl_wide tat);

/* tat with `cost` given back, or false if they would have come back by now_ns anyway. */
bool rl_gcra_give(const struct rl_gcra *g, rl_wide tat, uint64_t charged_tat_ns, uint64_t now_ns,
                  uint32_t cost, rl_wide *next);

#endif

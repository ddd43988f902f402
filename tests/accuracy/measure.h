/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_MEASURE_H
#define RL_MEASURE_H

/* One limiter on one traffic, beside the exact sliding log. The metrics are in accuracy.c. */

#include "rl.h"
#include "traffic.h"

/* A limiter under measurement: a rule without its capacity and window. */
struct contender {
	const char *name; /* in the tables */
	enum rl_algorithm algorithm;
	uint32_t granularity;
	int hard;
};

struct score {
	uint64_t requests;
	uint64_t admitted;
	uint64_t false_admits;
	uint64_t false_denials;
	uint64_t missed;    /* by wrong decisions, in requests */
	uint64_t overshoot; /* most requests above the capacity in a window */
};

/*
 * Run `t` through a new private segment with the contender's rule, or, NULL, through the
 * sliding log itself. Ends the program with exit code 2 when the library fails.
 */
struct score measure(const struct traffic *t, const struct contender *c);

#endif

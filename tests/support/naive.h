/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_NAIVE_H
#define RL_NAIVE_H

/*
 * The sequential limiter by definition: a list of what was admitted in which sub-bucket,
 * summed anew for every question. Slow, and meant to be obviously right.
 */

#include <stdbool.h>
#include <stdint.h>

struct naive {
	uint64_t width_ns;
	uint32_t count; /* closed sub-buckets that count; 0 is a fixed window */
	bool is_hard;
	uint32_t capacity;
	uint64_t newest; /* no request is counted before this sub-bucket */
	uint32_t used;   /* entries below */
	struct {
		uint64_t epoch;
		uint64_t cost;
	} entry[4096];
};

void naive_init(struct naive *n, uint64_t width_ns, uint32_t count, bool is_hard,
                uint32_t capacity);

bool naive_allows(const struct naive *n, uint64_t now_ns, uint64_t cost);

/* Admit it if it is allowed. */
bool naive_check(struct naive *n, uint64_t now_ns, uint64_t cost);

/* Take back what was admitted in sub-bucket `epoch`, if that is the newest. */
bool naive_refund(struct naive *n, uint64_t epoch, uint64_t cost);

/* Largest cost that is allowed. */
uint32_t naive_remaining(const struct naive *n, uint64_t now_ns);

#endif

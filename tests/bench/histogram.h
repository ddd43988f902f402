/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_HISTOGRAM_H
#define BENCH_HISTOGRAM_H

/*
 * Durations: by the nanosecond below 2^HISTOGRAM_FINE, above in 2^HISTOGRAM_FINE / 2 steps an
 * octave.
 */

#include <stdint.h>

#define HISTOGRAM_FINE 8
#define HISTOGRAM_HALF (1 << (HISTOGRAM_FINE - 1))
#define HISTOGRAM_CELLS ((64 - HISTOGRAM_FINE + 2) * HISTOGRAM_HALF)

struct histogram {
	uint64_t count;
	uint64_t max;
	uint64_t cell[HISTOGRAM_CELLS];
};

void histogram_add(struct histogram *h, uint64_t ns);

/* The duration that a share of them does not exceed, rounded down to its step; 1: the longest. */
uint64_t histogram_at(const struct histogram *h, double share);

#endif

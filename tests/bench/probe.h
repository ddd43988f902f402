/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_PROBE_H
#define BENCH_PROBE_H

/* One key that is asked about again and again: lanes over it. */

#include "bench.h"

struct probe {
	struct rl *rl;
	struct rl_item item;
};

void probe_now(void *probe, unsigned worker, uint64_t n);   /* at one `now` of the caller's */
void probe_clock(void *probe, unsigned worker, uint64_t n); /* the library reads the clock */

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_FLOOR_H
#define BENCH_FLOOR_H

/* What the hardware asks for the parts of a decision: lanes to compare with. */

#include "bench.h"

void floor_clock(void *rl, unsigned worker, uint64_t n);
void floor_hash(void *unused, unsigned worker, uint64_t n);     /* of a 16-byte key */
void floor_cas16(void *unused, unsigned worker, uint64_t n);    /* on one word */
void floor_decision(void *unused, unsigned worker, uint64_t n); /* both: what is called a floor */
void floor_count(void *unused, unsigned worker, uint64_t n);    /* add to a CPU's own line */

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_SCAN_H
#define BENCH_SCAN_H

#include "bench.h"

/* Look through the table for the key that is used most, as rlctl list and top do. */
void scan_most(struct rl *rl);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_CLOCK_H
#define RL_CLOCK_H

#include <time.h>

#include "segment/segment.h"

/* Nanoseconds by a clock of the kernel. */
uint64_t rl_clock_ns(clockid_t clock);

/* Read this process's clock as the creator's, after mapping. 0 or RL_ECLOCK. */
int rl_segment_follow_clock(struct rl_segment *s, const struct rl_header *checked);

#endif

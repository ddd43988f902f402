/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_NOW_H
#define RLCTL_NOW_H

#include <stdint.h>
#include <time.h>

/* What a clock of the kernel says. */
static inline uint64_t
now_by(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

#endif

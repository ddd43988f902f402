/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_CLOCK_H
#define RLD_CLOCK_H

#include <stdint.h>

/* For intervals: goes on whatever the wall clock does. */
uint64_t clock_monotonic_ns(void);

/* The time that this thread has computed, without the time that it waited. */
uint64_t clock_cpu_ns(void);

#endif

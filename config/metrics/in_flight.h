/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_METRICS_IN_FLIGHT_H
#define CONFIG_METRICS_IN_FLIGHT_H

#include <rl.h>
#include <stdio.h>

/*
 * What is in flight, by rule, and how many processes hold it; nothing if no rule has such a limit. Else it
 * reads the state of each slot, some 5 ns. 0 or -ENOMEM.
 */
int metrics_write_in_flight(FILE *to, struct rl *rl, const struct rl_info *info, uint64_t now_ns);

#endif

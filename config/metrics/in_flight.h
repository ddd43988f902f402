/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_METRICS_IN_FLIGHT_H
#define CONFIG_METRICS_IN_FLIGHT_H

#include <rl_admin.h>
#include <stdbool.h>
#include <stdio.h>

/* Does some limit of the rule bound what is in flight? */
bool rule_has_in_flight(const struct rl_rule_info *rule);

/*
 * What is in flight, by rule, and how many processes hold it; nothing if no rule has such a limit.
 * Else it reads the state of each slot, some 5 ns. 0 or -ENOMEM.
 */
int metrics_write_in_flight(FILE *to, struct rl *rl, const struct rl_info *info, uint64_t now_ns);

#endif

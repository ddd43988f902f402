/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_METRICS_LIMITS_H
#define CONFIG_METRICS_LIMITS_H

#include <rl_admin.h>
#include <stdio.h>

/*
 * What each limit of each rule has, and what it said no to. The label `limit` is its number in the
 * rule, from 1 on. 0 or -ENOMEM.
 */
int metrics_write_limits(FILE *to, struct rl *rl, const struct rl_info *info, uint64_t now_ns);

#endif

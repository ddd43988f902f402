/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_METRICS_ROOM_H
#define CONFIG_METRICS_ROOM_H

#include <rl_admin.h>
#include <stdio.h>

/*
 * Who takes the table, and what the overflow counters of keys without a slot count. No network has
 * a name here: a label for each would tell who the clients are. 0 or -ENOMEM.
 */
int metrics_write_shares(FILE *to, struct rl *rl, const struct rl_info *info, uint64_t now_ns);

/* Nothing for a segment without an overflow area. 0 or -ENOMEM. */
int metrics_write_reserve(FILE *to, struct rl *rl, const struct rl_info *info, uint64_t now_ns);

#endif

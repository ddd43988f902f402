/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_KEY_CHART_H
#define RLCTL_KEY_CHART_H

/* A drawing of a counter: sub-buckets, the times of a log, tokens, or a queue. */

#include <rl_admin.h>
#include <stdbool.h>
#include <stdio.h>

/* Unix time at which a sub-bucket begins. */
uint64_t bucket_start_ns(const struct rl_entry *entry, uint32_t bucket);

/* True for the sub-bucket that the window has partly left. */
bool bucket_is_leaving(const struct rl_entry *entry, uint32_t bucket);

/* At most 80 columns wide. is_whole: empty sub-buckets in a row are a row each, too. */
void key_chart_print(FILE *out, const struct rl_limit *limit, const struct rl_entry *entry,
                     uint64_t now_ns, bool is_whole);

#endif

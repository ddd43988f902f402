/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLB_ABOUT_H
#define RLB_ABOUT_H

/* What a segment is, and what a rule has counted, field by field. */

#include <rl_admin.h>

#include "values.h"

/* The fields of struct rl_info, and `slots_used`. */
void rlb_info_show(struct rl *rl, rlb_show *show, void *to);

/* Each of rl_stats(), by its name. 0, or its error. */
int rlb_stats_show(struct rl *rl, int rule, rlb_show *show, void *to);

/* A rule, and no space of counters, nor one that was removed. */
int rlb_is_rule(const struct rl_rule_info *info);

/* The name of the next such rule from row `*row` on, which is moved on. NULL: there are no more. */
const char *rlb_next_rule(struct rl *rl, uint32_t *row, struct rl_rule_info *info);

extern const char *const rlb_sources[]; /* of enum rl_source */

#endif

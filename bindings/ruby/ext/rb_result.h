/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLR_RESULT_H
#define RLR_RESULT_H

/* RL::Result, and what a request was charged. RL::Count. */

#include "rb_rule.h"

extern VALUE rlr_result_class;

struct kept; /* charges */
struct rl_charges *rlr_kept_charges(struct kept *kept);
struct kept *rlr_kept_new(struct segment *segment);
VALUE rlr_result_new(VALUE self_rule, const struct rl_result *result, uint64_t now_ns,
                     struct kept *kept);
int rlr_passes(struct rule *rule, const struct rl_result *result);

VALUE rlr_count_new(int done, const struct rl_count *count);

#endif

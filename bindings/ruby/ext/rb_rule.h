/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLR_RULE_H
#define RLR_RULE_H

/* RL::Rule, and RL::Counters, which has its structure. */

#include "rb_segment.h"

/* A rule, or a space of counters. */
struct rule {
	VALUE self_segment; /* keeps it alive */
	struct segment *segment;
	struct rlb_rule r;
};

extern VALUE rlr_rule_class, rlr_counters_class;

struct rule *rlr_rule(VALUE self);                       /* of a segment that is open */
struct rule *rlr_rule_or_nil(VALUE self, VALUE segment); /* NULL for nil */
VALUE rlr_space_new(VALUE klass, VALUE segment, VALUE name, int is_made);

/* Of either. */
VALUE rlr_reset(VALUE self, VALUE key);

#endif

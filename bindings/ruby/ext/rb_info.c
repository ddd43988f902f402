/* SPDX-License-Identifier: BSD-2-Clause */
/* What a segment and a rule are, as Hashes. */
#include "about.h"
#include "rb_error.h"
#include "rb_rule.h"
#include "rb_value.h"
#include "rl_ruby.h"

static VALUE
segment_info(VALUE self)
{
	struct segment *segment = rlr_segment(self);
	VALUE hash = rb_hash_new();

	rlr_now(segment);
	rlb_info_show(segment->s.rl, rlr_show, (void *)hash);
	return hash;
}

static VALUE
limit_hash(const struct rl_limit *limit)
{
	VALUE hash = rb_hash_new();

	rlb_fields_show(RL_OF_LIMIT, limit, rlr_show, (void *)hash);
	return hash;
}

/* The limits in force: what the administrator has configured, where he has. */
static VALUE
rule_limits(VALUE self)
{
	struct rule *rule = rlr_rule(self);
	struct rl_rule_info info;
	VALUE list = rb_ary_new();
	int id;

	rlr_now(rule->segment);
	id = rlb_rule_id(&rule->segment->s, &rule->r);
	if (id < 0 || rl_rule_info(rule->segment->s.rl, id, &info) != 1)
		rlr_raise(id < 0 ? id : RL_EREMOVED, "rule %s", rule->r.name);
	for (unsigned i = 0; i < info.limit_count && i < RL_LIMITS_MAX; i++)
		rb_ary_push(list, limit_hash(&info.limits[i]));
	return list;
}

/* What the rule has counted, over all processes: {allowed: 3, denied: 1, ...} */
static VALUE
rule_stats(VALUE self)
{
	struct rule *rule = rlr_rule(self);
	VALUE hash = rb_hash_new();
	int id, error;

	rlr_now(rule->segment);
	id = rlb_rule_id(&rule->segment->s, &rule->r);
	error = id < 0 ? id : rlb_stats_show(rule->segment->s.rl, id, rlr_show, (void *)hash);
	if (error < 0)
		rlr_raise(error, "rule %s", rule->r.name);
	return hash;
}

static VALUE
segment_rule_names(VALUE self)
{
	struct segment *segment = rlr_segment(self);
	struct rl_rule_info rule;
	VALUE list = rb_ary_new();
	uint32_t row = 0;

	rlr_now(segment);
	while (rlb_next_rule(segment->s.rl, &row, &rule))
		rb_ary_push(list, rb_utf8_str_new_cstr(rule.name));
	return list;
}

void
rlr_init_info(void)
{
	rb_define_method(rlr_segment_class, "info", segment_info, 0);
	rb_define_method(rlr_segment_class, "rule_names", segment_rule_names, 0);
	rb_define_method(rlr_rule_class, "limits", rule_limits, 0);
	rb_define_method(rlr_rule_class, "stats", rule_stats, 0);
}

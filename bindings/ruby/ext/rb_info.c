/* SPDX-License-Identifier: BSD-2-Clause */
/* What a segment and a rule are, as Hashes. */
#include <rl_admin.h>

#include "rl_ruby.h"
#include "words.h"

static void
put(VALUE hash, const char *name, VALUE value)
{
	rb_hash_aset(hash, ID2SYM(rb_intern(name)), value);
}

static VALUE
segment_info(VALUE self)
{
	struct segment *segment = rlr_segment(self);
	VALUE hash = rb_hash_new();
	struct rl_info info;

	rlr_now(segment);
	rl_info(segment->s.rl, &info);
	put(hash, "name", rb_utf8_str_new_cstr(info.name));
	put(hash, "layout", UINT2NUM(info.layout));
	put(hash, "bytes", ULL2NUM(info.bytes));
	put(hash, "keys", ULL2NUM(info.keys));
	put(hash, "slots", ULL2NUM(info.slots));
	put(hash, "slots_used", ULL2NUM(rl_fill(segment->s.rl)));
	put(hash, "ring", UINT2NUM(info.ring));
	put(hash, "key_bytes", UINT2NUM(info.key_bytes));
	put(hash, "rules", UINT2NUM(info.rules));
	put(hash, "rules_used", UINT2NUM(info.rules_used));
	put(hash, "bans", UINT2NUM(info.bans));
	put(hash, "holders", UINT2NUM(info.holders));
	put(hash, "on_full",
	    rb_str_new_cstr(rlb_on_full[info.on_full <= RL_FULL_EVICT ? info.on_full : 0]));
	put(hash, "cells", UINT2NUM(info.cells));
	put(hash, "reserves", UINT2NUM(info.reserves));
	put(hash, "events", UINT2NUM(info.events));
	put(hash, "buffer_ns", ULL2NUM(info.buffer_ns));
	put(hash, "created_ns", ULL2NUM(info.created_ns));
	put(hash, "generation", ULL2NUM(info.generation));
	put(hash, "mode", UINT2NUM(info.mode));
	put(hash, "readonly", info.is_readonly ? Qtrue : Qfalse);
	return hash;
}

static VALUE
limit_hash(const struct rl_limit *l)
{
	const struct rl_algorithm_info *algorithm = rl_algorithm_info(l->algorithm);
	VALUE hash = rb_hash_new();

	put(hash, "algorithm", algorithm ? rb_str_new_cstr(algorithm->name) : Qnil);
	put(hash, "capacity", UINT2NUM(l->capacity));
	put(hash, "window_ns", ULL2NUM(l->window_ns));
	put(hash, "granularity", UINT2NUM(l->granularity));
	put(hash, "hard", l->hard ? Qtrue : Qfalse);
	put(hash, "burst", UINT2NUM(l->burst));
	put(hash, "undelayed", UINT2NUM(l->undelayed));
	put(hash, "shadow", l->shadow ? Qtrue : Qfalse);
	put(hash, "prefix_v4", UINT2NUM(l->prefix_v4));
	put(hash, "prefix_v6", UINT2NUM(l->prefix_v6));
	put(hash, "prefetch", UINT2NUM(l->prefetch));
	put(hash, "count_denied", l->count_denied ? Qtrue : Qfalse);
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
	uint64_t counters[RL_COUNTERS] = {0};
	VALUE hash = rb_hash_new();
	int id, error;

	rlr_now(rule->segment);
	id = rlb_rule_id(&rule->segment->s, &rule->r);
	error = id < 0 ? id : rl_stats(rule->segment->s.rl, id, counters, RL_COUNTERS);
	if (error < 0)
		rlr_raise(error, "rule %s", rule->r.name);
	for (int i = 0; i < RL_COUNTERS && rl_counter_info(i); i++)
		put(hash, rl_counter_info(i)->name, ULL2NUM(counters[i]));
	return hash;
}

static VALUE
segment_rule_names(VALUE self)
{
	struct segment *segment = rlr_segment(self);
	struct rl_rule_info rule;
	VALUE list = rb_ary_new();
	struct rl_info info;

	rlr_now(segment);
	rl_info(segment->s.rl, &info);
	for (uint32_t i = 0; i < info.rules; i++)
		if (rl_rule_info(segment->s.rl, (int)i, &rule) == 1 &&
		    rule.source != RL_SOURCE_NONE)
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

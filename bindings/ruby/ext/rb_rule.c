/* SPDX-License-Identifier: BSD-2-Clause */
/* RL::Rule: defining and finding one. RL::Counters shares its structure. */
#include <errno.h>
#include <string.h>

#include "limit.h"
#include "rb_error.h"
#include "rb_rule.h"
#include "rb_value.h"
#include "rl_ruby.h"
#include "text.h"

static void
rule_mark(void *data)
{
	rb_gc_mark(((struct rule *)data)->self_segment);
}

static size_t
rule_size(const void *data)
{
	(void)data;
	return sizeof(struct rule);
}

static const rb_data_type_t rule_type = {
	.wrap_struct_name = "RL::Rule",
	.function = {.dmark = rule_mark, .dfree = RUBY_DEFAULT_FREE, .dsize = rule_size},
	.flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

struct rule *
rlr_rule(VALUE self)
{
	struct rule *rule =
		RB_TYPE_P(self, T_DATA) && RTYPEDDATA_P(self) && RTYPEDDATA_TYPE(self) == &rule_type
			? RTYPEDDATA_DATA(self)
			: rb_check_typeddata(self, &rule_type);

	if (RB_UNLIKELY(!rule->segment->s.rl))
		rlr_closed();
	return rule;
}

struct rule *
rlr_rule_or_nil(VALUE self, VALUE segment)
{
	struct rule *rule;

	if (NIL_P(self))
		return NULL;
	rule = rlr_rule(self);
	if (rule->self_segment != segment)
		rb_raise(rb_eArgError, "rule: %s is of another segment", rule->r.name);
	return rule;
}

static VALUE
rule_new(VALUE klass, VALUE segment, VALUE name, struct rule **rule)
{
	struct segment *of = rlr_segment(segment);
	VALUE self;

	StringValueCStr(name);
	if (RSTRING_LEN(name) > RL_NAME_MAX)
		rb_raise(rb_eArgError, "name: it is too long; at most %d bytes are allowed",
		         RL_NAME_MAX);
	self = TypedData_Make_Struct(klass, struct rule, &rule_type, *rule);
	(*rule)->self_segment = segment;
	(*rule)->segment = of;
	memcpy((*rule)->r.name, RSTRING_PTR(name), (size_t)RSTRING_LEN(name));
	return self;
}

static int
set_field(VALUE name, VALUE value, VALUE arg)
{
	VALUE text = rb_obj_as_string(name);
	struct rlb_value v = rlr_value(value);
	char why[RLB_TEXT_SIZE];

	if (rlb_limit_set((struct rlb_limit *)arg, RSTRING_PTR(text), (size_t)RSTRING_LEN(text), &v,
	                  why) < 0)
		rb_raise(rb_eArgError, "%s, got %" PRIsVALUE, why, rb_inspect(value));
	return ST_CONTINUE;
}

static struct rl_limit
limit_of(VALUE fields, const struct rlb_limit *base, uint32_t ring)
{
	struct rlb_limit l = *base;
	char why[RLB_TEXT_SIZE];

	Check_Type(fields, T_HASH);
	rb_hash_foreach(fields, set_field, (VALUE)&l);
	if (rlb_limit_finish(&l, ring, why) < 0)
		rb_raise(rb_eArgError, "%s", why);
	return l.limit;
}

/* `limits` is an Array of Hashes; what one of them leaves out is as in `base`. */
static void
take_limits(struct rule *rule, VALUE limits, VALUE base)
{
	struct rlb_limit empty = {0};
	uint32_t ring = rule->segment->s.ring;
	long count;

	Check_Type(limits, T_ARRAY);
	count = RARRAY_LEN(limits);
	if (count < 1)
		rb_raise(rb_eArgError, "limits: none; 1 to %d are allowed", RL_LIMITS_MAX);
	rb_hash_foreach(base, set_field, (VALUE)&empty);
	rule->r.rule.limit = limit_of(rb_ary_entry(limits, 0), &empty, ring);
	rule->r.rule.more_count = (size_t)count - 1;
	for (long i = 1; i < count && i < RL_LIMITS_MAX; i++)
		rule->r.more[i - 1] = limit_of(rb_ary_entry(limits, i), &empty, ring);
}

/*
 * What rl_rule_check() says, if it finds something: what is no rule anywhere is a wrong argument.
 */
static void
raise_definition(struct rule *rule, int error)
{
	struct rl_options options = {.ring = rule->segment->s.ring};
	char text[RL_RULE_TEXT_SIZE];
	int wrong;

	rule->r.rule.name = rule->r.name;
	rule->r.rule.more = rule->r.more;
	wrong = rl_rule_check(&rule->r.rule, &options, text, sizeof text);
	if (wrong == -EINVAL)
		rb_raise(rb_eArgError, "%s", text);
	if (wrong < 0)
		rlr_raise_text(wrong, text);
	rlr_raise(error, "rule %s", rule->r.name);
}

/* Rule.define(segment, name, limits, fields of all of them, keep) */
static VALUE
rule_define(VALUE klass, VALUE segment, VALUE name, VALUE limits, VALUE base, VALUE keep)
{
	struct rule *rule;
	VALUE self = rule_new(klass, segment, name, &rule);
	int id;

	take_limits(rule, limits, base);
	if (rule->r.rule.more_count >= RL_LIMITS_MAX)
		raise_definition(rule, -EINVAL);
	rule->r.kind = RLB_DEFINED;
	rule->r.rule.flags = RTEST(keep) ? RL_DEFINE_KEEP : 0;
	id = rlb_rule_renew(&rule->segment->s, &rule->r);
	if (id < 0)
		raise_definition(rule, id);
	return self;
}

static VALUE
rule_find(VALUE klass, VALUE segment, VALUE name)
{
	struct rule *rule;
	VALUE self = rule_new(klass, segment, name, &rule);
	int id;

	rule->r.kind = RLB_FOUND;
	id = rlb_rule_renew(&rule->segment->s, &rule->r);
	if (id < 0)
		rlr_raise(id, "rule %s", rule->r.name);
	return self;
}

VALUE
rlr_space_new(VALUE klass, VALUE segment, VALUE name, int is_made)
{
	struct rule *rule;
	VALUE self = rule_new(klass, segment, name, &rule);
	int id;

	rule->r.kind = is_made ? RLB_SPACE : RLB_FOUND;
	id = rlb_rule_renew(&rule->segment->s, &rule->r);
	if (id < 0)
		rlr_raise(id, "counters %s", rule->r.name);
	return self;
}

static VALUE
rule_name(VALUE self)
{
	return rb_utf8_str_new_cstr(rlr_rule(self)->r.name);
}

static VALUE
rule_segment(VALUE self)
{
	return rlr_rule(self)->self_segment;
}

/* RL.rate("5/min") => [5, 60_000_000_000] */
static VALUE
module_rate(VALUE self, VALUE text)
{
	uint32_t capacity;
	uint64_t window_ns;

	(void)self;
	StringValue(text);
	if (rlb_rate(RSTRING_PTR(text), (size_t)RSTRING_LEN(text), &capacity, &window_ns) < 0)
		rb_raise(rb_eArgError, "%" PRIsVALUE " is no rate such as \"100/min\" or \"5/10s\"",
		         rb_inspect(text));
	return rb_assoc_new(UINT2NUM(capacity), ULL2NUM(window_ns));
}

void
rlr_init_rule(void)
{
	rlr_rule_class = rb_define_class_under(rlr_module, "Rule", rb_cObject);
	rb_undef_alloc_func(rlr_rule_class);
	rb_define_singleton_method(rlr_rule_class, "define", rule_define, 5);
	rb_define_singleton_method(rlr_rule_class, "find", rule_find, 2);
	rb_define_method(rlr_rule_class, "name", rule_name, 0);
	rb_define_method(rlr_rule_class, "segment", rule_segment, 0);
	rb_define_singleton_method(rlr_module, "rate", module_rate, 1);
}

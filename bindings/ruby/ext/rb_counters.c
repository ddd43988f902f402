/* SPDX-License-Identifier: BSD-2-Clause */
/* RL::Counters: counters by key, each with a lifetime. A call answers an RL::Count. */
#include <errno.h>

#include "rb_error.h"
#include "rb_result.h"
#include "rb_value.h"
#include "rl_ruby.h"

/* What a call is told. */
struct call {
	struct rule *space;
	struct key key;
	VALUE key_value, number, lifetime;
	struct rl_counter_item item;
};

/*
 * Besides a key: nothing, a lifetime, an amount and a lifetime that may be left out, a value and a
 * lifetime.
 */
enum form {
	OF_KEY,
	OF_LIFETIME,
	OF_AMOUNT,
	OF_VALUE
};

static const struct {
	int least, most;
} arguments[] = {
	[OF_KEY] = {1, 1}, [OF_LIFETIME] = {2, 2}, [OF_AMOUNT] = {1, 3}, [OF_VALUE] = {2, 3}};

/* `now:`, the keyword that each call has. nil: it is not there. */
static VALUE
take_keywords(int *argc, VALUE *argv)
{
	static const char *const names[] = {"now", NULL};
	VALUE options;

	if (RB_LIKELY(!rb_keyword_given_p()))
		return Qnil;
	options = argv[--*argc];
	rlr_only(options, names);
	return rlr_get(options, "now");
}

static void
take_call(int argc, VALUE *argv, VALUE self, enum form form, struct call *c)
{
	VALUE now = take_keywords(&argc, argv);

	rb_check_arity(argc, arguments[form].least, arguments[form].most);
	c->key_value = argv[0];
	c->number = form != OF_LIFETIME && argc > 1 ? argv[1] : Qnil;
	c->lifetime = argc > 1 && form == OF_LIFETIME ? argv[1] : argc > 2 ? argv[2] : Qnil;
	c->space = rlr_rule(self);
	c->item = (struct rl_counter_item){0};
	c->item.now_ns = NIL_P(now) ? rlr_now(c->space->segment) : rlr_time(now, "now");
}

static int64_t
signed_number(VALUE value)
{
	if (NIL_P(value))
		return 1;
	if (!RB_INTEGER_TYPE_P(value))
		rb_raise(rb_eTypeError, "amount: an Integer is needed, not %" PRIsVALUE,
		         rb_obj_class(value));
	return NUM2LL(value);
}

/*
 * Last: what reads arguments may run code of Ruby, which may close the segment or change the key.
 */
static int
apply(struct call *c, enum rl_counter_op op, struct rl_count *count)
{
	int done;

	rlr_key(c->key_value, &c->key);
	c->item.key = c->key.bytes;
	c->item.key_len = c->key.len;
	done = c->item.space = rlb_rule_id(&c->space->segment->s, &c->space->r);
	if (done >= 0)
		done = rl_counter_apply(c->space->segment->s.rl, op, &c->item, count);
	RB_GC_GUARD(c->key.string);
	if (done < 0)
		rlr_raise(done, "counters %s", c->space->r.name);
	return done;
}

static VALUE
answer(struct call *c, enum rl_counter_op op)
{
	struct rl_count count = {0};
	int done = apply(c, op, &count);

	return rlr_count_new(done, &count);
}

static VALUE
counters_add(int argc, VALUE *argv, VALUE self)
{
	struct call c;

	take_call(argc, argv, self, OF_AMOUNT, &c);
	c.item.amount = signed_number(c.number);
	c.item.lifetime_ns = rlr_duration(c.lifetime, "lifetime");
	return answer(&c, RL_COUNTER_ADD);
}

static VALUE
counters_get(int argc, VALUE *argv, VALUE self)
{
	struct call c;

	take_call(argc, argv, self, OF_KEY, &c);
	return answer(&c, RL_COUNTER_GET);
}

static VALUE
set(int argc, VALUE *argv, VALUE self, enum rl_counter_op op)
{
	struct call c;

	take_call(argc, argv, self, OF_VALUE, &c);
	c.item.amount = (int64_t)rlr_count(c.number, INT64_MAX, "value");
	c.item.lifetime_ns = rlr_duration(c.lifetime, "lifetime");
	return answer(&c, op);
}

static VALUE
counters_set(int argc, VALUE *argv, VALUE self)
{
	return set(argc, argv, self, RL_COUNTER_SET);
}

static VALUE
counters_set_new(int argc, VALUE *argv, VALUE self)
{
	return set(argc, argv, self, RL_COUNTER_SET_NEW);
}

static VALUE
counters_touch(int argc, VALUE *argv, VALUE self)
{
	struct call c;

	take_call(argc, argv, self, OF_LIFETIME, &c);
	c.item.lifetime_ns = rlr_duration(c.lifetime, "lifetime");
	return answer(&c, RL_COUNTER_TOUCH);
}

static VALUE
counters_drop(int argc, VALUE *argv, VALUE self)
{
	struct call c;

	take_call(argc, argv, self, OF_KEY, &c);
	return apply(&c, RL_COUNTER_DROP, NULL) ? Qtrue : Qfalse;
}

/* Counters.open(segment, name, is_made) */
static VALUE
counters_open(VALUE klass, VALUE segment, VALUE name, VALUE is_made)
{
	return rlr_space_new(klass, segment, name, RTEST(is_made));
}

static VALUE
counters_name(VALUE self)
{
	return rb_utf8_str_new_cstr(rlr_rule(self)->r.name);
}

static VALUE
counters_segment(VALUE self)
{
	return rlr_rule(self)->self_segment;
}

void
rlr_init_counters(void)
{
	rlr_init_count();
	rlr_counters_class = rb_define_class_under(rlr_module, "Counters", rb_cObject);
	rb_undef_alloc_func(rlr_counters_class);
	rb_define_singleton_method(rlr_counters_class, "open", counters_open, 3);
	rb_define_method(rlr_counters_class, "name", counters_name, 0);
	rb_define_method(rlr_counters_class, "segment", counters_segment, 0);
	rb_define_method(rlr_counters_class, "add", counters_add, -1);
	rb_define_method(rlr_counters_class, "get", counters_get, -1);
	rb_define_method(rlr_counters_class, "set", counters_set, -1);
	rb_define_method(rlr_counters_class, "set_new", counters_set_new, -1);
	rb_define_method(rlr_counters_class, "touch", counters_touch, -1);
	rb_define_method(rlr_counters_class, "drop", counters_drop, -1);
	rb_define_method(rlr_counters_class, "reset", rlr_reset, 1);
}

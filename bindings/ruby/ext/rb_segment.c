/* SPDX-License-Identifier: BSD-2-Clause */
/* RL::Segment: opening, closing, and what holds for all of a segment. */
#include <errno.h>
#include <string.h>

#include "options.h"
#include "rb_error.h"
#include "rb_segment.h"
#include "rb_value.h"
#include "rl_ruby.h"
#include "words.h"

void
rlr_segment_drop(struct segment *segment)
{
	if (--segment->references > 0)
		return;
	rlb_close(&segment->s);
	xfree(segment);
}

static void
segment_free(void *data)
{
	rlr_segment_drop(data);
}

static size_t
segment_size(const void *data)
{
	(void)data;
	return sizeof(struct segment);
}

static const rb_data_type_t segment_type = {
	.wrap_struct_name = "RL::Segment",
	.function = {.dfree = segment_free, .dsize = segment_size},
	.flags = RUBY_TYPED_FREE_IMMEDIATELY,
};

static VALUE
segment_alloc(VALUE klass)
{
	struct segment *segment;
	VALUE self = TypedData_Make_Struct(klass, struct segment, &segment_type, segment);

	segment->references = 1;
	return self;
}

struct segment *
rlr_segment_any(VALUE self)
{
	return rb_check_typeddata(self, &segment_type);
}

void
rlr_closed(void)
{
	rlr_raise(-EBADF, "the segment is closed");
}

struct segment *
rlr_segment(VALUE self)
{
	struct segment *segment = rlr_segment_any(self);

	if (!segment->s.rl)
		rlr_closed();
	return segment;
}

/* Where the new one of the name cannot be opened, the old one goes on to limit: say so, once. */
void
rlr_look(struct segment *segment)
{
	int trouble;

	rlb_look(&segment->s);
	trouble = segment->s.trouble;
	if (trouble != segment->warned && trouble < 0)
		rb_warn("rl: segment %s was replaced, and the new one cannot be opened: %s. "
		        "This process goes on with the old one, and tries again each second",
		        segment->s.name, rl_strerror(trouble));
	segment->warned = trouble;
	if (!segment->s.rl)
		rlr_closed();
}

struct opening {
	struct rl_options options;
	enum on_error on_error;
	int is_private;
};

static enum on_error
on_error_of(VALUE value)
{
	static const char *const words[] = {"raise", "allow", "deny", NULL};
	VALUE text = rb_obj_as_string(value);
	int word = rlb_word(words, RSTRING_PTR(text), (unsigned long)RSTRING_LEN(text));

	if (word < 0)
		rb_raise(rb_eArgError,
		         "on_error: expected :raise, :allow or :deny, got %" PRIsVALUE,
		         rb_inspect(value));
	return (enum on_error)word;
}

/* What is nil is as if it was not there. */
static int
take_option(VALUE name, VALUE value, VALUE arg)
{
	struct opening *o = (struct opening *)arg;
	VALUE text = rb_obj_as_string(name);
	char why[RLB_TEXT_SIZE];
	struct rlb_value v;
	int error;

	if (NIL_P(value))
		return ST_CONTINUE;
	if (name == ID2SYM(rb_intern("on_error"))) {
		o->on_error = on_error_of(value);
		return ST_CONTINUE;
	}
	if (name == ID2SYM(rb_intern("is_private"))) {
		o->is_private = RTEST(value);
		return ST_CONTINUE;
	}
	v = rlr_value(value);
	error = rlb_option_set(&o->options, RSTRING_PTR(text), (size_t)RSTRING_LEN(text), &v, why);
	if (error < 0)
		rb_raise(rb_eArgError, "%s, got %" PRIsVALUE, why, rb_inspect(value));
	if (error > 0)
		rb_warn("%s", why);
	return ST_CONTINUE;
}

static VALUE
segment_initialize(int argc, VALUE *argv, VALUE self)
{
	struct segment *segment = rlr_segment_any(self);
	struct opening o = {.options = rlb_options};
	char why[RLB_OPEN_TEXT_SIZE];
	const char *text = "default";
	VALUE name, options;
	int error;

	rb_scan_args(argc, argv, "01:", &name, &options);
	if (segment->s.rl || segment->s.epoch > 0) /* its rules would be taken for the other's */
		rb_raise(rb_eRuntimeError, "the segment was opened already");
	if (!NIL_P(options))
		rb_hash_foreach(options, take_option, (VALUE)&o);
	segment->on_error = o.on_error;
	if (!NIL_P(name))
		text = StringValueCStr(name);
	error = o.is_private ? rlb_open_private(&segment->s, &o.options)
	                     : rlb_open(&segment->s, text, &o.options);
	if (error < 0) {
		rlb_open_why(error, text, &o.options, why);
		name = rb_sprintf("segment %s: %s", text, why);
		rlr_raise_text(error, StringValueCStr(name));
	}
	return self;
}

static VALUE
segment_close(VALUE self)
{
	rlb_close(&rlr_segment_any(self)->s);
	return Qnil;
}

static VALUE
segment_is_closed(VALUE self)
{
	return rlr_segment_any(self)->s.rl ? Qfalse : Qtrue;
}

static VALUE
segment_now_ns(VALUE self)
{
	return ULL2NUM(rlr_now(rlr_segment(self)));
}

/* Look now, in place of in a second: true if the name has another segment, which is open now. */
static VALUE
segment_look(VALUE self)
{
	struct segment *segment = rlr_segment(self);
	uint32_t epoch = segment->s.epoch;

	rlr_look(segment);
	if (segment->s.trouble < 0)
		rlr_raise(segment->s.trouble, "segment %s", segment->s.name);
	return segment->s.epoch == epoch ? Qfalse : Qtrue;
}

static VALUE
segment_give_back(VALUE self)
{
	int done = rl_prefetch_return(rlr_segment(self)->s.rl);

	if (done < 0)
		rlr_raise(done, "give_back");
	return INT2NUM(done);
}

static VALUE
segment_forget(VALUE self, VALUE name)
{
	int done = rl_forget(rlr_segment(self)->s.rl, StringValueCStr(name));

	if (done < 0)
		rlr_raise(done, "forget: %" PRIsVALUE, name);
	return done ? Qtrue : Qfalse;
}

static VALUE
module_unlink(VALUE self, VALUE name)
{
	int error = rl_unlink(StringValueCStr(name));

	(void)self;
	if (error < 0)
		rlr_raise(error, "segment %" PRIsVALUE, name);
	return Qnil;
}

static VALUE
module_key_digest(VALUE self, VALUE string)
{
	char text[RL_KEY_DIGEST_SIZE];

	(void)self;
	StringValue(string);
	rl_key_digest(RSTRING_PTR(string), (size_t)RSTRING_LEN(string), text);
	return rb_str_new_cstr(text);
}

void
rlr_init_segment(void)
{
	rlr_segment_class = rb_define_class_under(rlr_module, "Segment", rb_cObject);
	rb_define_alloc_func(rlr_segment_class, segment_alloc);
	rb_define_method(rlr_segment_class, "initialize", segment_initialize, -1);
	rb_define_method(rlr_segment_class, "close", segment_close, 0);
	rb_define_method(rlr_segment_class, "closed?", segment_is_closed, 0);
	rb_define_method(rlr_segment_class, "now_ns", segment_now_ns, 0);
	rb_define_method(rlr_segment_class, "look", segment_look, 0);
	rb_define_method(rlr_segment_class, "give_back", segment_give_back, 0);
	rb_define_method(rlr_segment_class, "forget", segment_forget, 1);
	rb_define_singleton_method(rlr_module, "unlink", module_unlink, 1);
	rb_define_singleton_method(rlr_module, "key_digest", module_key_digest, 1);
}

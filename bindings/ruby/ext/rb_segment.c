/* SPDX-License-Identifier: BSD-2-Clause */
/* RL::Segment: opening, closing, and what holds for all of a segment. */
#include <errno.h>
#include <grp.h>
#include <string.h>

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

static const struct {
	const char *name;
	unsigned flag;
} flags[] = {
	{"readonly", RL_OPEN_READONLY},   {"existing", RL_OPEN_EXISTING},
	{"any_owner", RL_OPEN_ANY_OWNER}, {"huge_pages", RL_OPEN_HUGE_PAGES},
	{"populate", RL_OPEN_POPULATE},   {"at_least", RL_OPEN_AT_LEAST},
};

static const char *const open_names[] = {
	"keys",     "ring",     "key_bytes", "rules",      "overrides", "bans",
	"holders",  "on_full",  "cells",     "reserves",   "events",    "buffer",
	"mode",     "group",    "readonly",  "existing",   "any_owner", "huge_pages",
	"populate", "at_least", "on_error",  "is_private", NULL};

static uint32_t
number_in(VALUE options, const char *name, uint64_t most)
{
	VALUE value = rlr_get(options, name);

	return NIL_P(value) ? 0 : (uint32_t)rlr_count(value, most, name);
}

static int
word_in(VALUE options, const char *name, const char *const *words)
{
	VALUE value = rlr_get(options, name);
	int number;

	if (NIL_P(value))
		return 0;
	value = rb_obj_as_string(value);
	number = rlb_word(words, RSTRING_PTR(value), (unsigned long)RSTRING_LEN(value));
	if (number < 0)
		rb_raise(rb_eArgError, "%s: %" PRIsVALUE " is none of its words", name,
		         rb_inspect(value));
	return number;
}

/* A name or a number. */
static void
take_group(VALUE value, struct rl_options *o)
{
	struct group *group;

	if (NIL_P(value))
		return;
	o->flags |= RL_OPEN_GROUP;
	if (RB_INTEGER_TYPE_P(value)) {
		o->group = (gid_t)rlr_count(value, UINT32_MAX - 1, "group");
		return;
	}
	group = getgrnam(StringValueCStr(value));
	if (!group)
		rb_raise(rb_eArgError, "group: there is none of the name %" PRIsVALUE, value);
	o->group = group->gr_gid;
}

static struct rl_options
options_of(VALUE options)
{
	struct rl_options o = {
		.keys = number_in(options, "keys", RL_KEYS_MAX),
		.ring = number_in(options, "ring", RL_RING_MAX),
		.rules = number_in(options, "rules", RL_RULES_MAX),
		.overrides = number_in(options, "overrides", RL_OVERRIDES_MAX),
		.bans = number_in(options, "bans", RL_BANS_MAX),
		.holders = number_in(options, "holders", RL_HOLDERS_MAX),
		.cells = number_in(options, "cells", RL_CELLS_MAX),
		.reserves = number_in(options, "reserves", RL_RESERVES_MAX),
		.events = number_in(options, "events", RL_EVENTS_MAX),
		.mode = number_in(options, "mode", 0777),
		.on_full = (enum rl_on_full)word_in(options, "on_full", rlb_on_full),
	};
	VALUE key_bytes = rlr_get(options, "key_bytes"), buffer = rlr_get(options, "buffer");

	if (o.ring == 0)
		o.ring = RLB_RING;
	if (!NIL_P(key_bytes)) /* as in rl.json: 0 keeps none */
		o.key_bytes = (uint32_t)rlr_count(key_bytes, RL_KEY_MAX, "key_bytes");
	if (key_bytes == INT2FIX(0))
		o.key_bytes = RL_KEY_BYTES_NONE;
	if (rlr_get(options, "events") == INT2FIX(0))
		o.events = RL_EVENTS_NONE;
	if (!NIL_P(buffer))
		o.buffer_ns = rlr_duration(buffer, "buffer");
	for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
		if (RTEST(rlr_get(options, flags[i].name)))
			o.flags |= flags[i].flag;
	take_group(rlr_get(options, "group"), &o);
	return o;
}

/* Why a segment that is there is less than was asked for. */
static void
raise_less(const char *name, const struct rl_options *asked)
{
	struct rl_options any = *asked;
	char text[RL_OPEN_TEXT_SIZE];
	struct rl_info info;
	struct rl *rl;

	any.flags = (asked->flags & (RL_OPEN_GROUP | RL_OPEN_ANY_OWNER)) | RL_OPEN_EXISTING |
	            RL_OPEN_READONLY;
	if (rl_open(name, &any, &rl) < 0)
		return;
	rl_info(rl, &info);
	rl_open_compare(&info, asked, text, sizeof text);
	rl_close(rl);
	rlr_raise(RL_ELESS, "segment %s: %s", name, text);
}

static VALUE
segment_initialize(int argc, VALUE *argv, VALUE self)
{
	static const char *const errors[] = {"raise", "allow", "deny", NULL};
	struct segment *segment = rlr_segment_any(self);
	struct rl_options asked;
	const char *text = "default";
	VALUE name, options;
	int error;

	rb_scan_args(argc, argv, "01:", &name, &options);
	if (segment->s.rl || segment->s.epoch > 0) /* its rules would be taken for the other's */
		rb_raise(rb_eRuntimeError, "the segment was opened already");
	rlr_only(options, open_names);
	asked = options_of(options);
	segment->on_error = (enum on_error)word_in(options, "on_error", errors);
	if (!NIL_P(name))
		text = StringValueCStr(name);
	error = RTEST(rlr_get(options, "is_private")) ? rlb_open_private(&segment->s, &asked)
	                                              : rlb_open(&segment->s, text, &asked);
	if (error == RL_ELESS)
		raise_less(text, &asked);
	if (error < 0)
		rlr_raise(error, "segment %s", text);
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
	int done = rl_give_back(rlr_segment(self)->s.rl);

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

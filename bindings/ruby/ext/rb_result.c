/* SPDX-License-Identifier: BSD-2-Clause */
/* RL::Result: what librl answered, and what was charged, to give it back. */
#include <string.h>
#include <unistd.h>

#include "charges.h"
#include "headers.h"
#include "rb_error.h"
#include "rb_result.h"
#include "rb_value.h"
#include "rl_ruby.h"
#include "words.h"

/*
 * Objects that are collected together go in any order, so it refers to the segment itself, not to
 * its object.
 */
struct kept {
	struct rl_charges charges;
	struct rl_hold holds[RL_LIMITS_MAX]; /* units in flight, once they were asked for */
	size_t hold_count;
	struct segment *segment;
	uint32_t epoch; /* of it: what another one charged cannot be given back in this one */
	pid_t process;  /* a child of fork has a copy, and its parent still holds */
};

struct result {
	union { /* the line that is touched when it is collected is the first of the next use */
		struct kept *kept;
		struct result *next; /* of those that wait for another object */
	};
	VALUE self_rule;
	struct rl_result r;
	uint64_t now_ns;
};

/*
 * To allocate one and to free it took a fifth of a check. Those that were collected wait here for
 * the next objects, as many as some pages of the heap have. Who takes and who collects holds the
 * GVL.
 */
#define SPARES_MAX 4096
static struct result *spares;
static unsigned spare_count;

static int
is_in_force(const struct kept *kept)
{
	return kept->segment->s.rl && kept->epoch == kept->segment->s.epoch;
}

static size_t
hold_count(struct kept *kept)
{
	if (kept->hold_count == 0)
		kept->hold_count = rl_holds(&kept->charges, kept->holds, RL_LIMITS_MAX);
	return kept->hold_count;
}

/* What could not be given back is still held. */
static int
release(struct kept *kept)
{
	int done = rl_release(kept->segment->s.rl, kept->holds, hold_count(kept));

	if (done >= 0)
		kept->hold_count = 0;
	return done;
}

/* In the midst of a collection: nothing of Ruby's is called or looked at. */
static void
kept_free(struct kept *kept)
{
	if (!kept)
		return;
	if (is_in_force(kept) && kept->process == getpid())
		release(kept);
	rlr_segment_drop(kept->segment);
	xfree(kept);
}

static void
result_mark(void *data)
{
	rb_gc_mark(((struct result *)data)->self_rule);
}

static void
result_free(void *data)
{
	struct result *result = data;

	kept_free(result->kept);
	if (spare_count == SPARES_MAX) {
		xfree(result);
		return;
	}
	result->next = spares;
	spares = result;
	spare_count++;
}

/* What it has is to be set before an object is made of it. */
static struct result *
result_alloc(void)
{
	struct result *result = spares;

	if (!result)
		return ALLOC(struct result);
	spares = result->next;
	spare_count--;
	return result;
}

static size_t
result_size(const void *data)
{
	return sizeof(struct result) +
	       (((const struct result *)data)->kept ? sizeof(struct kept) : 0);
}

static const rb_data_type_t result_type = {
	.wrap_struct_name = "RL::Result",
	.function = {.dmark = result_mark, .dfree = result_free, .dsize = result_size},
	.flags = RUBY_TYPED_FREE_IMMEDIATELY | RUBY_TYPED_WB_PROTECTED,
};

static struct result *
result_get(VALUE self)
{
	return rb_check_typeddata(self, &result_type);
}

struct rl_charges *
rlr_kept_charges(struct kept *kept)
{
	return &kept->charges;
}

struct kept *
rlr_kept_new(struct segment *segment)
{
	struct kept *kept = ZALLOC(struct kept);

	kept->segment = segment;
	kept->epoch = segment->s.epoch;
	kept->process = getpid();
	segment->references++;
	return kept;
}

VALUE
rlr_result_new(VALUE self_rule, const struct rl_result *from, uint64_t now_ns, struct kept *kept)
{
	struct result *result = result_alloc();

	result->self_rule = self_rule; /* an object that is made of it is young: no barrier */
	result->r = *from;
	result->now_ns = now_ns;
	result->kept = kept;
	return TypedData_Wrap_Struct(rlr_result_class, &result_type, result);
}

/* Let it through? An error is the segment's on_error to say: nothing passes in silence. */
int
rlr_passes(struct rule *rule, const struct rl_result *result)
{
	if (RB_LIKELY(result->error == 0))
		return result->verdict == RL_ALLOWED;
	switch (rule->segment->on_error) {
	case ON_ERROR_ALLOW:
		return 1;
	case ON_ERROR_DENY:
		return 0;
	default:
		rlr_raise(result->error, "rule %s", rule->r.name);
	}
}

static VALUE
result_passes(VALUE self)
{
	struct result *result = result_get(self);

	return rlr_passes(rlr_rule(result->self_rule), &result->r) ? Qtrue : Qfalse;
}

static VALUE
result_is_allowed(VALUE self)
{
	return result_get(self)->r.verdict == RL_ALLOWED ? Qtrue : Qfalse;
}

static VALUE
result_is_denied(VALUE self)
{
	enum rl_verdict verdict = result_get(self)->r.verdict;

	return verdict == RL_DENIED || verdict == RL_NEVER ? Qtrue : Qfalse;
}

static VALUE
result_rule(VALUE self)
{
	return result_get(self)->self_rule;
}

/* nil, or the name of the error: "ENOSPC" */
static VALUE
error_name(int error)
{
	char digits[RLB_ERROR_SIZE];

	return error ? rb_str_new_cstr(rlb_error(error, digits)) : Qnil;
}

/* Each field of librl's list: as it is, and a duration in seconds, too. */
#define OF_WORD(value, words) ID2SYM(rb_intern(rlb_##words((int)(value))))
#define OF_ERROR(value, words) error_name(value)
#define OF_COUNT(value, words) ULL2NUM(value)
#define OF_FLAG(value, words) ((value) ? Qtrue : Qfalse)
#define OF_DURATION(value, words) ULL2NUM(value)
#define RL_RESULT_FIELD(field, kind, unit, words, text)             \
	static VALUE result_##field(VALUE self)                     \
	{                                                           \
		return OF_##kind(result_get(self)->r.field, words); \
	}
#include <rl_result_fields.def>
#undef RL_RESULT_FIELD

#define SECONDS_WORD(field)
#define SECONDS_ERROR(field)
#define SECONDS_COUNT(field)
#define SECONDS_FLAG(field)
#define SECONDS_DURATION(field)                                \
	static VALUE seconds_of_##field(VALUE self)            \
	{                                                      \
		return rlr_seconds(result_get(self)->r.field); \
	}
#define RL_RESULT_FIELD(field, kind, unit, words, text) SECONDS_##kind(field)
#include <rl_result_fields.def>
#undef RL_RESULT_FIELD

/*
 * What was kept, and not in a segment that is no longer open. To read arguments may close one: they
 * are read before.
 */
static struct kept *
kept_of(VALUE self, struct rule **rule)
{
	struct result *result = result_get(self);

	*rule = rlr_rule(result->self_rule);
	if (!result->kept)
		rb_raise(rb_eRuntimeError, "this request kept no charges: ask with keep: true");
	return is_in_force(result->kept) ? result->kept : NULL;
}

/* Give back what was charged: true if it was. Without `holds`, units in flight stay. */
static VALUE
result_refund(int argc, VALUE *argv, VALUE self)
{
	static const char *const names[] = {"now", "holds", NULL};
	struct rule *rule;
	struct kept *kept;
	VALUE options, now;
	uint64_t now_ns;
	bool holds;
	int done;

	rb_scan_args(argc, argv, "0:", &options);
	rlr_only(options, names);
	now = rlr_get(options, "now");
	now_ns = rlr_time(now, "now");
	holds = rlr_get(options, "holds") != Qfalse;
	kept = kept_of(self, &rule);
	if (!kept)
		return Qfalse;
	kept->charges.now_ns = NIL_P(now) ? 0 : now_ns;
	done = rlb_refund(rule->segment->s.rl, &kept->charges, holds);
	if (done < 0)
		rlr_raise(done, "refund: rule %s", rule->r.name);
	return done ? Qtrue : Qfalse;
}

/* What the request has cost: true if something that counts has changed. Once. */
static VALUE
result_settle(int argc, VALUE *argv, VALUE self)
{
	static const char *const names[] = {"now", NULL};
	struct rule *rule;
	struct kept *kept;
	VALUE given, options, now;
	uint64_t actual, now_ns;
	int done;

	rb_scan_args(argc, argv, "1:", &given, &options);
	rlr_only(options, names);
	actual = rlr_count(given, UINT64_MAX, "actual");
	now = rlr_get(options, "now");
	now_ns = rlr_time(now, "now");
	kept = kept_of(self, &rule);
	if (!kept)
		return Qfalse;
	kept->charges.now_ns = NIL_P(now) ? 0 : now_ns;
	done = rl_settle(rule->segment->s.rl, &kept->charges, actual);
	if (done < 0)
		rlr_raise(done, "settle: rule %s", rule->r.name);
	return done ? Qtrue : Qfalse;
}

static VALUE
result_is_holding(VALUE self)
{
	struct kept *kept = result_get(self)->kept;

	return kept && hold_count(kept) > 0 ? Qtrue : Qfalse;
}

/* Give back units in flight: true if there were any. */
static VALUE
result_release(VALUE self)
{
	struct rule *rule;
	struct kept *kept = kept_of(self, &rule);
	int done;

	if (!kept)
		return Qfalse;
	done = release(kept);
	if (done < 0)
		rlr_raise(done, "release: rule %s", rule->r.name);
	return done ? Qtrue : Qfalse;
}

/* The fields of an HTTP answer as a Hash; reset: :delta (default) or :unix; set: "ietf-7". */
static VALUE
result_headers(int argc, VALUE *argv, VALUE self)
{
	static const char *const names[] = {"reset", "set", NULL};
	struct result *result = result_get(self);
	VALUE options, word, fields = rb_hash_new();
	struct rlb_headers h;
	struct rlb_how how;
	struct rule *rule;
	int set;

	rb_scan_args(argc, argv, "0:", &options);
	rlr_only(options, names);
	rule = rlr_rule(result->self_rule);
	how.reset = rlr_get(options, "reset") == ID2SYM(rb_intern("unix")) ? RL_HTTP_RESET_UNIX
	                                                                   : RL_HTTP_RESET_DELTA;
	word = rb_obj_as_string(rlr_get(options, "set"));
	set = RSTRING_LEN(word) > 0 ? rl_http_set(StringValueCStr(word)) : RL_HTTP_IETF_11;
	if (set < 0)
		rb_raise(rb_eArgError, "set: %" PRIsVALUE "; ietf, ietf-11 or ietf-7 is needed",
		         word);
	how.set = (enum rl_http_set)set;
	if (rlb_headers(rule->segment->s.rl, rule->r.id, rule->r.name, &result->r, result->now_ns,
	                how, &h) < 0)
		rb_raise(rb_eArgError, "the result has no header fields");
	for (unsigned i = 0; i < h.count; i++)
		rb_hash_aset(fields, rb_str_new_cstr(h.field[i].name),
		             rb_str_new_cstr(h.field[i].value));
	return fields;
}

/* The body of a refusal with that status, as RFC 9457 has it. */
static VALUE
result_problem(VALUE self, VALUE status)
{
	struct result *result = result_get(self);
	char text[RL_HTTP_PROBLEM_SIZE];

	if (rlb_problem(rlr_rule(result->self_rule)->r.name, &result->r, NUM2UINT(status), text) <
	    0)
		rb_raise(rb_eArgError, "status: 100 to 599 is needed");
	return rb_utf8_str_new_cstr(text);
}

/* is_x is x? in Ruby. */
static void
define_question(const char *field, VALUE (*get)(VALUE self))
{
	VALUE name = rb_sprintf("%s?", field + strlen("is_"));

	rb_define_method(rlr_result_class, StringValueCStr(name), get, 0);
}

/* The seconds of x_ns are x. */
static void
define_seconds(const char *field, VALUE (*get)(VALUE self))
{
	VALUE name = rb_str_new(field, (long)(strlen(field) - strlen("_ns")));

	rb_define_method(rlr_result_class, StringValueCStr(name), get, 0);
}

static void
define_readers(void)
{
#define DEFINE(name, call) rb_define_method(rlr_result_class, name, call, 0);
#define DEFINE_WORD(field) DEFINE(#field, result_##field)
#define DEFINE_ERROR(field) DEFINE(#field, result_##field)
#define DEFINE_COUNT(field) DEFINE(#field, result_##field)
#define DEFINE_FLAG(field) define_question(#field, result_##field);
#define DEFINE_DURATION(field)         \
	DEFINE(#field, result_##field) \
	define_seconds(#field, seconds_of_##field);
#define RL_RESULT_FIELD(field, kind, unit, words, text) DEFINE_##kind(field)
#include <rl_result_fields.def>
#undef RL_RESULT_FIELD
}

void
rlr_init_result(void)
{
	rlr_result_class = rb_define_class_under(rlr_module, "Result", rb_cObject);
	rb_undef_alloc_func(rlr_result_class);
	define_readers();
	rb_define_method(rlr_result_class, "pass?", result_passes, 0);
	rb_define_method(rlr_result_class, "allowed?", result_is_allowed, 0);
	rb_define_method(rlr_result_class, "denied?", result_is_denied, 0);
	rb_define_method(rlr_result_class, "rule", result_rule, 0);
	rb_define_method(rlr_result_class, "holding?", result_is_holding, 0);
	rb_define_method(rlr_result_class, "release", result_release, 0);
	rb_define_method(rlr_result_class, "refund", result_refund, -1);
	rb_define_method(rlr_result_class, "settle", result_settle, -1);
	rb_define_method(rlr_result_class, "headers", result_headers, -1);
	rb_define_method(rlr_result_class, "problem", result_problem, 1);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Arguments: keys, numbers, durations, times. */
#include <ruby/encoding.h>
#include <string.h>

#include "rb_value.h"
#include "text.h"

/* Text counts as its UTF-8 bytes, in whatever encoding it comes, and bytes as they are. */
static VALUE
as_bytes(VALUE string)
{
	int index = RB_ENCODING_GET(string);

	if (index == rb_utf8_encindex() || index == rb_usascii_encindex() ||
	    index == rb_ascii8bit_encindex())
		return string;
	return rb_str_export_to_enc(string, rb_utf8_encoding());
}

void
rlr_key(VALUE value, struct key *key)
{
	if (RB_SYMBOL_P(value))
		value = rb_sym2str(value);
	if (!RB_TYPE_P(value, T_STRING))
		rb_raise(rb_eTypeError, "key: a String or a Symbol is needed, not %" PRIsVALUE,
		         rb_obj_class(value));
	key->string = as_bytes(value);
	key->bytes = RSTRING_PTR(key->string);
	key->len = (size_t)RSTRING_LEN(key->string);
	if (key->len > RL_KEY_MAX) {
		key->len = rl_key_digest(key->bytes, key->len, key->digest);
		key->bytes = key->digest;
	}
}

/* Is an Integer one of 64 bits without a sign? No other Integer is made to find out. */
static int
fits(VALUE value, uint64_t *number)
{
	if (!RB_FIXNUM_P(value))
		return rb_integer_pack(value, number, 1, sizeof *number, 0,
		                       INTEGER_PACK_LSWORD_FIRST |
		                               INTEGER_PACK_NATIVE_BYTE_ORDER) == 1;
	*number = (uint64_t)FIX2LONG(value);
	return FIX2LONG(value) >= 0;
}

uint64_t
rlr_count(VALUE value, uint64_t most, const char *what)
{
	uint64_t number;

	if (!RB_INTEGER_TYPE_P(value))
		rb_raise(rb_eTypeError, "%s: an Integer is needed, not %" PRIsVALUE, what,
		         rb_obj_class(value));
	if (!fits(value, &number) || number > most)
		rb_raise(rb_eArgError, "%s: %" PRIsVALUE "; 0 to %llu is allowed", what, value,
		         (unsigned long long)most);
	return number;
}

static int
duration_of(VALUE value, uint64_t *ns)
{
	if (RB_TYPE_P(value, T_STRING))
		return rlb_duration(RSTRING_PTR(value), (size_t)RSTRING_LEN(value), ns);
	if (RB_FIXNUM_P(value))
		return FIX2LONG(value) < 0 || __builtin_mul_overflow((uint64_t)FIX2LONG(value),
		                                                     RL_SECOND, ns)
		               ? -1
		               : 0;
	if (!rb_respond_to(value, rb_intern("to_f")))
		rb_raise(rb_eTypeError,
		         "a duration is seconds, or a text such as \"10m\", not %" PRIsVALUE,
		         rb_obj_class(value));
	return rlb_seconds(NUM2DBL(rb_funcall(value, rb_intern("to_f"), 0)), ns);
}

uint64_t
rlr_duration(VALUE value, const char *what)
{
	uint64_t ns = RL_NEVER_NS;

	if (!NIL_P(value) && duration_of(value, &ns) < 0)
		rb_raise(rb_eArgError,
		         "%s: %" PRIsVALUE " is no duration: seconds, or a text such as \"1h30m\"",
		         what, rb_inspect(value));
	return ns;
}

uint64_t
rlr_time(VALUE value, const char *what)
{
	struct timespec at;

	if (NIL_P(value))
		return RL_NEVER_NS;
	if (RB_INTEGER_TYPE_P(value))
		return rlr_count(value, UINT64_MAX, what);
	at = rb_time_timespec(value);
	if (at.tv_sec < 0)
		rb_raise(rb_eArgError, "%s: %" PRIsVALUE " is before 1970", what,
		         rb_inspect(value));
	return (uint64_t)at.tv_sec * RL_SECOND + (uint64_t)at.tv_nsec;
}

VALUE
rlr_seconds(uint64_t ns)
{
	return DBL2NUM(ns == RL_NEVER_NS ? HUGE_VAL : (double)ns / (double)RL_SECOND);
}

struct rlb_value
rlr_value(VALUE value)
{
	struct rlb_value v = {.kind = RLB_FLAG, .integer = RTEST(value)};

	if (RB_SYMBOL_P(value))
		value = rb_sym2str(value);
	if (RB_TYPE_P(value, T_STRING)) {
		v = (struct rlb_value){.kind = RLB_WORDS,
		                       .words = RSTRING_PTR(value),
		                       .len = (size_t)RSTRING_LEN(value)};
	} else if (RB_INTEGER_TYPE_P(value)) {
		v = (struct rlb_value){.kind = RLB_INTEGER, .integer = NUM2LL(value)};
	} else if (value != Qtrue && value != Qfalse) {
		v = (struct rlb_value){.kind = RLB_REAL};
		v.real = rb_respond_to(value, rb_intern("to_f"))
		                 ? NUM2DBL(rb_funcall(value, rb_intern("to_f"), 0))
		                 : -1;
	}
	return v;
}

void
rlr_show(void *hash, const char *name, const struct rlb_value *value)
{
	VALUE shown;

	switch (value->kind) {
	case RLB_WORDS:
		shown = rb_utf8_str_new_cstr(value->words);
		break;
	case RLB_FLAG:
		shown = value->integer ? Qtrue : Qfalse;
		break;
	case RLB_NS:
		shown = ULL2NUM(value->ns);
		break;
	default:
		shown = LL2NUM(value->integer);
		break;
	}
	rb_hash_aset((VALUE)hash, ID2SYM(rb_intern(name)), shown);
}

VALUE
rlr_get(VALUE options, const char *name)
{
	return NIL_P(options) ? Qnil : rb_hash_aref(options, ID2SYM(rb_intern(name)));
}

struct allowed {
	const char *const *names;
};

static int
judge_keyword(VALUE name, VALUE value, VALUE arg)
{
	const char *const *n = ((const struct allowed *)arg)->names;
	VALUE text = rb_obj_as_string(name);

	(void)value;
	for (; *n; n++)
		if (strcmp(*n, StringValueCStr(text)) == 0)
			return ST_CONTINUE;
	rb_raise(rb_eArgError, "unknown keyword: :%" PRIsVALUE, text);
}

void
rlr_only(VALUE options, const char *const *names)
{
	struct allowed allowed = {names};

	if (!NIL_P(options))
		rb_hash_foreach(options, judge_keyword, (VALUE)&allowed);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Limits, options and segments as objects of JavaScript, by bindings/common. A member is the
 * field's name in its letters (countDenied), and times are milliseconds (windowMs), or as a bigint
 * nanoseconds.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "about.h"
#include "limit.h"
#include "options.h"
#include "rl_node.h"
#include "text.h"

#define WORDS_SIZE 256

/* "countDenied" is "count_denied", and "windowMs" is "window", a time. */
static bool
field_name(const char *member, char *to)
{
	size_t len = strlen(member), at = 0;
	bool is_time = len > 2 && strcmp(member + len - 2, "Ms") == 0;

	for (size_t i = 0; i < len - (is_time ? 2 : 0) && at < NAME_SIZE - 2; i++) {
		if (isupper((unsigned char)member[i]))
			to[at++] = '_';
		to[at++] = (char)tolower((unsigned char)member[i]);
	}
	to[at] = '\0';
	return is_time;
}

static void
member_name(const char *name, bool is_time, char *to)
{
	size_t len = strlen(name) - (is_time ? strlen("_ns") : 0), at = 0;

	for (size_t i = 0; i < len; i++)
		if (name[i] == '_')
			to[at++] = (char)toupper((unsigned char)name[++i]);
		else
			to[at++] = name[i];
	strcpy(to + at, is_time ? "Ms" : "");
}

/* What a value is to a field. Words are in `words`. */
static struct rlb_value
value_of(napi_env env, napi_value value, char words[WORDS_SIZE])
{
	struct rlb_value v = {.kind = RLB_OTHER};
	bool is = false;

	if (napi_get_value_bool(env, value, &is) == napi_ok) {
		v = (struct rlb_value){.kind = RLB_FLAG, .integer = is};
	} else if (napi_get_value_double(env, value, &v.real) == napi_ok) {
		is = v.real == floor(v.real) && fabs(v.real) <= 9007199254740992.0;
		v.kind = is ? RLB_INTEGER : RLB_REAL;
		v.integer = is ? (int64_t)v.real : 0;
	} else if (napi_get_value_bigint_uint64(env, value, &v.ns, &is) == napi_ok) {
		v.kind = is ? RLB_NS : RLB_OTHER;
	} else if (napi_get_value_string_utf8(env, value, words, WORDS_SIZE, &v.len) == napi_ok) {
		v.kind = RLB_WORDS;
		v.words = words;
	}
	return v;
}

typedef int set_field(void *to, const char *name, size_t len, const struct rlb_value *value,
                      char why[RLB_TEXT_SIZE]);

static bool
throw_field(napi_env env, const char *member, const char *why, napi_value value)
{
	char words[WORDS_SIZE] = "";
	napi_value as_text = NULL;
	const char *rest = strchr(why, ':');
	char line[RLB_TEXT_SIZE + WORDS_SIZE + NAME_SIZE + 32];
	size_t len;

	if (napi_coerce_to_string(env, value, &as_text) == napi_ok)
		napi_get_value_string_utf8(env, as_text, words, sizeof words, &len);
	snprintf(line, sizeof line, "rl: %s%s, got %s", member, rest ? rest : "", words);
	napi_throw_range_error(env, "EINVAL", line);
	return false;
}

/* Of what is said in a way of before. */
static void
emit_warning(napi_env env, const char *text)
{
	napi_value global, process, emit, words;

	napi_get_global(env, &global);
	napi_get_named_property(env, global, "process", &process);
	napi_get_named_property(env, process, "emitWarning", &emit);
	napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &words);
	napi_call_function(env, process, emit, 1, &words, NULL);
}

/* What is undefined or null is as if it was not there. */
static bool
set_member(napi_env env, const char *member, napi_value value, set_field *set, void *to)
{
	char name[NAME_SIZE], words[WORDS_SIZE], why[RLB_TEXT_SIZE];
	bool is_time = field_name(member, name);
	struct rlb_value v;
	napi_valuetype type;
	int error;

	if (napi_typeof(env, value, &type) != napi_ok || type == napi_undefined ||
	    type == napi_null)
		return true;
	v = value_of(env, value, words);
	if (is_time && v.kind != RLB_WORDS) {
		v = (struct rlb_value){.kind = RLB_NS};
		if (!value_ns(env, value, member, &v.ns))
			return false;
	}
	error = set(to, name, strlen(name), &v, why);
	if (error > 0)
		emit_warning(env, why);
	return error >= 0 || throw_field(env, member, why, value);
}

static bool
set_members(napi_env env, napi_value object, const char *what, set_field *set, void *to)
{
	napi_value names, value;
	char member[NAME_SIZE];
	napi_valuetype type;
	uint32_t count;
	size_t len;

	if (napi_typeof(env, object, &type) != napi_ok || type != napi_object) {
		throw_type(env, what, "an object");
		return false;
	}
	if (napi_get_property_names(env, object, &names) != napi_ok ||
	    napi_get_array_length(env, names, &count) != napi_ok)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		napi_get_value_string_utf8(env, array_of(env, names, i), member, sizeof member,
		                           &len);
		if (napi_get_property(env, object, array_of(env, names, i), &value) != napi_ok ||
		    !set_member(env, member, value, set, to))
			return false;
	}
	return true;
}

static int
set_limit(void *to, const char *name, size_t len, const struct rlb_value *value,
          char why[RLB_TEXT_SIZE])
{
	return rlb_limit_set(to, name, len, value, why);
}

static int
set_option(void *to, const char *name, size_t len, const struct rlb_value *value,
           char why[RLB_TEXT_SIZE])
{
	return rlb_option_set(to, name, len, value, why);
}

bool
read_limit(napi_env env, napi_value value, uint32_t ring, struct rl_limit *limit)
{
	struct rlb_limit l = {0};
	char words[WORDS_SIZE], why[RLB_TEXT_SIZE];
	struct rlb_value v = value_of(env, value, words);

	if (v.kind == RLB_WORDS ? !set_member(env, "limit", value, set_limit, &l)
	                        : !set_members(env, value, "a limit", set_limit, &l))
		return false;
	if (rlb_limit_finish(&l, ring, why) < 0) {
		throw_range(env, "a limit", why);
		return false;
	}
	*limit = l.limit;
	return true;
}

bool
read_options(napi_env env, napi_value object, struct rl_options *options)
{
	napi_valuetype type;

	*options = rlb_options;
	napi_typeof(env, object, &type);
	return type == napi_undefined || type == napi_null ||
	       set_members(env, object, "options", set_option, options);
}

void
show_value(void *to, const char *name, const struct rlb_value *value)
{
	const struct shown *shown = to;
	char member[NAME_SIZE];

	member_name(name, value->kind == RLB_NS, member);
	if (value->kind == RLB_WORDS)
		set_text(shown->env, shown->object, member, value->words);
	else if (value->kind == RLB_FLAG)
		set_bool(shown->env, shown->object, member, value->integer != 0);
	else
		set_number(shown->env, shown->object, member,
		           value->kind == RLB_NS ? ms_of(value->ns) : (double)value->integer);
}

/* info(segment) -> object */
NATIVE(info)
{
	struct shown shown = {.env = env};
	struct used_segment *used;
	struct call c;

	if (!call_begin(&c, env, info) || (used = call_segment(&c, 0)) == NULL)
		return NULL;
	napi_create_object(env, &shown.object);
	rlb_info_show(used->handle->s.rl, show_value, &shown);
	return shown.object;
}

/* parseRate(text) -> {capacity, windowNs} */
NATIVE(parseRate)
{
	char words[WORDS_SIZE] = "";
	uint32_t capacity;
	uint64_t window_ns;
	napi_value to, ns;
	struct call c;
	size_t len = 0;

	if (!call_begin(&c, env, info))
		return NULL;
	napi_get_value_string_utf8(env, c.argv[0], words, sizeof words, &len);
	if (rlb_rate(words, len, &capacity, &window_ns) < 0) {
		throw_field(env, "limit",
		            ": expected a rate such as '100/min' or '5/10s', from 1 to 268435455 "
		            "in 10 ms to 400 days",
		            c.argv[0]);
		return NULL;
	}
	napi_create_object(env, &to);
	napi_create_bigint_uint64(env, window_ns, &ns);
	set_number(env, to, "capacity", capacity);
	napi_set_named_property(env, to, "windowNs", ns);
	return to;
}

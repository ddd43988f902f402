/* SPDX-License-Identifier: BSD-2-Clause */
#include "rl_node.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MS_MAX 18446744073708.0 /* in nanoseconds it fits 64 bits, and is not RL_NEVER_NS */

bool
call_begin(struct call *c, napi_env env, napi_callback_info info)
{
	void *mine;

	c->env = env;
	c->argc = ARGS_MAX;
	if (napi_get_cb_info(env, info, &c->argc, c->argv, NULL, &mine) != napi_ok)
		return false;
	c->mine = mine;
	return true;
}

static uint64_t
coarse_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

struct used_segment *
call_segment(struct call *c, size_t arg)
{
	int32_t at;

	if (arg < c->argc && napi_get_value_int32(c->env, c->argv[arg], &at) == napi_ok &&
	    at >= 0 && at < SEGMENTS_MAX && c->mine->used[at].handle != NULL)
		return &c->mine->used[at];
	napi_throw_error(c->env, "EBADF", "rl: the segment is closed");
	return NULL;
}

bool
call_ready(struct call *c, size_t arg, size_t now, struct rl **rl, uint64_t *now_ns)
{
	struct used_segment *used = call_segment(c, arg);

	if (used == NULL)
		return false;
	*rl = used->handle->s.rl;
	*now_ns = rl_now(*rl);
	if (used->look_ns != 0 && *now_ns >= used->look_ns)
		return false;
	return !call_has(c, now) || call_ns(c, now, "now", now_ns);
}

/* monotonic() -> milliseconds, of the machine, whatever replaces timers of Node. */
NATIVE(monotonic)
{
	(void)info;
	return number(env, (double)coarse_ms());
}

bool
call_has(struct call *c, size_t arg)
{
	napi_valuetype type;

	return arg < c->argc && napi_typeof(c->env, c->argv[arg], &type) == napi_ok &&
	       type != napi_undefined && type != napi_null;
}

static bool
say_range(napi_env env, const char *what, double value, double least, double most)
{
	char line[200];

	snprintf(line, sizeof line, "%.17g; a whole number from %.17g to %.17g is allowed", value,
	         least, most);
	throw_range(env, what, line);
	return false;
}

static bool
whole_of(napi_env env, napi_value value, const char *what, double least, double most, double *to)
{
	if (napi_get_value_double(env, value, to) != napi_ok) {
		throw_type(env, what, "a number");
		return false;
	}
	if (*to >= least && *to <= most && *to == (double)(int64_t)*to)
		return true;
	return say_range(env, what, *to, least, most);
}

bool
call_whole(struct call *c, size_t arg, const char *what, double least, double most, double *to)
{
	return whole_of(c->env, c->argv[arg], what, least, most, to);
}

bool
call_i32(struct call *c, size_t arg, int32_t *to)
{
	if (arg < c->argc && napi_get_value_int32(c->env, c->argv[arg], to) == napi_ok)
		return true;
	throw_type(c->env, "a handle", "a number");
	return false;
}

static bool
ns_of_bigint(napi_env env, napi_value value, const char *what, uint64_t *to)
{
	bool is_lossless;

	if (napi_get_value_bigint_uint64(env, value, to, &is_lossless) != napi_ok) {
		throw_type(env, what, "milliseconds as a number, or nanoseconds as a bigint");
		return false;
	}
	if (!is_lossless)
		throw_range(env, what, "from 0 to 2^64 - 1 nanoseconds are allowed");
	return is_lossless;
}

/* Whole milliseconds are exact; of a part of one, as much as a number has. */
bool
value_ns(napi_env env, napi_value value, const char *what, uint64_t *to)
{
	double ms, part;

	if (napi_get_value_double(env, value, &ms) != napi_ok)
		return ns_of_bigint(env, value, what, to);
	if (isinf(ms) && ms > 0) {
		*to = RL_NEVER_NS;
		return true;
	}
	if (!(ms >= 0 && ms <= MS_MAX)) {
		throw_range(env, what, "from 0 to 18446744073708 ms are allowed, or Infinity");
		return false;
	}
	part = ms - (double)(uint64_t)ms;
	*to = (uint64_t)ms * RL_MILLISECOND + (uint64_t)(part * 1e6 + 0.5);
	return true;
}

bool
call_ns(struct call *c, size_t arg, const char *what, uint64_t *to)
{
	return value_ns(c->env, c->argv[arg], what, to);
}

bool
call_now(struct call *c, size_t arg, struct rl *rl, uint64_t *now_ns)
{
	if (call_has(c, arg))
		return value_ns(c->env, c->argv[arg], "now", now_ns);
	*now_ns = rl_now(rl);
	return true;
}

bool
call_name(struct call *c, size_t arg, const char *what, char *to, size_t size)
{
	size_t len;

	if (arg >= c->argc ||
	    napi_get_value_string_utf8(c->env, c->argv[arg], to, size, &len) != napi_ok) {
		throw_type(c->env, what, "a string");
		return false;
	}
	if (strlen(to) == len && len < size - 1)
		return true;
	throw_range(c->env, what, "it is too long, or has a NUL");
	return false;
}

/* A key that is too long for a key: its digest, as programs in other languages make it. */
static bool
long_text(napi_env env, napi_value value, struct key *key)
{
	size_t len;
	char *all;

	napi_get_value_string_utf8(env, value, NULL, 0, &len);
	all = malloc(len + 1);
	if (all == NULL) {
		throw_rl(env, -ENOMEM, "key", NULL);
		return false;
	}
	napi_get_value_string_utf8(env, value, all, len + 1, &len);
	key->len = rl_key_digest(all, len, key->text);
	free(all);
	return true;
}

static bool
text_key(napi_env env, napi_value value, struct key *key)
{
	key->bytes = key->text;
	if (napi_get_value_string_utf8(env, value, key->text, sizeof key->text, &key->len) !=
	    napi_ok)
		return false;
	return key->len <= RL_KEY_MAX || long_text(env, value, key);
}

static bool
bytes_key(napi_env env, napi_value value, struct key *key)
{
	napi_typedarray_type type;
	size_t len;
	void *data;
	bool is = false;

	if (napi_is_typedarray(env, value, &is) != napi_ok || !is)
		return false;
	napi_get_typedarray_info(env, value, &type, &len, &data, NULL, NULL);
	if (type != napi_uint8_array && type != napi_uint8_clamped_array)
		return false;
	key->bytes = data == NULL ? key->text : data;
	key->len = len;
	if (len > RL_KEY_MAX) {
		key->len = rl_key_digest(data, len, key->text);
		key->bytes = key->text;
	}
	return true;
}

bool
value_key(napi_env env, napi_value value, struct key *key)
{
	napi_valuetype type;
	napi_value as_text;

	if (text_key(env, value, key) || bytes_key(env, value, key))
		return true;
	if (napi_typeof(env, value, &type) == napi_ok &&
	    (type == napi_number || type == napi_bigint)) {
		napi_coerce_to_string(env, value, &as_text);
		return text_key(env, as_text, key);
	}
	throw_type(env, "a key", "a string, a number, a bigint, a Buffer or a Uint8Array");
	return false;
}

double
ms_of(uint64_t ns)
{
	if (ns == RL_NEVER_NS)
		return INFINITY;
	return (double)(ns / RL_MILLISECOND + (ns % RL_MILLISECOND > 0));
}

napi_value
number(napi_env env, double value)
{
	napi_value to;

	return napi_create_double(env, value, &to) == napi_ok ? to : NULL;
}

napi_value
text(napi_env env, const char *value)
{
	napi_value to;

	return napi_create_string_utf8(env, value, NAPI_AUTO_LENGTH, &to) == napi_ok ? to : NULL;
}

void
set_number(napi_env env, napi_value object, const char *name, double value)
{
	napi_set_named_property(env, object, name, number(env, value));
}

void
set_text(napi_env env, napi_value object, const char *name, const char *value)
{
	napi_set_named_property(env, object, name, text(env, value));
}

void
set_bool(napi_env env, napi_value object, const char *name, bool value)
{
	napi_value to;

	napi_get_boolean(env, value, &to);
	napi_set_named_property(env, object, name, to);
}

napi_value
array_of(napi_env env, napi_value object, uint32_t index)
{
	napi_value value = NULL;

	napi_get_element(env, object, index, &value);
	return value;
}

napi_value
number_or_throw(napi_env env, int64_t rc, const char *what)
{
	return rc < 0 ? throw_rl(env, (int)rc, what, NULL) : number(env, (double)rc);
}

/* error(number) -> [code, text] */
NATIVE(error)
{
	struct call c;
	char digits[RLB_ERROR_SIZE], why[RLB_WHY_SIZE];
	int32_t error;
	napi_value pair;

	if (!call_begin(&c, env, info) || !call_i32(&c, 0, &error))
		return NULL;
	napi_create_array_with_length(env, 2, &pair);
	napi_set_element(env, pair, 0, text(env, rlb_error(error, digits)));
	napi_set_element(env, pair, 1, text(env, rlb_why(error, why)));
	return pair;
}

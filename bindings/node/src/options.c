/* SPDX-License-Identifier: BSD-2-Clause */
#include "rl_node.h"

#include <string.h>

#define U32_MAX 4294967295.0

static bool
read_u32(napi_env env, napi_value object, const char *name, uint32_t *to)
{
	double value = *to;

	if (!field_whole(env, object, name, U32_MAX, &value))
		return false;
	*to = (uint32_t)value;
	return true;
}

/* A number of which false means none. */
static bool
read_u32_or_none(napi_env env, napi_value object, const char *name, uint32_t none, uint32_t *to)
{
	napi_value value;
	bool keeps = true;

	if (field(env, object, name, &value) &&
	    napi_get_value_bool(env, value, &keeps) == napi_ok && !keeps) {
		*to = none;
		return true;
	}
	return read_u32(env, object, name, to);
}

static bool
read_on_full(napi_env env, napi_value object, struct rl_options *options)
{
	static const char *const words[] = {"reserve", "deny", "allow", "evict"};
	napi_value value;
	char word[8] = "";
	size_t len;

	if (!field(env, object, "onFull", &value))
		return true;
	napi_get_value_string_utf8(env, value, word, sizeof word, &len);
	for (int i = 0; i < 4; i++)
		if (strcmp(word, words[i]) == 0) {
			options->on_full = (enum rl_on_full)i;
			return true;
		}
	throw_range(env, "onFull", "'reserve', 'deny', 'allow' or 'evict' is allowed");
	return false;
}

static bool
read_flags(napi_env env, napi_value object, unsigned *flags)
{
	static const struct {
		const char *name;
		enum rl_open_flag flag;
	} names[] = {
		{"readonly", RL_OPEN_READONLY},  {"existing", RL_OPEN_EXISTING},
		{"anyOwner", RL_OPEN_ANY_OWNER}, {"hugePages", RL_OPEN_HUGE_PAGES},
		{"populate", RL_OPEN_POPULATE},  {"atLeast", RL_OPEN_AT_LEAST},
	};

	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		bool is = false;

		if (!field_bool(env, object, names[i].name, &is))
			return false;
		*flags |= is ? names[i].flag : 0;
	}
	return true;
}

/* A mode as a number, 0o660; a group as its number. */
static bool
read_owner(napi_env env, napi_value object, struct rl_options *options)
{
	double mode = 0, group = -1;

	if (!field_whole(env, object, "mode", 0777, &mode) ||
	    !field_whole(env, object, "group", U32_MAX - 1, &group))
		return false;
	options->mode = (mode_t)mode;
	if (group >= 0) {
		options->group = (gid_t)group;
		options->flags |= RL_OPEN_GROUP;
	}
	return true;
}

static bool
read_ring(napi_env env, napi_value object, struct rl_options *options)
{
	uint32_t ring = 0;

	if (!read_u32(env, object, "ring", &ring))
		return false;
	if (ring > 0)
		options->ring = ring;
	return true;
}

bool
read_options(napi_env env, napi_value object, struct rl_options *options)
{
	napi_valuetype type;

	*options = (struct rl_options){.ring = RL_GRANULARITY_MAX}; /* any window has room */
	napi_typeof(env, object, &type);
	if (type == napi_undefined || type == napi_null)
		return true;
	if (type != napi_object) {
		throw_type(env, "options", "an object");
		return false;
	}
	return read_u32(env, object, "keys", &options->keys) && read_ring(env, object, options) &&
	       read_u32_or_none(env, object, "keyBytes", RL_KEY_BYTES_NONE, &options->key_bytes) &&
	       read_u32(env, object, "rules", &options->rules) &&
	       read_u32(env, object, "overrides", &options->overrides) &&
	       read_u32(env, object, "bans", &options->bans) &&
	       read_u32(env, object, "holders", &options->holders) &&
	       read_on_full(env, object, options) &&
	       read_u32(env, object, "cells", &options->cells) &&
	       read_u32(env, object, "reserves", &options->reserves) &&
	       read_u32_or_none(env, object, "events", RL_EVENTS_NONE, &options->events) &&
	       field_ns(env, object, "bufferMs", &options->buffer_ns) &&
	       read_flags(env, object, &options->flags) && read_owner(env, object, options);
}

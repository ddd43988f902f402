/* SPDX-License-Identifier: BSD-2-Clause */
#include "limit.h"

#include <stdio.h>
#include <string.h>

static bool
read_algorithm(napi_env env, napi_value object, struct rl_limit *limit)
{
	napi_value value;
	char word[32] = "", line[64];
	size_t len;
	const struct rl_algorithm_info *info;

	if (!field(env, object, "algorithm", &value))
		return true;
	napi_get_value_string_utf8(env, value, word, sizeof word, &len);
	for (int i = 0; i <= RL_ALGORITHM_LAST; i++)
		if ((info = rl_algorithm_info((enum rl_algorithm)i)) != NULL &&
		    strcmp(info->name, word) == 0) {
			limit->algorithm = (enum rl_algorithm)i;
			return true;
		}
	snprintf(line, sizeof line, "'%s' is none", word);
	throw_range(env, "algorithm", line);
	return false;
}

static bool
read_whole(napi_env env, napi_value object, const char *name, double most, uint32_t *to)
{
	double value = 0;

	if (!field_whole(env, object, name, most, &value))
		return false;
	*to = (uint32_t)value;
	return true;
}

static bool
read_flag(napi_env env, napi_value object, const char *name, int *to)
{
	bool is = false;

	if (!field_bool(env, object, name, &is))
		return false;
	*to = is;
	return true;
}

/* Numbers that a field of the structure cannot hold are refused here, all others by librl. */
static bool
read_small(napi_env env, napi_value object, struct rl_limit *limit)
{
	uint32_t v4, v6, prefetch;

	if (!read_whole(env, object, "prefixV4", UINT8_MAX, &v4) ||
	    !read_whole(env, object, "prefixV6", UINT8_MAX, &v6) ||
	    !read_whole(env, object, "prefetch", UINT16_MAX, &prefetch))
		return false;
	limit->prefix_v4 = (uint8_t)v4;
	limit->prefix_v6 = (uint8_t)v6;
	limit->prefetch = (uint16_t)prefetch;
	return true;
}

bool
read_limit(napi_env env, napi_value object, struct rl_limit *limit)
{
	napi_valuetype type;

	if (napi_typeof(env, object, &type) != napi_ok || type != napi_object) {
		throw_type(env, "a limit", "an object");
		return false;
	}
	return read_algorithm(env, object, limit) &&
	       read_whole(env, object, "capacity", UINT32_MAX, &limit->capacity) &&
	       field_ns(env, object, "windowMs", &limit->window_ns) &&
	       read_whole(env, object, "granularity", UINT32_MAX, &limit->granularity) &&
	       read_whole(env, object, "burst", UINT32_MAX, &limit->burst) &&
	       read_whole(env, object, "undelayed", UINT32_MAX, &limit->undelayed) &&
	       read_flag(env, object, "hard", &limit->hard) &&
	       read_flag(env, object, "shadow", &limit->shadow) &&
	       read_flag(env, object, "countDenied", &limit->count_denied) &&
	       read_small(env, object, limit);
}

napi_value
limit_object(napi_env env, const struct rl_limit *limit)
{
	const struct rl_algorithm_info *info = rl_algorithm_info(limit->algorithm);
	napi_value to;

	napi_create_object(env, &to);
	set_text(env, to, "algorithm", info == NULL ? "" : info->name);
	set_number(env, to, "capacity", limit->capacity);
	set_number(env, to, "windowMs", ms_of(limit->window_ns));
	set_number(env, to, "granularity", limit->granularity);
	set_bool(env, to, "hard", limit->hard);
	set_number(env, to, "burst", limit->burst);
	set_number(env, to, "undelayed", limit->undelayed);
	set_bool(env, to, "shadow", limit->shadow);
	set_number(env, to, "prefixV4", limit->prefix_v4);
	set_number(env, to, "prefixV6", limit->prefix_v6);
	set_number(env, to, "prefetch", limit->prefetch);
	set_bool(env, to, "countDenied", limit->count_denied);
	return to;
}

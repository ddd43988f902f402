/* SPDX-License-Identifier: BSD-2-Clause */
#include "rl_node.h"

#include <stdio.h>

napi_value
throw_rl(napi_env env, int error, const char *what, const char *message)
{
	char line[1024], digits[RLB_ERROR_SIZE], text[RLB_WHY_SIZE];
	const char *why = message != NULL && message[0] != '\0' ? message : rlb_why(error, text);

	snprintf(line, sizeof line, "rl: %s: %s", what, why);
	napi_throw_error(env, rlb_error(error, digits), line);
	return NULL;
}

napi_value
throw_range(napi_env env, const char *what, const char *allowed)
{
	char line[256];

	snprintf(line, sizeof line, "rl: %s: %s", what, allowed);
	napi_throw_range_error(env, "EINVAL", line);
	return NULL;
}

napi_value
throw_type(napi_env env, const char *what, const char *wanted)
{
	char line[256];

	snprintf(line, sizeof line, "rl: %s is to be %s", what, wanted);
	napi_throw_type_error(env, "EINVAL", line);
	return NULL;
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

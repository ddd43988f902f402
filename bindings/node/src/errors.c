/* SPDX-License-Identifier: BSD-2-Clause */
#include "rl_node.h"

#include <stdio.h>

napi_value
throw_rl(napi_env env, int error, const char *what, const char *message)
{
	char line[1024], digits[RLB_ERROR_SIZE], room[RLB_WHY_SIZE];
	const char *why = message != NULL && message[0] != '\0' ? message : rlb_why(error, room);

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

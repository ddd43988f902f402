/* SPDX-License-Identifier: BSD-2-Clause */
#include "rl_node.h"

#include <stdio.h>

static const struct {
	int error;
	const char *code;
} codes[] = {
	{RL_EFOREIGN, "RL_EFOREIGN"},
	{RL_EVERSION, "RL_EVERSION"},
	{RL_ETRUNCATED, "RL_ETRUNCATED"},
	{RL_EDAMAGED, "RL_EDAMAGED"},
	{RL_EBOOT, "RL_EBOOT"},
	{RL_ECLOCK, "RL_ECLOCK"},
	{RL_EOWNER, "RL_EOWNER"},
	{RL_EPUBLIC, "RL_EPUBLIC"},
	{RL_EDIRECTORY, "RL_EDIRECTORY"},
	{RL_ETWICE, "RL_ETWICE"},
	{RL_EMOUNT, "RL_EMOUNT"},
	{RL_EMEMORY, "RL_EMEMORY"},
	{RL_ECREATE, "RL_ECREATE"},
	{RL_ERING, "RL_ERING"},
	{RL_EADDRESS, "RL_EADDRESS"},
	{RL_EREMOVED, "RL_EREMOVED"},
	{RL_ERULES, "RL_ERULES"},
	{RL_ELIMITS, "RL_ELIMITS"},
	{RL_EOVERRIDES, "RL_EOVERRIDES"},
	{RL_EBANS, "RL_EBANS"},
	{RL_EEMPTY, "RL_EEMPTY"},
	{RL_ECOST, "RL_ECOST"},
	{RL_ELESS, "RL_ELESS"},
	{RL_EDEFINED, "RL_EDEFINED"},
	{RL_ECLUSTER, "RL_ECLUSTER"},
	{RL_EKEYS, "RL_EKEYS"},
	{RL_EMOVING, "RL_EMOVING"},
	{-EINVAL, "EINVAL"},
	{-ENOENT, "ENOENT"},
	{-EACCES, "EACCES"},
	{-EPERM, "EPERM"},
	{-ENOSPC, "ENOSPC"},
	{-ENOMEM, "ENOMEM"},
	{-EBUSY, "EBUSY"},
	{-EROFS, "EROFS"},
	{-EEXIST, "EEXIST"},
	{-ENAMETOOLONG, "ENAMETOOLONG"},
	{-EFBIG, "EFBIG"},
	{-EMFILE, "EMFILE"},
	{-ENFILE, "ENFILE"},
	{-EIO, "EIO"},
	{-EAGAIN, "EAGAIN"},
};

const char *
error_code(int error)
{
	for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
		if (codes[i].error == error)
			return codes[i].code;
	return "EUNKNOWN";
}

napi_value
throw_rl(napi_env env, int error, const char *what, const char *message)
{
	char line[1024];
	const char *why = message != NULL && message[0] != '\0' ? message : rl_strerror(error);

	snprintf(line, sizeof line, "rl: %s: %s", what, why);
	napi_throw_error(env, error_code(error), line);
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
	int32_t error;
	napi_value pair;

	if (!call_begin(&c, env, info) || !call_i32(&c, 0, &error))
		return NULL;
	napi_create_array_with_length(env, 2, &pair);
	napi_set_element(env, pair, 0, text(env, error_code(error)));
	napi_set_element(env, pair, 1, text(env, rl_strerror(error)));
	return pair;
}

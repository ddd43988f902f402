/* SPDX-License-Identifier: BSD-2-Clause */
#include "rl_node.h"

#include <stdlib.h>

/* The environment ends: its thread is in no call any more. */
static void
finish(napi_env env, void *data, void *hint)
{
	struct environment *mine = data;

	(void)env;
	(void)hint;
	for (size_t i = 0; i < SEGMENTS_MAX; i++)
		if (mine->used[i].handle != NULL)
			handle_give_back(mine->used[i].handle);
	free(mine);
}

static bool
add_out(napi_env env, napi_value exports, struct environment *mine)
{
	napi_value buffer;
	void *data;

	if (napi_create_arraybuffer(env, sizeof(struct out), &data, &buffer) != napi_ok ||
	    napi_create_reference(env, buffer, 1, &mine->out_ref) != napi_ok)
		return false;
	mine->out = data;
	return napi_set_named_property(env, exports, "out", buffer) == napi_ok;
}

static bool
add(napi_env env, napi_value exports, struct environment *mine, const char *name,
    napi_callback call)
{
	napi_value function;

	return napi_create_function(env, name, NAPI_AUTO_LENGTH, call, mine, &function) ==
	               napi_ok &&
	       napi_set_named_property(env, exports, name, function) == napi_ok;
}

static const struct {
	const char *name;
	napi_callback call;
} natives[] = {
#define EACH_NATIVE(name) {#name, native_##name},
#include "natives.def"
#undef EACH_NATIVE
};

static bool
add_all(napi_env env, napi_value exports, struct environment *mine)
{
	for (size_t i = 0; i < sizeof natives / sizeof natives[0]; i++)
		if (!add(env, exports, mine, natives[i].name, natives[i].call))
			return false;
	return add_out(env, exports, mine);
}

NAPI_MODULE_INIT(/* env, exports */)
{
	struct environment *mine = calloc(1, sizeof *mine);

	if (mine == NULL || napi_set_instance_data(env, mine, finish, NULL) != napi_ok) {
		free(mine);
		napi_throw_error(env, "ENOMEM", "rl: no memory to load the addon");
		return NULL;
	}
	if (!add_all(env, exports, mine))
		napi_throw_error(env, "ENOMEM", "rl: no memory to load the addon");
	return exports;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* require "rl" */
#include <errno.h>

#include "lrl.h"
#include "text.h"

/* rl.digest(key): what stands for a key that is longer than 4096 bytes */
static int
digest(lua_State *L)
{
	char text[RL_KEY_DIGEST_SIZE];
	size_t len;
	const char *key = luaL_checklstring(L, 1, &len);

	lua_pushlstring(L, text, rl_key_digest(key, len, text));
	return 1;
}

/* rl.rate("5/min"): capacity, window_ns */
static int
rate(lua_State *L)
{
	uint32_t capacity;
	uint64_t window_ns;
	size_t len;
	const char *text = luaL_checklstring(L, 1, &len);

	if (rlb_rate(text, len, &capacity, &window_ns) < 0)
		return lrl_fail_text(L, -EINVAL,
		                     "a rate such as \"100/min\" or \"5/10s\" is expected");
	lua_pushinteger(L, (lua_Integer)capacity);
	lrl_push_ns(L, window_ns);
	return 2;
}

/* rl.error(number): nil, text, name: for LuaJIT's ffi */
static int
error_of(lua_State *L)
{
	return lrl_fail(L, (int)luaL_checknumber(L, 1));
}

static const luaL_Reg functions[] = {
	{"open", lrl_open},     {"private", lrl_open_private},
	{"unlink", lrl_unlink}, {"digest", digest},
	{"rate", rate},         {"client", lrl_client},
	{"error", error_of},    {NULL, NULL},
};

extern __attribute__((visibility("default"))) int luaopen_rl(lua_State *L);

int
luaopen_rl(lua_State *L)
{
	lrl_classes(L);
	luaL_newlib(L, functions);
	lua_pushstring(L, RL_VERSION);
	lua_setfield(L, -2, "_VERSION");
	return 1;
}

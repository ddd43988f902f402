/* SPDX-License-Identifier: BSD-2-Clause */
/* Arguments of calls, and what they return. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lrl.h"

#define EXACT_MAX 9007199254740992.0 /* 2^53: integers up to here are exact as a double */

void
lrl_push_error_name(lua_State *L, int error)
{
	char digits[RLB_ERROR_SIZE];

	lua_pushstring(L, rlb_error(error, digits));
}

/* A number that is whole is one to a field, too, though Lua before 5.3 has no integers. */
struct rlb_value
lrl_value(lua_State *L, int at)
{
	struct rlb_value v = {.kind = RLB_OTHER};

	switch (lua_type(L, at)) {
	case LUA_TNUMBER:
		v.real = lua_tonumber(L, at);
		v.kind = v.real == floor(v.real) && fabs(v.real) < 0x1p63 ? RLB_INTEGER : RLB_REAL;
		if (v.kind == RLB_INTEGER)
			v.integer = (int64_t)v.real;
#if LUA_VERSION_NUM >= 503
		if (lua_isinteger(L, at))
			v.integer = lua_tointeger(L, at);
#endif
		break;
	case LUA_TSTRING:
		v.kind = RLB_WORDS;
		v.words = lua_tolstring(L, at, &v.len);
		break;
	case LUA_TBOOLEAN:
		v.kind = RLB_FLAG;
		v.integer = lua_toboolean(L, at);
		break;
	default:
		break;
	}
	return v;
}

void
lrl_show(void *to, const char *name, const struct rlb_value *value)
{
	lua_State *L = to;

	if (value->kind == RLB_WORDS)
		lua_pushstring(L, value->words);
	else if (value->kind == RLB_FLAG)
		lua_pushboolean(L, value->integer != 0);
	else
		lrl_push_ns(L, value->kind == RLB_NS ? value->ns : (uint64_t)value->integer);
	lua_setfield(L, -2, name);
}

int
lrl_fail_text(lua_State *L, int error, const char *text)
{
	lua_pushnil(L);
	lua_pushstring(L, text);
	lrl_push_error_name(L, error);
	return 3;
}

int
lrl_fail(lua_State *L, int error)
{
	char why[RLB_WHY_SIZE];

	return lrl_fail_text(L, error, rlb_why(error, why));
}

/* A key is any bytes. One that is too long for the library stands for itself as its digest. */
void
lrl_key(lua_State *L, int at, struct key *key)
{
	key->bytes = luaL_checklstring(L, at, &key->len);
	if (key->len > RL_KEY_MAX) {
		key->len = rl_key_digest(key->bytes, key->len, key->digest);
		key->bytes = key->digest;
	}
}

/* An integer from 0. One that is larger than any capacity is as good as another. */
uint64_t
lrl_cost(lua_State *L, int at)
{
	lua_Number n;

	if (lua_isnoneornil(L, at))
		return 1;
	n = luaL_checknumber(L, at);
	luaL_argcheck(L, n >= 0 && n == floor(n), at, "a whole number from 0 is expected");
	return n < EXACT_MAX ? (uint64_t)n : UINT64_MAX;
}

/* A request's own capacity; 0: none was given. */
uint32_t
lrl_capacity(lua_State *L, int at)
{
	lua_Number n = lua_isnoneornil(L, at) ? 0 : luaL_checknumber(L, at);

	luaL_argcheck(L, n >= 0 && n <= UINT32_MAX && n == floor(n), at,
	              "a whole number from 0 is expected");
	return (uint32_t)n;
}

static uint64_t
ns_of_text(lua_State *L, int at)
{
	const char *text = lua_tostring(L, at);
	char *end;
	unsigned long long ns;

	if (strcmp(text, "never") == 0)
		return RL_NEVER_NS;
	errno = 0;
	ns = strtoull(text, &end, 10);
	luaL_argcheck(L, *text >= '0' && *text <= '9' && *end == '\0' && errno == 0, at,
	              "digits of nanoseconds are expected, or \"never\"");
	return ns;
}

uint64_t
lrl_ns(lua_State *L, int at)
{
	lua_Number n;

	if (lua_type(L, at) == LUA_TSTRING)
		return ns_of_text(L, at);
#if LUA_VERSION_NUM >= 503
	if (lua_isinteger(L, at)) {
		luaL_argcheck(L, lua_tointeger(L, at) >= 0, at, "nanoseconds from 0 are expected");
		return (uint64_t)lua_tointeger(L, at);
	}
#endif
	n = luaL_checknumber(L, at);
	luaL_argcheck(L, n >= 0, at, "nanoseconds from 0 are expected");
	return n < 0x1p64 ? (uint64_t)n : RL_NEVER_NS;
}

uint64_t
lrl_now(lua_State *L, int at)
{
	return lua_isnoneornil(L, at) ? 0 : lrl_ns(L, at);
}

uint64_t
lrl_duration(lua_State *L, int at)
{
	struct rlb_value v = lrl_value(L, at);
	uint64_t ns = 0;
	int error = rlb_value_ns(&v, &ns);

	luaL_argcheck(L, error == 0, at,
	              "seconds from 0 are expected, or a duration such as \"10m\", or \"never\"");
	return ns;
}

/* A whole number where Lua has those; else a double, exact up to 2^53: 104 days. */
void
lrl_push_ns(lua_State *L, uint64_t ns)
{
	if (ns == RL_NEVER_NS)
		lua_pushnumber(L, HUGE_VAL);
#if LUA_VERSION_NUM >= 503
	else if (ns <= INT64_MAX)
		lua_pushinteger(L, (lua_Integer)ns);
#endif
	else
		lua_pushnumber(L, (lua_Number)ns);
}

void
lrl_push_seconds(lua_State *L, uint64_t ns)
{
	lua_pushnumber(L, ns == RL_NEVER_NS ? HUGE_VAL : (lua_Number)ns / 1e9);
}

/* The number of the word at `at` among `names`, the last of which is NULL. */
int
lrl_choice(lua_State *L, int at, const char *what, const char *const *list)
{
	const char *word = lua_type(L, at) == LUA_TSTRING ? lua_tostring(L, at) : NULL;

	for (int i = 0; word && list[i]; i++)
		if (strcmp(list[i], word) == 0)
			return i;
	return luaL_error(L, "%s: unknown '%s'", what, word ? word : luaL_typename(L, at));
}

void
lrl_metatable(lua_State *L, const char *name, const luaL_Reg *methods)
{
	luaL_newmetatable(L, name);
	luaL_setfuncs(L, methods, 0);
	lua_pushvalue(L, -1);
	lua_setfield(L, -2, "__index");
	lua_pushstring(L, name);
	lua_setfield(L, -2, "__name");
	lua_pop(L, 1);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters by key. Each call returns the value, or false if there is none, when it ends, and if it
 * is new.
 */
#include <math.h>

#include "lrl.h"

static struct rule *
check_space(lua_State *L)
{
	return luaL_checkudata(L, 1, LRL_SPACE);
}

static int64_t
amount_of(lua_State *L, int at)
{
	lua_Number n = luaL_optnumber(L, at, 1);

	luaL_argcheck(L, n == floor(n) && fabs(n) <= 0x1p53, at, "a whole number is expected");
	return (int64_t)n;
}

static int
push_count(lua_State *L, int done, const struct rl_count *count)
{
	if (done < 0)
		return lrl_fail(L, done);
	if (done == 0)
		lua_pushboolean(L, 0);
	lua_pushnumber(L, (lua_Number)count->value);
#if LUA_VERSION_NUM >= 503
	lua_pop(L, 1);
	lua_pushinteger(L, (lua_Integer)count->value);
#endif
	if (count->expires_after_ns == 0)
		lua_pushnil(L);
	else
		lrl_push_seconds(L, count->expires_after_ns);
	lua_pushboolean(L, count->is_new);
	return done == 0 ? 4 : 3;
}

/* A call of a counter: what it is told is at 3 and 4, the time at `now_at`. */
static int
operate(lua_State *L, enum rl_counter_op op, int lifetime_at, int now_at)
{
	struct rule *space = check_space(L);
	struct rl *rl = lrl_rule_rl(space);
	struct rl_counter_item item = {0};
	struct rl_count count = {0};
	struct key key;

	if (op == RL_COUNTER_ADD || op == RL_COUNTER_SET || op == RL_COUNTER_SET_NEW)
		item.amount = amount_of(L, 3);
	lrl_key(L, 2, &key);
	if (lifetime_at > 0 && !(op != RL_COUNTER_SET_NEW && lua_isnoneornil(L, lifetime_at)))
		item.lifetime_ns = lrl_duration(L, lifetime_at);
	if (!rl)
		return lrl_segment_fail(L, space->segment);
	item.now_ns = lrl_now(L, now_at);
	item.space = space->r.id;
	item.key = key.bytes;
	item.key_len = key.len;
	return push_count(L, rl_counter_apply(rl, op, &item, &count), &count);
}

/* space:add(key, amount, lifetime [, now_ns]); a counter that is there keeps its lifetime. */
static int
add(lua_State *L)
{
	return operate(L, RL_COUNTER_ADD, 4, 5);
}

/* space:get(key [, now_ns]) */
static int
get(lua_State *L)
{
	return operate(L, RL_COUNTER_GET, 0, 3);
}

/* space:set(key, value, lifetime [, now_ns]) */
static int
set(lua_State *L)
{
	return operate(L, RL_COUNTER_SET, 4, 5);
}

/* space:set_new(key, value, lifetime [, now_ns]) */
static int
set_new(lua_State *L)
{
	return operate(L, RL_COUNTER_SET_NEW, 4, 5);
}

/* space:touch(key, lifetime [, now_ns]) */
static int
touch(lua_State *L)
{
	return operate(L, RL_COUNTER_TOUCH, 3, 4);
}

/* space:drop(key [, now_ns]) */
static int
drop(lua_State *L)
{
	return operate(L, RL_COUNTER_DROP, 0, 3);
}

static int
name(lua_State *L)
{
	lua_pushstring(L, check_space(L)->r.name);
	return 1;
}

const luaL_Reg lrl_of_space[] = {
	{"add", add},     {"get", get},   {"set", set},   {"set_new", set_new},
	{"touch", touch}, {"drop", drop}, {"name", name}, {"reset_matching", lrl_reset_matching},
	{NULL, NULL},
};

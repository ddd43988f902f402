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
enum operation {
	ADD,
	GET,
	SET,
	SET_NEW,
	TOUCH,
	DROP
};

static int
operate(lua_State *L, enum operation operation, int lifetime_at, int now_at)
{
	struct rule *space = check_space(L);
	struct rl *rl = lrl_rule_rl(space);
	struct rl_count count = {0};
	uint64_t lifetime_ns = 0, now_ns;
	int64_t amount = operation <= SET_NEW && operation != GET ? amount_of(L, 3) : 0;
	struct key key;
	int done = 0;

	lrl_key(L, 2, &key);
	if (lifetime_at > 0 && !(operation != SET_NEW && lua_isnoneornil(L, lifetime_at)))
		lifetime_ns = lrl_duration(L, lifetime_at);
	if (!rl)
		return lrl_segment_fail(L, space->segment);
	now_ns = lrl_now(L, now_at, rl);
	switch (operation) {
	case ADD:
		done = rl_counter_add_at(rl, space->r.id, key.bytes, key.len, amount, lifetime_ns,
		                         now_ns, &count);
		break;
	case GET:
		done = rl_counter_get_at(rl, space->r.id, key.bytes, key.len, now_ns, &count);
		break;
	case SET:
		done = rl_counter_set_at(rl, space->r.id, key.bytes, key.len, (uint64_t)amount,
		                         lifetime_ns, now_ns, &count);
		break;
	case SET_NEW:
		done = rl_counter_set_new_at(rl, space->r.id, key.bytes, key.len, (uint64_t)amount,
		                             lifetime_ns, now_ns, &count);
		break;
	case TOUCH:
		done = rl_counter_touch_at(rl, space->r.id, key.bytes, key.len, lifetime_ns, now_ns,
		                           &count);
		break;
	case DROP:
		done = rl_counter_drop_at(rl, space->r.id, key.bytes, key.len, now_ns);
		break;
	}
	return push_count(L, done, &count);
}

/* space:add(key, amount, lifetime [, now_ns]); a counter that is there keeps its lifetime. */
static int
add(lua_State *L)
{
	return operate(L, ADD, 4, 5);
}

/* space:get(key [, now_ns]) */
static int
get(lua_State *L)
{
	return operate(L, GET, 0, 3);
}

/* space:set(key, value, lifetime [, now_ns]) */
static int
set(lua_State *L)
{
	return operate(L, SET, 4, 5);
}

/* space:set_new(key, value, lifetime [, now_ns]) */
static int
set_new(lua_State *L)
{
	return operate(L, SET_NEW, 4, 5);
}

/* space:touch(key, lifetime [, now_ns]) */
static int
touch(lua_State *L)
{
	return operate(L, TOUCH, 3, 4);
}

/* space:drop(key [, now_ns]) */
static int
drop(lua_State *L)
{
	return operate(L, DROP, 0, 3);
}

static int
name(lua_State *L)
{
	lua_pushstring(L, check_space(L)->r.name);
	return 1;
}

static const luaL_Reg methods[] = {
	{"add", add},     {"get", get},   {"set", set},   {"set_new", set_new},
	{"touch", touch}, {"drop", drop}, {"name", name}, {"reset_matching", lrl_reset_matching},
	{NULL, NULL},
};

void
lrl_space_methods(lua_State *L)
{
	lrl_metatable(L, LRL_SPACE, methods);
}

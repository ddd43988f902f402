/* SPDX-License-Identifier: BSD-2-Clause */
/* Options of a segment, as a table. */
#include <string.h>

#include "lrl.h"

static const char *const on_full[] = {"reserve", "deny", "allow", "evict", NULL};

static const struct {
	const char *name;
	unsigned flag;
} flags[] = {
	{"readonly", RL_OPEN_READONLY},   {"existing", RL_OPEN_EXISTING},
	{"any_owner", RL_OPEN_ANY_OWNER}, {"huge_pages", RL_OPEN_HUGE_PAGES},
	{"populate", RL_OPEN_POPULATE},   {"at_least", RL_OPEN_AT_LEAST},
};

static uint32_t
count_of(lua_State *L, const char *name, uint32_t most)
{
	lua_Number n = lua_tonumber(L, -1);

	if (lua_type(L, -1) != LUA_TNUMBER || n < 0 || n > most || n != (lua_Number)(uint32_t)n)
		luaL_error(L, "option %s: a whole number from 0 to %f is expected", name,
		           (lua_Number)most);
	return (uint32_t)n;
}

static int
is_flag(lua_State *L, const char *name, unsigned *set)
{
	for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++)
		if (strcmp(flags[i].name, name) == 0) {
			if (lua_toboolean(L, -1))
				*set |= flags[i].flag;
			return 1;
		}
	return 0;
}

/* Permission bits as people write them: the digits of "0660" or 660 are octal. */
static mode_t
mode_of(lua_State *L)
{
	lua_Integer bits = 0;

	for (const char *digit = luaL_checkstring(L, -1); *digit; digit++) {
		if (*digit < '0' || *digit > '7' || bits > 07777)
			luaL_error(L, "option mode: octal digits are expected, such as \"0660\"");
		bits = bits * 8 + (*digit - '0');
	}
	return (mode_t)bits;
}

/* Where nothing is said: any window has room in it. */
static uint32_t
ring_of(uint32_t said)
{
	return said > 0 ? said : RL_GRANULARITY_MAX;
}

/* The value of the option `name` is at the top. */
static void
read_option(lua_State *L, const char *name, struct rl_options *o)
{
	if (strcmp(name, "keys") == 0)
		o->keys = count_of(L, name, RL_KEYS_MAX);
	else if (strcmp(name, "ring") == 0)
		o->ring = ring_of(count_of(L, name, RL_RING_MAX));
	else if (strcmp(name, "key_bytes") == 0)
		o->key_bytes =
			lua_toboolean(L, -1) ? count_of(L, name, RL_KEY_MAX) : RL_KEY_BYTES_NONE;
	else if (strcmp(name, "rules") == 0)
		o->rules = count_of(L, name, RL_RULES_MAX);
	else if (strcmp(name, "overrides") == 0)
		o->overrides = count_of(L, name, RL_OVERRIDES_MAX);
	else if (strcmp(name, "bans") == 0)
		o->bans = count_of(L, name, RL_BANS_MAX);
	else if (strcmp(name, "holders") == 0)
		o->holders = count_of(L, name, RL_HOLDERS_MAX);
	else if (strcmp(name, "cells") == 0)
		o->cells = count_of(L, name, RL_CELLS_MAX);
	else if (strcmp(name, "reserves") == 0)
		o->reserves = count_of(L, name, RL_RESERVES_MAX);
	else if (strcmp(name, "events") == 0)
		o->events =
			lua_toboolean(L, -1) ? count_of(L, name, RL_EVENTS_MAX) : RL_EVENTS_NONE;
	else if (strcmp(name, "buffer") == 0)
		o->buffer_ns = lrl_duration(L, lua_gettop(L));
	else if (strcmp(name, "on_full") == 0)
		o->on_full =
			(enum rl_on_full)lrl_choice(L, lua_gettop(L), "option on_full", on_full);
	else if (strcmp(name, "mode") == 0)
		o->mode = mode_of(L);
	else if (strcmp(name, "gid") == 0) {
		o->group = count_of(L, name, UINT32_MAX - 1);
		o->flags |= RL_OPEN_GROUP;
	} else if (!is_flag(L, name, &o->flags))
		luaL_error(L, "unknown option '%s' of a segment", name);
}

int
lrl_options_read(lua_State *L, int at, struct rl_options *options)
{
	int is_lazy = 0;

	options->ring = ring_of(0);
	if (lua_isnoneornil(L, at))
		return 0;
	luaL_checktype(L, at, LUA_TTABLE);
	for (lua_pushnil(L); lua_next(L, at); lua_pop(L, 1)) {
		if (lua_type(L, -2) != LUA_TSTRING)
			luaL_error(L, "options of a segment have names");
		if (strcmp(lua_tostring(L, -2), "lazy") == 0)
			is_lazy = lua_toboolean(L, -1);
		else
			read_option(L, lua_tostring(L, -2), options);
	}
	return is_lazy;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* A rule as Lua has it: "5/min", or a table with the fields of a rule in rl.json(5). */
#include <string.h>

#include "limit.h"
#include "lrl.h"

/* The value at the top is of the field `name`. */
static int
set_value(lua_State *L, const char *name, size_t len, struct rlb_limit *l, char why[RLB_TEXT_SIZE])
{
	struct rlb_value v = lrl_value(L, -1);

	return rlb_limit_set(l, name, len, &v, why);
}

/* What the table or the text at `at` says, but for fields of the whole rule. */
static void
read_fields(lua_State *L, int at, const char *where, struct rlb_limit *l)
{
	char why[RLB_TEXT_SIZE];
	const char *name;
	size_t len;

	if (!lua_istable(L, at)) {
		lua_pushvalue(L, at);
		if (set_value(L, "limit", 5, l, why) < 0)
			luaL_error(L, "%s%s, or a table", where, why);
		lua_pop(L, 1);
		return;
	}
	for (lua_pushnil(L); lua_next(L, at); lua_pop(L, 1)) {
		if (lua_type(L, -2) != LUA_TSTRING)
			luaL_error(L, "%sa limit has fields with names alone", where);
		name = lua_tolstring(L, -2, &len);
		if (strcmp(name, "keep") != 0 && strcmp(name, "limits") != 0 &&
		    set_value(L, name, len, l, why) < 0)
			luaL_error(L, "%s%s", where, why);
	}
}

static void
finish(lua_State *L, struct rlb_limit *l, const char *where, uint32_t ring, struct rl_limit *to)
{
	char why[RLB_TEXT_SIZE];

	if (rlb_limit_finish(l, ring, why) < 0)
		luaL_error(L, "%s%s", where, why);
	*to = l->limit;
}

/* Each of the list at `at`, where what it leaves out is as in `base`. */
static void
read_list(lua_State *L, int at, const struct rlb_limit *base, uint32_t ring, struct rlb_rule *r)
{
	size_t count = lua_rawlen(L, at);

	if (count < 1 || count > RL_LIMITS_MAX + 1)
		luaL_error(L, "limits: there are %d; 1 to %d are allowed", (int)count,
		           RL_LIMITS_MAX);
	for (size_t i = 0; i < count; i++) {
		const char *where = lua_pushfstring(L, "limits[%d].", (int)i + 1);
		struct rlb_limit l = *base;

		lua_rawgeti(L, at, (int)i + 1);
		read_fields(L, lua_gettop(L), where, &l);
		finish(L, &l, where, ring, i == 0 ? &r->rule.limit : &r->more[i - 1]);
		lua_pop(L, 2);
	}
	r->rule.more_count = count - 1;
}

void
lrl_limits_read(lua_State *L, int at, uint32_t ring, struct rlb_rule *r)
{
	struct rlb_limit base = {0};

	read_fields(L, at, "", &base);
	if (!lua_istable(L, at)) {
		finish(L, &base, "", ring, &r->rule.limit);
		return;
	}
	lua_getfield(L, at, "keep");
	r->rule.flags = lua_toboolean(L, -1) ? RL_DEFINE_KEEP : 0;
	lua_getfield(L, at, "limits");
	if (lua_istable(L, -1))
		read_list(L, lua_gettop(L), &base, ring, r);
	else
		finish(L, &base, "", ring, &r->rule.limit);
	lua_pop(L, 2);
}

/* Why the definition was refused: with the field, if it is one. */
int
lrl_define_fail(lua_State *L, const struct rule *rule)
{
	char text[RL_RULE_TEXT_SIZE];

	rl_rule_check(&rule->r.rule, &(struct rl_options){.ring = rule->segment->s.ring}, text,
	              sizeof text);
	return text[0] ? lrl_fail_text(L, rule->r.id, text) : lrl_fail(L, rule->r.id);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rules and spaces of a segment. A limit is "5/min", or a table with the fields of a rule in
 * rl.json(5).
 */
#include <errno.h>
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

static void
limits_read(lua_State *L, int at, uint32_t ring, struct rlb_rule *r)
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
static int
define_fail(lua_State *L, const struct rule *rule)
{
	char text[RL_RULE_TEXT_SIZE];

	rl_rule_check(&rule->r.rule, &(struct rl_options){.ring = rule->segment->s.ring}, text,
	              sizeof text);
	return text[0] ? lrl_fail_text(L, rule->r.id, text) : lrl_fail(L, rule->r.id);
}

/* segment:rule(name), which may be there later; :counters(name) */
static int
named(lua_State *L, enum rlb_rule_kind kind)
{
	struct segment *segment = lrl_segment(L, 1);
	size_t len;
	const char *name = luaL_checklstring(L, 2, &len);
	struct rule *rule;

	luaL_argcheck(L, len > 0 && len <= RL_NAME_MAX && strlen(name) == len, 2,
	              "a name has 1 to 63 bytes");
	rule = lrl_rule_new(L, 1, kind, name);
	if (!lrl_rule_rl(rule) && segment->is_closed)
		return lrl_segment_fail(L, segment);
	return 1;
}

int
lrl_segment_rule(lua_State *L)
{
	return named(L, RLB_FOUND);
}

int
lrl_segment_counters(lua_State *L)
{
	int count = named(L, RLB_SPACE);
	struct rule *space = count == 1 ? lua_touserdata(L, -1) : NULL;

	if (space && space->segment->s.rl && space->r.id < 0)
		return lrl_fail(L, space->r.id);
	return count;
}

/* segment:define(name, limit) */
int
lrl_segment_define(lua_State *L)
{
	struct segment *segment = lrl_segment(L, 1);
	struct rl *rl = lrl_segment_rl(segment);
	size_t len;
	const char *name = luaL_checklstring(L, 2, &len);
	struct rule *rule;

	if (segment->is_closed)
		return lrl_segment_fail(L, segment);
	if (strlen(name) != len || len > RL_NAME_MAX)
		return lrl_fail_text(
			L, -EINVAL,
			strlen(name) != len ? "name: there is a NUL byte in it"
					    : "name: it is too long; at most 63 bytes are allowed");
	rule = lrl_rule_new(L, 1, RLB_DEFINED, name);
	limits_read(L, 3, rl ? segment->s.ring : segment->s.options.ring, &rule->r);
	if (!lrl_rule_rl(rule))
		return 1;
	return rule->r.id < 0 ? define_fail(L, rule) : 1;
}

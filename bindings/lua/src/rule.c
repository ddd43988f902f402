/* SPDX-License-Identifier: BSD-2-Clause */
/* A rule: how its handle is found, and the calls that answer shortly. */
#include <errno.h>
#include <string.h>

#include "lrl.h"

struct rule *
lrl_rule(lua_State *L, int at)
{
	return luaL_checkudata(L, at, LRL_RULE);
}

struct rule *
lrl_rule_new(lua_State *L, int segment_at, const char *kind)
{
	struct rule *rule = lua_newuserdata(L, sizeof *rule);

	memset(rule, 0, sizeof *rule);
	rule->segment = lua_touserdata(L, segment_at);
	rule->id = -ENOENT;
	rule->is_space = strcmp(kind, LRL_SPACE) == 0;
	luaL_getmetatable(L, kind);
	lua_setmetatable(L, -2);
	lua_createtable(L, 1, 0);
	lua_pushvalue(L, segment_at);
	lua_rawseti(L, -2, 1);
	lua_setuservalue(L, -2);
	return rule;
}

static int
find(const struct rule *rule)
{
	if (rule->is_space)
		return rl_define_counters(rule->segment->rl, rule->name);
	return rule->limit_count > 0 ? lrl_define(rule) : rl_find(rule->segment->rl, rule->name);
}

/*
 * A rule that this program defines is defined once in each segment. One that others define is found
 * anew with each look at the segment, for the configuration may drop it and have it again; where it
 * is not there any more, the old handle says so.
 */
static void
find_anew(struct rule *rule)
{
	const struct segment *segment = rule->segment;
	int is_new = rule->opened != segment->opened || rule->id < 0, id;

	rule->looks = segment->looks;
	rule->opened = segment->opened;
	if (!is_new && (rule->limit_count > 0 || rule->is_space))
		return;
	id = find(rule);
	if (is_new || id >= 0)
		rule->id = id;
}

/* The segment, and rule->id as it is there now; NULL: it is not open. */
struct rl *
lrl_rule_rl(struct rule *rule)
{
	struct rl *rl = lrl_segment_rl(rule->segment);

	if (rl && (rule->looks != rule->segment->looks || rule->opened != rule->segment->opened))
		find_anew(rule);
	else if (rl && rule->id < 0 && rule->limit_count == 0)
		rule->id = find(rule);
	return rl;
}

/* nil, text, name: who has no rule is told that, whatever the error. */
static int
push_undecided(lua_State *L, const struct rule *rule, int error)
{
	if (rule->id >= 0)
		return lrl_fail(L, error);
	lua_pushnil(L);
	lua_pushfstring(L, "rule %s: %s", rule->name,
	                rule->id == -ENOENT ? "there is none of this name" : rl_strerror(rule->id));
	lua_pushstring(L, lrl_error_name(rule->id));
	return 3;
}

/*
 * true or false; how many seconds to wait: before an allowed request goes on, or before a denied
 * one is tried again; what remains; the name of an error of a request that was answered all the
 * same.
 */
static int
push_verdict(lua_State *L, const struct rule *rule, const struct rl_result *r)
{
	if (r->verdict == RL_UNDECIDED)
		return push_undecided(L, rule, r->error);
	lua_pushboolean(L, r->verdict == RL_ALLOWED);
	lrl_push_seconds(L, r->verdict == RL_ALLOWED ? r->delay_ns : r->retry_after_ns);
	lua_pushinteger(L, (lua_Integer)r->remaining);
	if (r->error == 0)
		return 3;
	lua_pushstring(L, lrl_error_name(r->error));
	return 4;
}

/* rule:check(key [, cost]) */
static int
rule_check(lua_State *L)
{
	struct rule *rule = lrl_rule(L, 1);
	struct rl *rl = lrl_rule_rl(rule);
	struct rl_result result;
	struct key key;

	lrl_key(L, 2, &key);
	if (!rl)
		return lrl_segment_fail(L, rule->segment);
	rl_check(rl, rule->id, key.bytes, key.len, lrl_cost(L, 3), &result);
	return push_verdict(L, rule, &result);
}

/* rule:peek(key) */
static int
rule_peek(lua_State *L)
{
	struct rule *rule = lrl_rule(L, 1);
	struct rl *rl = lrl_rule_rl(rule);
	struct rl_result result;
	struct key key;

	lrl_key(L, 2, &key);
	if (!rl)
		return lrl_segment_fail(L, rule->segment);
	rl_peek(rl, rule->id, key.bytes, key.len, &result);
	return push_verdict(L, rule, &result);
}

/*
 * rule:refund(key [, cost [, now_ns]]), and of requests with a capacity of their own a fifth
 * argument
 */
static int
rule_refund(lua_State *L)
{
	struct rule *rule = lrl_rule(L, 1);
	struct rl *rl = lrl_rule_rl(rule);
	struct rl_item item = {.rule = rule->id};
	struct key key;
	int given;

	lrl_key(L, 2, &key);
	if (!rl)
		return lrl_segment_fail(L, rule->segment);
	item.key = key.bytes;
	item.key_len = key.len;
	item.cost = lrl_cost(L, 3);
	item.capacity = lrl_capacity(L, 5);
	given = rl_refund_item_at(rl, &item, lrl_now(L, 4, rl));
	if (given < 0)
		return lrl_fail(L, given);
	lua_pushinteger(L, given);
	return 1;
}

/* rule:reset(key) */
static int
rule_reset(lua_State *L)
{
	struct rule *rule = lrl_rule(L, 1);
	struct rl *rl = lrl_rule_rl(rule);
	struct key key;
	int done;

	lrl_key(L, 2, &key);
	if (!rl)
		return lrl_segment_fail(L, rule->segment);
	done = rl_reset(rl, rule->id, key.bytes, key.len);
	if (done < 0)
		return lrl_fail(L, done);
	lua_pushboolean(L, done);
	return 1;
}

static int
rule_name(lua_State *L)
{
	lua_pushstring(L, lrl_rule(L, 1)->name);
	return 1;
}

/* The handle, for LuaJIT's ffi, or nil and why there is none. */
static int
rule_handle(lua_State *L)
{
	struct rule *rule = lrl_rule(L, 1);

	if (!lrl_rule_rl(rule))
		return lrl_segment_fail(L, rule->segment);
	if (rule->id < 0)
		return push_undecided(L, rule, rule->id);
	lua_pushinteger(L, rule->id);
	return 1;
}

static const luaL_Reg methods[] = {
	{"check", rule_check},
	{"peek", rule_peek},
	{"decide", lrl_rule_decide},
	{"reserve", lrl_rule_reserve},
	{"acquire", lrl_rule_acquire},
	{"refund", rule_refund},
	{"reset", rule_reset},
	{"reset_matching", lrl_reset_matching},
	{"ban", lrl_ban},
	{"allow", lrl_allow},
	{"unban", lrl_unban},
	{"headers", lrl_rule_headers},
	{"info", lrl_rule_info},
	{"name", rule_name},
	{"handle", rule_handle},
	{NULL, NULL},
};

void
lrl_rule_methods(lua_State *L)
{
	lrl_metatable(L, LRL_RULE, methods);
}

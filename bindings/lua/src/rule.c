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

/* Of a name of at most RL_NAME_MAX bytes. */
struct rule *
lrl_rule_new(lua_State *L, int segment_at, enum rlb_rule_kind kind, const char *name)
{
	struct rule *rule = lua_newuserdata(L, sizeof *rule);

	memset(rule, 0, sizeof *rule);
	rule->segment = lua_touserdata(L, segment_at);
	rule->r.kind = kind;
	rule->r.id = -ENOENT;
	strcpy(rule->r.name, name);
	luaL_getmetatable(L, kind == RLB_SPACE ? LRL_SPACE : LRL_RULE);
	lua_setmetatable(L, -2);
	lua_createtable(L, 1, 0);
	lua_pushvalue(L, segment_at);
	lua_rawseti(L, -2, 1);
	lua_setuservalue(L, -2);
	return rule;
}

/* The segment, and rule->r.id as it is there now; NULL: it is not open. */
struct rl *
lrl_rule_rl(struct rule *rule)
{
	struct rl *rl = lrl_segment_rl(rule->segment);

	if (rl)
		rlb_rule_id(&rule->segment->s, &rule->r);
	return rl;
}

/* nil, text, name: who has no rule is told that, whatever the error. */
static int
push_undecided(lua_State *L, const struct rule *rule, int error)
{
	char why[RLB_WHY_SIZE];

	if (rule->r.id >= 0)
		return lrl_fail(L, error);
	lua_pushnil(L);
	lua_pushfstring(L, "rule %s: %s", rule->r.name,
	                rule->r.id == -ENOENT ? "there is none of this name"
	                                      : rlb_why(rule->r.id, why));
	lrl_push_error_name(L, rule->r.id);
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
	lrl_push_error_name(L, r->error);
	return 4;
}

/* rule:check(key [, cost]) */
int
lrl_rule_check(lua_State *L)
{
	struct rule *rule = lrl_rule(L, 1);
	struct rl *rl = lrl_segment_rl(rule->segment);
	struct rl_item item = {0};
	struct rl_result result;
	struct key key;

	lrl_key(L, 2, &key);
	if (!rl)
		return lrl_segment_fail(L, rule->segment);
	item.key = key.bytes;
	item.key_len = key.len;
	item.cost = lrl_cost(L, 3);
	rlb_check(&rule->segment->s, &rule->r, &item, &result);
	return push_verdict(L, rule, &result);
}

/* rule:peek(key) */
int
lrl_rule_peek(lua_State *L)
{
	struct rule *rule = lrl_rule(L, 1);
	struct rl *rl = lrl_rule_rl(rule);
	struct rl_result result;
	struct key key;

	lrl_key(L, 2, &key);
	if (!rl)
		return lrl_segment_fail(L, rule->segment);
	rl_peek(rl, rule->r.id, key.bytes, key.len, &result);
	return push_verdict(L, rule, &result);
}

/*
 * rule:refund(key [, cost [, now_ns]]), and of requests with a capacity of their own a fifth
 * argument
 */
int
lrl_rule_refund(lua_State *L)
{
	struct rule *rule = lrl_rule(L, 1);
	struct rl *rl = lrl_rule_rl(rule);
	struct rl_item item = {.rule = rule->r.id};
	struct key key;
	int given;

	lrl_key(L, 2, &key);
	if (!rl)
		return lrl_segment_fail(L, rule->segment);
	item.key = key.bytes;
	item.key_len = key.len;
	item.cost = lrl_cost(L, 3);
	item.capacity = lrl_capacity(L, 5);
	item.now_ns = lrl_now(L, 4);
	given = rl_refund_key(rl, &item);
	if (given < 0)
		return lrl_fail(L, given);
	lua_pushinteger(L, given);
	return 1;
}

/* rule:reset(key) */
int
lrl_rule_reset(lua_State *L)
{
	struct rule *rule = lrl_rule(L, 1);
	struct rl *rl = lrl_rule_rl(rule);
	struct key key;
	int done;

	lrl_key(L, 2, &key);
	if (!rl)
		return lrl_segment_fail(L, rule->segment);
	done = rl_reset(rl, rule->r.id, key.bytes, key.len);
	if (done < 0)
		return lrl_fail(L, done);
	lua_pushboolean(L, done);
	return 1;
}

int
lrl_rule_name(lua_State *L)
{
	lua_pushstring(L, lrl_rule(L, 1)->r.name);
	return 1;
}

/* The handle, for LuaJIT's ffi, or nil and why there is none. */
int
lrl_rule_handle(lua_State *L)
{
	struct rule *rule = lrl_rule(L, 1);

	if (!lrl_rule_rl(rule))
		return lrl_segment_fail(L, rule->segment);
	if (rule->r.kind == RLB_FOUND)
		rlb_rule_again(&rule->segment->s, &rule->r);
	if (rule->r.id < 0)
		return push_undecided(L, rule, rule->r.id);
	lua_pushinteger(L, rule->r.id);
	return 1;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* What a segment and its rules are, as tables. */
#include <errno.h>

#include "lrl.h"

static void
put(lua_State *L, const char *name, uint64_t number)
{
	lua_pushnumber(L, (lua_Number)number);
#if LUA_VERSION_NUM >= 503
	lua_pop(L, 1);
	lua_pushinteger(L, (lua_Integer)number);
#endif
	lua_setfield(L, -2, name);
}

/* segment:info() */
int
lrl_segment_info(lua_State *L)
{
	struct segment *segment = lrl_segment(L, 1);
	struct rl *rl = lrl_segment_rl(segment);
	struct rl_info info;

	if (!rl)
		return lrl_segment_fail(L, segment);
	rl_info(rl, &info);
	lua_createtable(L, 0, 22);
	lua_pushstring(L, info.name);
	lua_setfield(L, -2, "name");
	put(L, "bytes", info.bytes);
	put(L, "keys", info.keys);
	put(L, "slots", info.slots);
	put(L, "ring", info.ring);
	put(L, "key_bytes", info.key_bytes);
	put(L, "rules", info.rules);
	put(L, "rules_used", info.rules_used);
	put(L, "limits", info.limits);
	put(L, "limits_used", info.limits_used);
	put(L, "overrides", info.overrides);
	put(L, "overrides_used", info.overrides_used);
	put(L, "bans", info.bans);
	put(L, "holders", info.holders);
	put(L, "holders_used", info.holders_used);
	put(L, "cells", info.cells);
	put(L, "reserves", info.reserves);
	put(L, "events", info.events);
	put(L, "generation", info.generation);
	put(L, "owner", info.owner);
	put(L, "group", info.group);
	put(L, "mode", info.mode);
	lrl_push_seconds(L, info.created_ns);
	lua_setfield(L, -2, "created");
	return 1;
}

static void
push_limit(lua_State *L, const struct rl_limit *limit)
{
	const struct rl_algorithm_info *algorithm = rl_algorithm_info(limit->algorithm);

	lua_createtable(L, 0, 12);
	lua_pushstring(L, algorithm ? algorithm->name : "unknown");
	lua_setfield(L, -2, "algorithm");
	put(L, "capacity", limit->capacity);
	lrl_push_ns(L, limit->window_ns);
	lua_setfield(L, -2, "window_ns");
	put(L, "granularity", limit->granularity);
	put(L, "burst", limit->burst);
	put(L, "undelayed", limit->undelayed);
	put(L, "prefetch", limit->prefetch);
	put(L, "prefix_v4", limit->prefix_v4);
	put(L, "prefix_v6", limit->prefix_v6);
	lua_pushboolean(L, limit->hard);
	lua_setfield(L, -2, "hard");
	lua_pushboolean(L, limit->shadow);
	lua_setfield(L, -2, "shadow");
	lua_pushboolean(L, limit->count_denied);
	lua_setfield(L, -2, "count_denied");
}

static void
push_rule(lua_State *L, const struct rl_rule_info *info)
{
	static const char *const sources[] = {"application", "configuration", "none"};

	lua_createtable(L, 0, 4);
	lua_pushstring(L, info->name);
	lua_setfield(L, -2, "name");
	lua_pushstring(L, sources[info->source]);
	lua_setfield(L, -2, "source");
	lua_pushboolean(L, info->has_overrides);
	lua_setfield(L, -2, "has_overrides");
	lua_createtable(L, (int)info->limit_count, 0);
	for (unsigned i = 0; i < info->limit_count; i++) {
		push_limit(L, &info->limits[i]);
		lua_rawseti(L, -2, (int)i + 1);
	}
	lua_setfield(L, -2, "limits");
}

/* rule:info(), which is nil and why if there is no such rule */
int
lrl_rule_info(lua_State *L)
{
	struct rule *rule = lrl_rule(L, 1);
	struct rl *rl = lrl_rule_rl(rule);
	struct rl_rule_info info;

	if (!rl)
		return lrl_segment_fail(L, rule->segment);
	if (rule->id < 0 || rl_rule_info(rl, rule->id, &info) != 1)
		return lrl_fail(L, rule->id < 0 ? rule->id : -ENOENT);
	push_rule(L, &info);
	return 1;
}

/* segment:rules(): all of them, by name */
int
lrl_segment_rules(lua_State *L)
{
	struct segment *segment = lrl_segment(L, 1);
	struct rl *rl = lrl_segment_rl(segment);
	struct rl_rule_info info;
	struct rl_info all;

	if (!rl)
		return lrl_segment_fail(L, segment);
	rl_info(rl, &all);
	lua_newtable(L);
	for (uint32_t row = 0; row < all.rules; row++)
		if (rl_rule_info(rl, (int)row, &info) == 1 && info.name[0]) {
			push_rule(L, &info);
			lua_setfield(L, -2, info.name);
		}
	return 1;
}

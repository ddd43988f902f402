/* SPDX-License-Identifier: BSD-2-Clause */
/* What a segment and its rules are, as tables. */
#include "about.h"

#include <errno.h>

#include "lrl.h"

/* segment:info() */
int
lrl_segment_info(lua_State *L)
{
	struct segment *segment = lrl_segment(L, 1);
	struct rl *rl = lrl_segment_rl(segment);

	if (!rl)
		return lrl_segment_fail(L, segment);
	lua_newtable(L);
	rlb_info_show(rl, lrl_show, L);
	return 1;
}

static void
push_rule(lua_State *L, const struct rl_rule_info *info)
{
	lua_createtable(L, 0, 4);
	lua_pushstring(L, info->name);
	lua_setfield(L, -2, "name");
	lua_pushstring(L, rlb_sources[info->source]);
	lua_setfield(L, -2, "source");
	lua_pushboolean(L, info->has_overrides);
	lua_setfield(L, -2, "has_overrides");
	lua_createtable(L, (int)info->limit_count, 0);
	for (unsigned i = 0; i < info->limit_count; i++) {
		lua_newtable(L);
		rlb_fields_show(RL_OF_LIMIT, &info->limits[i], lrl_show, L);
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
	if (rule->r.id < 0 || rl_rule_info(rl, rule->r.id, &info) != 1)
		return lrl_fail(L, rule->r.id < 0 ? rule->r.id : -ENOENT);
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
	uint32_t row = 0;

	if (!rl)
		return lrl_segment_fail(L, segment);
	lua_newtable(L);
	while (rlb_next_rule(rl, &row, &info)) {
		push_rule(L, &info);
		lua_setfield(L, -2, info.name);
	}
	return 1;
}

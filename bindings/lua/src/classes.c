/* SPDX-License-Identifier: BSD-2-Clause */
/* The faces of the classes: what methods an object has, and who answers them. */
#include "lrl.h"

static const luaL_Reg of_segment[] = {
	{"__gc", lrl_segment_close},
	{"close", lrl_segment_close},
	{"name", lrl_segment_name},
	{"is_open", lrl_segment_is_open},
	{"now", lrl_segment_now},
	{"give_back", lrl_segment_give_back},
	{"cell", lrl_segment_cell},
	{"rule", lrl_segment_rule},
	{"counters", lrl_segment_counters},
	{"define", lrl_segment_define},
	{"forget", lrl_segment_forget},
	{"check_all", lrl_segment_check_all},
	{"check_many", lrl_segment_check_many},
	{"ban", lrl_ban},
	{"allow", lrl_allow},
	{"unban", lrl_unban},
	{"reset_matching", lrl_reset_matching},
	{"info", lrl_segment_info},
	{"rules", lrl_segment_rules},
	{NULL, NULL},
};

static const luaL_Reg of_rule[] = {
	{"check", lrl_rule_check},
	{"peek", lrl_rule_peek},
	{"decide", lrl_rule_decide},
	{"reserve", lrl_rule_reserve},
	{"acquire", lrl_rule_acquire},
	{"refund", lrl_rule_refund},
	{"reset", lrl_rule_reset},
	{"reset_matching", lrl_reset_matching},
	{"ban", lrl_ban},
	{"allow", lrl_allow},
	{"unban", lrl_unban},
	{"headers", lrl_rule_headers},
	{"problem", lrl_rule_problem},
	{"info", lrl_rule_info},
	{"name", lrl_rule_name},
	{"handle", lrl_rule_handle},
	{NULL, NULL},
};

void
lrl_classes(lua_State *L)
{
	lrl_metatable(L, LRL_SEGMENT, of_segment);
	lrl_metatable(L, LRL_RULE, of_rule);
	lrl_metatable(L, LRL_SPACE, lrl_of_space);
	lrl_metatable(L, LRL_CHARGES, lrl_of_charges);
}

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

/*
 * rule:spend(key, estimate, call): charges an estimate while call(charges, answer) runs, which
 * settles it; units in flight come back at its end. true and what it returns; false and the answer
 * of who is denied. In Lua, so that a call may yield.
 */
static const char spend[] =
	"local rule, key, estimate, call = ...\n"
	"local answer, text, code = rule:decide(key, {cost = estimate, keep = true})\n"
	"if not answer or answer.verdict == 'undecided' then\n"
	"	return nil, text or answer.message, code or answer.error\n"
	"elseif not answer.is_allowed then\n"
	"	return false, answer\n"
	"end\n"
	"local function ended(is_well, ...)\n"
	"	answer.charges:release()\n"
	"	if not is_well then error((...), 0) end\n"
	"	return true, ...\n"
	"end\n"
	"return ended(pcall(call, answer.charges, answer))\n";

static void
add_spend(lua_State *L)
{
	luaL_getmetatable(L, LRL_RULE);
	lua_getfield(L, -1, "__index");
	if (luaL_loadbuffer(L, spend, sizeof spend - 1, "=rule:spend") != 0)
		lua_error(L);
	lua_setfield(L, -2, "spend");
	lua_pop(L, 2);
}

void
lrl_classes(lua_State *L)
{
	lrl_metatable(L, LRL_SEGMENT, of_segment);
	lrl_metatable(L, LRL_RULE, of_rule);
	lrl_metatable(L, LRL_SPACE, lrl_of_space);
	lrl_metatable(L, LRL_CHARGES, lrl_of_charges);
	add_spend(L);
}

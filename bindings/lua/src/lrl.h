/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LRL_H
#define LRL_H

/*
 * rl for Lua 5.1 to 5.4 and LuaJIT: what the files of the module share.
 *
 * Objects are userdata of a Lua state, which one thread at a time is in: nothing here is shared by
 * threads but the segment itself. A call that fails returns nil, a sentence and the error's name;
 * what is a mistake of the program (no string, an unknown field) is a Lua error.
 */

#include <lauxlib.h>
#include <lua.h>

#include "segment.h"
#include "values.h"
#include "words.h"

#if LUA_VERSION_NUM == 501
#define lua_setuservalue lua_setfenv
#define luaL_setfuncs(L, functions, nup) luaL_register(L, NULL, functions)
#define luaL_newlib(L, functions) (lua_newtable(L), luaL_register(L, NULL, functions))
#define lua_rawlen lua_objlen
#endif

#define LRL_SEGMENT "rl.segment"
#define LRL_RULE "rl.rule"
#define LRL_SPACE "rl.space"
#define LRL_CHARGES "rl.charges"

/* A segment that this state has open, or would like to; rl.ffi reads where `s` begins. */
struct segment {
	struct rlb_segment s;
	int is_closed;
};

/* A rule or a space of counters. */
struct rule {
	struct segment *segment; /* lives as long, as the userdata's environment */
	struct rlb_rule r;
};

/* What a request was charged, or holds. */
struct charges {
	struct segment *segment;
	uint32_t epoch; /* of the segment */
	struct rl_charges charges;
};

/* args.c: arguments, and answers of a call. Positions are absolute. */
struct key {
	const char *bytes;
	size_t len;
	char digest[RL_KEY_DIGEST_SIZE];
};
void lrl_key(lua_State *L, int at, struct key *key);
uint64_t lrl_cost(lua_State *L, int at);
uint32_t lrl_capacity(lua_State *L, int at);
uint64_t lrl_ns(lua_State *L, int at);       /* nanoseconds: an integer, digits, "never" */
uint64_t lrl_duration(lua_State *L, int at); /* seconds, "10m", "never", math.huge */
uint64_t lrl_now(lua_State *L, int at);      /* nothing there: 0, by the segment's clock */
void lrl_push_ns(lua_State *L, uint64_t ns);
void lrl_push_seconds(lua_State *L, uint64_t ns);
struct rlb_value lrl_value(lua_State *L, int at);
rlb_show lrl_show; /* in the table at the top of the lua_State */
void lrl_push_error_name(lua_State *L, int error);
int lrl_fail(lua_State *L, int error); /* pushes nil, text, name; returns 3 */
int lrl_fail_text(lua_State *L, int error, const char *text);
int lrl_choice(lua_State *L, int at, const char *what, const char *const *names);
void lrl_metatable(lua_State *L, const char *name, const luaL_Reg *methods);

/* options.c: reads the table at `at`. Returns whether the segment may be absent. */
int lrl_options_read(lua_State *L, int at, struct rl_options *options);

/* segment.c */
struct segment *lrl_segment(lua_State *L, int at);
struct rl *lrl_segment_rl(struct segment *segment); /* NULL: it is not open */
int lrl_segment_fail(lua_State *L, const struct segment *segment);
int lrl_open(lua_State *L);
int lrl_open_private(lua_State *L);
int lrl_unlink(lua_State *L);
int lrl_segment_close(lua_State *L);
int lrl_segment_name(lua_State *L);
int lrl_segment_is_open(lua_State *L);
int lrl_segment_now(lua_State *L);
int lrl_segment_give_back(lua_State *L);
int lrl_segment_cell(lua_State *L);
int lrl_segment_forget(lua_State *L);

/* rule.c: what answers shortly. */
struct rule *lrl_rule(lua_State *L, int at);
struct rule *lrl_rule_new(lua_State *L, int segment_at, enum rlb_rule_kind kind, const char *name);
struct rl *lrl_rule_rl(struct rule *rule);
int lrl_rule_check(lua_State *L);
int lrl_rule_peek(lua_State *L);
int lrl_rule_refund(lua_State *L);
int lrl_rule_reset(lua_State *L);
int lrl_rule_name(lua_State *L);
int lrl_rule_handle(lua_State *L);

/* define.c: rules and spaces of a segment */
int lrl_segment_rule(lua_State *L);
int lrl_segment_counters(lua_State *L);
int lrl_segment_define(lua_State *L);

/* decide.c */
int lrl_rule_decide(lua_State *L);
int lrl_rule_reserve(lua_State *L);
int lrl_segment_check_all(lua_State *L);
int lrl_segment_check_many(lua_State *L);

/* charges.c */
struct charges *lrl_charges_new(lua_State *L, int owner_at, struct segment *segment);
int lrl_rule_acquire(lua_State *L);
extern const luaL_Reg lrl_of_charges[];

/* space.c */
extern const luaL_Reg lrl_of_space[];

/* pattern.c: bans, exemptions, resets of many, of a segment or of a rule */
int lrl_ban(lua_State *L);
int lrl_allow(lua_State *L);
int lrl_unban(lua_State *L);
int lrl_reset_matching(lua_State *L);

/* info.c */
int lrl_segment_info(lua_State *L);
int lrl_segment_rules(lua_State *L);
int lrl_rule_info(lua_State *L);

/* http.c */
int lrl_rule_headers(lua_State *L);
int lrl_rule_problem(lua_State *L);
int lrl_client(lua_State *L);

/* classes.c */
void lrl_classes(lua_State *L);

#endif

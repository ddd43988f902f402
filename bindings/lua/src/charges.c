/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a request was charged, to be given back; and units in flight.
 *
 * Units that Lua forgets are given back when their object is collected, and at the latest when the
 * process ends. Charges of rates are not: they were spent.
 */
#include <string.h>

#include "charges.h"
#include "lrl.h"

static struct charges *
check_charges(lua_State *L)
{
	return luaL_checkudata(L, 1, LRL_CHARGES);
}

/* The owner at `owner_at`, a segment or one of its rules, stays alive as long as they do. */
struct charges *
lrl_charges_new(lua_State *L, int owner_at, struct segment *segment)
{
	struct charges *charges = lua_newuserdata(L, sizeof *charges);

	memset(charges, 0, sizeof *charges);
	charges->segment = segment;
	charges->epoch = segment->s.epoch;
	luaL_getmetatable(L, LRL_CHARGES);
	lua_setmetatable(L, -2);
	lua_createtable(L, 1, 0);
	lua_pushvalue(L, owner_at);
	lua_rawseti(L, -2, 1);
	lua_setuservalue(L, -2);
	return charges;
}

/* NULL: the segment is not the one they were charged in. */
static struct rl *
rl_of(const struct charges *charges)
{
	return charges->epoch == charges->segment->s.epoch ? charges->segment->s.rl : NULL;
}

static int
push_done(lua_State *L, int done)
{
	if (done < 0)
		return lrl_fail(L, done);
	lua_pushboolean(L, done);
	return 1;
}

/* charges:refund([now_ns [, holds]]): with `holds` false units in flight stay, for release() */
static int
refund(lua_State *L)
{
	struct charges *charges = check_charges(L);
	struct rl *rl = rl_of(charges);

	charges->charges.now_ns = lrl_now(L, 2);
	return push_done(L, rl ? rlb_refund(rl, &charges->charges,
	                                    lua_isnoneornil(L, 3) || lua_toboolean(L, 3))
	                       : 0);
}

/* charges:settle(actual [, now_ns]): what the request has cost; once */
static int
settle(lua_State *L)
{
	struct charges *charges = check_charges(L);
	struct rl *rl = rl_of(charges);
	uint64_t actual;

	luaL_argcheck(L, !lua_isnoneornil(L, 2), 2, "what it has cost is needed");
	actual = lrl_cost(L, 2);
	charges->charges.now_ns = lrl_now(L, 3);
	return push_done(L, rl ? rl_settle(rl, &charges->charges, actual) : 0);
}

static int
give_units(struct charges *charges)
{
	struct rl *rl = rl_of(charges);
	struct rl_charges kept = charges->charges;
	struct rl_hold holds[RL_LIMITS_MAX];
	size_t count = rl ? rl_holds(&charges->charges, holds, RL_LIMITS_MAX) : 0;
	int done = count > 0 ? rl_release(rl, holds, count) : 0;

	if (done < 0)
		charges->charges = kept; /* they are still held: call again */
	return done;
}

/* charges:release() */
static int
release(lua_State *L)
{
	return push_done(L, give_units(check_charges(L)));
}

static int
collect(lua_State *L)
{
	struct charges *charges = check_charges(L);

	/*
	 * The segment may be collected in the same turn, and is then closed: its units came back
	 * with it.
	 */
	if (charges->charges.count > 0)
		give_units(charges);
	return 0;
}

/*
 * rule:acquire(key [, cost [, capacity]]): an object, and how many are in use; or false, and how
 * many.
 */
int
lrl_rule_acquire(lua_State *L)
{
	struct rule *rule = lrl_rule(L, 1);
	struct charges *charges;
	struct rl_result result;
	struct rl_item item = {0};
	struct key key;
	struct rl *rl;

	lrl_key(L, 2, &key);
	item.key = key.bytes;
	item.key_len = key.len;
	item.cost = lrl_cost(L, 3);
	item.capacity = lrl_capacity(L, 4);
	charges = lrl_charges_new(L, 1, rule->segment); /* may run code that closes the segment */
	rl = lrl_rule_rl(rule);
	if (!rl)
		return lrl_segment_fail(L, rule->segment);
	charges->epoch = rule->segment->s.epoch;
	item.rule = rule->r.id;
	item.charges = &charges->charges;
	rl_check_item(rl, &item, &result);
	if (result.verdict == RL_UNDECIDED)
		return lrl_fail(L, result.error);
	if (result.verdict != RL_ALLOWED) {
		lua_pushboolean(L, 0);
		lua_replace(L, -2);
	}
	lua_pushinteger(L, (lua_Integer)result.used);
	return 2;
}

const luaL_Reg lrl_of_charges[] = {
	{"__gc", collect},  {"__close", collect}, {"refund", refund},
	{"settle", settle}, {"release", release}, {NULL, NULL},
};

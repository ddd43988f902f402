/* SPDX-License-Identifier: BSD-2-Clause */
/* Decisions that are told in full, as a table, and those about several requests. */
#include <errno.h>
#include <string.h>

#include "lrl.h"

static void
put_text(lua_State *L, const char *name, const char *text)
{
	lua_pushstring(L, text);
	lua_setfield(L, -2, name);
}

/* A duration as it is with "_ns", and in seconds without. Limits are counted from 1. */
static void
show(void *to, const char *name, const struct rlb_value *value)
{
	struct rlb_value v = *value;
	lua_State *L = to;

	if (strcmp(name, "index") == 0)
		v.integer++;
	lrl_show(L, name, &v);
	if (v.kind != RLB_NS)
		return;
	lua_pushlstring(L, name, strlen(name) - strlen("_ns"));
	lrl_push_seconds(L, v.ns);
	lua_settable(L, -3);
}

static void
push_result(lua_State *L, const struct rl_result *r)
{
	char why[RLB_WHY_SIZE];

	lua_createtable(L, 0, 20);
	put_text(L, "verdict", rlb_verdict((int)r->verdict));
	lua_pushboolean(L, r->verdict == RL_ALLOWED);
	lua_setfield(L, -2, "is_allowed");
	if (r->error != 0) {
		lrl_push_error_name(L, r->error);
		lua_setfield(L, -2, "error");
		put_text(L, "message", rlb_why(r->error, why));
	}
	if (r->verdict != RL_UNDECIDED)
		rlb_fields_show(RL_OF_RESULT, r, show, L);
}

static uint64_t
field_number(lua_State *L, int at, const char *name, uint64_t most, uint64_t otherwise)
{
	lua_Number n;

	lua_getfield(L, at, name);
	if (!lua_isnil(L, -1)) {
		n = lua_tonumber(L, -1);
		if (lua_type(L, -1) != LUA_TNUMBER || n < 0 || n > (lua_Number)most ||
		    (lua_Number)(uint64_t)n != n)
			luaL_error(L, "%s: a whole number from 0 to %f is expected", name,
			           (lua_Number)most);
		otherwise = (uint64_t)n;
	}
	lua_pop(L, 1);
	return otherwise;
}

static int
has_field(lua_State *L, int at, const char *name)
{
	int has;

	lua_getfield(L, at, name);
	has = !lua_isnil(L, -1);
	lua_pop(L, 1);
	return has;
}

static int
is_true(lua_State *L, int at, const char *name)
{
	int is;

	lua_getfield(L, at, name);
	is = lua_toboolean(L, -1);
	lua_pop(L, 1);
	return is;
}

/* A field that nothing reads is a mistake that would let requests through in silence. */
static void
refuse_unknown(lua_State *L, int at)
{
	static const char *const known[] = {"rule",     "key",       "cost",    "capacity",
	                                    "burst",    "undelayed", "charges", "now_ns",
	                                    "keep",     "limits",    "peek",    "max_wait_ns",
	                                    "max_wait", "waits",     "sleeps",  NULL};

	for (lua_pushnil(L); lua_next(L, at); lua_pop(L, 1)) {
		lua_pushvalue(L, -2);
		lrl_choice(L, lua_gettop(L), "a request", known);
		lua_pop(L, 1);
	}
}

/* What the table at `at` says of a request. */
static void
read_item(lua_State *L, int at, struct rl_item *item)
{
	item->cost = 1;
	if (lua_isnoneornil(L, at))
		return;
	luaL_checktype(L, at, LUA_TTABLE);
	refuse_unknown(L, at);
	item->cost = field_number(L, at, "cost", UINT64_C(1) << 53, 1);
	item->capacity = (uint32_t)field_number(L, at, "capacity", UINT32_MAX, 0);
	item->burst = (uint32_t)field_number(L, at, "burst", UINT32_MAX, 0);
	item->undelayed = (uint32_t)field_number(L, at, "undelayed", UINT32_MAX, 0);
	item->flags = (has_field(L, at, "burst") ? RL_ITEM_BURST : 0) |
	              (has_field(L, at, "undelayed") ? RL_ITEM_UNDELAYED : 0) |
	              (is_true(L, at, "waits") ? RL_ITEM_WAITS : 0) |
	              (is_true(L, at, "sleeps") ? RL_ITEM_SLEEPS : 0);
	if (is_true(L, at, "peek"))
		item->cost = 0;
}

/* Whether the request says what time it is. */
static uint64_t
now_of(lua_State *L, int at)
{
	uint64_t now_ns;

	if (lua_isnoneornil(L, at))
		return 0;
	lua_getfield(L, at, "now_ns");
	now_ns = lrl_now(L, lua_gettop(L));
	lua_pop(L, 1);
	return now_ns;
}

/* The longest wait that a reservation accepts, in either unit; 0: none. */
static uint64_t
wait_of(lua_State *L, int at)
{
	uint64_t ns = 0;

	if (lua_isnoneornil(L, at))
		return 0;
	lua_getfield(L, at, "max_wait_ns");
	lua_getfield(L, at, "max_wait");
	if (!lua_isnil(L, -2))
		ns = lrl_ns(L, lua_gettop(L) - 1);
	else if (!lua_isnil(L, -1))
		ns = lrl_duration(L, lua_gettop(L));
	lua_pop(L, 2);
	return ns;
}

static int
push_not_open(lua_State *L, const struct segment *segment)
{
	struct rl_result result = {.verdict = RL_UNDECIDED, .error = segment->s.trouble};

	if (segment->is_closed)
		result.error = -EBADF;
	push_result(L, &result);
	return 1;
}

static void
put_limits(lua_State *L, const struct rl_result *results, size_t count)
{
	lua_createtable(L, (int)count, 0);
	for (size_t i = 0; i < count; i++) {
		push_result(L, &results[i]);
		lua_rawseti(L, -2, (int)i + 1);
	}
	lua_setfield(L, -2, "limits");
}

/* Where a request keeps what it is charged, if it is to; it stays on the stack. */
static struct charges *
keep_of(lua_State *L, int at, struct rule *rule)
{
	if (lua_isnoneornil(L, at) || !is_true(L, at, "keep")) {
		lua_pushnil(L);
		return NULL;
	}
	return lrl_charges_new(L, 1, rule->segment);
}

/* Where they are written, in the segment that is open now. */
static struct rl_charges *
charges_in(struct charges *charges)
{
	if (!charges)
		return NULL;
	charges->epoch = charges->segment->s.epoch;
	return &charges->charges;
}

/* A request of a rule at 1, the key at 2 and a table at 3. */
struct request {
	struct rule *rule;
	struct rl *rl;
	struct key key;
	struct rl_item item;
	uint64_t max_wait_ns;
	int wants_limits;
};

/*
 * The segment last: what is read of a table, or allocated, may run code of Lua, which may close it.
 * Leaves the charges, or nil, at the top. 0: the segment is not open.
 */
static int
read_request(lua_State *L, struct request *q)
{
	struct charges *charges;

	memset(q, 0, sizeof *q);
	lua_settop(L, 3);
	q->rule = lrl_rule(L, 1);
	lrl_key(L, 2, &q->key);
	read_item(L, 3, &q->item);
	q->item.now_ns = now_of(L, 3);
	q->max_wait_ns = wait_of(L, 3);
	q->wants_limits = !lua_isnil(L, 3) && is_true(L, 3, "limits");
	charges = keep_of(L, 3, q->rule);
	q->rl = lrl_rule_rl(q->rule);
	if (!q->rl)
		return 0;
	q->item.rule = q->rule->r.id;
	q->item.key = q->key.bytes;
	q->item.key_len = q->key.len;
	q->item.charges = charges_in(charges);
	return 1;
}

static int
push_answer(lua_State *L, const struct rl_result *result)
{
	push_result(L, result);
	lua_pushvalue(L, -2);
	lua_setfield(L, -2, "charges");
	return 1;
}

/* rule:decide(key [, request]) */
int
lrl_rule_decide(lua_State *L)
{
	struct rl_result result, results[RL_LIMITS_MAX];
	struct request q;
	size_t count = 0;

	if (!read_request(L, &q))
		return push_not_open(L, q.rule->segment);
	if (!q.wants_limits) {
		rl_check_item(q.rl, &q.item, &result);
		return push_answer(L, &result);
	}
	rl_check_limits(q.rl, &q.item, &result, &count, results);
	push_answer(L, &result);
	put_limits(L, results, count);
	return 1;
}

/* rule:reserve(key, request) */
int
lrl_rule_reserve(lua_State *L)
{
	struct rl_result result;
	struct request q;

	if (!read_request(L, &q))
		return push_not_open(L, q.rule->segment);
	rl_decide(q.rl, &q.item, 1, RL_RESERVE, q.max_wait_ns, &result, NULL);
	return push_answer(L, &result);
}

/* The requests of a list, with their rules, keys and charges. */
struct items {
	size_t count;
	struct rl_item items[RL_ITEMS_MAX];
	struct rule *rules[RL_ITEMS_MAX];
	struct key keys[RL_ITEMS_MAX];
	struct charges *charges[RL_ITEMS_MAX];
	struct rl_result results[RL_ITEMS_MAX];
};

#define IN_USE \
	4 /* where the table is that keeps alive what C points at, whatever becomes of the
	     caller's */

/* Keep the value at the top, which stays there. */
static void
keep_alive(lua_State *L)
{
	lua_pushvalue(L, -1);
	lua_rawseti(L, IN_USE, (int)lua_rawlen(L, IN_USE) + 1);
}

/* The table of a request is at the top. */
static void
read_one(lua_State *L, const struct segment *segment, struct items *to, size_t i)
{
	int at = lua_gettop(L);

	luaL_checktype(L, at, LUA_TTABLE);
	lua_getfield(L, at, "rule");
	to->rules[i] = lrl_rule(L, at + 1);
	keep_alive(L);
	if (to->rules[i]->segment != segment)
		luaL_error(L, "rule %s is of another segment", to->rules[i]->r.name);
	lua_getfield(L, at, "key");
	if (lua_type(L, at + 2) != LUA_TSTRING)
		luaL_error(L, "key: a string is expected, not a %s", luaL_typename(L, at + 2));
	keep_alive(L);
	lrl_key(L, at + 2, &to->keys[i]);
	read_item(L, at, &to->items[i]);
	to->items[i].key = to->keys[i].bytes;
	to->items[i].key_len = to->keys[i].len;
	if (is_true(L, at, "keep")) {
		to->charges[i] = lrl_charges_new(L, at + 1, to->rules[i]->segment);
		keep_alive(L);
		lua_setfield(L, at, "charges");
	}
	lua_settop(L, at - 1);
}

/* The list at 2; what a request keeps is then in its `charges`. */
static void
read_items(lua_State *L, const struct segment *segment, struct items *to)
{
	uint64_t now_ns = lrl_now(L, 3);

	luaL_checktype(L, 2, LUA_TTABLE);
	lua_settop(L, IN_USE - 1);
	lua_newtable(L);
	memset(to->items, 0, sizeof to->items);
	memset(to->charges, 0, sizeof to->charges);
	to->count = lua_rawlen(L, 2);
	if (to->count > RL_ITEMS_MAX)
		luaL_error(L, "there are %d requests; at most %d are allowed", (int)to->count,
		           RL_ITEMS_MAX);
	for (size_t i = 0; i < to->count; i++) {
		lua_rawgeti(L, 2, (int)i + 1);
		read_one(L, segment, to, i);
		to->items[i].now_ns = now_ns;
	}
}

/*
 * The segment, and the rules' handles in it. To find one may find another segment in the place of
 * the open one: then all are found there. NULL: it is not open.
 */
static struct rl *
find_rules(struct segment *segment, struct items *to)
{
	struct rl *rl;
	uint32_t epoch;

	do {
		rl = lrl_segment_rl(segment);
		epoch = segment->s.epoch;
		for (size_t i = 0; rl && i < to->count; i++) {
			rl = lrl_rule_rl(to->rules[i]);
			to->items[i].rule = to->rules[i]->r.id;
			to->items[i].charges = charges_in(to->charges[i]);
		}
	} while (segment->s.epoch != epoch);
	return rl;
}

static void
push_results(lua_State *L, const struct items *of)
{
	lua_createtable(L, (int)of->count, 0);
	for (size_t i = 0; i < of->count; i++) {
		push_result(L, &of->results[i]);
		lua_rawseti(L, -2, (int)i + 1);
	}
}

/* segment:check_all(requests [, now_ns]): verdict, results, the place of the one that decided */
int
lrl_segment_check_all(lua_State *L)
{
	struct segment *segment = lrl_segment(L, 1);
	struct items all;
	enum rl_verdict verdict;
	size_t decided = 0;
	struct rl *rl;

	read_items(L, segment, &all);
	rl = find_rules(segment, &all);
	if (!rl)
		return lrl_segment_fail(L, segment);
	verdict = rl_check_all(rl, all.items, all.count, all.results, &decided);
	if (verdict == RL_UNDECIDED && decided >= all.count)
		return lrl_fail(L, -EINVAL);
	lua_pushstring(L, rlb_verdict((int)verdict));
	push_results(L, &all);
	if (decided < all.count)
		lua_pushinteger(L, (lua_Integer)decided + 1);
	else
		lua_pushnil(L);
	return 3;
}

/* segment:check_many(requests [, now_ns]): results */
int
lrl_segment_check_many(lua_State *L)
{
	struct segment *segment = lrl_segment(L, 1);
	struct items all;
	struct rl *rl;

	read_items(L, segment, &all);
	rl = find_rules(segment, &all);
	if (!rl)
		return lrl_segment_fail(L, segment);
	rl_check_many(rl, all.items, all.count, all.results);
	push_results(L, &all);
	return 1;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Header fields of an answer, and the client behind proxies. */
#include <rl_http.h>

#include "headers.h"
#include "lrl.h"

#define NETWORKS_MAX 64
#define LINES_MAX 64

static const char *const resets[] = {"delta", "unix", NULL};
static const char *const fields[] = {"x-forwarded-for", "forwarded", NULL};
static uint32_t
field_count(lua_State *L, int at, const char *name)
{
	uint32_t count;

	lua_getfield(L, at, name);
	count = lua_isnil(L, -1) ? 0 : (uint32_t)luaL_checknumber(L, lua_gettop(L));
	lua_pop(L, 1);
	return count;
}

/* The result that rule:decide() has told, at 2. */
static struct rl_result
read_result(lua_State *L)
{
	const struct rl_field *field;
	char why[RLB_TEXT_SIZE];
	struct rl_result r = {0};

	luaL_checktype(L, 2, LUA_TTABLE);
	for (size_t i = 0; (field = rl_field(RL_OF_RESULT, i)); i++) {
		lua_getfield(L, 2, field->name);
		struct rlb_value v = lrl_value(L, -1);
		if (field->kind != RL_FIELD_ERROR && v.kind != RLB_OTHER &&
		    rlb_field_set(field, field->name, &r, &v, why) < 0)
			luaL_error(L, "a result: %s", why);
		lua_pop(L, 1);
	}
	r.index -= r.index > 0;
	return r;
}

/*
 * rule:headers(result [, "delta" or "unix" [, now_ns [, set]]]): a table of the fields that are to
 * be sent
 */
int
lrl_rule_headers(lua_State *L)
{
	struct rule *rule = lrl_rule(L, 1);
	struct rl *rl = lrl_rule_rl(rule);
	struct rl_result r;
	int reset = lua_isnoneornil(L, 3) ? RL_HTTP_RESET_DELTA : lrl_choice(L, 3, "reset", resets);
	int set = rl_http_set(luaL_optstring(L, 5, "ietf"));
	struct rlb_headers headers;
	uint64_t now_ns;

	if (!rl)
		return lrl_segment_fail(L, rule->segment);
	if (set < 0)
		return luaL_error(L, "set: unknown '%s'", lua_tostring(L, 5));
	r = read_result(L);
	now_ns = lrl_now(L, 4);
	if (now_ns == 0)
		now_ns = rl_now(rl);
	lua_newtable(L);
	struct rlb_how how = {(enum rl_http_set)set, (enum rl_http_reset)reset};
	if (r.verdict == RL_UNDECIDED ||
	    rlb_headers(rl, rule->r.id, rule->r.name, &r, now_ns, how, &headers) < 0)
		return 1;
	for (unsigned i = 0; i < headers.count; i++) {
		lua_pushstring(L, headers.field[i].value);
		lua_setfield(L, -2, headers.field[i].name);
	}
	return 1;
}

/* rule:problem(result, status): the body of a refusal, and its content type */
int
lrl_rule_problem(lua_State *L)
{
	struct rule *rule = lrl_rule(L, 1);
	struct rl_result r = read_result(L);
	char text[RL_HTTP_PROBLEM_SIZE];
	ssize_t len = rlb_problem(rule->r.name, &r, (unsigned)luaL_checkinteger(L, 3), text);

	if (len < 0)
		return luaL_error(L, "problem: a status from 100 to 599 is expected");
	lua_pushlstring(L, text, (size_t)len);
	lua_pushstring(L, RL_HTTP_PROBLEM_TYPE);
	return 2;
}

static int
read_networks(lua_State *L, int at, struct rl_http_network *networks, struct rl_http_trust *trust)
{
	luaL_checktype(L, at, LUA_TTABLE);
	trust->count = lua_rawlen(L, at);
	if (trust->count > NETWORKS_MAX)
		return luaL_error(L, "trusted: at most %d networks are allowed", NETWORKS_MAX);
	for (size_t i = 0; i < trust->count; i++) {
		lua_rawgeti(L, at, (int)i + 1);
		const char *text = luaL_checkstring(L, lua_gettop(L));
		if (rl_http_network(text, &networks[i]) < 0)
			return luaL_error(L, "trusted: '%s' is no network", text);
		lua_pop(L, 1);
	}
	return 0;
}

/*
 * The lines of the field: a text, a list of them, or nothing. What they point to stays in the list.
 */
static size_t
read_lines(lua_State *L, int at, struct rl_http_value *lines)
{
	size_t count;

	if (lua_isnoneornil(L, at))
		return 0;
	if (lua_isstring(L, at)) {
		lines[0].text = lua_tolstring(L, at, &lines[0].len);
		return 1;
	}
	luaL_checktype(L, at, LUA_TTABLE);
	count = lua_rawlen(L, at);
	/* The newest lines count: older ones were sent by strangers. */
	size_t first = count > LINES_MAX ? count - LINES_MAX : 0;
	for (size_t i = first; i < count; i++) {
		lua_rawgeti(L, at, (int)i + 1);
		if (lua_type(L, -1) != LUA_TSTRING)
			luaL_error(L, "lines: text is expected, not a %s", luaL_typename(L, -1));
		lines[i - first].text = lua_tolstring(L, -1, &lines[i - first].len);
		lua_pop(L, 1);
	}
	return count - first;
}

/* rl.client(peer, lines, trust): address, how the reading ended, how many were believed */
int
lrl_client(lua_State *L)
{
	struct rl_http_network networks[NETWORKS_MAX];
	struct rl_http_value lines[LINES_MAX], peer;
	struct rl_http_trust trust = {.networks = networks};
	struct rl_http_client client;
	int error;

	peer.text = luaL_checklstring(L, 1, &peer.len);
	luaL_checktype(L, 3, LUA_TTABLE);
	lua_settop(L, 3);
	lua_getfield(L, 3, "trusted");
	read_networks(L, 4, networks, &trust);
	lua_getfield(L, 3, "field");
	if (!lua_isnil(L, 5))
		trust.field = (enum rl_http_field)lrl_choice(L, 5, "field", fields);
	trust.prefix_v4 = field_count(L, 3, "prefix_v4");
	trust.prefix_v6 = field_count(L, 3, "prefix_v6");
	error = rl_http_client(&trust, peer, lines, read_lines(L, 2, lines), &client);
	if (error < 0)
		return lrl_fail(L, error);
	lua_pushstring(L, client.address);
	lua_pushstring(L, rlb_client_end((int)client.end));
	lua_pushinteger(L, (lua_Integer)client.hops);
	return 3;
}

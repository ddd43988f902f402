/* SPDX-License-Identifier: BSD-2-Clause */
/* Header fields of an answer, and the client behind proxies. */
#include <errno.h>
#include <math.h>
#include <rl_http.h>
#include <string.h>

#include "lrl.h"

#define FIELD_SIZE 512
#define NETWORKS_MAX 64
#define LINES_MAX 64

static const char *const verdicts[] = {"allowed", "denied", "never", "undecided", NULL};
static const char *const resets[] = {"delta", "unix", NULL};
static const char *const fields[] = {"x-forwarded-for", "forwarded", NULL};
static const char *const ends[] = {"found", "listed", "no_address", "far"};

static uint64_t
field_ns(lua_State *L, const char *name)
{
	uint64_t ns;

	lua_getfield(L, 2, name);
	ns = lua_isnil(L, -1) ? 0 : lrl_ns(L, lua_gettop(L));
	lua_pop(L, 1);
	return ns;
}

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
	struct rl_result r = {0};

	luaL_checktype(L, 2, LUA_TTABLE);
	lua_getfield(L, 2, "verdict");
	r.verdict = (enum rl_verdict)lrl_choice(L, lua_gettop(L), "a result", verdicts);
	lua_pop(L, 1);
	r.index = field_count(L, 2, "index");
	r.index -= r.index > 0;
	r.limit = field_count(L, 2, "limit");
	r.remaining = field_count(L, 2, "remaining");
	r.used = field_count(L, 2, "used");
	r.retry_after_ns = field_ns(L, "retry_after_ns");
	r.reset_after_ns = field_ns(L, "reset_after_ns");
	r.window_ns = field_ns(L, "window_ns");
	return r;
}

/* A client of a bucket has its rule's capacity in each window, of others what the result says. */
static uint64_t
quota_of(struct rl *rl, const struct rule *rule, const struct rl_result *r)
{
	const struct rl_algorithm_info *algorithm = NULL;
	struct rl_rule_info info;

	if (rule->id < 0 || rl_rule_info(rl, rule->id, &info) != 1 || r->index >= info.limit_count)
		return r->limit;
	algorithm = rl_algorithm_info(info.limits[r->index].algorithm);
	return algorithm && algorithm->flags & RL_IS_BUCKET ? info.limits[r->index].capacity
	                                                    : r->limit;
}

static void
put(lua_State *L, const char *name, const char *value)
{
	if (!value[0])
		return;
	lua_pushstring(L, value);
	lua_setfield(L, -2, name);
}

static void
put_old(lua_State *L, const struct rl_result *r, int reset, uint64_t now_ns)
{
	struct rl_http_triple triple;

	if (rl_http_x_ratelimit(r, (enum rl_http_reset)reset, now_ns, &triple) != 1)
		return;
	put(L, "X-RateLimit-Limit", triple.limit);
	put(L, "X-RateLimit-Remaining", triple.remaining);
	put(L, "X-RateLimit-Reset", triple.reset);
}

/*
 * rule:headers(result [, "delta" or "unix" [, now_ns]]): a table of the fields that are to be sent
 */
int
lrl_rule_headers(lua_State *L)
{
	struct rule *rule = lrl_rule(L, 1);
	struct rl *rl = lrl_rule_rl(rule);
	struct rl_result r;
	int reset = lua_isnoneornil(L, 3) ? RL_HTTP_RESET_DELTA : lrl_choice(L, 3, "reset", resets);
	char text[FIELD_SIZE];
	uint64_t now_ns;

	if (!rl)
		return lrl_segment_fail(L, rule->segment);
	r = read_result(L);
	now_ns = lrl_now(L, 4, rl);
	lua_newtable(L);
	if (r.verdict == RL_UNDECIDED)
		return 1;
	struct rl_http_policy policy = {
		.name = rule->name, .quota = quota_of(rl, rule, &r), .window_ns = r.window_ns};
	struct rl_http_limit limit = {.name = rule->name, .result = &r};
	if (rl_http_retry_after(&r, text, sizeof text) > 0)
		put(L, "Retry-After", text);
	if (rl_http_ratelimit_policy(&policy, 1, text, sizeof text) > 0)
		put(L, "RateLimit-Policy", text);
	if (rl_http_ratelimit(&limit, 1, text, sizeof text) > 0)
		put(L, "RateLimit", text);
	put_old(L, &r, reset, now_ns);
	return 1;
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
	lua_pushstring(L, ends[client.end]);
	lua_pushinteger(L, (lua_Integer)client.hops);
	return 3;
}

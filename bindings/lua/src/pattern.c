/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bans, exemptions and resets of many keys: of a segment, which means under every rule, or of a
 * rule.
 *
 * A pattern is a text: "user:*" is a prefix, "192.0.2.0/24" a network, anything else a key; or what
 * the last argument says it is.
 */
#include <errno.h>
#include <rl_admin.h>
#include <string.h>

#include "lrl.h"

/* The object that is asked is at 1. */
struct scope {
	struct segment *segment;
	struct rl *rl; /* NULL: it is not open */
	int rule;
};

static void *
userdata_of(lua_State *L, const char *kind)
{
	void *object = lua_touserdata(L, 1);
	int is_it;

	if (!object || !lua_getmetatable(L, 1))
		return NULL;
	luaL_getmetatable(L, kind);
	is_it = lua_rawequal(L, -1, -2);
	lua_pop(L, 2);
	return is_it ? object : NULL;
}

static struct scope
scope_of(lua_State *L)
{
	struct segment *segment = userdata_of(L, LRL_SEGMENT);
	struct rule *rule = userdata_of(L, LRL_RULE);

	if (segment)
		return (struct scope){segment, lrl_segment_rl(segment), RL_ANY_RULE};
	if (!rule)
		rule = luaL_checkudata(L, 1, LRL_SPACE);
	struct scope scope = {rule->segment, lrl_rule_rl(rule), rule->r.id};
	if (scope.rule < 0) /* never another's: RL_ANY_RULE is negative, too */
		scope.rule = INT32_MAX;
	return scope;
}

static struct rl_pattern
read_pattern(lua_State *L, int match_at, struct key *key)
{
	struct rl_pattern pattern;
	size_t len;
	const char *text = luaL_checklstring(L, 2, &len);

	if (lua_isnoneornil(L, match_at))
		pattern = rl_pattern_of(text, len);
	else
		pattern = (struct rl_pattern){
			(enum rl_match)lrl_choice(L, match_at, "a pattern", rlb_matches), text,
			len};
	if (pattern.match == RL_MATCH_KEY) {
		lrl_key(L, 2, key);
		pattern.key = key->bytes;
		pattern.key_len = key->len;
	}
	return pattern;
}

/* When a ban ends: seconds from now at 3, or as a table {until_ns = ...}; nothing: never. */
static uint64_t
read_until(lua_State *L, struct rl *rl)
{
	uint64_t ns, until_ns;

	if (lua_isnoneornil(L, 3))
		return RL_NEVER_NS;
	if (lua_istable(L, 3)) {
		lua_getfield(L, 3, "until_ns");
		ns = lrl_ns(L, lua_gettop(L));
		lua_pop(L, 1);
		return ns;
	}
	ns = lrl_duration(L, 3);
	if (ns == RL_NEVER_NS || __builtin_add_overflow(rl_now(rl), ns, &until_ns))
		return RL_NEVER_NS;
	return until_ns;
}

static int
push_done(lua_State *L, int done)
{
	if (done < 0)
		return lrl_fail(L, done);
	lua_pushboolean(L, 1);
	return 1;
}

static int
except(lua_State *L, int (*call)(struct rl *, int, const struct rl_pattern *, uint64_t))
{
	struct scope scope = scope_of(L);
	struct rl_pattern pattern;
	struct key key;

	if (!scope.rl)
		return lrl_segment_fail(L, scope.segment);
	pattern = read_pattern(L, 4, &key);
	return push_done(L, call(scope.rl, scope.rule, &pattern, read_until(L, scope.rl)));
}

/* :ban(pattern [, seconds [, match]]) */
int
lrl_ban(lua_State *L)
{
	return except(L, rl_ban);
}

/* :allow(pattern [, seconds [, match]]) */
int
lrl_allow(lua_State *L)
{
	return except(L, rl_allow);
}

/* :unban(pattern [, match]): whether there was one */
int
lrl_unban(lua_State *L)
{
	struct scope scope = scope_of(L);
	struct rl_pattern pattern;
	struct key key;
	int done;

	if (!scope.rl)
		return lrl_segment_fail(L, scope.segment);
	pattern = read_pattern(L, 3, &key);
	done = rl_unban(scope.rl, scope.rule, &pattern);
	if (done < 0)
		return lrl_fail(L, done);
	lua_pushboolean(L, done);
	return 1;
}

/*
 * :reset_matching([pattern [, match]]): how many were forgotten, and how many could not be judged
 */
int
lrl_reset_matching(lua_State *L)
{
	struct scope scope = scope_of(L);
	struct rl_reset_counts counts = {0};
	struct rl_pattern pattern;
	int is_all = lua_isnoneornil(L, 2), done;
	struct key key;

	if (!scope.rl)
		return lrl_segment_fail(L, scope.segment);
	if (!is_all)
		pattern = read_pattern(L, 3, &key);
	done = rl_reset_matching(scope.rl, scope.rule, is_all ? NULL : &pattern, &counts);
	if (done < 0)
		return lrl_fail(L, done);
	lua_pushnumber(L, (lua_Number)counts.forgotten);
	lua_pushnumber(L, (lua_Number)counts.unknown);
	return 2;
}

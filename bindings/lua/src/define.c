/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A rule as Lua has it: "5/min", or a table with the fields of a rule in rl.json(5), and the same
 * defaults: without a granularity a sliding_window has about 60 sub-buckets and is hard. `limits`
 * is a list of such tables.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "../../common/text.h"
#include "lrl.h"

#define GRANULARITY_DEFAULT 60

/* Where what stands in a table goes, and the largest number that has room there. */
static const struct number {
	const char *name;
	size_t at, size;
	double most;
} numbers[] = {
#define NUMBER(name, type, most)                                           \
	{                                                                  \
#name, offsetof(struct rl_limit, name), sizeof(type), most \
	}
	NUMBER(capacity, uint32_t, UINT32_MAX),  NUMBER(burst, uint32_t, UINT32_MAX),
	NUMBER(undelayed, uint32_t, UINT32_MAX), NUMBER(prefetch, uint16_t, UINT16_MAX),
	NUMBER(prefix_v4, uint8_t, UINT8_MAX),   NUMBER(prefix_v6, uint8_t, UINT8_MAX),
#undef NUMBER
};

/* What a table says besides what struct rl_limit holds. */
struct said {
	const char *where; /* "limits[2]." for people */
	int granularity, hard;
	uint64_t step_ns; /* length of a sub-bucket */
};

static void
read_number(lua_State *L, const struct number *to, const char *where, struct rl_limit *limit)
{
	lua_Number n = lua_tonumber(L, -1);
	uint64_t number = n >= 0 && n <= to->most ? (uint64_t)n : 0;

	if (lua_type(L, -1) != LUA_TNUMBER || n < 0 || n > to->most || (lua_Number)number != n)
		luaL_error(L, "%s%s: a whole number from 0 to %f is expected", where, to->name,
		           (lua_Number)to->most);
	memcpy((char *)limit + to->at, &number,
	       to->size); /* little-endian, as all that rl runs on */
}

static void
read_algorithm(lua_State *L, const char *where, struct rl_limit *limit)
{
	const char *name = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";

	for (int a = 0; a <= (int)RL_ALGORITHM_LAST; a++) {
		const struct rl_algorithm_info *info = rl_algorithm_info((enum rl_algorithm)a);

		if (info && strcmp(info->name, name) == 0) {
			limit->algorithm = (enum rl_algorithm)a;
			return;
		}
	}
	luaL_error(L, "%salgorithm: unknown '%s'", where, name);
}

static void
read_rate(lua_State *L, const char *where, struct rl_limit *limit)
{
	size_t len;
	const char *text = lua_tolstring(L, -1, &len);

	if (!text || rlb_rate(text, len, &limit->capacity, &limit->window_ns) < 0)
		luaL_error(L,
		           "%slimit: a rate such as \"100/min\" or \"5/10s\" is expected, not '%s'",
		           where, text ? text : luaL_typename(L, -1));
}

static uint64_t
read_duration(lua_State *L, const char *name, const char *where)
{
	size_t len;
	const char *text;
	uint64_t ns;
	int error;

	if (lua_type(L, -1) == LUA_TNUMBER) {
		error = lrl_parse_seconds(lua_tonumber(L, -1), &ns);
	} else {
		text = lua_tolstring(L, -1, &len);
		error = text ? rlb_duration(text, len, &ns) : -EINVAL;
	}
	if (error < 0)
		luaL_error(L, "%s%s: seconds or a duration such as \"10m\" are expected", where,
		           name);
	return ns;
}

/* A number of sub-buckets, or the length of one as a duration. */
static void
read_granularity(lua_State *L, struct said *said, struct rl_limit *limit)
{
	static const struct number to = {"granularity", offsetof(struct rl_limit, granularity), 4,
	                                 UINT32_MAX};

	said->granularity = 1;
	if (lua_type(L, -1) == LUA_TNUMBER)
		read_number(L, &to, said->where, limit);
	else
		said->step_ns = read_duration(L, "granularity", said->where);
}

static int
read_flag(lua_State *L, const char *name, struct said *said, struct rl_limit *limit)
{
	int *to = strcmp(name, "hard") == 0           ? &limit->hard
	          : strcmp(name, "shadow") == 0       ? &limit->shadow
	          : strcmp(name, "count_denied") == 0 ? &limit->count_denied
	                                              : NULL;

	if (!to)
		return 0;
	if (!lua_isboolean(L, -1))
		luaL_error(L, "%s%s: true or false is expected", said->where, name);
	*to = lua_toboolean(L, -1);
	said->hard |= to == &limit->hard;
	return 1;
}

/* The value of the field `name` is at the top. */
static void
read_field(lua_State *L, const char *name, struct said *said, struct rl_limit *limit)
{
	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
		if (strcmp(numbers[i].name, name) == 0) {
			read_number(L, &numbers[i], said->where, limit);
			return;
		}
	if (strcmp(name, "limit") == 0)
		read_rate(L, said->where, limit);
	else if (strcmp(name, "window") == 0)
		limit->window_ns = read_duration(L, name, said->where);
	else if (strcmp(name, "window_ns") == 0)
		limit->window_ns = lrl_ns(L, lua_gettop(L));
	else if (strcmp(name, "algorithm") == 0)
		read_algorithm(L, said->where, limit);
	else if (strcmp(name, "granularity") == 0)
		read_granularity(L, said, limit);
	else if (!read_flag(L, name, said, limit))
		luaL_error(L, "%sunknown field '%s' of a limit", said->where, name);
}

/*
 * About 60, so that each is a whole number of seconds, or of milliseconds where the window is
 * short; fewer in a shorter ring. One of 1 is what a segment has that nobody has asked for more:
 * there the definition is refused, and says why.
 */
static uint32_t
default_granularity(uint64_t window_ns, uint32_t ring)
{
	uint64_t unit = window_ns >= 60 * RL_SECOND        ? RL_SECOND
	                : window_ns >= 60 * RL_MILLISECOND ? RL_MILLISECOND
	                                                   : RL_MILLISECOND / 1000;
	uint32_t most = ring > 1 && ring < GRANULARITY_DEFAULT ? ring : GRANULARITY_DEFAULT;

	for (uint32_t n = most; n > most / 2; n--)
		if (window_ns % (n * unit) == 0)
			return n;
	return most;
}

static void
fill_in(lua_State *L, const struct said *said, uint32_t ring, struct rl_limit *limit)
{
	if (said->step_ns > 0) {
		if (limit->window_ns % said->step_ns != 0 ||
		    limit->window_ns / said->step_ns > RL_GRANULARITY_MAX)
			luaL_error(L, "%sgranularity: it divides the window, into 64 at most",
			           said->where);
		limit->granularity = (uint32_t)(limit->window_ns / said->step_ns);
	}
	if (limit->algorithm != RL_SLIDING_WINDOW || said->granularity)
		return;
	limit->granularity = default_granularity(limit->window_ns, ring);
	if (!said->hard)
		limit->hard = 1;
}

/* The fields of the table at `at`, but for those of the whole rule. */
static void
read_limit(lua_State *L, int at, const char *where, uint32_t ring, struct rl_limit *limit)
{
	struct said said = {.where = where};

	if (lua_type(L, at) == LUA_TSTRING) {
		lua_pushvalue(L, at);
		read_rate(L, where, limit);
		lua_pop(L, 1);
		fill_in(L, &said, ring, limit);
		return;
	}
	if (!lua_istable(L, at))
		luaL_error(L, "%slimit: a rate such as \"5/min\" or a table is expected, not a %s",
		           where, luaL_typename(L, at));
	for (lua_pushnil(L); lua_next(L, at); lua_pop(L, 1)) {
		const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?";

		if (strcmp(name, "keep") != 0)
			read_field(L, name, &said, limit);
	}
	fill_in(L, &said, ring, limit);
}

static void
read_list(lua_State *L, int at, uint32_t ring, struct rule *rule)
{
	size_t count = lua_rawlen(L, at);

	if (count < 1 || count > RL_LIMITS_MAX + 1)
		luaL_error(L, "limits: there are %d; 1 to %d are allowed", (int)count,
		           RL_LIMITS_MAX);
	for (size_t i = 0; i < count; i++) {
		const char *where = lua_pushfstring(L, "limits[%d].", (int)i + 1);

		lua_rawgeti(L, at, (int)i + 1);
		read_limit(L, lua_gettop(L), where, ring, &rule->limits[i]);
		lua_pop(L, 2);
	}
	rule->limit_count = (unsigned)count;
}

void
lrl_limits_read(lua_State *L, int at, uint32_t ring, struct rule *rule)
{
	rule->limit_count = 1;
	if (!lua_istable(L, at)) {
		read_limit(L, at, "", ring, &rule->limits[0]);
		return;
	}
	lua_getfield(L, at, "keep");
	rule->flags = lua_toboolean(L, -1) ? RL_DEFINE_KEEP : 0;
	lua_getfield(L, at, "limits");
	if (lua_istable(L, -1))
		read_list(L, lua_gettop(L), ring, rule);
	else
		read_limit(L, at, "", ring, &rule->limits[0]);
	lua_pop(L, 2);
}

static struct rl_rule
rule_of(const struct rule *rule)
{
	return (struct rl_rule){
		.name = rule->name,
		.limit = rule->limits[0],
		.more = rule->limits + 1,
		.more_count = rule->limit_count - 1,
		.flags = rule->flags,
	};
}

int
lrl_define(const struct rule *rule)
{
	struct rl_rule made = rule_of(rule);

	return rl_define(rule->segment->rl, &made);
}

/* Why the definition was refused: with the field, if it is one. */
int
lrl_define_fail(lua_State *L, const struct rule *rule)
{
	char text[RL_RULE_TEXT_SIZE];
	struct rl_rule made = rule_of(rule);
	struct rl_info info;

	rl_info(rule->segment->rl, &info);
	rl_rule_check(&made, &(struct rl_options){.ring = info.ring}, text, sizeof text);
	return text[0] ? lrl_fail_text(L, rule->id, text) : lrl_fail(L, rule->id);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A segment, and how it is found again.
 *
 * Once a second, before a call, the segment's name is looked at. If it has become another file's,
 * because somebody has removed the segment and made it anew, that one is opened in its place, and
 * rules are found or defined there again. So processes that run for months need no restart. If
 * there is none, and none can be made, the open one goes on. A lazy segment that is not there yet
 * is tried as often.
 */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "../../common/segment.h"
#include "lrl.h"

#define LOOK_NS RL_SECOND

struct segment *
lrl_segment(lua_State *L, int at)
{
	return luaL_checkudata(L, at, LRL_SEGMENT);
}

static uint64_t
coarse_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return (uint64_t)t.tv_sec * RL_SECOND + (uint64_t)t.tv_nsec;
}

/* Opens the segment in place of the one that is open, if that succeeds. */
static void
open_anew(struct segment *segment, const char *path)
{
	struct rl *rl;
	struct stat file;

	segment->error = rlb_attach(segment->name, &segment->options, path, &rl, &file);
	if (segment->error < 0)
		return;
	rl_close(segment->rl);
	segment->rl = rl;
	segment->opened++;
	segment->device = file.st_dev;
	segment->inode = file.st_ino;
}

static void
look(struct segment *segment)
{
	struct rl_place place;
	struct stat st;

	segment->looks++;
	if (segment->is_private || segment->is_closed)
		return;
	segment->error = rl_place(segment->name, &segment->options, &place);
	if (segment->error < 0)
		return;
	if (segment->rl && stat(place.path, &st) == 0 && st.st_dev == segment->device &&
	    st.st_ino == segment->inode)
		return;
	open_anew(segment, place.path);
}

/* NULL: it is not open. */
struct rl *
lrl_segment_rl(struct segment *segment)
{
	uint64_t now_ns = coarse_ns();

	if (now_ns >= segment->look_ns) {
		segment->look_ns = now_ns + LOOK_NS;
		look(segment);
	}
	return segment->rl;
}

int
lrl_segment_fail(lua_State *L, const struct segment *segment)
{
	return segment->is_closed ? lrl_fail_text(L, -EBADF, "the segment is closed")
	                          : lrl_fail(L, segment->error);
}

static struct segment *
segment_new(lua_State *L)
{
	struct segment *segment = lua_newuserdata(L, sizeof *segment);

	memset(segment, 0, sizeof *segment);
	luaL_getmetatable(L, LRL_SEGMENT);
	lua_setmetatable(L, -2);
	return segment;
}

/* rl.open([name [, options]]) */
int
lrl_open(lua_State *L)
{
	size_t len;
	const char *name = luaL_optlstring(L, 1, "default", &len);
	struct segment *segment;
	int is_lazy;

	lua_settop(L, 2);
	segment = segment_new(L);
	if (len == 0 || len >= sizeof segment->name || strlen(name) != len)
		return lrl_fail_text(L, -EINVAL, "the name of a segment has 1 to 63 bytes");
	memcpy(segment->name, name, len + 1);
	is_lazy = lrl_options_read(L, 2, &segment->options);
	lrl_segment_rl(segment);
	if (!segment->rl && (!is_lazy || segment->error == -EINVAL))
		return lrl_fail(L, segment->error);
	return 1;
}

/* rl.private([options]) */
int
lrl_open_private(lua_State *L)
{
	struct segment *segment;
	int error;

	lua_settop(L, 1);
	segment = segment_new(L);
	segment->is_private = 1;
	lrl_options_read(L, 1, &segment->options);
	error = rl_open_private(&segment->options, &segment->rl);
	return error < 0 ? lrl_fail(L, error) : 1;
}

/* rl.unlink(name) */
int
lrl_unlink(lua_State *L)
{
	int error = rl_unlink(luaL_checkstring(L, 1));

	if (error < 0)
		return lrl_fail(L, error);
	lua_pushboolean(L, 1);
	return 1;
}

static int
segment_close(lua_State *L)
{
	struct segment *segment = lrl_segment(L, 1);

	segment->is_closed = 1;
	rl_close(segment->rl);
	segment->rl = NULL;
	return 0;
}

static int
segment_name(lua_State *L)
{
	lua_pushstring(L, lrl_segment(L, 1)->name);
	return 1;
}

static int
segment_is_open(lua_State *L)
{
	struct segment *segment = lrl_segment(L, 1);

	if (!lrl_segment_rl(segment))
		return lrl_segment_fail(L, segment);
	lua_pushboolean(L, 1);
	return 1;
}

static int
segment_now(lua_State *L)
{
	struct segment *segment = lrl_segment(L, 1);
	struct rl *rl = lrl_segment_rl(segment);

	if (!rl)
		return lrl_segment_fail(L, segment);
	lrl_push_ns(L, rl_now(rl));
	return 1;
}

static int
segment_give_back(lua_State *L)
{
	struct segment *segment = lrl_segment(L, 1);
	struct rl *rl = lrl_segment_rl(segment);
	int units = rl ? rl_give_back(rl) : 0;

	if (!rl)
		return lrl_segment_fail(L, segment);
	if (units < 0)
		return lrl_fail(L, units);
	lua_pushinteger(L, units);
	return 1;
}

/* Where rl.ffi finds the open segment: it may be another one after each call. */
static int
segment_cell(lua_State *L)
{
	struct segment *segment = lrl_segment(L, 1);

	if (!lrl_segment_rl(segment))
		return lrl_segment_fail(L, segment);
	lua_pushlightuserdata(L, segment);
	return 1;
}

/* segment:rule(name), which may be there later; :counters(name) */
static int
named(lua_State *L, const char *kind)
{
	struct segment *segment = lrl_segment(L, 1);
	size_t len;
	const char *name = luaL_checklstring(L, 2, &len);
	struct rule *rule;

	luaL_argcheck(L, len > 0 && len <= RL_NAME_MAX && strlen(name) == len, 2,
	              "a name has 1 to 63 bytes");
	rule = lrl_rule_new(L, 1, kind);
	memcpy(rule->name, name, len + 1);
	if (!lrl_rule_rl(rule) && segment->is_closed)
		return lrl_segment_fail(L, segment);
	return 1;
}

static int
segment_rule(lua_State *L)
{
	return named(L, LRL_RULE);
}

static int
segment_counters(lua_State *L)
{
	int count = named(L, LRL_SPACE);
	struct rule *space = count == 1 ? lua_touserdata(L, -1) : NULL;

	if (space && space->segment->rl && space->id < 0)
		return lrl_fail(L, space->id);
	return count;
}

/* segment:define(name, limit) */
static int
segment_define(lua_State *L)
{
	struct segment *segment = lrl_segment(L, 1);
	struct rl *rl = lrl_segment_rl(segment);
	size_t len;
	const char *name = luaL_checklstring(L, 2, &len);
	struct rule *rule = lrl_rule_new(L, 1, LRL_RULE);
	struct rl_info info = {.ring = segment->options.ring};

	if (rl)
		rl_info(rl, &info);
	else if (segment->is_closed)
		return lrl_segment_fail(L, segment);
	if (strlen(name) != len || len > RL_NAME_MAX)
		return lrl_fail_text(
			L, -EINVAL,
			strlen(name) != len ? "name: there is a NUL byte in it"
					    : "name: it is too long; at most 63 bytes are allowed");
	memcpy(rule->name, name, len + 1);
	lrl_limits_read(L, 3, info.ring, rule);
	if (!lrl_rule_rl(rule))
		return 1;
	return rule->id < 0 ? lrl_define_fail(L, rule) : 1;
}

/* segment:forget(name) */
static int
segment_forget(lua_State *L)
{
	struct segment *segment = lrl_segment(L, 1);
	struct rl *rl = lrl_segment_rl(segment);
	int done = rl ? rl_forget(rl, luaL_checkstring(L, 2)) : 0;

	if (!rl)
		return lrl_segment_fail(L, segment);
	if (done < 0)
		return lrl_fail(L, done);
	lua_pushboolean(L, done);
	return 1;
}

static const luaL_Reg methods[] = {
	{"__gc", segment_close},
	{"close", segment_close},
	{"name", segment_name},
	{"is_open", segment_is_open},
	{"now", segment_now},
	{"give_back", segment_give_back},
	{"cell", segment_cell},
	{"rule", segment_rule},
	{"counters", segment_counters},
	{"define", segment_define},
	{"forget", segment_forget},
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

void
lrl_segment_methods(lua_State *L)
{
	lrl_metatable(L, LRL_SEGMENT, methods);
}

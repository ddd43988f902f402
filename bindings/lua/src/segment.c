/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A segment. Rules are of it, and it looks after its name: bindings/common/segment.h. A lazy one
 * that is not there yet is tried once a second.
 */
#include <errno.h>
#include <string.h>

#include "lrl.h"
#include "options.h"

struct segment *
lrl_segment(lua_State *L, int at)
{
	return luaL_checkudata(L, at, LRL_SEGMENT);
}

/* NULL: it is not open. */
struct rl *
lrl_segment_rl(struct segment *segment)
{
	return rlb_ready(&segment->s);
}

int
lrl_segment_fail(lua_State *L, const struct segment *segment)
{
	return segment->is_closed ? lrl_fail_text(L, -EBADF, "the segment is closed")
	                          : lrl_fail(L, segment->s.trouble);
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

static int
open_fail(lua_State *L, int error, const char *name, const struct rl_options *options)
{
	char why[RLB_OPEN_TEXT_SIZE];

	rlb_open_why(error, name, options, why);
	return lrl_fail_text(L, error, why);
}

/* rl.open([name [, options]]) */
int
lrl_open(lua_State *L)
{
	size_t len;
	const char *name = luaL_optlstring(L, 1, "default", &len);
	struct rl_options options;
	struct segment *segment;
	int is_lazy, error;

	lua_settop(L, 2);
	segment = segment_new(L);
	if (len == 0 || len > RL_NAME_MAX || strlen(name) != len)
		return lrl_fail_text(L, -EINVAL, "the name of a segment has 1 to 63 bytes");
	is_lazy = lrl_options_read(L, 2, &options);
	error = (is_lazy ? rlb_open_later : rlb_open)(&segment->s, name, &options);
	return error < 0 ? open_fail(L, error, name, &options) : 1;
}

/* rl.private([options]) */
int
lrl_open_private(lua_State *L)
{
	struct rl_options options;
	struct segment *segment;
	int error;

	lua_settop(L, 1);
	segment = segment_new(L);
	lrl_options_read(L, 1, &options);
	error = rlb_open_private(&segment->s, &options);
	return error < 0 ? open_fail(L, error, NULL, &options) : 1;
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

int
lrl_segment_close(lua_State *L)
{
	struct segment *segment = lrl_segment(L, 1);

	segment->is_closed = 1;
	rlb_close(&segment->s);
	return 0;
}

int
lrl_segment_name(lua_State *L)
{
	lua_pushstring(L, lrl_segment(L, 1)->s.name);
	return 1;
}

int
lrl_segment_is_open(lua_State *L)
{
	struct segment *segment = lrl_segment(L, 1);

	if (!lrl_segment_rl(segment))
		return lrl_segment_fail(L, segment);
	lua_pushboolean(L, 1);
	return 1;
}

int
lrl_segment_now(lua_State *L)
{
	struct segment *segment = lrl_segment(L, 1);
	struct rl *rl = lrl_segment_rl(segment);

	if (!rl)
		return lrl_segment_fail(L, segment);
	lrl_push_ns(L, rl_now(rl));
	return 1;
}

int
lrl_segment_give_back(lua_State *L)
{
	struct segment *segment = lrl_segment(L, 1);
	struct rl *rl = lrl_segment_rl(segment);
	int units = rl ? rl_prefetch_return(rl) : 0;

	if (!rl)
		return lrl_segment_fail(L, segment);
	if (units < 0)
		return lrl_fail(L, units);
	lua_pushinteger(L, units);
	return 1;
}

/* Where rl.ffi finds the open segment: it may be another one after each call. */
int
lrl_segment_cell(lua_State *L)
{
	struct segment *segment = lrl_segment(L, 1);

	if (!lrl_segment_rl(segment))
		return lrl_segment_fail(L, segment);
	lua_pushlightuserdata(L, segment);
	return 1;
}

/* segment:forget(name) */
int
lrl_segment_forget(lua_State *L)
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

/* SPDX-License-Identifier: BSD-2-Clause */
#include "options.h"
#include "rl_node.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static uint64_t
next_look(const struct handle *handle)
{
	return rl_now(handle->s.rl) + LOOK_MS * RL_MILLISECOND;
}

/* The number of the segment in this environment; -1: no number is free. */
static int
keep(struct environment *mine, struct handle *handle)
{
	int at = -1;

	for (int i = SEGMENTS_MAX - 1; i >= 0; i--) {
		if (mine->used[i].handle == handle) {
			mine->used[i].opens++;
			handle_give_back(handle); /* it is counted once for each environment */
			return i;
		}
		if (mine->used[i].handle == NULL)
			at = i;
	}
	if (at >= 0) {
		mine->used[at] =
			(struct used_segment){handle, 1, handle->is_named ? next_look(handle) : 0};
		mine->out->epoch[at]++;
	}
	return at;
}

static napi_value
keep_or_throw(struct call *c, struct handle *handle)
{
	int at = keep(c->mine, handle);

	if (at >= 0)
		return number(c->env, at);
	handle_give_back(handle);
	return throw_range(c->env, "open", "a thread may have 64 segments open at a time");
}

static napi_value
throw_open(napi_env env, int rc, const char *name, const struct rl_options *options)
{
	char what[NAME_SIZE + 32], why[RLB_OPEN_TEXT_SIZE];

	rlb_open_why(rc, name, options, why);
	snprintf(what, sizeof what, "open %s%s", name ? "segment " : "a private segment",
	         name ? name : "");
	return throw_rl(env, rc, what, why);
}

/* open(name, options) -> number */
NATIVE(open)
{
	struct call c;
	char name[NAME_SIZE];
	struct rl_options options;
	struct handle *handle;
	int rc;

	if (!call_begin(&c, env, info) ||
	    !call_name(&c, 0, "a segment's name", name, sizeof name) ||
	    !read_options(env, c.argv[1], &options))
		return NULL;
	rc = handle_open(name, &options, &handle);
	return rc < 0 ? throw_open(env, rc, name, &options) : keep_or_throw(&c, handle);
}

/* openPrivate(options) -> number */
NATIVE(openPrivate)
{
	struct call c;
	struct rl_options options;
	struct handle *handle;
	int rc;

	if (!call_begin(&c, env, info) || !read_options(env, c.argv[0], &options))
		return NULL;
	rc = handle_open_private(&options, &handle);
	return rc < 0 ? throw_open(env, rc, NULL, &options) : keep_or_throw(&c, handle);
}

/* close(segment) */
NATIVE(close)
{
	struct call c;
	struct used_segment *used;

	if (!call_begin(&c, env, info) || (used = call_segment(&c, 0)) == NULL)
		return NULL;
	if (--used->opens == 0) {
		handle_give_back(used->handle);
		c.mine->out->epoch[used - c.mine->used]++;
		*used = (struct used_segment){0};
	}
	return NULL;
}

/*
 * look(segment) -> 1 it was replaced, 0 it was not, or a negative error: it was, but there is no
 * other yet
 */
NATIVE(look)
{
	struct call c;
	struct used_segment *used;
	int rc;

	if (!call_begin(&c, env, info) || (used = call_segment(&c, 0)) == NULL)
		return NULL;
	rc = handle_renew(&used->handle);
	if (used->look_ns != 0)
		used->look_ns = next_look(used->handle);
	if (rc == 1)
		c.mine->out->epoch[used - c.mine->used]++;
	return number(env, rc);
}

/* unlink(name) */
NATIVE(unlink)
{
	struct call c;
	char name[NAME_SIZE], what[NAME_SIZE + 32];
	int rc;

	if (!call_begin(&c, env, info) || !call_name(&c, 0, "a segment's name", name, sizeof name))
		return NULL;
	rc = rl_unlink(name);
	snprintf(what, sizeof what, "unlink segment %s", name);
	return number_or_throw(env, rc, what);
}

/* place(name, options) -> object */
NATIVE(place)
{
	struct call c;
	char name[NAME_SIZE];
	struct rl_options options;
	struct rl_place place;
	napi_value to;
	int rc;

	if (!call_begin(&c, env, info) ||
	    !call_name(&c, 0, "a segment's name", name, sizeof name) ||
	    !read_options(env, c.argv[1], &options))
		return NULL;
	rc = rl_place(name, &options, &place);
	if (rc < 0)
		return throw_rl(env, rc, name, NULL);
	napi_create_object(env, &to);
	set_text(env, to, "path", place.path);
	set_bool(env, to, "isThere", place.is_there);
	set_bool(env, to, "isOwn", place.is_own);
	set_number(env, to, "bytes", (double)place.bytes);
	set_number(env, to, "room", place.room == UINT64_MAX ? INFINITY : (double)place.room);
	set_number(env, to, "memory", place.memory == UINT64_MAX ? INFINITY : (double)place.memory);
	set_text(env, to, "memoryBy", place.memory_by);
	set_number(env, to, "layout", place.layout);
	set_number(env, to, "revision", place.revision);
	set_number(env, to, "ownLayout", place.own_layout);
	set_number(env, to, "ownRevision", place.own_revision);
	return to;
}

/* now(segment) -> bigint, nanoseconds */
NATIVE(now)
{
	struct call c;
	struct used_segment *used;
	napi_value to;

	if (!call_begin(&c, env, info) || (used = call_segment(&c, 0)) == NULL)
		return NULL;
	napi_create_bigint_uint64(env, rl_now(used->handle->s.rl), &to);
	return to;
}

/* giveBack(segment) -> number */
NATIVE(giveBack)
{
	struct call c;
	struct used_segment *used;

	if (!call_begin(&c, env, info) || (used = call_segment(&c, 0)) == NULL)
		return NULL;
	return number_or_throw(env, rl_prefetch_return(used->handle->s.rl), "give back");
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>

#include "rl.h"
#include "segment/create.h"
#include "segment/geometry.h"
#include "segment/header.h"
#include "segment/map.h"

/* How often to try again when the name comes and goes between open and link. */
#define OPEN_TRIES 100

static int
attach_or_create(const char *name, const struct rl_options *o, const struct rl_geometry *geometry,
                 struct rl_segment *s)
{
	for (int tries = 0; tries < OPEN_TRIES; tries++) {
		int error;

		*s = (struct rl_segment){.origin = s->origin};
		error = rl_segment_attach(name, o, s);
		if (error != -ENOENT || (o->flags & (RL_OPEN_READONLY | RL_OPEN_EXISTING)))
			return error;
		error = rl_segment_attach_or_create(name, o, geometry, s);
		if (error != -EEXIST)
			return error;
	}
	return -EAGAIN;
}

/* The options hold for a segment of any maker: of two creators one attaches to the other's. */
static int
insist(struct rl_segment *s, const struct rl_options *o)
{
	struct rl_info is;
	int error;

	rl_segment_info(s, &is);
	error = rl_open_compare(&is, o, NULL, 0);
	if (error < 0)
		rl_segment_close(s);
	return error;
}

bool
rl_options_are_known(const struct rl_options *o)
{
	const unsigned known = RL_OPEN_READONLY | RL_OPEN_EXISTING | RL_OPEN_GROUP |
	                       RL_OPEN_ANY_OWNER | RL_OPEN_HUGE_PAGES | RL_OPEN_POPULATE |
	                       RL_OPEN_AT_LEAST | RL_OPEN_CLUSTER;

	return (o->flags & ~known) == 0 && (o->mode & ~0777u) == 0;
}

int
rl_segment_open(const char *name, const struct rl_options *o, struct rl_segment *s)
{
	struct rl_geometry geometry;
	int error = rl_geometry_from(o, &geometry);

	if (error < 0 || !rl_options_are_known(o))
		return -EINVAL;
	error = attach_or_create(name, o, &geometry, s);
	if (error == 0 && (o->flags & RL_OPEN_AT_LEAST))
		error = insist(s, o);
	if (error == 0 && (o->flags & RL_OPEN_POPULATE))
		rl_segment_populate(s);
	return error;
}

int
rl_segment_private(const struct rl_options *o, struct rl_segment *s)
{
	struct rl_geometry geometry;
	struct rl_header header;
	int error = rl_geometry_from(o, &geometry);

	*s = (struct rl_segment){0};
	if (error == 0)
		error = rl_segment_header_fill(&header, &geometry);
	if (error == 0)
		error = rl_segment_map(s, &header, -1, true);
	if (error == 0)
		memcpy(s->header, &header, sizeof header);
	if (error == 0 && (o->flags & RL_OPEN_POPULATE))
		rl_segment_populate(s);
	return error;
}

int
rl_segment_bytes(const struct rl_options *o, uint64_t *bytes)
{
	struct rl_geometry g;

	if (rl_geometry_from(o, &g) < 0)
		return -EINVAL;
	*bytes = rl_areas_of(&g).bytes;
	return 0;
}

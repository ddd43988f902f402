/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_SEGMENTS_VIEW_H
#define RLCTL_SEGMENTS_VIEW_H

/* All segments of the host, each as one line tells of it, and what their rules deny. */

#include <rl_admin.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/counts.h"
#include "base/output.h"

enum segment_health {
	SEGMENT_OK,
	SEGMENT_FULL,    /* keys find no slot of their own */
	SEGMENT_UNSWEPT, /* rld was there, and is silent */
	SEGMENT_CLOSED,  /* cannot be opened: `error` */
};

struct segment_view {
	char *name;
	int error;
	struct rl_info info; /* zeroed with an error, and so is all below */
	uint64_t now_ns;
	uint64_t fill;         /* slots that are used */
	uint64_t heartbeat_ns; /* its age; without a sweeper 0 */
	enum segment_health health;
	struct counts before, counts; /* of each rule, a moment apart */
};

struct segments_view {
	struct segment_view *at; /* by name */
	size_t count;
};

/* Looks twice at what they count, to know how much comes. To be freed. */
struct segments_view segments_view_read(void);
void segments_view_free(struct segments_view *view);

const char *segment_health_name(enum segment_health health);

/* Of all its rules together; *rate since the first look, in the time of `span_ns`. */
uint64_t segment_denied(const struct segment_view *segment, uint64_t *rate, uint64_t *span_ns);

json_t *segments_view_json(const struct segments_view *view);

#endif

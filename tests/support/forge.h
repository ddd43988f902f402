/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_FORGE_H
#define RL_FORGE_H

/*
 * What a hostile writer of a segment makes who knows the format: each word by what it means, and
 * where a check stands beside it, the right one. The hash key stands in the header, so nothing
 * keeps him from that.
 */

#include "segment/segment.h"

/* All of a segment's file, as far as lies go. */
struct forge {
	const struct rl_segment *s; /* with the first table */
	unsigned char *file; /* mapped from its start; NULL: the first table is all there is */
	uint64_t bytes;      /* of that */
};

/* One lie, by `seed`. */
void forge(const struct forge *f, uint64_t *seed);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_GEOMETRY_H
#define RL_GEOMETRY_H

/* How large a segment is, and where in it its areas are. */

#include "rl.h"
#include "shared/layout.h"

/* Where each area begins, in bytes from the start; and how long all of it is. */
struct rl_areas {
	uint64_t rows, limits, overrides, bans, filters, holders, stats, table, rings, records,
		bytes;
};

/* Words in a bank of the filter of a table with so many slots. */
static inline uint32_t
rl_filter_words(uint32_t slots)
{
	return slots / RL_FILTER_SLOTS + 1;
}

/* What options ask for, a 0 standing for the default. 0 or -EINVAL. */
int rl_geometry_from(const struct rl_options *options, struct rl_geometry *geometry);

bool rl_geometry_is_valid(const struct rl_geometry *geometry);

/* Of a valid one. */
struct rl_areas rl_areas_of(const struct rl_geometry *geometry);

#endif

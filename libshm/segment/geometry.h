/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_GEOMETRY_H
#define RL_GEOMETRY_H

/* How large a segment is, and where in it its areas are. */

#include "rl.h"
#include "shared/layout_people.h"
#include "shared/layout_rows.h"

/* Where each area begins, in bytes from the start; and how long all of it is. */
struct rl_areas {
	uint64_t rows, limits, overrides, bans, filters, holders, stats, limit_stats, history,
		events, table, rings, wishes, overflow, records, notes, auto_bans, strikes, bytes;
};

/* Words of the slots' wishes, two in each: whole groups of RL_WISH_SLOTS. */
static inline uint64_t
rl_wish_words(const struct rl_geometry *g)
{
	uint64_t groups =
		((uint64_t)g->buckets * RL_BUCKET_SLOTS + RL_WISH_SLOTS - 1) / RL_WISH_SLOTS;

	return groups * RL_WISH_SLOTS / 2;
}

/* Words of their summary, a bit for each group. */
static inline uint64_t
rl_wish_summary_words(uint64_t words)
{
	return (2 * words + RL_WISH_SUMMARY - 1) / RL_WISH_SUMMARY;
}

/* The bytes of these, their summary and a bit for each slot; 0 in a segment of no cluster. */
uint64_t rl_wish_bytes(const struct rl_geometry *g);

/* The bytes of a record before the key's. */
static inline uint32_t
rl_record_head(const struct rl_geometry *g)
{
	return (uint32_t)sizeof(struct rl_record) + (g->clustered ? RL_RECORD_HASH_BYTES : 0);
}

/* Words in a bank of the filter of a table with so many slots. */
static inline uint32_t
rl_filter_words(uint32_t slots)
{
	return slots / RL_FILTER_SLOTS + 1;
}

/* Where in the overflow area its counters begin: behind its head and the sets, at a line. */
static inline uint64_t
rl_overflow_counters_at(const struct rl_geometry *g)
{
	return sizeof(struct rl_overflow_head) + ((uint64_t)g->reserves * 16 + 63) / 64 * 64;
}

/* The geometry that options ask for; a 0 stands for the default. 0 or -EINVAL. */
int rl_geometry_from(const struct rl_options *options, struct rl_geometry *geometry);

bool rl_geometry_is_valid(const struct rl_geometry *geometry);

/* Of a valid one. */
struct rl_areas rl_areas_of(const struct rl_geometry *geometry);

#endif

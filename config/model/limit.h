/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_LIMIT_H
#define CONFIG_LIMIT_H

/* A limit as the file writes it, in any of its forms, and as the segment wants it. */

#include <rl.h>

#include "read/reader.h"

enum limit_id {
	LIMIT_CAPACITY,
	LIMIT_WINDOW, /* behind the capacity: "limit" says both */
	LIMIT_ALGORITHM,
	LIMIT_GRANULARITY, /* number of sub-buckets */
	LIMIT_STEP,        /* or length of one */
	LIMIT_HARD,
	LIMIT_BURST,
	LIMIT_UNDELAYED,
	LIMIT_PREFETCH,
	LIMIT_COUNT_DENIED,
	LIMIT_MODE,
	LIMIT_SCOPE,
	LIMIT_BLIND,
	LIMIT_STRICT,
	LIMIT_AWAY,
	LIMIT_V4,
	LIMIT_V6,
	LIMIT_IDS
};

/* Tables of fields: of the shape and capacity, what else a limit has, and networks. */
extern const struct field shape_fields[], limit_fields[], prefix_fields[];
extern const char *const mode_names[]; /* "enforce" 0, "shadow" 1 */

/* Take from `base` what the limit does not say itself. */
void limit_inherit(struct value *values, const struct value *base);

/*
 * The limit that the values, read from the object at `owner`, amount to. False if something is
 * missing, wrong or contradictory, which has been reported.
 */
bool limit_finish(struct reader *reader, uint32_t owner, const struct value *values,
                  struct rl_limit *limit);

/*
 * Ring entries that a key of this limit is to have; and with an override's capacity in place of its
 * own. 0: none is given.
 */
uint32_t limit_entries(const struct rl_limit *limit);
uint32_t limit_entries_for(const struct rl_limit *limit, uint32_t capacity);

/* Can it be in a segment with so long a ring, with that capacity? */
bool limit_fits(const struct rl_limit *limit, uint32_t capacity, uint32_t ring);

/*
 * How many sub-buckets a sliding window has whose file says nothing of them, of at most `most`: 60,
 * or the next fewer that make them a whole number of seconds (milliseconds below a minute,
 * microseconds below 60 ms).
 */
uint32_t limit_granularity(uint64_t window_ns, uint32_t most);

/* How early such a limit may deny: by a sub-bucket if it is hard. */
uint64_t limit_early_ns(const struct rl_limit *limit);

/* The limits count alike: what a counter of the one says is true of the other. */
bool limit_shape_equal(const struct rl_limit *a, const struct rl_limit *b);

/*
 * The largest cost of a request that a host of a cluster admits, under a limit of the cluster,
 * without what it was lent for others: it asks for a share when it needs one for a cost of 1.
 */
uint32_t limit_cost_shared(const struct rl_limit *limit);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_LIMIT_H
#define CONFIG_LIMIT_H

/* A limit as the file writes it, in any of its forms, and as the segment wants it. */

#include <rl_admin.h>
#include <rl_fields.h>

#include "read/reader.h"

/* A value of each field of rl_limit_fields.def, in its order, and what files say besides. */
enum limit_id {
#define RL_LIMIT_FIELD(name, ...) LIMIT_##name,
#include <rl_limit_fields.def>
#undef RL_LIMIT_FIELD
	LIMIT_STEP,   /* the length of a sub-bucket, in place of their number */
	LIMIT_STRICT, /* in place of a blind of 0 */
	LIMIT_IDS
};

/* Tables of fields: of the shape and capacity, what else a limit has, and networks. */
extern const struct field shape_fields[], limit_fields[], prefix_fields[];

/* "100/min" or "300/5min": false if it is no such rate of 1 to RL_CAPACITY_MAX. */
bool limit_rate_parse(const char *text, uint64_t *capacity, uint64_t *window_ns);

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

/* Can its blind part follow the number of hosts? Not if it needs over ten minutes to forget. */
bool limit_follows_hosts(const struct rl_limit *limit);

/* What so many hosts admit of a cluster's limit beside what they are lent, together. */
uint64_t limit_blind_of_all(const struct rl_limit *limit, uint64_t hosts);

/*
 * The first field in which they differ, of those that have one of the marks, or of all if there are
 * none; NULL: they are alike. RL_FIELD_SHAPE: what a counter of the one says is true of the other.
 */
const struct rl_field *limit_difference(const struct rl_limit *a, const struct rl_limit *b,
                                        unsigned marks);

#endif

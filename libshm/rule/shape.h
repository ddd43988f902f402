/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_SHAPE_H
#define RL_SHAPE_H

/*
 * A limit as rl.h has it, and as the segment keeps it: a shape, which never changes, and a
 * quota of 16 bytes, which may. Pure.
 */

#include <stdbool.h>

#include "algorithm/limiter.h"
#include "shared/layout_rows.h"

/*
 * Entries of a ring without which it cannot be with that capacity, and those that it asks for. Of a
 * limit that is valid.
 */
uint32_t rl_shape_ring_least(const struct rl_limit *limit);
uint32_t rl_shape_ring(const struct rl_limit *limit);

/* The same limit with what a 0 stands for filled in. */
struct rl_limit rl_shape_complete(const struct rl_limit *limit);

/* What an identity has of it, beside whose it is. */
struct rl_u128 rl_shape_pack(const struct rl_limit *complete);

/* The limiter of an identity's shape, or false for one that cannot be. */
bool rl_shape_unpack(struct rl_u128 identity, uint32_t ring, struct rl_limiter *limiter);

/* Make it one of a cluster; false if there can be none such. */
bool rl_shape_share(struct rl_limiter *limiter);

/*
 * After rl_quota_unpack(), of a cluster's limit. No lease is known, and a share worth nothing:
 * rl_policy_share(). `wait` is the row's, of that bank, and whatever above.
 */
void rl_quota_share(struct rl_u128 word, uint64_t wait, struct rl_quota *quota);

/* How long callers wait for a share, as a limit's row has it, and the other way round. */
static inline uint64_t
rl_wait_pack(uint64_t wait_ns)
{
	return wait_ns == RL_WAIT_NONE ? RL_ROW_WAIT_NONE : wait_ns / RL_MILLISECOND;
}

static inline uint64_t
rl_wait_unpack(uint64_t wait)
{
	return wait == RL_ROW_WAIT_NONE ? RL_WAIT_NONE : wait * RL_MILLISECOND;
}

struct rl_u128 rl_quota_pack(const struct rl_limit *complete);

/*
 * Within bounds, whatever the bytes say. Filled in place, field by field: a copy of what has just
 * been put together of smaller pieces waits until they have left the store buffer.
 */
static inline void
rl_quota_unpack(struct rl_u128 word, struct rl_quota *q)
{
	const uint32_t mask = RL_CAPACITY_MAX;
	uint32_t capacity = (uint32_t)word.lo & mask;
	uint32_t burst = (uint32_t)(word.lo >> 28) & mask;

	q->capacity = capacity > 0 ? capacity : 1;
	q->burst = burst < mask ? burst : mask - 1;
	q->undelayed = (uint32_t)word.hi & mask;
	q->is_shadow = (word.lo >> 56 & 1) != 0;
#define READ(in_limit, in_quota, bit) q->in_quota = (word.hi >> (bit)&1) != 0;
	RL_QUOTA_FLAGS(READ)
#undef READ
	q->is_booking = false;
	q->is_debt = false;
	q->has_lease = false;
	q->is_auto = false;
	q->away = 0;
	q->wait = 0;
	q->prefetch = (uint16_t)(word.hi >> RL_QUOTA_PREFETCH_SHIFT & RL_PREFETCH_MAX);
	q->max_wait_ns = 0;
	q->rate = (struct rl_gcra_rate){0};
}

/* What a limit of a cluster has no room for, and none of it. */
static inline void
rl_quota_drop_own(struct rl_quota *q)
{
	q->prefetch = 0;
#define DROP(in_limit, in_quota, bit) q->in_quota = false;
	RL_QUOTA_FLAGS(DROP)
#undef DROP
}

/* The other way, of a limit of this host alone. */
static inline struct rl_u128
rl_quota_pack_own(const struct rl_limit *l)
{
	return (struct rl_u128){
		.lo = l->capacity | (uint64_t)l->burst << 28 | (uint64_t)(l->shadow != 0) << 56,
		.hi = l->undelayed | (uint64_t)l->prefetch << RL_QUOTA_PREFETCH_SHIFT
#define OR_BIT(in_limit, in_quota, bit) | (uint64_t)(l->in_limit != 0) << (bit)
	                                             RL_QUOTA_FLAGS(OR_BIT),
#undef OR_BIT
	};
}

/* And what a limit has of a quota. */
static inline void
rl_quota_fill_limit(const struct rl_quota *q, struct rl_limit *l)
{
	l->capacity = q->capacity;
	l->burst = q->burst;
	l->undelayed = q->undelayed;
	l->shadow = q->is_shadow;
	l->prefetch = q->prefetch;
#define TELL(in_limit, in_quota, bit) l->in_limit = q->in_quota;
	RL_QUOTA_FLAGS(TELL)
#undef TELL
	l->away = q->away;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#include "rule/shape.h"

#include "algorithm/gcra.h"
#include "algorithm/ops.h"
#include "rl.h"

#define PROCESSES_LEAST 2  /* that have to find room to hold units in flight of one key, */
#define PROCESSES_USUAL 64 /* and that are made room for */

_Static_assert(RL_WINDOW_MAX < UINT64_MAX >> RL_SHAPE_WINDOW_SHIFT, "a window fits its shape");
_Static_assert(RL_ALGORITHM_LAST <= RL_ALGORITHM_MASK, "an algorithm's number fits its shape");

/* The bytes of a segment may say anything; what is defined is judged by limit_check.c. */
static bool
has_valid_window(const struct rl_limit *l)
{
	const struct rl_algorithm_info *info = rl_algorithm_info(l->algorithm);

	if (!info)
		return false;
	if (info->flags & RL_IS_HELD)
		return l->window_ns == 0 && l->granularity <= 1 && !l->hard;
	if (l->window_ns < RL_WINDOW_MIN)
		return false;
	if (l->window_ns > RL_WINDOW_MAX &&
	    !(l->window_ns == RL_NEVER_NS && l->algorithm == RL_ANCHORED_WINDOW))
		return false;
	if (info->flags & RL_HAS_GRANULARITY)
		return l->granularity <= RL_GRANULARITY_MAX;
	return l->granularity <= 1 && !l->hard;
}

/* How many ring entries its counters need, if so many processes hold units of a key. */
static uint32_t
entries_for(const struct rl_limit *l, uint32_t processes)
{
	const struct rl_algorithm_info *info = rl_algorithm_info(l->algorithm);

	if (info->flags & RL_IS_HELD)
		return l->capacity < processes ? l->capacity : processes;
	return info->ring_per_unit > 0 ? info->ring_per_unit * l->capacity : l->granularity;
}

uint32_t
rl_shape_ring_least(const struct rl_limit *l)
{
	return entries_for(l, PROCESSES_LEAST);
}

uint32_t
rl_shape_ring(const struct rl_limit *l)
{
	return entries_for(l, PROCESSES_USUAL);
}

/* Exact up to 1,023, then with ten bits, rounded down: 28 bits in 14. */
static uint32_t
pack_blind(uint32_t blind)
{
	uint32_t low = 0;

	if (blind == RL_BLIND_AUTO)
		return RL_QUOTA_BLIND_AUTO;
	while (blind >> low >= 1024)
		low++;
	return low * 512 + (blind >> low);
}

static uint32_t
unpack_blind(uint32_t packed)
{
	uint32_t low = packed < 1024 ? 0 : packed / 512 - 1;

	if (packed == RL_QUOTA_BLIND_AUTO)
		return RL_BLIND_AUTO;
	return low < 19 ? (packed - low * 512) << low : RL_CAPACITY_MAX;
}

struct rl_limit
rl_shape_complete(const struct rl_limit *limit)
{
	const struct rl_algorithm_info *info = rl_algorithm_info(limit->algorithm);
	struct rl_limit l = *limit;

	if (l.granularity == 0)
		l.granularity = 1;
	if (info && info->flags & RL_BURST_IS_CAPACITY && l.burst == 0)
		l.burst = rl_gcra_burst(l.window_ns, l.capacity,
		                        l.capacity < RL_CAPACITY_MAX ? l.capacity
		                                                     : RL_CAPACITY_MAX - 1);
	l.blind = unpack_blind(pack_blind(l.blind));
	l.wait_ns = rl_wait_unpack(rl_wait_pack(l.wait_ns));
	return l;
}

struct rl_u128
rl_shape_pack(const struct rl_limit *l)
{
	uint64_t algorithm = (uint64_t)l->algorithm;

	return (struct rl_u128){
		.lo = (uint64_t)l->prefix_v4 << RL_IDENTITY_V4_SHIFT |
	              (uint64_t)l->prefix_v6 << RL_IDENTITY_V6_SHIFT |
	              (l->hard ? RL_IDENTITY_HARD : 0) |
	              (l->counts == RL_COUNTS_REQUESTS ? RL_IDENTITY_REQUESTS : 0) |
	              (l->scope == RL_SCOPE_CLUSTER ? RL_IDENTITY_CLUSTERED : 0) |
	              algorithm >> RL_SHAPE_ALGORITHM_BITS << RL_IDENTITY_ALGORITHM_SHIFT,
		.hi = l->window_ns << RL_SHAPE_WINDOW_SHIFT | /* of RL_NEVER_NS all ones are left */
	              (uint64_t)(l->granularity - 1) << RL_SHAPE_GRANULARITY_SHIFT |
	              (algorithm & RL_SHAPE_ALGORITHM_MASK),
	};
}

/* A counter has no window, nor anything else. */
static bool
is_counter(const struct rl_limit *l)
{
	return l->algorithm == RL_COUNTER && l->window_ns == 0 && l->granularity == 1 && !l->hard;
}

static uint64_t
window_of(uint64_t shape)
{
	uint64_t window_ns = shape >> RL_SHAPE_WINDOW_SHIFT;

	return window_ns == UINT64_MAX >> RL_SHAPE_WINDOW_SHIFT ? RL_NEVER_NS : window_ns;
}

bool
rl_shape_unpack(struct rl_u128 identity, uint32_t ring, struct rl_limiter *limiter)
{
	const struct rl_limit l = {
		.window_ns = window_of(identity.hi),
		.granularity = 1 + (uint32_t)(identity.hi >> RL_SHAPE_GRANULARITY_SHIFT &
	                                      RL_SHAPE_GRANULARITY_MASK),
		.algorithm = (enum rl_algorithm)rl_identity_algorithm(identity),
		.hard = (identity.lo & RL_IDENTITY_HARD) != 0,
	};

	if (is_counter(&l)) {
		*limiter = (struct rl_limiter){.ring_entries = ring};
		rl_limiter_set(limiter, RL_COUNTER);
		return true;
	}
	if (!has_valid_window(&l) || l.granularity > ring)
		return false;
	if (rl_algorithm_info(l.algorithm)->ring_per_unit > ring)
		return false;
	*limiter = (struct rl_limiter){
		.window_ns = l.window_ns,
		.granularity = l.granularity,
		.ring_entries = ring,
		.counts_requests = (identity.lo & RL_IDENTITY_REQUESTS) != 0,
	};
	rl_limiter_set(limiter, l.algorithm);
	if (rl_limiter_has_window(limiter))
		limiter->window = rl_window_make(l.algorithm, l.window_ns, l.granularity, l.hard);
	else if (rl_limiter_has_bucket(limiter))
		limiter->divisor = rl_gcra_divisor(l.window_ns);
	return true;
}

bool
rl_shape_share(struct rl_limiter *l)
{
	if (rl_limiter_has_window(l) &&
	    (l->granularity > RL_SHARE_GRANULARITY_MAX || l->window.width_ns < RL_SHARE_WIDTH_MIN))
		return false;
	return rl_limiter_share(l);
}

/* What a limit of this host alone has a prefetch for, one of a cluster has for its own. */
void
rl_quota_share(struct rl_u128 word, uint64_t wait, struct rl_quota *q)
{
	uint32_t packed = (uint32_t)(word.hi >> RL_QUOTA_BLIND_SHIFT &
	                             ((UINT64_C(1) << RL_QUOTA_BLIND_BITS) - 1));

	rl_quota_drop_own(q);
	q->has_lease = false;
	q->away = (uint8_t)(word.hi >> RL_QUOTA_AWAY_SHIFT);
	q->wait = (uint16_t)(wait & RL_ROW_WAIT_MASK);
	if (q->wait != RL_ROW_WAIT_NONE && q->wait > RL_WAIT_MAX / RL_MILLISECOND)
		q->wait = RL_WAIT_MAX / RL_MILLISECOND;
	q->is_auto = packed == RL_QUOTA_BLIND_AUTO;
	q->share.blind = q->is_auto ? 0 : unpack_blind(packed);
	q->share.away = 0;
}

static struct rl_u128
pack_share(const struct rl_limit *l)
{
	return (struct rl_u128){
		.lo = l->capacity | (uint64_t)l->burst << 28 | (uint64_t)(l->shadow != 0) << 56,
		.hi = l->undelayed | (uint64_t)pack_blind(l->blind) << RL_QUOTA_BLIND_SHIFT |
	              (uint64_t)l->away << RL_QUOTA_AWAY_SHIFT,
	};
}

struct rl_u128
rl_quota_pack(const struct rl_limit *l)
{
	if (l->scope == RL_SCOPE_CLUSTER)
		return pack_share(l);
	return rl_quota_pack_own(l);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_STATS_H
#define RL_STATS_H

/*
 * Counters, striped by CPU: processes that run at the same time are on different CPUs, so
 * they add to different lines, and each add is atomic, so it does not matter if one is moved
 * in between. Nothing is owned, so nothing is lost or left over when a process forks or dies,
 * and a sum over the stripes is exact at once.
 */

#include <sched.h>
#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#endif

#include "rl_admin.h"
#include "segment/segment.h"
#include "shared/layout_people.h"

_Static_assert(RL_COUNTERS <= RL_STAT_WORDS, "counters fit their lines");

/*
 * The number of this CPU, or of one the thread was on just now. glibc since 2.35 shows where the
 * kernel keeps it for each thread, and reading it there saves the call; a thread for which the
 * kernel keeps none, and any other libc, calls sched_getcpu(3).
 */
static inline unsigned
rl_stats_cpu(void)
{
#if __has_include(<sys/rseq.h>)
	const char *thread = __builtin_thread_pointer();
	uint32_t cpu =
		((const volatile struct rseq *)(const void *)(thread + __rseq_offset))->cpu_id;

	if ((int32_t)cpu >= 0)
		return cpu;
#endif
	return (unsigned)sched_getcpu();
}

static inline __attribute__((always_inline)) uint32_t
rl_stats_stripe(const struct rl_segment *s)
{
	unsigned cpu = rl_stats_cpu();
	uint32_t stripes = s->geometry.stripes;

	return cpu < stripes ? cpu : cpu % stripes;
}

static inline struct rl_stat *
rl_stats_at(const struct rl_segment *s, uint32_t stripe, int rule)
{
	return &s->stats[(size_t)stripe * s->geometry.rules + (size_t)(rule & RL_RULE_INDEX_MASK)];
}

/* What its limits denied. */
static inline struct rl_denials *
rl_stats_limits_at(const struct rl_segment *s, uint32_t stripe, int rule)
{
	return &s->limit_stats[(size_t)stripe * s->geometry.rules +
	                       (size_t)(rule & RL_RULE_INDEX_MASK)];
}

static inline __attribute__((always_inline)) void
rl_stats_add_many(const struct rl_segment *s, int rule, enum rl_counter counter, uint64_t count)
{
	rl_atomic_add(&rl_stats_at(s, rl_stats_stripe(s), rule)->counter[counter], count);
}

static inline __attribute__((always_inline)) void
rl_stats_add(const struct rl_segment *s, int rule, enum rl_counter counter)
{
	rl_stats_add_many(s, rule, counter, 1);
}

/* The limit of that index in its rule has denied, and so has the rule. */
static inline __attribute__((always_inline)) void
rl_stats_add_denied(const struct rl_segment *s, int rule, unsigned index)
{
	rl_atomic_add(&rl_stats_limits_at(s, rl_stats_stripe(s), rule)->denied[index], 1);
}

/* It would have, and is a shadow. */
static inline void
rl_stats_add_shadow_denied(const struct rl_segment *s, int rule, unsigned index)
{
	rl_atomic_add(&rl_stats_limits_at(s, rl_stats_stripe(s), rule)->shadow_denied[index], 1);
}

/* Either, since the rule began. */
static inline uint64_t
rl_stats_sum_limit(const struct rl_segment *s, int rule, unsigned index, bool is_shadow)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < s->geometry.stripes; i++) {
		const struct rl_denials *stats = rl_stats_limits_at(s, i, rule);

		sum += rl_atomic_load_relaxed(is_shadow ? &stats->shadow_denied[index]
		                                        : &stats->denied[index]);
	}
	return sum;
}

static inline uint64_t
rl_stats_sum_of(const struct rl_segment *s, int rule, enum rl_counter counter)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < s->geometry.stripes; i++)
		sum += rl_atomic_load_relaxed(&rl_stats_at(s, i, rule)->counter[counter]);
	return sum;
}

/*
 * What people are told. Denied is what limits denied, what bans did, and what was counted as no
 * more than that.
 */
static inline uint64_t
rl_stats_sum(const struct rl_segment *s, int rule, enum rl_counter counter)
{
	uint64_t sum = rl_stats_sum_of(s, rule, counter);

	if (counter != RL_COUNT_denied)
		return sum;
	for (unsigned i = 0; i < RL_LIMITS_MAX; i++)
		sum += rl_stats_sum_limit(s, rule, i, false);
	return sum + rl_stats_sum_of(s, rule, RL_COUNT_banned);
}

#endif

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
#include <sys/rseq.h>

#include "rl_admin.h"
#include "segment/segment.h"

_Static_assert(RL_COUNTERS <= RL_STAT_WORDS, "counters fit their lines");

/*
 * The number of this CPU, or of one the thread was on just now. Where the kernel keeps it for each
 * thread: what sched_getcpu(3) reads, without the call. A thread that has no such place asks.
 */
static inline unsigned
rl_stats_cpu(void)
{
	const char *thread = __builtin_thread_pointer();
	uint32_t cpu =
		((const volatile struct rseq *)(const void *)(thread + __rseq_offset))->cpu_id;

	return (int32_t)cpu >= 0 ? cpu : (unsigned)sched_getcpu();
}

static inline void
rl_stats_add_many(const struct rl_segment *s, int rule, enum rl_counter counter, uint64_t count)
{
	unsigned cpu = rl_stats_cpu();
	uint32_t stripes = s->geometry.stripes;
	uint32_t stripe = cpu < stripes ? cpu : cpu % stripes;
	size_t at = (size_t)stripe * s->geometry.rules + (size_t)(rule & RL_RULE_INDEX_MASK);

	rl_atomic_add(&s->stats[at].counter[counter], count);
}

static inline void
rl_stats_add(const struct rl_segment *s, int rule, enum rl_counter counter)
{
	rl_stats_add_many(s, rule, counter, 1);
}

static inline uint64_t
rl_stats_sum(const struct rl_segment *s, int rule, enum rl_counter counter)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < s->geometry.stripes; i++) {
		size_t at = (size_t)i * s->geometry.rules + (size_t)(rule & RL_RULE_INDEX_MASK);
		sum += rl_atomic_load_relaxed(&s->stats[at].counter[counter]);
	}
	return sum;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_RULES_H
#define RL_RULES_H

#include "limiter.h"
#include "rl_admin.h"
#include "segment.h"

/* A rule as this process uses it: its shape checked once, its quota looked up each time. */
struct rl_compiled {
	struct rl_limiter limiter;
	const struct rl_row *row;
};

/* The place of the rule, made if need be; rl_define()'s errors. */
int rl_rules_define(const struct rl_segment *s, const struct rl_rule *rule);

/* The place of the newest rule of that name, or -ENOENT. */
int rl_rules_find(const struct rl_segment *s, const char *name);

/* False if there is no rule at `id`, or its row is damaged. */
bool rl_rules_compile(const struct rl_segment *s, int id, struct rl_compiled *compiled);

/* The rule's name, or "" when its record is damaged. */
void rl_rules_name(const struct rl_segment *s, int id, char name[static RL_NAME_MAX + 1]);

/* What the rule admits now; within bounds, whatever the bytes say. */
static inline struct rl_quota
rl_rules_quota(const struct rl_compiled *compiled)
{
	uint64_t capacity = rl_atomic_load_relaxed(&compiled->row->capacity);
	uint64_t burst = rl_atomic_load_relaxed(&compiled->row->burst);
	uint64_t undelayed = rl_atomic_load_relaxed(&compiled->row->undelayed);

	return (struct rl_quota){
		.capacity = capacity - 1 < RL_CAPACITY_MAX ? (uint32_t)capacity
	                    : capacity == 0                ? 1
	                                                   : RL_CAPACITY_MAX,
		.burst = burst < RL_CAPACITY_MAX ? (uint32_t)burst : RL_CAPACITY_MAX - 1,
		.undelayed =
			undelayed < RL_CAPACITY_MAX ? (uint32_t)undelayed : RL_CAPACITY_MAX - 1,
		.is_shadow = rl_atomic_load_relaxed(&compiled->row->is_shadow) != 0,
	};
}

#endif

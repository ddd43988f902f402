/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_RULES_H
#define RL_RULES_H

#include "rl_admin.h"
#include "segment.h"
#include "window.h"

/* A rule as this process uses it: its shape checked once, its capacity looked up each time. */
struct rl_compiled {
	struct rl_window window;
	enum rl_algorithm algorithm;
	uint64_t window_ns;
	uint32_t granularity;
	const uint64_t *capacity;
};

/* The place of the rule, made if need be; rl_define()'s errors. */
int rl_rules_define(const struct rl_segment *s, const struct rl_rule *rule);

/* The place of the newest rule of that name, or -ENOENT. */
int rl_rules_find(const struct rl_segment *s, const char *name);

/* False if there is no rule at `id`, or its row is damaged. */
bool rl_rules_compile(const struct rl_segment *s, int id, struct rl_compiled *compiled);

/* The rule's name, or "" when its record is damaged. */
void rl_rules_name(const struct rl_segment *s, int id, char name[static RL_NAME_MAX + 1]);

/* What the rule admits now; 1 at least, whatever the bytes say. */
static inline uint32_t
rl_rules_capacity(const struct rl_compiled *compiled)
{
	uint64_t capacity = rl_atomic_load_relaxed(compiled->capacity);

	if (capacity - 1 < RL_CAPACITY_MAX)
		return (uint32_t)capacity;
	return capacity == 0 ? 1 : RL_CAPACITY_MAX;
}

#endif

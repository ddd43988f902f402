/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_COUNTS_H
#define RLCTL_COUNTS_H

/* The counters of every rule at one moment, and what came to them between two. */

#include <jansson.h>
#include <rl_admin.h>
#include <stdbool.h>
#include <stddef.h>

struct rule_counts {
	int id;
	char name[RL_NAME_MAX + 1];
	uint64_t values[RL_COUNTERS];
	unsigned limits; /* in the next two: what each of its limits said no to */
	uint64_t denied[RL_LIMITS_MAX];
	uint64_t shadow_denied[RL_LIMITS_MAX];
};

struct counts {
	uint64_t at_ns;
	struct rule_counts *rules; /* in the order of their handles */
	size_t count;
};

/* Of one rule, or all for RL_ANY_RULE. To be freed. */
struct counts counts_read(struct rl *rl, int rule);
void counts_free(struct counts *counts);

/* Add up all rules. */
void counts_total(const struct counts *counts, uint64_t values[RL_COUNTERS]);

/* A rule's counts since `before`; all of them for a rule that was not there. */
void counts_since(const struct rule_counts *rule, const struct counts *before,
                  uint64_t values[RL_COUNTERS]);

/* The denials of each limit of a rule. */
json_t *counts_json_limits(const struct rule_counts *rule);

/* An object with a member for each counter. */
json_t *counts_json(const uint64_t values[RL_COUNTERS]);

#endif

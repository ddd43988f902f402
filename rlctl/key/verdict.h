/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_VERDICT_H
#define RLCTL_VERDICT_H

/* One decision with all its limits: what check and peek answer. */

#include <rl_admin.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/output.h"

struct decision {
	const char *rule;
	struct key_view key;
	uint64_t cost;
	struct rl_rule_info info;
	struct rl_result result;
	size_t count; /* of the next */
	struct rl_result results[RL_LIMITS_MAX];
};

const char *verdict_name(enum rl_verdict verdict);

/* The first line of the answer alone. */
void decision_print_verdict(FILE *out, const struct decision *decision);
void decision_print(const struct decision *decision);
json_t *decision_json(const struct decision *decision);

#endif

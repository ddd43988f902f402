/* SPDX-License-Identifier: BSD-2-Clause */

#include <stdio.h>
#include <string.h>

#include "rule.h"

static const char *const names[] = {
	[RL_SLIDING_WINDOW] = "sliding_window", [RL_FIXED_WINDOW] = "fixed_window",
	[RL_SLIDING_LOG] = "sliding_log",       [RL_TOKEN_BUCKET] = "token_bucket",
	[RL_LEAKY_BUCKET] = "leaky_bucket",
};

#define NAMES (sizeof(names) / sizeof(names[0]))

const char *
algorithm_name(enum rl_algorithm algorithm)
{
	return (size_t)algorithm < NAMES ? names[algorithm] : "unknown";
}

bool
algorithm_find(const char *name, enum rl_algorithm *algorithm)
{
	for (size_t i = 0; i < NAMES; i++) {
		if (strcmp(names[i], name) != 0)
			continue;
		*algorithm = (enum rl_algorithm)i;
		return true;
	}
	return false;
}

bool
rule_read(struct rl *rl, int id, struct rl_rule_info *info)
{
	if (!rl_rule_info(rl, id, info))
		return false;
	if (info->name[0] == '\0')
		snprintf(info->name, sizeof(info->name), "#%d", id);
	return true;
}

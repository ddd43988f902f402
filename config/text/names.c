/* SPDX-License-Identifier: BSD-2-Clause */

#include <string.h>

#include "text/names.h"

const char *const algorithm_names[] = {
	[RL_SLIDING_WINDOW] = "sliding_window", [RL_FIXED_WINDOW] = "fixed_window",
	[RL_SLIDING_LOG] = "sliding_log",       [RL_TOKEN_BUCKET] = "token_bucket",
	[RL_LEAKY_BUCKET] = "leaky_bucket",     NULL,
};

const char *const on_full_names[] = {
	[RL_FULL_EVICT] = "evict",
	[RL_FULL_DENY] = "deny",
	[RL_FULL_ALLOW] = "allow",
	NULL,
};

/* Numbers from a segment may be anything. */
static const char *
name_of(const char *const *names, unsigned number)
{
	while (*names && number-- > 0)
		names++;
	return *names ? *names : "unknown";
}

const char *
algorithm_name(enum rl_algorithm algorithm)
{
	return name_of(algorithm_names, (unsigned)algorithm);
}

const char *
on_full_name(enum rl_on_full on_full)
{
	return name_of(on_full_names, (unsigned)on_full);
}

int
name_find(const char *const *names, const char *word)
{
	for (int i = 0; names[i]; i++)
		if (strcmp(names[i], word) == 0)
			return i;
	return -1;
}

bool
algorithm_find(const char *name, enum rl_algorithm *algorithm)
{
	int found = name_find(algorithm_names, name);

	if (found < 0)
		return false;
	*algorithm = (enum rl_algorithm)found;
	return true;
}

/* SPDX-License-Identifier: BSD-2-Clause */

#include <string.h>

#include "text/names.h"

const char *const on_full_names[] = {
	[RL_FULL_RESERVE] = "reserve",
	[RL_FULL_DENY] = "deny",
	[RL_FULL_ALLOW] = "allow",
	NULL,
};

const char *const scope_names[] = {"host", "cluster", NULL};
const char *const away_names[] = {
	[RL_AWAY_LOCAL_SHARE] = "local_share",
	[RL_AWAY_KEEP] = "keep",
	[RL_AWAY_OPEN] = "open",
	[RL_AWAY_CLOSED] = "closed",
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

const struct rl_algorithm_info *
algorithm_info(enum rl_algorithm algorithm)
{
	static const struct rl_algorithm_info unknown = {.name = "unknown", .text = "Unknown."};
	const struct rl_algorithm_info *info = rl_algorithm_info(algorithm);

	return info ? info : &unknown;
}

void
algorithm_names(unsigned flags, const char *names[static ALGORITHM_NAMES_MAX + 1])
{
	size_t count = 0;

	for (int i = 0; i <= RL_ALGORITHM_LAST; i++) {
		const struct rl_algorithm_info *info = rl_algorithm_info((enum rl_algorithm)i);

		if (info && count < ALGORITHM_NAMES_MAX && (flags == ~0U || info->flags & flags))
			names[count++] = info->name;
	}
	names[count] = NULL;
}

const char *
algorithm_name(enum rl_algorithm algorithm)
{
	if (algorithm == RL_COUNTER) /* which no file has */
		return "counter";
	return algorithm_info(algorithm)->name;
}

const char *
on_full_name(enum rl_on_full on_full)
{
	return name_of(on_full_names, (unsigned)on_full);
}

const char *
scope_name(unsigned scope)
{
	return name_of(scope_names, scope);
}

const char *
away_name(unsigned away)
{
	return name_of(away_names, away);
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
	for (int i = 0; i <= RL_ALGORITHM_LAST; i++) {
		const struct rl_algorithm_info *info = rl_algorithm_info((enum rl_algorithm)i);

		if (!info || strcmp(info->name, name) != 0)
			continue;
		*algorithm = (enum rl_algorithm)i;
		return true;
	}
	return false;
}

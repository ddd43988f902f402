/* SPDX-License-Identifier: BSD-2-Clause */

#include "base/argument.h"

#include <stdio.h>
#include <string.h>

#include "text/names.h"

/* A replay has no use for what is in flight. */
static bool
is_held(const char *name)
{
	enum rl_algorithm algorithm;

	return algorithm_find(name, &algorithm) && algorithm_info(algorithm)->flags & RL_IS_HELD;
}

struct argument_text
option_argument(const struct command_option *option)
{
	const char *names[ALGORITHM_NAMES_MAX + 1];
	const char *argument = option->argument ? option->argument : "";
	struct argument_text out = {""};

	if (strcmp(argument, "ALGORITHM") != 0) {
		snprintf(out.text, sizeof(out.text), "%s", argument);
		return out;
	}
	algorithm_names(~0U, names);
	for (size_t i = 0; names[i]; i++) {
		size_t used = strlen(out.text);

		if (!is_held(names[i]))
			snprintf(out.text + used, sizeof(out.text) - used, "%s%s",
			         used == 0 ? "" : "|", names[i]);
	}
	return out;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* config: the verbs that have to do with the configuration file. */

#include <string.h>

#include "base/output.h"
#include "config/config_verb.h"
#include "text/suggest.h"

const struct command_option config_command_options[] = {
	{"config", 'c', "FILE", "the file (default: $RL_CONFIG, or " CONFIG_DEFAULT_PATH ")"},
	{"no-reload", 'n', NULL, "edit, set, unset, undo: change the file alone"},
	{"dry-run", 0, NULL,
         "edit, set, unset, undo, reload: say what would change, and change nothing"},
	{"create", 0, NULL, "set: make a rule that is not there"},
	{0},
};

static const struct verb {
	const char *name;
	const char *synopsis;
	int operands_min;
	int operands_max;
	int (*run)(const struct context *context, char **operands);
} verbs[] = {
	{"check", "[FILE]", 0, 1, config_check}, {"show", "", 0, 0, config_show},
	{"diff", "", 0, 0, config_diff},         {"reload", "", 0, 0, config_reload},
	{"edit", "", 0, 0, config_edit},         {"set", "PATH VALUE", 2, 2, config_set},
	{"unset", "PATH", 1, 1, config_unset},   {"history", "[N]", 0, 1, config_history},
	{"undo", "[N]", 0, 1, config_undo},
};

#define VERBS (sizeof(verbs) / sizeof(verbs[0]))

static const struct verb *
find_verb(const char *name)
{
	const char *names[VERBS + 1] = {0};
	const char *near;

	for (size_t i = 0; i < VERBS; i++) {
		names[i] = verbs[i].name;
		if (strcmp(verbs[i].name, name) == 0)
			return &verbs[i];
	}
	near = suggest(name, names);
	if (near)
		complain("config: unknown verb '%s'; did you mean '%s'?", name, near);
	else
		complain("config: unknown verb '%s'; see 'rlctl help config'", name);
	return NULL;
}

int
run_config(const struct context *context)
{
	const struct verb *verb = find_verb(context->operands[0]);
	int count = context->operand_count - 1;

	if (!verb)
		return EXIT_TROUBLE;
	if (count >= verb->operands_min && count <= verb->operands_max)
		return verb->run(context, context->operands + 1);
	complain("config %s: %s operand; usage: rlctl config %s %s", verb->name,
	         count < verb->operands_min ? "missing" : "unexpected", verb->name, verb->synopsis);
	return EXIT_TROUBLE;
}

int
run_reload(const struct context *context)
{
	return config_reload(context, NULL);
}

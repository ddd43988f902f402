/* SPDX-License-Identifier: BSD-2-Clause */
/* config: the verbs that have to do with the configuration file. */

#include "base/command.h"
#include "config/config_verb.h"

const struct command_option config_command_options[] = {
	{"config", 'c', "FILE", "the file (default: $RL_CONFIG, or " CONFIG_DEFAULT_PATH ")"},
	{"no-reload", 'n', NULL, "edit, set, unset, undo: change the file alone"},
	{"dry-run", 0, NULL,
         "edit, set, unset, undo, reload: say what would change, and change nothing"},
	{"create", 0, NULL, "set: make a rule that is not there"},
	{"to", 0, "N", "undo: the version to go back to, as 'config history' numbers them"},
	{0},
};

int
run_config(const struct context *context)
{
	return subverb_run(context);
}

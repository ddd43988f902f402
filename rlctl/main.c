/* SPDX-License-Identifier: BSD-2-Clause */
/* rlctl: look into a segment, steer what is in it, and try a limit on recorded traffic. */

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/command.h"
#include "base/help.h"
#include "base/options.h"
#include "base/output.h"

static const struct command verbs[] = {
	{"status", "", "show the segment, its rules and its counters", NULL, 0, 0, run_status},
	{"list", "", "list the live keys", list_options, 0, 0, run_list},
	{"get", "[RULE] KEY", "explain how one key is answered, and why", NULL, 1, 2, run_get},
	{"check", "RULE KEY", "decide one request, and spend", check_options, 2, 2, run_check},
	{"peek", "RULE KEY", "what a request would be told, spending nothing", NULL, 2, 2,
         run_peek},
	{"reset", "KEY | --rule RULE | --match GLOB | --all", "forget what keys have used",
         reset_options, 0, 1, run_reset},
	{"ban", "KEY --for D | --until TIME", "deny a key, a prefix* or a network", ban_options, 1,
         1, run_ban},
	{"allow", "KEY --for D | --until TIME", "exempt a key, a prefix* or a network", ban_options,
         1, 1, run_allow},
	{"unban", "PATTERN", "lift a ban or an exemption", unban_options, 1, 1, run_unban},
	{"bans", "", "show the bans and exemptions in force", bans_options, 0, 0, run_bans},
	{"stats", "", "show the counters of every rule, or rates", stats_options, 0, 0, run_stats},
	{"top", "", "watch rules and keys on a live screen", top_options, 0, 0, run_top},
	{"sweep", "", "free the places of keys whose time is over", NULL, 0, 0, run_sweep},
	{"dump", "FILE|-", "write what all keys have used as JSON lines", NULL, 1, 1, run_dump},
	{"restore", "FILE|-", "count again what was dumped", restore_options, 1, 1, run_restore},
	{"doctor", "", "look for what is wrong, why, and what mends it", NULL, 0, 0, run_doctor},
	{"forget", "RULE", "forget how applications have defined a rule", forget_options, 1, 1,
         run_forget},
	{"unlink", "--segment NAME", "remove a segment's name", unlink_options, 0, 0, run_unlink},
	{"replay", "--capacity N --window D [FILE...|-]",
         "say what a limit would have done to recorded traffic", replay_options, 0, INT_MAX,
         run_replay},
	{"config", "check|show|diff|reload|edit|set|unset [ARGUMENT...]",
         "check, show and change the configuration", config_command_options, 1, 3, run_config},
	{"reload", "", "put the configuration into force", config_command_options, 0, 0,
         run_reload},
	{"completion", "bash|zsh|fish", "write a script that completes command lines", NULL, 1, 1,
         run_completion},
	{"help", "[VERB]", "explain rlctl or one of its verbs", NULL, 0, 1, run_help},
	{0},
};

static bool
check_operands(const struct context *context)
{
	const struct command *command = context->command;

	if (context->operand_count < command->operands_min)
		complain("%s: missing operand; usage: rlctl %s %s", command->name, command->name,
		         command->synopsis);
	else if (context->operand_count > command->operands_max)
		complain("%s: unexpected operand '%s'", command->name,
		         context->operands[command->operands_max]);
	else
		return true;
	return false;
}

static int
run_verb(const struct context *context)
{
	if (option_value(context, "help")) {
		help_command(context->command);
		return EXIT_YES;
	}
	return check_operands(context) ? context->command->run(context) : EXIT_TROUBLE;
}

static int
run(int argc, char **argv)
{
	struct context context = {.verbs = verbs};

	if (!options_parse(&context, argc, argv))
		return EXIT_TROUBLE;
	if (option_value(&context, "version")) {
		puts("rlctl " RL_VERSION);
		return EXIT_YES;
	}
	if (context.command)
		return run_verb(&context);
	if (option_value(&context, "help")) {
		help_all(verbs);
		return EXIT_YES;
	}
	complain("no verb given; see 'rlctl help'");
	return EXIT_TROUBLE;
}

int
main(int argc, char **argv)
{
	int status;

	signal(SIGPIPE, SIG_DFL); /* who reads no more of a pipe ends what writes to it */
	status = run(argc, argv);
	return output_finish() ? status : EXIT_TROUBLE;
}

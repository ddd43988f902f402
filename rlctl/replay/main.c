/* SPDX-License-Identifier: BSD-2-Clause */
/* rl-replay: try a limit on recorded traffic. It needs no segment, and looks into none. */

#include <limits.h>
#include <signal.h>
#include <stdio.h>

#include "base/help.h"
#include "base/options.h"
#include "base/output.h"
#include "replay/replay.h"

static const struct command replay = {
	.name = "rl-replay",
	.synopsis = "--limit RATE [OPTION...] [FILE...|-]",
	.summary = "say what a limit would have done to recorded traffic",
	.options = replay_options,
	.operands_max = INT_MAX,
	.run = replay_run,
};

static int
run(int argc, char **argv)
{
	struct context context = {.command = &replay, .globals = tool_options};

	if (!options_parse(&context, argc, argv))
		return EXIT_TROUBLE;
	if (option_value(&context, "version")) {
		puts("rl-replay " RL_VERSION);
		return EXIT_YES;
	}
	if (option_value(&context, "help")) {
		help_program(&context);
		return EXIT_YES;
	}
	return context.command->run(&context);
}

int
main(int argc, char **argv)
{
	int status;

	signal(SIGPIPE, SIG_DFL); /* who reads no more of a pipe ends what writes to it */
	status = run(argc, argv);
	return output_finish() ? status : EXIT_TROUBLE;
}

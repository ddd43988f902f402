/* SPDX-License-Identifier: BSD-2-Clause */
/* rlctl: look into a segment, steer what is in it, and try a limit on recorded traffic. */

#include <limits.h> /* INT_MAX, of verbs.def */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/command.h"
#include "base/help.h"
#include "base/options.h"
#include "base/output.h"
#include "base/truncation.h"
#include "segment/overview.h"
#include "top/screen.h"

/* The verbs below a verb. */
static const struct command below[] = {
#define SUBVERB(verb, name, operands_min, operands_max, synopsis, summary) \
	{#name, synopsis, summary, NULL, operands_min, operands_max, verb##_##name, #verb, NULL},
#include "base/verbs.def"
	{0},
};

static const struct command verbs[] = {
#define VERB(name, options, operands_min, operands_max, synopsis, summary) \
	{#name, synopsis, summary, options, operands_min, operands_max, run_##name, NULL, below},
#include "base/verbs.def"
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
	struct context context = {.verbs = verbs, .globals = global_options};

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
	return overview(option_value(&context, "json") != NULL);
}

struct call {
	int argc;
	char **argv;
	int status;
};

static void
take_call(void *arg)
{
	struct call *call = arg;

	call->status = run(call->argc, call->argv);
	close_segment();
}

int
main(int argc, char **argv)
{
	struct call call = {argc, argv, EXIT_TROUBLE};

	signal(SIGPIPE, SIG_DFL); /* who reads no more of a pipe ends what writes to it */
	if (!truncation_survive(take_call, &call)) {
		screen_close();
		complain(
			"%s was truncated by somebody who may write it; 'rlctl unlink' removes it: "
			"then restart rld and the workers",
			segment_label());
	}
	return output_finish() ? call.status : EXIT_TROUBLE;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* The verbs below a verb. */

#include <string.h>

#include "base/command.h"
#include "base/output.h"

const struct command *
subverb_next(const struct command *of, const struct command *last)
{
	const struct command *next = last ? last + 1 : of->below;

	while (next->name && strcmp(next->of, of->name) != 0)
		next++;
	return next->name ? next : NULL;
}

int
subverb_run(const struct context *context)
{
	const char *of = context->command->name;
	const struct command *verb =
		command_need(context->command->below, of, context->operands[0]);
	struct context below = *context;

	if (!verb)
		return EXIT_TROUBLE;
	below.operands++;
	below.operand_count--;
	if (below.operand_count >= verb->operands_min && below.operand_count <= verb->operands_max)
		return verb->run(&below);
	if (below.operand_count < verb->operands_min)
		complain("%s %s: missing operand; usage: rlctl %s %s %s", of, verb->name, of,
		         verb->name, verb->synopsis);
	else
		complain("%s %s: unexpected operand '%s'; see 'rlctl help %s'", of, verb->name,
		         below.operands[verb->operands_max], of);
	return EXIT_TROUBLE;
}

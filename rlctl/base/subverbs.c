/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/subverbs.h"

#include "base/output.h"

int
subverb_run(const struct context *context, const struct command *verbs)
{
	const char *of = context->command->name;
	const struct command *verb = command_need(verbs, of, context->operands[0]);
	struct context below = *context;

	if (!verb)
		return EXIT_TROUBLE;
	below.operands++;
	below.operand_count--;
	if (below.operand_count >= verb->operands_min && below.operand_count <= verb->operands_max)
		return verb->run(&below);
	complain("%s %s: %s operand; usage: rlctl %s %s %s", of, verb->name,
	         below.operand_count < verb->operands_min ? "missing" : "unexpected", of,
	         verb->name, verb->synopsis);
	return EXIT_TROUBLE;
}

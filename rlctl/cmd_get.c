/* SPDX-License-Identifier: BSD-2-Clause */
/* get: what one key has used of each limit of a rule, what stands for it, and so why it is
 * answered as it is. */

#include <stdio.h>
#include <string.h>

#include "command.h"
#include "explain.h"
#include "output.h"
#include "rule.h"

static int
tell(const struct context *context, struct rl *rl, const struct explanation *explanation)
{
	if (!explanation_has_anything(explanation)) {
		complain("rule '%s' has no counter for this key", explanation->decision.rule);
		return EXIT_NO;
	}
	if (option_value(context, "json"))
		output_json(explanation_json(rl, explanation));
	else
		explanation_print(stdout, rl, explanation);
	return EXIT_YES;
}

static int
explain_key(const struct context *context, struct rl *rl)
{
	const char *text = context->operands[1];
	struct key_view key = {text, strlen(text), strlen(text), 0};
	int rule = rule_need(rl, context->operands[0]), error, status;
	struct explanation explanation;

	if (rule < 0)
		return EXIT_TROUBLE;
	error = explain(rl, rule, &key, &explanation);
	if (error < 0)
		complain("key: %s", rl_strerror(error));
	status = error < 0 ? EXIT_TROUBLE : tell(context, rl, &explanation);
	explanation_free(&explanation);
	return status;
}

int
run_get(const struct context *context)
{
	struct rl *rl = key_need(strlen(context->operands[1])) ? open_segment(context) : NULL;
	int status;

	if (!rl)
		return EXIT_TROUBLE;
	status = explain_key(context, rl);
	rl_close(rl);
	return status;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* forget: what applications have defined as a rule, so that its place can be another's. */

#include <errno.h>
#include <rl_admin.h>
#include <stdio.h>

#include "base/command.h"
#include "base/confirm.h"
#include "base/output.h"
#include "base/rule.h"
#include "text/error_text.h"

const struct command_option forget_options[] = {
	{"yes", 'y', NULL, "do not ask"},
	{0},
};

static int
forget(const struct context *context, struct rl *rl, const char *name)
{
	int outcome = rl_forget(rl, name);
	json_t *root;

	if (outcome < 0) {
		complain("rule '%s': %s", name, error_text(outcome).text);
		return EXIT_TROUBLE;
	}
	if (option_value(context, "json")) {
		root = need(json_object());
		json_put(root, "forgotten", need(json_boolean(outcome)));
		output_json(root);
	} else if (outcome == 0) {
		complain("no application has defined rule '%s'", name);
	} else {
		puts("forgotten");
	}
	return outcome ? EXIT_YES : EXIT_NO;
}

int
run_forget(const struct context *context)
{
	const char *name = context->operands[0];
	struct rl *rl = open_segment_writable(context);

	if (rl && rule_need(rl, name) != RULE_UNKNOWN &&
	    confirm(context,
	            "Forget how applications have defined rule '%s'? It limits nothing until one "
	            "defines it again, unless it is configured.",
	            name))
		return forget(context, rl, name);
	return EXIT_TROUBLE;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* unlink: remove a segment's name. The one verb that wants --segment said. */

#include <errno.h>
#include <rl_admin.h>
#include <stdio.h>

#include "base/command.h"
#include "base/confirm.h"
#include "base/output.h"
#include "text/error_text.h"

const struct command_option unlink_options[] = {
	{"yes", 'y', NULL, "do not ask"},
	{0},
};

static int
remove_name(const struct context *context, const char *name)
{
	int error = rl_unlink(name);
	json_t *root;

	if (error < 0) {
		complain("segment '%s': %s", name, error_text(error).text);
		return error == -ENOENT ? EXIT_NO : EXIT_TROUBLE;
	}
	if (option_value(context, "json")) {
		root = need(json_object());
		json_put(root, "unlinked", json_text(name));
		output_json(root);
	} else {
		puts("unlinked");
	}
	return EXIT_YES;
}

int
run_unlink(const struct context *context)
{
	const char *name = option_value(context, "segment");

	if (!name)
		complain("unlink: say which with --segment");
	if (!name || !segment_name(context))
		return EXIT_TROUBLE;
	if (!confirm(context,
	             "Remove segment '%s'? Its counters are lost; a process that has it open "
	             "keeps it until it closes it.",
	             name))
		return EXIT_TROUBLE;
	return remove_name(context, name);
}

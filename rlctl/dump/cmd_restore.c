/* SPDX-License-Identifier: BSD-2-Clause */
/* restore: restore dumped counters that have not expired. */

#include "base/command.h"
#include "base/interrupt.h"
#include "base/output.h"
#include "dump/restore_lines.h"

const struct command_option restore_options[] = {
	{"dry-run", 'n', NULL, "say what it would do, and leave all as it is"},
	{0},
};

static int
judge(const struct restore *restore)
{
	if (!restore_is_whole(restore))
		return EXIT_TROUBLE;
	return restore_left_out(restore) > 0 ? EXIT_NO : EXIT_YES;
}

static void
write_report(const struct context *context, const struct restore *restore)
{
	bool is_json = option_value(context, "json") != NULL;
	json_t *root = restore_report(restore, !is_json);

	if (is_json)
		output_json(root);
	else
		json_decref(root);
}

static int
restore_file(const struct context *context, struct restore *restore)
{
	bool is_read;

	if (!restore_open(restore, context->operands[0]))
		return EXIT_TROUBLE;
	is_read = restore_read(restore);
	restore_close(restore);
	if (!is_read)
		return EXIT_TROUBLE;
	write_report(context, restore);
	return judge(restore);
}

int
run_restore(const struct context *context)
{
	struct restore restore = {.is_dry = option_value(context, "dry-run") != NULL};

	restore.rl = restore.is_dry ? open_segment(context) : open_segment_writable(context);
	if (!restore.rl)
		return EXIT_TROUBLE;
	interrupt_catch();
	return restore_file(context, &restore);
}

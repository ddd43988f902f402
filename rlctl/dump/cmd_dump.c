/* SPDX-License-Identifier: BSD-2-Clause */
/* dump: what every key has used, and every ban, as JSON lines for restore. */

#include <inttypes.h>
#include <rl_admin.h>
#include <stdio.h>
#include <string.h>

#include "base/atomic_file.h"
#include "base/command.h"
#include "base/interrupt.h"
#include "base/output.h"
#include "base/progress.h"
#include "dump/dump_line.h"
#include "key/active_bans.h"
#include "key/mask.h"
#include "key/timed.h"
#include "key/usage.h"

#define PROGRESS_ENTRIES 0x3fff /* told whenever these bits of the count are 0 */

const struct command_option dump_options[] = {
	{"mask", 'M', NULL, "leave out of each address whose it is: to show, and not to restore"},
	{0},
};

struct dump {
	struct rl *rl;
	bool is_masked;
	struct atomic_file out;
	struct dump_totals totals;
	uint64_t seen;
};

static bool
is_over(const struct rl_entry *entry)
{
	return entry->is_stale ||
	       (entry->count ? entry->count->expires_after_ns == 0 : entry->charge_entries == 0);
}

/* An entry that counts nothing now, or limits nothing any more, is not worth a line. */
static int
write_entry(const struct rl_entry *entry, void *arg)
{
	struct dump *dump = arg;
	struct key_view key = entry_key(entry);
	struct mask mask;
	json_t *line;

	if ((++dump->seen & PROGRESS_ENTRIES) == 0)
		progress_show("dumping key", dump->seen);
	if (interrupt_came() || ferror(dump->out.file))
		return 1;
	if (dump->is_masked)
		key = mask_key(&key, &mask);
	line = is_over(entry) ? NULL : dump_entry(dump->rl, entry, &key);
	if (!line)
		return 0;
	output_json_line(dump->out.file, line);
	dump->totals.entries++;
	dump->totals.unnamed += !key.bytes || key.kept < key.len;
	return 0;
}

/* NULL: whose it is is not known. */
static json_t *
override_line(struct rl *rl, const struct active_ban *timed)
{
	json_t *line = timed->rule == RL_ANY_RULE ? NULL : timed_json(rl, timed);

	if (line)
		json_put(line, "effect", json_text("override"));
	return line;
}

static void
write_standing(struct dump *dump, struct active_bans found,
               json_t *(*line_of)(struct rl *rl, const struct active_ban *one))
{
	for (size_t i = 0; i < found.count; i++) {
		struct active_ban one = found.items[i];
		struct mask mask;
		json_t *line;

		if (dump->is_masked)
			one.key = mask_key(&one.key, &mask);
		line = line_of(dump->rl, &one);
		if (!line)
			continue;
		output_json_line(dump->out.file, line);
		dump->totals.bans++;
	}
	active_bans_free(&found);
}

static void
write_bans(struct dump *dump)
{
	write_standing(dump, active_bans_collect(dump->rl, RL_ANY_RULE, NULL), active_ban_json);
	write_standing(dump, active_overrides_collect(dump->rl, RL_ANY_RULE, NULL), override_line);
}

static void
write_rules(const struct dump *dump)
{
	struct rl_info info;

	rl_info(dump->rl, &info);
	for (uint32_t row = 0; row < info.rules; row++) {
		json_t *line = dump_rule(dump->rl, (int)row);

		if (line)
			output_json_line(dump->out.file, line);
	}
}

static int
add_overflow(const struct rl_overflow_info *info, void *arg)
{
	struct dump *dump = arg;

	dump->totals.cells += info->cells_used;
	return 0;
}

/* False if it was interrupted. Lost output is seen when the file is finished. */
static bool
write_all(struct dump *dump)
{
	output_json_line(dump->out.file, dump_header(dump->rl));
	write_rules(dump);
	rl_walk(dump->rl, rl_now(dump->rl), NULL, write_entry, dump);
	progress_erase();
	if (interrupt_came())
		return false;
	write_bans(dump);
	rl_overflow_walk(dump->rl, rl_now(dump->rl), add_overflow, dump);
	output_json_line(dump->out.file, dump_end(&dump->totals));
	return true;
}

/* Standard output is taken by the dump itself when it goes there. */
static void
report(const struct context *context, const struct dump *dump)
{
	json_t *root;

	if (dump->totals.unnamed > 0 && !dump->is_masked)
		complain("dump: of %" PRIu64 " keys not all bytes are kept: they are in the dump, "
		         "and cannot be restored",
		         dump->totals.unnamed);
	if (dump->totals.cells > 0)
		complain("dump: %" PRIu64
		         " overflow counters count keys without a slot together: what they "
		         "count is not in the dump",
		         dump->totals.cells);
	if (strcmp(dump->out.path, "-") == 0)
		return;
	if (!option_value(context, "json")) {
		printf("%" PRIu64 " entries, %" PRIu64 " bans, exemptions and overrides\n",
		       dump->totals.entries, dump->totals.bans);
		return;
	}
	root = need(json_object());
	json_put(root, "entries", json_count(dump->totals.entries));
	json_put(root, "unnamed", json_count(dump->totals.unnamed));
	json_put(root, "bans", json_count(dump->totals.bans));
	json_put(root, "cells", json_count(dump->totals.cells));
	output_json(root);
}

static int
dump_segment(const struct context *context, struct dump *dump)
{
	if (!write_all(dump)) {
		atomic_file_abandon(&dump->out);
		complain("dump: interrupted, %s", strcmp(dump->out.path, "-") == 0
		                                          ? "what was written is cut short"
		                                          : "and left no file");
		return EXIT_TROUBLE;
	}
	if (!atomic_file_commit(&dump->out))
		return EXIT_TROUBLE;
	report(context, dump);
	return dump->totals.unnamed > 0 && !dump->is_masked ? EXIT_NO : EXIT_YES;
}

int
run_dump(const struct context *context)
{
	struct dump dump = {.rl = open_segment(context),
	                    .is_masked = option_value(context, "mask") != NULL};

	if (!dump.rl)
		return EXIT_TROUBLE;
	interrupt_catch();
	return atomic_file_open(context->operands[0], &dump.out) ? dump_segment(context, &dump)
	                                                         : EXIT_TROUBLE;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* restore: restore dumped counters that have not expired. */

#include <errno.h>
#include <inttypes.h>
#include <rl_admin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/command.h"
#include "base/escape.h"
#include "base/interrupt.h"
#include "base/limit_view.h"
#include "base/output.h"
#include "base/progress.h"
#include "dump/dump_line.h"
#include "text/names.h"

#define COMPLAINTS_MAX 5     /* of each sort that are told one by one */
#define PROGRESS_LINES 0xfff /* told whenever these bits of the line number are 0 */
#define BUSY_TRIES 100

const struct command_option restore_options[] = {
	{"dry-run", 'n', NULL, "say what it would do, and leave all as it is"},
	{0},
};

/* What became of the lines. */
enum outcome {
	RESTORED,
	EXPIRED,      /* nothing of it would count any more */
	HELD,         /* units in flight, whose holders have no part in it */
	UNNAMED,      /* not all bytes of the key are in the dump */
	UNKNOWN_RULE, /* the segment has no such rule */
	CHANGED,      /* no limit of the rule has that shape any more */
	FAILED,       /* the library refused */
	UNREADABLE,   /* no line of a dump */
	OUTCOMES
};

static const char *const outcome_names[OUTCOMES] = {
	[RESTORED] = "restored", [EXPIRED] = "expired",      [HELD] = "in_flight",
	[UNNAMED] = "unnamed",   [CHANGED] = "changed",      [UNKNOWN_RULE] = "unknown_rule",
	[FAILED] = "failed",     [UNREADABLE] = "unreadable"};

struct restore {
	struct rl *rl;
	bool is_dry;
	FILE *file;
	const char *name;
	uint64_t line_number;
	uint64_t now_ns;
	bool has_end;
	uint64_t entries, bans; /* lines, to compare with the end's totals */
	uint64_t outcomes[OUTCOMES];
	uint64_t ahead; /* moments that the clock has not reached, charged as of now */
};

/* Count what became of a line; `why` is told of the first few. */
static void
note(struct restore *restore, enum outcome outcome, const char *why, const char *what)
{
	char *shown;

	if (restore->outcomes[outcome]++ >= COMPLAINTS_MAX || !why)
		return;
	progress_erase();
	shown = escape(what, strlen(what));
	complain("%s:%" PRIu64 ": %s%s%s", restore->name, restore->line_number, why,
	         what[0] ? ": " : "", shown);
	free(shown);
}

/* When a charge has left its limit for good. */
static uint64_t
charge_end_ns(const struct rl_limit *limit, const struct rl_charge_entry *entry)
{
	unsigned flags = algorithm_info(limit->algorithm)->flags;
	uint64_t span_ns = limit->window_ns;

	if (flags & RL_HAS_GRANULARITY)
		span_ns += limit_bucket_ns(limit);
	else if (flags & RL_IS_BUCKET)
		span_ns = (uint64_t)((unsigned __int128)entry->cost * limit->window_ns /
		                     (limit->capacity ? limit->capacity : 1));
	return entry->at_ns > UINT64_MAX - span_ns ? UINT64_MAX : entry->at_ns + span_ns;
}

/* The limit of the rule that carries the counter on: at its old place, or wherever it is now. */
static int
find_limit(const struct rl_rule_info *rule, const struct dump_line *line)
{
	unsigned number = line->limit_number - 1;

	if (number < rule->limit_count && limit_has_shape_of(&rule->limits[number], &line->shape))
		return (int)number;
	for (unsigned i = 0; i < rule->limit_count; i++)
		if (limit_has_shape_of(&rule->limits[i], &line->shape))
			return (int)i;
	return -1;
}

/* A charge from the future would hold the key there: it counts as of now. */
static int
charge(struct restore *restore, int rule, unsigned limit, const struct key_view *key,
       const struct rl_charge_entry *entry)
{
	uint64_t at_ns = entry->at_ns < restore->now_ns ? entry->at_ns : restore->now_ns;
	int error = -EBUSY;

	restore->ahead += entry->at_ns > restore->now_ns;
	if (restore->is_dry)
		return 0;
	for (int i = 0; i < BUSY_TRIES && error == -EBUSY; i++)
		error = rl_restore_at(restore->rl, rule, limit, key->bytes, key->len, entry->cost,
		                      at_ns);
	return error;
}

static void
charge_all(struct restore *restore, int rule, int limit, const struct rl_rule_info *info,
           const struct dump_line *line)
{
	size_t charged = 0;

	for (size_t i = 0; i < line->moment_count; i++) {
		const struct rl_charge_entry *entry = &line->moments[i];
		int error;

		if (charge_end_ns(&info->limits[limit], entry) <= restore->now_ns)
			continue;
		error = charge(restore, rule, (unsigned)limit, &line->key, entry);
		if (error < 0) {
			note(restore, FAILED, "not restored", rl_strerror(error));
			return;
		}
		charged++;
	}
	note(restore, charged > 0 ? RESTORED : EXPIRED, NULL, "");
}

static bool
is_whole(const struct key_view *key)
{
	return key->bytes && key->kept == key->len;
}

static void
restore_entry(struct restore *restore, const struct dump_line *line)
{
	int rule = rl_find(restore->rl, line->rule), limit;
	struct rl_rule_info info;

	restore->entries++;
	if (rule < 0 || !rl_rule_info(restore->rl, rule, &info)) {
		note(restore, UNKNOWN_RULE, "the segment has no rule of this name", line->rule);
		return;
	}
	limit = find_limit(&info, line);
	if (limit < 0)
		note(restore, CHANGED, "the rule has no limit of this shape any more", line->rule);
	else if (info.limits[limit].algorithm == RL_IN_FLIGHT)
		note(restore, HELD, NULL, "");
	else if (!is_whole(&line->key))
		note(restore, UNNAMED, "not all bytes of the key are in the dump", line->rule);
	else
		charge_all(restore, rule, limit, &info, line);
}

/* Beside what was counted since; whose lifetime has begun anew keeps it. A space is made if need be. */
static int
count_again(struct restore *restore, const struct dump_line *line, uint64_t lifetime_ns)
{
	int space = rl_define_counters(restore->rl, line->rule), done = -EBUSY;
	const struct key_view *key = &line->key;

	if (space < 0)
		return space;
	for (int i = 0; i < BUSY_TRIES && done == -EBUSY; i++)
		done = line->value > 0
		               ? rl_counter_add_at(restore->rl, space, key->bytes, key->len,
		                                   (int64_t)line->value, lifetime_ns,
		                                   restore->now_ns, NULL)
		               : rl_counter_set_new_at(restore->rl, space, key->bytes, key->len, 0,
		                                       lifetime_ns, restore->now_ns, NULL);
	return done;
}

static void
restore_counter(struct restore *restore, const struct dump_line *line)
{
	uint64_t lifetime_ns = line->expires_ns;
	int error = 0;

	restore->entries++;
	if (line->expires_ns != RL_NEVER_NS)
		lifetime_ns =
			line->expires_ns > restore->now_ns ? line->expires_ns - restore->now_ns : 0;
	if (!is_whole(&line->key))
		note(restore, UNNAMED, "not all bytes of the key are in the dump", line->rule);
	else if (lifetime_ns == 0)
		note(restore, EXPIRED, NULL, "");
	else if (!restore->is_dry && (error = count_again(restore, line, lifetime_ns)) < 0)
		note(restore, FAILED, "not restored", rl_strerror(error));
	else
		note(restore, RESTORED, NULL, "");
}

static void
restore_ban(struct restore *restore, const struct dump_line *line)
{
	int rule = line->rule ? rl_find(restore->rl, line->rule) : RL_ANY_RULE, error = 0;
	struct rl_pattern pattern = {line->match, line->key.bytes, line->key.len};

	restore->bans++;
	if (line->rule && rule < 0)
		note(restore, UNKNOWN_RULE, "the segment has no rule of this name", line->rule);
	else if (!is_whole(&line->key))
		note(restore, UNNAMED, "not all bytes of the pattern are in the dump", "");
	else if (line->until_ns <= restore->now_ns)
		note(restore, EXPIRED, NULL, "");
	else if (!restore->is_dry && (error = (line->is_exemption ? rl_allow : rl_ban)(
					      restore->rl, rule, &pattern, line->until_ns)) < 0)
		note(restore, FAILED, "not restored", rl_strerror(error));
	else
		note(restore, RESTORED, NULL, "");
}

static void
check_totals(struct restore *restore, const struct dump_totals *totals)
{
	restore->has_end = true;
	if (totals->entries != restore->entries || totals->bans != restore->bans)
		note(restore, UNREADABLE, "the dump says that it has another number of lines", "");
}

static void
restore_line(struct restore *restore, const struct dump_line *line)
{
	switch (line->kind) {
	case DUMP_HEADER:
		note(restore, UNREADABLE, "a second header", "");
		break;
	case DUMP_ENTRY:
		restore_entry(restore, line);
		break;
	case DUMP_COUNTER:
		restore_counter(restore, line);
		break;
	case DUMP_BAN:
		restore_ban(restore, line);
		break;
	case DUMP_END:
		check_totals(restore, &line->totals);
		break;
	}
}

/* Nothing is restored of a file that does not begin as a dump does. */
static bool
take_header(const struct restore *restore, const char *wrong, const struct dump_line *line)
{
	if (!wrong && line->kind != DUMP_HEADER)
		wrong = "no header";
	if (wrong)
		complain("%s:1: this is no dump: %s", restore->name, wrong);
	return !wrong;
}

static bool
take_line(struct restore *restore, const char *text, size_t len)
{
	struct dump_line line;
	const char *wrong = dump_parse(text, len, &line);
	bool goes_on = true;

	if ((++restore->line_number & PROGRESS_LINES) == 0)
		progress_show("restoring line", restore->line_number);
	if (restore->line_number == 1)
		goes_on = take_header(restore, wrong, &line);
	else if (wrong)
		note(restore, UNREADABLE, wrong, "");
	else
		restore_line(restore, &line);
	dump_line_free(&line);
	return goes_on;
}

/* False if the file could not be read as a dump at all, or not to its end. */
static bool
read_lines(struct restore *restore)
{
	bool goes_on = true, is_lost;
	char *text = NULL;
	size_t room = 0;
	ssize_t len;

	while (goes_on && !interrupt_came() &&
	       (errno = 0, (len = getline(&text, &room, restore->file)) >= 0))
		goes_on = take_line(restore, text, (size_t)len);
	is_lost = ferror(restore->file) && !interrupt_came();
	if (goes_on && is_lost)
		complain("%s: %s", restore->name, strerror(errno));
	free(text);
	progress_erase();
	return goes_on && !is_lost;
}

static void
write_report(const struct context *context, const struct restore *restore)
{
	json_t *root = need(json_object());

	for (int i = 0; i < OUTCOMES; i++) {
		json_put(root, outcome_names[i], json_count(restore->outcomes[i]));
		if (!option_value(context, "json"))
			printf("%-13s %" PRIu64 "\n", outcome_names[i], restore->outcomes[i]);
	}
	json_put(root, "complete", json_boolean(restore->has_end));
	if (option_value(context, "json"))
		output_json(root);
	else
		json_decref(root);
}

static int
judge(const struct restore *restore)
{
	const uint64_t *outcomes = restore->outcomes;

	if (restore->ahead > 0)
		complain("%s: %" PRIu64 " charges are ahead of this segment's clock, and count as "
		         "of now",
		         restore->name, restore->ahead);
	if (interrupt_came())
		complain("restore: interrupted at line %" PRIu64, restore->line_number);
	else if (!restore->has_end)
		complain("%s: the dump is cut short", restore->name);
	if (!restore->has_end || outcomes[FAILED] > 0 || outcomes[UNREADABLE] > 0)
		return EXIT_TROUBLE;
	return outcomes[UNNAMED] + outcomes[UNKNOWN_RULE] + outcomes[CHANGED] > 0 ? EXIT_NO
	                                                                          : EXIT_YES;
}

static bool
open_file(struct restore *restore, const char *path)
{
	bool is_stdin = strcmp(path, "-") == 0;

	restore->name = is_stdin ? "stdin" : path;
	restore->file = is_stdin ? stdin : fopen(path, "re");
	if (!restore->file)
		complain("%s: %s", path, strerror(errno));
	return restore->file != NULL;
}

static int
restore_file(const struct context *context, struct restore *restore)
{
	bool is_read;

	if (!open_file(restore, context->operands[0]))
		return EXIT_TROUBLE;
	restore->now_ns = rl_now(restore->rl);
	is_read = read_lines(restore);
	if (restore->file != stdin)
		fclose(restore->file);
	if (restore->line_number == 0 && is_read && !interrupt_came())
		complain("%s: is empty", restore->name);
	if (!is_read || restore->line_number == 0)
		return EXIT_TROUBLE;
	write_report(context, restore);
	return judge(restore);
}

int
run_restore(const struct context *context)
{
	struct restore restore = {.is_dry = option_value(context, "dry-run") != NULL};
	int status;

	restore.rl = restore.is_dry ? open_segment(context) : open_segment_writable(context);
	if (!restore.rl)
		return EXIT_TROUBLE;
	interrupt_catch();
	status = restore_file(context, &restore);
	rl_close(restore.rl);
	return status;
}

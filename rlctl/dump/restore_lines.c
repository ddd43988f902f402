/* SPDX-License-Identifier: BSD-2-Clause */

#include "dump/restore_lines.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/escape.h"
#include "base/interrupt.h"
#include "base/limit_view.h"
#include "base/output.h"
#include "base/progress.h"
#include "restore/restore.h"
#include "text/error_text.h"

#define COMPLAINTS_MAX 5     /* of each sort that are told one by one */
#define PROGRESS_LINES 0xfff /* told whenever these bits of the line number are 0 */

static const char *const outcome_names[OUTCOMES] = {
	[RESTORED] = "restored", [EXPIRED] = "expired",      [HELD] = "in_flight",
	[UNNAMED] = "unnamed",   [CHANGED] = "changed",      [UNKNOWN_RULE] = "unknown_rule",
	[FAILED] = "failed",     [UNREADABLE] = "unreadable"};

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

/* A time of the dump on the clock of the segment. */
static uint64_t
here_ns(const struct restore *restore, uint64_t at_ns)
{
	return at_ns == RL_NEVER_NS ? at_ns : at_ns + (uint64_t)restore->shift_ns;
}

/*
 * When a dumped charge was, at the latest: sub-buckets begin elsewhere on another clock, and all
 * that is known of a charge is its own.
 */
static uint64_t
charged_ns(const struct restore *restore, const struct rl_limit *limit, uint64_t at_ns)
{
	bool has_grid =
		limit->algorithm == RL_SLIDING_WINDOW || limit->algorithm == RL_FIXED_WINDOW;

	if (restore->shift_ns != 0 && has_grid)
		at_ns += restore_bucket_ns(limit) - 1;
	return here_ns(restore, at_ns);
}

static int
charge(struct restore *restore, int rule, unsigned limit, const struct key_view *key,
       const struct rl_charge_entry *entry)
{
	const struct restore_key whole = {key->bytes, key->len};

	restore->ahead += restore->shift_ns == 0 && entry->at_ns > restore->now_ns &&
	                  entry->at_ns - restore->now_ns > CLOCKS_AGREE_NS;
	if (restore->is_dry)
		return 0;
	return restore_charge(restore->rl, rule, limit, &whole, entry, restore->now_ns);
}

static void
charge_all(struct restore *restore, int rule, int limit, const struct rl_rule_info *info,
           const struct dump_line *line)
{
	size_t charged = 0, in_cell = 0;

	for (size_t i = 0; i < line->moment_count; i++) {
		struct rl_charge_entry entry = line->moments[i];
		int error;

		entry.at_ns = charged_ns(restore, &info->limits[limit], entry.at_ns);
		if (restore_end_ns(&info->limits[limit], &entry) <= restore->now_ns)
			continue;
		error = charge(restore, rule, (unsigned)limit, &line->key, &entry);
		if (error < 0) {
			note(restore, FAILED, "not restored", error_text(error).text);
			return;
		}
		charged++;
		in_cell += error == RL_RESTORED_IN_OVERFLOW;
	}
	restore->in_cells += in_cell > 0;
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
	limit = restore_find_limit(&info, line->limit_number - 1, &line->shape);
	if (limit < 0)
		note(restore, CHANGED, "the rule has no limit of this shape any more", line->rule);
	else if (info.limits[limit].algorithm == RL_IN_FLIGHT)
		note(restore, HELD, NULL, "");
	else if (!is_whole(&line->key))
		note(restore, UNNAMED, "not all bytes of the key are in the dump", line->rule);
	else
		charge_all(restore, rule, limit, &info, line);
}

static void
restore_counter(struct restore *restore, const struct dump_line *line)
{
	const struct restore_key key = {line->key.bytes, line->key.len};
	uint64_t expires_ns = here_ns(restore, line->expires_ns), lifetime_ns = expires_ns;
	int error = 0;

	restore->entries++;
	if (expires_ns != RL_NEVER_NS)
		lifetime_ns = expires_ns > restore->now_ns ? expires_ns - restore->now_ns : 0;
	if (!is_whole(&line->key))
		note(restore, UNNAMED, "not all bytes of the key are in the dump", line->rule);
	else if (lifetime_ns == 0)
		note(restore, EXPIRED, NULL, "");
	else if (!restore->is_dry &&
	         (error = restore_count(restore->rl, line->rule, &key, line->value, lifetime_ns,
	                                restore->now_ns)) < 0)
		note(restore, FAILED, "not restored", error_text(error).text);
	else
		note(restore, RESTORED, NULL, "");
}

/* With its note, as far as the dump has it. */
static int
set_ban(const struct restore *restore, int rule, const struct dump_line *line)
{
	struct rl_ban_info ban = {
		.rule = rule,
		.is_exemption = line->is_exemption,
		.is_automatic = line->is_automatic,
		.capacity = line->capacity,
		.limit = line->capacity > 0 ? line->limit_number - 1 : 0,
		.pattern = {line->match, line->key.bytes, line->key.len},
		.until_ns = here_ns(restore, line->until_ns),
		.author = line->author,
		.since_ns = line->since_ns,
		.hits = line->hits,
		.reason_len = line->reason ? strlen(line->reason) : 0,
	};

	if (ban.reason_len > RL_REASON_MAX)
		ban.reason_len = RL_REASON_MAX;
	if (line->reason)
		memcpy(ban.reason, line->reason, ban.reason_len);
	return rl_ban_set(restore->rl, &ban);
}

static void
restore_ban(struct restore *restore, const struct dump_line *line)
{
	int rule = line->rule ? rl_find(restore->rl, line->rule) : RL_ANY_RULE, error = 0;

	restore->bans++;
	if (line->rule && rule < 0)
		note(restore, UNKNOWN_RULE, "the segment has no rule of this name", line->rule);
	else if (!is_whole(&line->key))
		note(restore, UNNAMED, "not all bytes of the pattern are in the dump", "");
	else if (here_ns(restore, line->until_ns) <= restore->now_ns)
		note(restore, EXPIRED, NULL, "");
	else if (!restore->is_dry && (error = set_ban(restore, rule, line)) < 0)
		note(restore, FAILED, "not restored", error_text(error).text);
	else
		note(restore, RESTORED, NULL, "");
}

static void
check_totals(struct restore *restore, const struct dump_totals *totals)
{
	restore->has_end = true;
	restore->cells = totals->cells;
	if (totals->entries != restore->entries || totals->bans != restore->bans)
		note(restore, UNREADABLE, "the dump says that it has another number of lines", "");
}

/* The time of each line: a dump that is being written is of moments that come while it is read. */
static void
restore_line(struct restore *restore, const struct dump_line *line)
{
	restore->now_ns = rl_now(restore->rl);
	switch (line->kind) {
	case DUMP_HEADER:
		note(restore, UNREADABLE, "a second header", "");
		break;
	case DUMP_RULE:
		if (restore->define)
			restore->define(restore, line);
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
take_header(struct restore *restore, const char *wrong, const struct dump_line *line)
{
	if (!wrong && line->kind != DUMP_HEADER)
		wrong = "no header";
	if (wrong)
		complain("%s:1: this is no dump: %s", restore->name, wrong);
	return !wrong && (!restore->begin || restore->begin(restore, line));
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

bool
restore_read(struct restore *restore)
{
	bool is_read = read_lines(restore);

	if (restore->line_number == 0 && is_read && !interrupt_came())
		complain("%s: is empty", restore->name);
	return is_read && restore->line_number > 0;
}

json_t *
restore_report(const struct restore *restore, bool is_text)
{
	json_t *root = need(json_object());

	for (int i = 0; i < OUTCOMES; i++) {
		json_put(root, outcome_names[i], json_count(restore->outcomes[i]));
		if (is_text)
			printf("%-13s %" PRIu64 "\n", outcome_names[i], restore->outcomes[i]);
	}
	if (is_text && restore->in_cells > 0)
		printf("%" PRIu64
		       " of those restored went into overflow counters, for the table is full\n",
		       restore->in_cells);
	json_put(root, "in_cells", json_count(restore->in_cells));
	json_put(root, "cells", json_count(restore->cells));
	json_put(root, "complete", json_boolean(restore->has_end));
	return root;
}

bool
restore_is_whole(const struct restore *restore)
{
	if (restore->ahead > 0)
		complain("%s: %" PRIu64 " charges are ahead of this segment's clock, and count as "
		         "of now",
		         restore->name, restore->ahead);
	if (interrupt_came())
		complain("restore: interrupted at line %" PRIu64, restore->line_number);
	else if (!restore->has_end)
		complain("%s: the dump is cut short", restore->name);
	return restore->has_end && restore->outcomes[FAILED] == 0 &&
	       restore->outcomes[UNREADABLE] == 0;
}

uint64_t
restore_left_out(const struct restore *restore)
{
	const uint64_t *outcomes = restore->outcomes;

	return outcomes[UNNAMED] + outcomes[UNKNOWN_RULE] + outcomes[CHANGED];
}

bool
restore_open(struct restore *restore, const char *path)
{
	bool is_stdin = strcmp(path, "-") == 0;

	restore->name = is_stdin ? "stdin" : path;
	restore->file = is_stdin ? stdin : fopen(path, "re");
	if (!restore->file)
		complain("%s: %s", path, strerror(errno));
	return restore->file != NULL;
}

void
restore_close(struct restore *restore)
{
	if (restore->file && restore->file != stdin)
		fclose(restore->file);
	restore->file = NULL;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Feed recorded traffic to the library at its own times, and report the verdicts. */
#include "replay/replay.h"

#include <inttypes.h>
#include <rl_admin.h>
#include <string.h>

#include "base/command.h"
#include "base/number.h"
#include "base/output.h"
#include "base/progress.h"
#include "replay/candidates.h"
#include "replay/follow.h"
#include "replay/local_time.h"
#include "replay/report.h"
#include "replay/run.h"
#include "replay/since_change.h"
#include "replay/suggest_report.h"
#include "replay/suspicion.h"
#include "text/duration.h"

#define TOP_DEFAULT 10
#define LATE_DEFAULT (10 * RL_SECOND)
#define COMPLAINTS_MAX 5

struct replay {
	struct ask ask;
	struct intake intake;
	struct events events;
	struct candidate candidates[CANDIDATES_MAX];
	size_t candidate_count;
	struct run run;
	struct follow follow;
	struct since_change change;
	uint64_t top;
	uint64_t suggest_ns; /* --window of --suggest; 0: none */
	bool is_as_is, is_following;
};

static bool
read_origin(const struct context *context, bool *is_from_first)
{
	const char *name = option_value(context, "origin");

	*is_from_first = name && strcmp(name, "first") == 0;
	if (!name || *is_from_first || strcmp(name, "epoch") == 0)
		return true;
	complain("--origin: unknown origin '%s'; use first or epoch", name);
	return false;
}

static bool
read_top(const struct context *context, uint64_t *top)
{
	const char *text = option_value(context, "top");

	*top = TOP_DEFAULT;
	return !text || number_need("--top", text, 0, UINT32_MAX, top);
}

static bool
read_late(const struct context *context, struct replay *replay)
{
	const char *text = option_value(context, "late"), *wrong = NULL;

	replay->is_following = option_value(context, "follow") != NULL;
	replay->follow.late_ns = LATE_DEFAULT;
	if (text && !replay->is_following)
		wrong = "is of use with --follow alone";
	else if (text)
		wrong = duration_parse(text, &replay->follow.late_ns);
	if (wrong)
		complain("--late: '%s' %s", text, wrong);
	return !wrong;
}

/* Pairs of options of which one leaves nothing for the other to do. */
static const char *const pairs[][2] = {
	{"suggest", "limit"},       {"suggest", "rule"},         {"suggest", "config"},
	{"suggest", "capacity"},    {"suggest", "algorithm"},    {"suggest", "burst"},
	{"suggest", "granularity"}, {"suggest", "hard"},         {"suggest", "origin"},
	{"suggest", "verdicts"},    {"suggest", "as-is"},        {"follow", "as-is"},
	{"since-change", "limit"},  {"since-change", "suggest"}, {"since-change", "capacity"},
	{"since-change", "since"},  {"verdicts", "json"},        {"format", "log-format"},
	{"limit", "window"},        {"suggest", "actual"},       {"follow", "actual"},
};

static bool
check_pair(const struct context *context, const char *one, const char *other)
{
	if (!option_value(context, one) || !option_value(context, other))
		return true;
	complain("--%s and --%s do not go together", one, other);
	return false;
}

static bool
check_pairs(const struct context *context)
{
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++)
		if (!check_pair(context, pairs[i][0], pairs[i][1]))
			return false;
	return true;
}

/* A configuration's rule says itself what these say of other limits. */
static bool
check_parts(const struct context *context)
{
	static const char *const parts[] = {"algorithm", "burst", "window", "granularity", "hard"};
	bool has_own = option_value(context, "limit") || option_value(context, "capacity");
	const char *whole = option_value(context, "rule") ? "rule" : "config";

	if (has_own && option_value(context, "config") && !option_value(context, "rule")) {
		complain("--config: --rule NAME says which of its rules is tried");
		return false;
	}
	for (size_t i = 0; !has_own && i < sizeof(parts) / sizeof(parts[0]); i++)
		if (!check_pair(context, whole, parts[i]))
			return false;
	return true;
}

static bool
read_limits(const struct context *context, struct replay *replay)
{
	if (option_value(context, "suggest"))
		return window_read(context, &replay->suggest_ns);
	if (!since_change_read(context, &replay->change))
		return false;
	replay->candidate_count =
		replay->change.text
			? candidates_of_change(context, &replay->change, replay->candidates)
			: candidates_read(context, replay->candidates);
	return replay->candidate_count > 0;
}

static bool
read_options(const struct context *context, struct replay *replay)
{
	if (!check_pairs(context) || !check_parts(context) || !read_limits(context, replay) ||
	    !ask_read(context, &replay->ask))
		return false;
	if (replay->change.text)
		replay->ask.since_ns = replay->change.at_ns;
	return read_origin(context, &replay->run.is_from_first) &&
	       read_top(context, &replay->top) && read_late(context, replay);
}

/* What is kept of it in the event. */
static uint32_t
cost_of(struct replay *replay, const struct request *request)
{
	if (replay->ask.has_actual)
		return events_spend(&replay->events, request->spending);
	return request->spending.estimate;
}

static bool
read_file(struct replay *replay, const char *name)
{
	struct reading *reading = reading_open(&replay->intake, name, false);
	struct request request;
	bool is_good = true;
	int got = -1;

	while (reading && is_good && (got = reading_next(reading, &request)) > 0)
		is_good = events_add(&replay->events, request.key, request.time_ns,
		                     cost_of(replay, &request));
	if (!is_good)
		complain("too many keys");
	if (reading)
		reading_close(reading);
	return is_good && got == 0;
}

static bool
read_files(struct replay *replay, char **files, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!read_file(replay, files[i]))
			return false;
	if (!replay->is_as_is)
		events_sort(&replay->events);
	return true;
}

/* An answer about lines that were not understood would be wrong. */
static bool
check_lines(const struct intake *intake, const struct events *events)
{
	progress_erase();
	if (intake->unreadable > COMPLAINTS_MAX)
		complain("%" PRIu64 " unreadable lines in all", intake->unreadable);
	if (events->count > 0 || intake->filtered > 0 || intake->lines == 0)
		return true;
	if (intake->without_key > 0)
		complain("none of %" PRIu64 " lines has a '%s'", intake->lines,
		         intake->ask->key_text);
	else
		complain("none of %" PRIu64 " lines can be read", intake->lines);
	return false;
}

static bool
take_in(struct replay *replay, const struct context *context)
{
	static char *const standard_input[] = {"-"};
	bool has_files = context->operand_count > 0;
	char **files = has_files ? context->operands : (char **)standard_input;
	size_t count = has_files ? (size_t)context->operand_count : 1;
	bool is_read = replay->is_following ? follow(&replay->follow, files, count)
	                                    : read_files(replay, files, count);

	return is_read && check_lines(&replay->intake, &replay->events);
}

/* Decide, unless that was done while following, and write what is wanted. */
static bool
decide_and_write(struct replay *replay, const struct report_of *report, bool is_json)
{
	if (replay->suggest_ns > 0) {
		events_sort(&replay->events);
		return suggest_report(report, replay->suggest_ns, is_json);
	}
	if (replay->is_following && replay->run.wants_verdicts)
		return true;
	if (report->is_local)
		replay->run.east_ns = local_east_ns(replay->events.first_ns);
	if (!run_all(&replay->run))
		return false;
	if (is_json)
		report_json(report);
	else if (!replay->run.wants_verdicts)
		report_text(report);
	return true;
}

static bool
write_report(struct replay *replay, const struct context *context)
{
	struct report_of report = {
		.events = &replay->events,
		.intake = &replay->intake,
		.candidates = replay->candidates,
		.candidate_count = replay->candidate_count,
		.top = (size_t)replay->top,
		.is_as_is = replay->is_as_is,
		.is_local = option_value(context, "local") != NULL,
		.late = replay->follow.late,
	};
	bool is_written;

	suspect(&report);
	is_written = decide_and_write(replay, &report, option_value(context, "json") != NULL);
	suspect_free(&report);
	return is_written;
}

static void
replay_free(struct replay *replay)
{
	for (size_t i = 0; i < CANDIDATES_MAX; i++)
		candidate_free(&replay->candidates[i]);
	since_change_free(&replay->change);
	ask_free(&replay->ask);
	events_free(&replay->events);
}

int
replay_run(const struct context *context)
{
	struct replay replay = {0};
	bool is_done;

	replay.events = events_make();
	replay.intake = (struct intake){.ask = &replay.ask, .key = &replay.ask.key};
	replay.is_as_is = option_value(context, "as-is") != NULL;
	replay.run.wants_verdicts = option_value(context, "verdicts") != NULL;
	is_done = read_options(context, &replay);
	replay.run.events = &replay.events;
	replay.run.candidates = replay.candidates;
	replay.run.candidate_count = replay.candidate_count;
	replay.follow.intake = &replay.intake;
	replay.follow.events = &replay.events;
	replay.follow.run = &replay.run;
	is_done = is_done && take_in(&replay, context) && write_report(&replay, context);
	replay_free(&replay);
	return is_done ? EXIT_YES : EXIT_TROUBLE;
}

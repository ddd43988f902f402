/* SPDX-License-Identifier: BSD-2-Clause */

#include "replay/intake.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/output.h"
#include "base/progress.h"

#define COMPLAINTS_MAX 5        /* unreadable lines that are told one by one */
#define UNDECIDED_MAX 100000    /* lines of a file that may leave its format open */
#define PROGRESS_LINES 0x3fffff /* told whenever these bits of the line number are 0 */

struct reading *
reading_open(struct intake *intake, const char *file, bool is_growing)
{
	struct input *input = input_open(file, is_growing);
	struct reading *reading;

	if (!input)
		return NULL;
	reading = need(calloc(1, sizeof(*reading)));
	reading->intake = intake;
	reading->lines = lines_make(input, is_growing);
	return reading;
}

static void
complain_line(struct reading *reading, const char *wrong)
{
	struct intake *intake = reading->intake;

	if (intake->unreadable++ >= COMPLAINTS_MAX)
		return;
	progress_erase();
	complain("%s:%" PRIu64 ": %s", input_name(reading->lines.input), reading->lines.number,
	         wrong);
}

/* Each name once. */
static void
note_format(struct reading *reading)
{
	const struct reader *reader = &reading->reader;
	const char *around = envelope_name(reader->envelope.kind);
	char *all = reading->intake->format, name[64];
	size_t used = strlen(all);

	snprintf(name, sizeof(name), "%s%s%s", reader->name, *around ? " in " : "", around);
	if (!strstr(all, name))
		snprintf(all + used, sizeof(reading->intake->format) - used, "%s%s",
		         used ? ", " : "", name);
}

static int
complain_missing(const struct reading *reading, const char *missing)
{
	char fields[512];

	detect_fields(&reading->reader, fields, sizeof(fields));
	complain("%s: the format %s has no field '%s'; it has %s", input_name(reading->lines.input),
	         reading->reader.name, missing, fields);
	return -1;
}

/* -1 after a message. */
static int
decide(struct reading *reading, struct slice line, enum line_kind *kind, const char **wrong)
{
	const struct ask *ask = reading->intake->ask;
	const char *missing;

	if (reading->lines.number > UNDECIDED_MAX) {
		complain("%s: none of the first %d lines tells its format; see --format",
		         input_name(reading->lines.input), UNDECIDED_MAX);
		return -1;
	}
	*kind = detect(&reading->reader, &ask->format, &ask->wants, line, &reading->intake->stamps,
	               wrong, &missing);
	if (missing)
		return complain_missing(reading, missing);
	if (*kind == LINE_EVENT)
		note_format(reading);
	return 0;
}

static bool
read_number(struct slice value, uint32_t *out)
{
	uint64_t number = 0;

	for (size_t i = 0; i < value.len && value.at[i] != '.'; i++) {
		if (value.at[i] < '0' || value.at[i] > '9')
			return false;
		number = number * 10 + (uint64_t)(value.at[i] - '0');
		if (number > UINT32_MAX)
			number = UINT32_MAX;
	}
	*out = (uint32_t)number;
	return value.len > 0;
}

/* Seconds, with a fraction of nine digits at most that count. */
static bool
read_seconds(struct slice value, uint64_t *ns)
{
	struct slice whole = slice_until(value, '.');
	uint64_t unit = RL_SECOND;
	uint32_t seconds;

	if (!read_number(whole, &seconds))
		return false;
	*ns = seconds * RL_SECOND;
	for (size_t i = whole.len + 1; i < value.len; i++) {
		if (value.at[i] < '0' || value.at[i] > '9')
			return false;
		unit /= 10;
		*ns += unit * (uint64_t)(value.at[i] - '0');
	}
	return true;
}

/* What a request has cost, if the line tells it; what it has not told leaves the estimate. */
static const char *
read_actual(const struct ask *ask, const struct line_values *values, struct spending *out)
{
	uint32_t actual;

	if (!ask->has_actual || !read_number(values->value[ask->actual], &actual))
		return NULL;
	out->actual = actual < RL_CAPACITY_MAX ? actual : RL_CAPACITY_MAX;
	if (!ask->has_lasts || read_seconds(values->value[ask->lasts], &out->lasts_ns))
		return NULL;
	return "how long it lasts is no number of seconds";
}

static const char *
read_spending(const struct ask *ask, const struct line_values *values, struct spending *out)
{
	*out = (struct spending){.estimate = 1, .actual = ACTUAL_UNKNOWN};
	if (ask->has_cost && !read_number(values->value[ask->cost], &out->estimate))
		return "its cost is no number";
	return read_actual(ask, values, out);
}

static bool
counts(const struct ask *ask, const struct line_values *values)
{
	if (values->time_ns < ask->since_ns || values->time_ns >= ask->until_ns)
		return false;
	for (size_t i = 0; i < ask->where_count; i++)
		if (!where_holds(&ask->where[i], values))
			return false;
	return true;
}

/* A line whose fields are read: LINE_EVENT only if it counts. */
static enum line_kind
judge(struct intake *intake, const struct line_values *values, struct request *out,
      const char **wrong)
{
	enum line_kind kind;

	if (!counts(intake->ask, values)) {
		intake->filtered++;
		return LINE_OTHER;
	}
	kind = key_of(intake->key, values, &out->key, wrong);
	if (kind == LINE_OTHER)
		intake->without_key++;
	if (kind != LINE_EVENT)
		return kind;
	out->time_ns = values->time_ns;
	*wrong = read_spending(intake->ask, values, &out->spending);
	return *wrong ? LINE_WRONG : LINE_EVENT;
}

static enum line_kind
read_line(struct reading *reading, struct slice line, struct request *out, const char **wrong)
{
	struct intake *intake = reading->intake;
	struct line_values values;
	enum line_kind kind = reader_read(&reading->reader, &intake->ask->wants, line,
	                                  &intake->stamps, &values, wrong);

	if (kind == LINE_EVENT)
		return judge(intake, &values, out, wrong);
	if (kind == LINE_OTHER)
		intake->other++;
	return kind;
}

/* The kind of a line, from its bytes; -1 after a message. */
static int
understand(struct reading *reading, struct slice line, struct request *out, enum line_kind *kind)
{
	const char *wrong = NULL;

	if (reading->reader.kind == READER_UNDECIDED) {
		if (decide(reading, line, kind, &wrong) < 0)
			return -1;
		reading->intake->other += *kind == LINE_OTHER;
	} else {
		*kind = LINE_EVENT;
	}
	if (*kind == LINE_EVENT)
		*kind = read_line(reading, line, out, &wrong);
	if (*kind == LINE_WRONG)
		complain_line(reading, wrong);
	else
		reading->lines.useful = reading->lines.read;
	return 0;
}

int
reading_next(struct reading *reading, struct request *out)
{
	enum line_kind kind;
	struct slice line;
	int got;

	while ((got = lines_next(&reading->lines, &line)) > 0) {
		reading->intake->lines++;
		if ((reading->lines.number & PROGRESS_LINES) == 0)
			progress_show("reading line", reading->lines.number);
		if (understand(reading, line, out, &kind) < 0)
			return -1;
		if (kind == LINE_EVENT)
			return 1;
	}
	return got;
}

void
reading_close(struct reading *reading)
{
	struct input *input = reading->lines.input;

	reader_free(&reading->reader);
	lines_free(&reading->lines);
	input_close(input);
	free(reading);
}

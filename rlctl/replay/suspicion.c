/* SPDX-License-Identifier: BSD-2-Clause */

#include "replay/suspicion.h"
#include "base/output.h"

#include <inttypes.h>
#include <rl_admin.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/escape.h"
#include "replay/local_time.h"
#include "text/duration.h"

#define ENOUGH 100                           /* requests, for a share of them to mean something */
#define FEW_SHARE 100                        /* one in so many is few */
#define OFF_NS (UINT64_C(86400) * RL_SECOND) /* so far from all others is a clock that is off */

static void warn(struct report_of *report, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void
warn(struct report_of *report, const char *format, ...)
{
	va_list arguments;
	char *text;

	va_start(arguments, format);
	if (vasprintf(&text, format, arguments) < 0)
		text = NULL;
	va_end(arguments);
	report->warnings[report->warning_count++] = need(text);
	complain("warning: %s", text);
}

static void
suspect_key(struct report_of *report)
{
	const struct events *events = report->events;
	const char *field = report->intake->ask->key_text;
	char *key;

	if (events->count < ENOUGH)
		return;
	if (events->names.count == 1) {
		const struct name *name = names_at(&events->names, 0);

		key = escape(name->bytes, name->len);
		warn(report,
		     "all requests have one key, '%s' of '%s': is it whom the limit is for?", key,
		     field);
		free(key);
	} else if (events->names.count >= events->count - events->count / 10) {
		warn(report,
		     "nearly every request has a key of its own (%zu of %zu): is '%s' whom the "
		     "limit is for?",
		     events->names.count, events->count, field);
	}
}

static void
suspect_lines(struct report_of *report)
{
	const struct intake *intake = report->intake;
	uint64_t judged = report->events->count + intake->filtered;

	if (judged < intake->lines - judged)
		warn(report,
		     "%" PRIu64 " of %" PRIu64 " lines could be judged: %" PRIu64
		     " cannot be read, %" PRIu64 " have no '%s', %" PRIu64 " are something else",
		     judged, intake->lines, intake->unreadable, intake->without_key,
		     intake->ask->key_text, intake->other);
}

static void
warn_off(struct report_of *report, size_t count, uint64_t gap_ns, uint64_t at_ns, const char *side)
{
	warn(report,
	     "the %s %zu of %zu requests are %s from the others, at %s UTC: a clock that is off?",
	     side, count, report->events->count, duration_format(gap_ns).text,
	     local_format(at_ns, 0, false).text);
}

/* A few requests far before or behind all others. They are in order. */
static void
suspect_clock(struct report_of *report)
{
	const struct event *at = report->events->at;
	size_t count = report->events->count, few = count / FEW_SHARE;

	for (size_t i = 1; i <= few; i++)
		if (at[i].time_ns - at[i - 1].time_ns > OFF_NS) {
			warn_off(report, i, at[i].time_ns - at[i - 1].time_ns, at[i - 1].time_ns,
			         "first");
			break;
		}
	for (size_t i = 1; i <= few; i++)
		if (at[count - i].time_ns - at[count - i - 1].time_ns > OFF_NS) {
			warn_off(report, i, at[count - i].time_ns - at[count - i - 1].time_ns,
			         at[count - i].time_ns, "last");
			break;
		}
}

static void
suspect_order(struct report_of *report)
{
	const struct events *events = report->events;

	if (report->is_as_is && events->out_of_order > events->count / FEW_SHARE)
		warn(report,
		     "%" PRIu64 " of %zu requests are earlier than one before them, and decided as "
		     "they came; without --as-is they are put in order",
		     events->out_of_order, events->count);
}

void
suspect(struct report_of *report)
{
	suspect_key(report);
	suspect_lines(report);
	if (!report->is_as_is && report->late == 0 && report->events->count > 0)
		suspect_clock(report);
	suspect_order(report);
}

void
suspect_free(struct report_of *report)
{
	for (size_t i = 0; i < report->warning_count; i++)
		free(report->warnings[i]);
}

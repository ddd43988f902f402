/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/history_view.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/output.h"
#include "base/sparkline.h"

#define CLOCK_AT 11 /* in "2026-11-22 23:47:54" */

void
history_view_read(struct rl *rl, int rule, uint64_t now_ns, struct history_view *view)
{
	int minutes = rl_history_minutes(rl, rule, now_ns, view->minute);
	int quarters = rl_history_quarters(rl, rule, now_ns, view->quarter);

	view->minutes = minutes > 0 ? (size_t)minutes : 0;
	view->quarters = quarters > 0 ? (size_t)quarters : 0;
}

static uint64_t
of_span(const struct rl_history_span *span, enum history_row row)
{
	switch (row) {
	case HISTORY_ALLOWED:
		return span->allowed;
	case HISTORY_DENIED:
		return span->denied;
	case HISTORY_LIMITED:
		return span->denied - span->banned - span->full;
	case HISTORY_BANNED:
		return span->banned;
	case HISTORY_FULL:
		return span->full;
	}
	return 0;
}

/* Several spans to a column where there are more than columns. */
char *
history_view_spark(const struct rl_history_span *spans, size_t count, size_t width,
                   enum history_row row, bool is_utf8)
{
	uint64_t values[RL_HISTORY_QUARTERS] = {0};
	size_t columns = width < count ? width : count;

	for (size_t i = 0; i < count; i++)
		values[i * columns / count] += of_span(&spans[i], row);
	return sparkline(values, columns, is_utf8);
}

static uint64_t
sum_of(const struct rl_history_span *spans, size_t count, enum history_row row)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += of_span(&spans[i], row);
	return sum;
}

/* Since when something was denied without a span in which nothing was; NULL: nothing is now. */
static const struct rl_history_span *
beginning(const struct rl_history_span *spans, size_t count)
{
	size_t at = count;

	while (at > 0 && spans[at - 1].denied > 0)
		at--;
	return at < count ? &spans[at] : NULL;
}

static void
print_row(const char *name, const struct rl_history_span *spans, size_t count, enum history_row row,
          bool is_utf8)
{
	char *spark = history_view_spark(spans, count, RL_HISTORY_MINUTES - 12, row, is_utf8);

	printf("    %-7s %12" PRIu64 "  |%s|\n", name, sum_of(spans, count, row), spark);
	free(spark);
}

/* What bans denied and what a full table did has a line of its own, where there was any. */
static void
print_rows(const struct rl_history_span *spans, size_t count, bool is_utf8)
{
	static const char *const names[] = {"allowed", "denied", "limited", "banned", "full"};
	bool has_causes =
		sum_of(spans, count, HISTORY_LIMITED) < sum_of(spans, count, HISTORY_DENIED);

	print_row(names[HISTORY_ALLOWED], spans, count, HISTORY_ALLOWED, is_utf8);
	print_row(names[HISTORY_DENIED], spans, count, HISTORY_DENIED, is_utf8);
	for (enum history_row row = HISTORY_LIMITED; has_causes && row <= HISTORY_FULL; row++)
		if (sum_of(spans, count, row) > 0)
			print_row(names[row], spans, count, row, is_utf8);
}

static void
print_spans(const char *what, const struct rl_history_span *spans, size_t count, bool is_utf8)
{
	const struct rl_history_span *begun = beginning(spans, count);

	printf("  %s from %.5s to %.5s UTC", what,
	       time_format(spans[0].start_ns, false).text + CLOCK_AT,
	       time_format(spans[count - 1].start_ns, false).text + CLOCK_AT);
	if (begun)
		printf("; denials since %.5s", time_format(begun->start_ns, false).text + CLOCK_AT);
	putchar('\n');
	print_rows(spans, count, is_utf8);
}

void
history_view_print(const char *rule, const struct history_view *view, bool is_utf8)
{
	printf("%s\n", rule);
	if (view->minutes > 0)
		print_spans("hour", view->minute, view->minutes, is_utf8);
	if (view->quarters > 0)
		print_spans("day ", view->quarter, view->quarters, is_utf8);
}

static json_t *
json_spans(const struct rl_history_span *spans, size_t count)
{
	json_t *array = need(json_array());

	for (size_t i = 0; i < count; i++) {
		json_t *object = need(json_object());

		json_put(object, "start_ns", json_count(spans[i].start_ns));
		json_put(object, "allowed", json_count(spans[i].allowed));
		json_put(object, "denied", json_count(spans[i].denied));
		json_put(object, "banned", json_count(spans[i].banned));
		json_put(object, "full", json_count(spans[i].full));
		json_push(array, object);
	}
	return array;
}

json_t *
history_view_json(const struct history_view *view)
{
	json_t *object = need(json_object());

	json_put(object, "minutes", json_spans(view->minute, view->minutes));
	json_put(object, "quarters", json_spans(view->quarter, view->quarters));
	return object;
}

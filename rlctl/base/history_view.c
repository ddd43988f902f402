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

/* Several spans to a column where there are more than columns. */
char *
history_view_spark(const struct rl_history_span *spans, size_t count, size_t width, bool is_denied,
                   bool is_utf8)
{
	uint64_t values[RL_HISTORY_QUARTERS] = {0};
	size_t columns = width < count ? width : count;

	for (size_t i = 0; i < count; i++)
		values[i * columns / count] += is_denied ? spans[i].denied : spans[i].allowed;
	return sparkline(values, columns, is_utf8);
}

static uint64_t
sum_of(const struct rl_history_span *spans, size_t count, bool is_denied)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += is_denied ? spans[i].denied : spans[i].allowed;
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
print_spans(const char *what, const struct rl_history_span *spans, size_t count, bool is_utf8)
{
	static const char *const names[] = {"allowed", "denied"};
	const struct rl_history_span *begun = beginning(spans, count);

	printf("  %s from %.5s to %.5s UTC", what,
	       time_format(spans[0].start_ns, false).text + CLOCK_AT,
	       time_format(spans[count - 1].start_ns, false).text + CLOCK_AT);
	if (begun)
		printf("; denials since %.5s", time_format(begun->start_ns, false).text + CLOCK_AT);
	putchar('\n');
	for (int denied = 0; denied < 2; denied++) {
		char *spark =
			history_view_spark(spans, count, RL_HISTORY_MINUTES - 12, denied, is_utf8);

		printf("    %-7s %12" PRIu64 "  |%s|\n", names[denied],
		       sum_of(spans, count, denied), spark);
		free(spark);
	}
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

/* SPDX-License-Identifier: BSD-2-Clause */

#include <inttypes.h>
#include <rl_admin.h>
#include <stdio.h>

#include "base/output.h"
#include "replay/chart.h"
#include "replay/local_time.h"
#include "text/duration.h"

#define BAR_WIDTH 40
#define MINUTE (60 * RL_SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

static const uint64_t widths_ns[] = {
	RL_MILLISECOND,
	10 * RL_MILLISECOND,
	100 * RL_MILLISECOND,
	RL_SECOND,
	5 * RL_SECOND,
	15 * RL_SECOND,
	MINUTE,
	5 * MINUTE,
	15 * MINUTE,
	HOUR,
	3 * HOUR,
	6 * HOUR,
	12 * HOUR,
	DAY,
	2 * DAY,
	7 * DAY,
	28 * DAY,
};

#define WIDTHS (sizeof(widths_ns) / sizeof(widths_ns[0]))

static uint64_t
rows_needed(uint64_t first_ns, uint64_t last_ns, uint64_t width_ns)
{
	return last_ns / width_ns - first_ns / width_ns + 1;
}

/* The smallest width that fits; beyond the list, the last one doubled. */
static uint64_t
choose_width(uint64_t first_ns, uint64_t last_ns)
{
	uint64_t width_ns = widths_ns[WIDTHS - 1];

	for (size_t i = 0; i < WIDTHS; i++)
		if (rows_needed(first_ns, last_ns, widths_ns[i]) <= CHART_ROWS)
			return widths_ns[i];
	while (rows_needed(first_ns, last_ns, width_ns) > CHART_ROWS)
		width_ns *= 2;
	return width_ns;
}

/* How long before `first_ns` its row begins. Rows of UTC at the very beginning of time. */
static uint64_t
past_in_row(uint64_t first_ns, int64_t east_ns, uint64_t width_ns)
{
	uint64_t past_ns = (first_ns + (uint64_t)east_ns) % width_ns;

	if (past_ns > first_ns || (east_ns < 0 && first_ns < (uint64_t)-east_ns))
		return first_ns % width_ns;
	return past_ns;
}

struct chart
chart_make(uint64_t first_ns, uint64_t last_ns, int64_t east_ns)
{
	uint64_t width_ns = choose_width(first_ns, last_ns);
	uint64_t start_ns = first_ns - past_in_row(first_ns, east_ns, width_ns);

	if ((last_ns - start_ns) / width_ns >= CHART_ROWS) /* one row too many in that zone */
		start_ns = first_ns - first_ns % width_ns;
	return (struct chart){
		.start_ns = start_ns,
		.width_ns = width_ns,
		.count = (size_t)((last_ns - start_ns) / width_ns + 1),
	};
}

void
chart_count(struct chart *chart, uint64_t time_ns, bool is_denied)
{
	struct chart_row *row;

	if (chart->count == 0)
		return;
	row = &chart->rows[(time_ns - chart->start_ns) / chart->width_ns];
	if (is_denied)
		row->denied++;
	else
		row->admitted++;
}

static uint64_t
most_denied(const struct chart *chart)
{
	uint64_t most = 0;

	for (size_t i = 0; i < chart->count; i++)
		if (chart->rows[i].denied > most)
			most = chart->rows[i].denied;
	return most;
}

static void
print_head(const struct chart *chart, size_t count, bool is_local)
{
	printf("\nby time, rows of %s (%s)\n%-24s", duration_format(chart->width_ns).text,
	       is_local ? "local time" : "UTC", "");
	if (count == 1)
		printf("  %10s  %10s", "admitted", "denied");
	else
		for (size_t i = 0; i < count; i++)
			printf("  %9s%zu", "denied #", i + 1);
	putchar('\n');
}

static void
print_row(const struct chart *const *charts, size_t count, size_t row, bool is_local)
{
	const struct chart *chart = charts[0];
	uint64_t start_ns = chart->start_ns + row * chart->width_ns;

	printf("%-24s", local_format(start_ns, chart->width_ns < RL_SECOND ? 3 : 0, is_local).text);
	if (count == 1)
		printf("  %10" PRIu64, chart->rows[row].admitted);
	for (size_t i = 0; i < count; i++)
		printf("  %10" PRIu64, charts[i]->rows[row].denied);
	if (count == 1) {
		fputs("  ", stdout);
		output_bar(stdout, chart->rows[row].denied, most_denied(chart), BAR_WIDTH);
	}
	putchar('\n');
}

void
chart_print(const struct chart *const *charts, size_t count, bool is_local)
{
	print_head(charts[0], count, is_local);
	for (size_t i = 0; i < charts[0]->count; i++)
		print_row(charts, count, i, is_local);
}

static json_t *
json_row(const struct chart *chart, size_t row)
{
	json_t *object = need(json_object());

	json_put(object, "start_ns", json_count(chart->start_ns + row * chart->width_ns));
	json_put(object, "admitted", json_count(chart->rows[row].admitted));
	json_put(object, "denied", json_count(chart->rows[row].denied));
	return object;
}

json_t *
chart_json(const struct chart *chart)
{
	json_t *array = need(json_array());

	for (size_t i = 0; i < chart->count; i++)
		json_push(array, json_row(chart, i));
	return array;
}

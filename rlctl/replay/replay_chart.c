/* SPDX-License-Identifier: BSD-2-Clause */

#include <inttypes.h>
#include <rl.h>
#include <stdio.h>

#include "base/output.h"
#include "replay/replay_chart.h"
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

struct chart
chart_make(uint64_t first_ns, uint64_t last_ns)
{
	uint64_t width_ns = choose_width(first_ns, last_ns);

	return (struct chart){
		.start_ns = first_ns - first_ns % width_ns,
		.width_ns = width_ns,
		.count = (size_t)rows_needed(first_ns, last_ns, width_ns),
	};
}

void
chart_count(struct chart *chart, uint64_t time_ns, bool is_denied)
{
	struct chart_row *row = &chart->rows[(time_ns - chart->start_ns) / chart->width_ns];

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

static uint64_t
row_start_ns(const struct chart *chart, size_t row)
{
	return chart->start_ns + row * chart->width_ns;
}

void
chart_print(const struct chart *chart)
{
	bool has_ms = chart->width_ns < RL_SECOND;
	uint64_t most = most_denied(chart);

	printf("\nby time, rows of %s (UTC)\n%-23s  %10s  %10s\n",
	       duration_format(chart->width_ns).text, "", "admitted", "denied");
	for (size_t i = 0; i < chart->count; i++) {
		printf("%-23s  %10" PRIu64 "  %10" PRIu64 "  ",
		       time_format(row_start_ns(chart, i), has_ms).text, chart->rows[i].admitted,
		       chart->rows[i].denied);
		output_bar(stdout, chart->rows[i].denied, most, BAR_WIDTH);
		putchar('\n');
	}
}

static json_t *
json_row(const struct chart *chart, size_t row)
{
	json_t *object = need(json_object());

	json_put(object, "start_ns", json_count(row_start_ns(chart, row)));
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

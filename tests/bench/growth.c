/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A table of 1,000 keys and one of ten million; and on huge pages, as RL_OPEN_HUGE_PAGES asks for.
 */
#include <stdio.h>
#include <string.h>

#include "report.h"
#include "walk.h"

#define OPERATIONS 100000

static const struct size {
	uint32_t keys;
	const char *name;
	double one, batch; /* targets, or 0 */
	enum bench_pages pages;
} sizes[] = {
	{1000, "1k", 0, 0, BENCH_PAGES_AS_MOUNTED},
	{100000, "100k", 0, 0, BENCH_PAGES_AS_MOUNTED},
	{1000000, "1M", 1.3, 0.28, BENCH_PAGES_AS_MOUNTED},
	{10000000, "10M", 1.4, 0.35, BENCH_PAGES_AS_MOUNTED},
	{4000000, "4M", 0, 0, BENCH_PAGES_AS_MOUNTED},
	{4000000, "4M_huge", 0, 0, BENCH_PAGES_HUGE},
};

/* A lane's row, beside another of the same table. */
static void
tell(json_t *section, const struct size *size, const struct lane *lane, const struct samples *s,
     const struct samples *to, const char *to_label, double target)
{
	struct row row = report_row_of(lane, s, to, to_label);

	row.group = row.group_label = size->name;
	row.target = target;
	report_row(section, &row);
}

static void
measure(const struct bench *bench, json_t *section, const struct size *size, struct walk *w)
{
	uint64_t n = bench_n(bench, OPERATIONS);
	uint64_t new = w->keys / 9 / bench->rounds; /* all rounds together fill the table */
	const struct lane lanes[] = {
		{"floor", "CAS16, dependent, of the table's own states", walk_floor, w, n, 0},
		{"one", "one at a time, dependent", walk_one, w, n, 0},
		{"batch", "batches of 32, each", walk_batch, w, n, 0},
		{"insert", "first request of a key, dependent", walk_insert, w, new < n ? new : n,
	         0},
	};
	struct samples s[sizeof lanes / sizeof lanes[0]];

	lanes_measure(bench, lanes, sizeof lanes / sizeof lanes[0], s);
	tell(section, size, &lanes[0], &s[0], NULL, NULL, 0);
	tell(section, size, &lanes[1], &s[1], &s[0], "that CAS16", size->one);
	tell(section, size, &lanes[2], &s[2], &s[1], "one at a time", size->batch);
	tell(section, size, &lanes[3], &s[3], &s[1], "a later request", 3);
}

static void
grow(const struct bench *bench, json_t *section, const struct size *size)
{
	const char *reason;
	struct walk *w = walk_open(size->keys, size->pages, &reason);

	if (!w) {
		report_note(section, "%s keys: not measured, %s; see rl(7), Huge pages", size->name,
		            reason);
		return;
	}
	measure(bench, section, size, w);
	walk_close(w);
}

void
bench_growth(struct bench *bench)
{
	json_t *section = report_section(bench->report, "growth", "Keys in the table");
	size_t count = bench->is_quick ? 2 : sizeof sizes / sizeof sizes[0];

	for (size_t i = 0; i < count; i++)
		grow(bench, section, &sizes[i]);
}

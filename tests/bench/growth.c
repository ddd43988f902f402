/* SPDX-License-Identifier: BSD-2-Clause */
/* A table of 1,000 keys and one of ten million; and on huge pages, as RL_OPEN_HUGE_PAGES asks for. */
#include <stdio.h>
#include <string.h>

#include "report.h"
#include "walk.h"

#define OPERATIONS 100000

enum growth_lane {
	FLOOR,
	ONE,
	BATCH,
	INSERT,
	LANES
};

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

/* Lanes over one table. */
struct set {
	char id[LANES][32], label[LANES][96];
	struct lane lane[LANES];
};

static void
fill_set(const struct bench *bench, struct set *set, struct walk *w, const char *name)
{
	static const struct {
		const char *id, *label;
		void (*run)(void *walk, unsigned worker, uint64_t n);
	} kinds[LANES] = {
		[FLOOR] = {"floor", "CAS16, dependent, of the table's own states", walk_floor},
		[ONE] = {"one", "one at a time, dependent", walk_one},
		[BATCH] = {"batch", "batches of 32, each", walk_batch},
		[INSERT] = {"insert", "first request of a key, dependent", walk_insert},
	};
	uint64_t new = (w->keys / 9) / bench->rounds; /* all rounds together fill the table */

	for (int i = 0; i < LANES; i++) {
		snprintf(set->id[i], sizeof set->id[i], "%s_%s", kinds[i].id, name);
		snprintf(set->label[i], sizeof set->label[i], "%s: %s", name, kinds[i].label);
		set->lane[i] = (struct lane){
			set->id[i], set->label[i], kinds[i].run, w, bench_n(bench, OPERATIONS), 0};
	}
	if (new < set->lane[INSERT].n)
		set->lane[INSERT].n = new;
}

static void
tell_set(json_t *section, const struct set *set, const struct samples *s, const struct size *size)
{
	report_lane(section, &set->lane[FLOOR], &s[FLOOR], NULL, NULL, 0);
	report_lane(section, &set->lane[ONE], &s[ONE], &s[FLOOR], "that CAS16", size->one);
	report_lane(section, &set->lane[BATCH], &s[BATCH], &s[ONE], "one at a time", size->batch);
	report_lane(section, &set->lane[INSERT], &s[INSERT], &s[ONE], "a later request", 3);
}

static void
grow(const struct bench *bench, json_t *section, const struct size *size)
{
	const char *reason;
	struct walk *w = walk_open(size->keys, size->pages, &reason);
	struct samples samples[LANES];
	struct set set;

	if (!w) {
		report_note(section, "%s keys: not measured, %s; see rl(7), Huge pages", size->name,
		            reason);
		return;
	}
	fill_set(bench, &set, w, size->name);
	lanes_measure(bench, set.lane, LANES, samples);
	tell_set(section, &set, samples, size);
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

/* SPDX-License-Identifier: BSD-2-Clause */
/* A table of 1,000 keys and one of ten million; and on huge pages. */
#include <inttypes.h>
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
} sizes[] = {
	{1000, "1k", 0, 0},
	{100000, "100k", 0, 0},
	{1000000, "1M", 1.3, 0.25},
	{10000000, "10M", 1.4, 0.35},
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
		[FLOOR] = {"floor", "CAS16, dependent, over as many states", walk_floor},
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
	struct walk *w = walk_open(size->keys, BENCH_PAGES_AS_MOUNTED, &reason);
	struct samples samples[LANES];
	struct set set;

	if (!w) {
		report_note(section, "%s keys: skipped, %s", size->name, reason);
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

static void
tell_pages(json_t *section, const struct set sets[2], const struct samples *s)
{
	static const char *const to[LANES] = {"the same on small pages", "the same on small pages",
	                                      "the same on small pages", "the same on small pages"};

	for (int i = 0; i < LANES; i++) {
		report_lane(section, &sets[0].lane[i], &s[i], NULL, NULL, 0);
		report_lane(section, &sets[1].lane[i], &s[LANES + i], &s[i], to[i], 0);
	}
}

/* Both tables in one run, the lanes of both taking turns. */
static void
compare_pages(const struct bench *bench, json_t *section, struct walk *small, struct walk *huge)
{
	struct samples samples[2 * LANES];
	struct lane lanes[2 * LANES];
	struct set sets[2];

	fill_set(bench, &sets[0], small, "as mounted");
	fill_set(bench, &sets[1], huge, "huge pages");
	memcpy(lanes, sets[0].lane, sizeof sets[0].lane);
	memcpy(lanes + LANES, sets[1].lane, sizeof sets[1].lane);
	lanes_measure(bench, lanes, 2 * LANES, samples);
	tell_pages(section, sets, samples);
}

/* The mount options of /dev/shm that say how large its pages are. */
static void
note_mount(json_t *section)
{
	FILE *mounts = fopen("/proc/self/mounts", "r");
	char line[512], huge[32] = "none, so 4 KiB pages";

	while (mounts && fgets(line, sizeof line, mounts)) {
		const char *option = strstr(line, "huge=");
		if (strncmp(line, "tmpfs /dev/shm ", 15) == 0 && option)
			sscanf(option, "%31[^, \n]", huge);
	}
	if (mounts)
		fclose(mounts);
	report_note(section, "/dev/shm is mounted with huge= option: %s.", huge);
}

void
bench_pages(struct bench *bench)
{
	json_t *section = report_section(bench->report, "pages", "Huge pages");
	uint32_t keys = bench->is_quick ? 50000 : 4000000;
	const char *reason;
	struct walk *small = walk_open(keys, BENCH_PAGES_AS_MOUNTED, &reason), *huge = NULL;

	if (small)
		huge = walk_open(keys, BENCH_PAGES_HUGE, &reason);
	note_mount(section);
	if (huge) {
		report_note(section,
		            "Asked for by RL_OPEN_HUGE_PAGES: %" PRIu64
		            " MiB of the segment lie on them, %" PRIu32 " keys.",
		            bench_huge_bytes() >> 20, keys);
		compare_pages(bench, section, small, huge);
		walk_close(huge);
	} else {
		report_note(section, "not measured: %s; see rl(7), Huge pages", reason);
	}
	if (small)
		walk_close(small);
}

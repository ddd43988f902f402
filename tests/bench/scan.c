/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What it takes to look through a large table, beside reading its memory; latency.c has what
 * decisions notice of it. The segment is about the smallest there can be for so many keys: the more
 * it keeps of each, the less of it a scan has to read.
 */
#include "scan.h"

#include "report.h"
#include "rule/handle.h"
#include "walk.h"

#define KEYS 7500000 /* ten million slots, 67 % of them used */

struct most {
	uint64_t keys;
	uint32_t used;
};

static int
want_more(const struct rl_prefilter *prefilter, void *arg)
{
	struct most *most = arg;

	most->keys += !prefilter->is_stale;
	return !prefilter->is_stale && prefilter->used_most > most->used;
}

static int
take_more(const struct rl_entry *entry, void *arg)
{
	struct most *most = arg;

	if (entry->used > most->used)
		most->used = entry->used;
	return 0;
}

void
scan_most(struct rl *rl)
{
	struct most most = {0};

	rl_walk(rl, BENCH_T0, want_more, take_more, &most);
	bench_sink = most.keys;
}

static int
add_used(const struct rl_entry *entry, void *arg)
{
	*(uint64_t *)arg += entry->used + entry->key_len;
	return 0;
}

static void
run_most(void *walk, unsigned worker, uint64_t n)
{
	struct walk *w = walk;

	(void)worker;
	(void)n;
	scan_most(w->rl);
}

/* Every entry whole: its name made sure of, its sub-buckets. */
static void
run_whole(void *walk, unsigned worker, uint64_t n)
{
	struct walk *w = walk;
	uint64_t sum = 0;

	(void)worker;
	(void)n;
	rl_walk(w->rl, BENCH_T0, NULL, add_used, &sum);
	bench_sink = sum;
}

static void
run_read(void *walk, unsigned worker, uint64_t n)
{
	const struct rl_segment *s = &((struct walk *)walk)->rl->segment;
	const uint64_t *words = (const uint64_t *)(const void *)s->header;
	uint64_t sum = 0;

	(void)worker;
	(void)n;
	for (size_t i = 0; i < s->bytes / sizeof *words; i++)
		sum += words[i];
	bench_sink = sum;
}

void
bench_scan(struct bench *bench)
{
	json_t *section = report_section(bench->report, "scan", "A scan of the table");
	const char *reason;
	struct walk *w = walk_open((uint32_t)bench_n(bench, KEYS), BENCH_PAGES_AS_MOUNTED, &reason);
	struct rl_info info;

	if (!w)
		bench_die("no table to scan: %s", reason);
	rl_info(w->rl, &info);
	const struct lane lanes[] = {
		{"read", "a slot: its memory read in order", run_read, w, info.slots, 0},
		{"most", "a slot: the most used key looked for", run_most, w, info.slots, 0},
		{"whole", "a slot: every key looked at whole", run_whole, w, info.slots, 0},
	};
	struct samples s[3];
	lanes_measure(bench, lanes, 3, s);
	report_lane(section, &lanes[0], &s[0], NULL, NULL, 0);
	report_lane(section, &lanes[1], &s[1], &s[0], "reading the memory", 2);
	report_lane(section, &lanes[2], &s[2], &s[0], "reading the memory", 0);
	report_note(section, "%llu slots, %llu of them used; a segment of %llu bytes a slot",
	            (unsigned long long)info.slots, (unsigned long long)rl_fill(w->rl),
	            (unsigned long long)(info.bytes / info.slots));
	walk_close(w);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Lines of the segment that a decision changes, by comparing all of it before and after: what many
 * CPUs would have to hand to each other, which two cannot show. A line that is written with what it
 * had is not seen.
 */
#include <stdlib.h>
#include <string.h>

#include "hot.h"
#include "report.h"
#include "rule/handle.h"

#define LINE 64
#define DECISIONS 200
#define BEFORE 400 /* decisions that are not looked at: a hot key's denials are sampled by then */

/* How many lines differ; the copy has them as they are. */
static uint64_t
follow(char *copy, const char *segment, size_t bytes)
{
	uint64_t changed = 0;

	for (size_t at = 0; at + LINE <= bytes; at += LINE) {
		if (memcmp(copy + at, segment + at, LINE) != 0) {
			memcpy(copy + at, segment + at, LINE);
			changed++;
		}
	}
	return changed;
}

static double
lines_of(struct hot *hot)
{
	const struct rl_segment *s = &hot->rl->segment;
	struct lane lane = hot_lane_of(hot, 1);
	char *copy = malloc(s->bytes);
	uint64_t changed = 0;

	if (!copy)
		bench_die("no memory");
	lane.run(hot, 0, BEFORE);
	memcpy(copy, s->header, s->bytes);
	for (uint64_t i = 0; i < DECISIONS; i++) {
		lane.run(hot, 0, 1);
		changed += follow(copy, (const char *)s->header, s->bytes);
	}
	free(copy);
	return (double)changed / DECISIONS;
}

void
bench_lines(struct bench *bench)
{
	json_t *section = report_section(bench->report, "lines",
	                                 "Lines of the segment, 64 bytes, that a decision changes");
	struct hot *hot = hot_open();

	for (size_t i = 0; i < hot_count; i++) {
		const struct hot_lane *l = &hot_lanes[i];
		if (!l->options || l->lines > 0)
			report_row(section, &(struct row){.id = l->id,
			                                  .label = l->label,
			                                  .value = lines_of(&hot[i]),
			                                  .unit = "lines",
			                                  .target = l->lines});
	}
	hot_close(hot, hot_count);
}

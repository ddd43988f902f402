/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

/*
 * What a run tells, as one JSON object:
 *
 *	{ "machine": {...}, "rounds": 9, "is_quick": false,
 *	  "sections": [ { "id", "title", "rows": [...], "notes": ["..."] } ] }
 *	row: { "id", "label", "value", "unit",
 *	       "ratio", "to"              value / to's value
 *	       "low", "high"              medians of thirds of the rounds: of the ratio, or of the
 *	                                  value
 *	       "target", "is_at_least",   what the ratio ought to be, or the value if it has none
 *	       "is_met",                  by the worst of these medians
 *	       "is_met_at_best",
 *	       "disturbed" }              rounds that are not in the value
 *
 * The table for people is printed from the same object; picture.py draws it, figures.py puts it
 * into documents.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "bench.h"
#include "histogram.h"

struct row {
	const char *group,
		*group_label; /* in front of its name and label: "GROUP_ID", "GROUP: LABEL"; or
		                 NULL */
	const char *id;
	const char *label;
	double value;
	const char *unit;
	double ratio;
	const char *to;       /* what it is a ratio to; NULL: nothing */
	struct range medians; /* 0: not known */
	double target;        /* what the ratio, or the value, ought to be; 0: nothing said */
	bool is_at_least;     /* the target is a lower bound */
	unsigned disturbed;   /* rounds in which the machine did something else */
};

json_t *report_create(const struct bench *bench);

json_t *report_section(json_t *report, const char *id, const char *title);
void report_row(json_t *section, const struct row *row);
__attribute__((format(printf, 2, 3))) void report_note(json_t *section, const char *format, ...);

/* The row of a lane; with `to_label`, as a ratio to `to`. */
struct row report_row_of(const struct lane *lane, const struct samples *s, const struct samples *to,
                         const char *to_label);

/* The same, told; the ratio ought to be `target` at most unless that is 0. */
void report_lane(json_t *section, const struct lane *lane, const struct samples *s,
                 const struct samples *to, const char *to_label, double target);

/* A row each for p50, p99, p99.9 and the longest. */
void report_histogram(json_t *section, const struct histogram *h, const char *id,
                      const char *label);

/* The report as tables for people. */
void table_print(const json_t *report, FILE *out);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* One process, as many as there are CPUs, and more than that, each on a CPU of its own. */
#include <stdio.h>

#include "at.h"
#include "open.h"
#include "report.h"

#define OPERATIONS 200000
#define OWN_KEYS 1024 /* of each worker */
#define COUNTS 3

enum kind {
	DISJOINT,
	ADMITTED,
	PREFETCHED,
	DENIED,
	KINDS
};

static const struct {
	const char *id, *label;
	double target; /* speedup of two processes over one; 0: none is to be expected */
} kinds[KINDS] = {
	[DISJOINT] = {"disjoint", "keys of each process's own", 1.95},
	[ADMITTED] = {"admitted", "one key, admitted", 0},
	[PREFETCHED] = {"prefetched", "one key, admitted, prefetch 64", 0},
	[DENIED] = {"denied", "one key, denied", 1.95},
};

struct subject {
	struct rl *rl;
	int rule;
	uint64_t own; /* keys of each worker's own; 0: one key for all */
};

static void
ask(void *subject, unsigned worker, uint64_t n)
{
	const struct subject *s = subject;
	struct rl_result r;

	for (uint64_t i = 0; i < n; i++) {
		uint64_t key[2] = {s->own ? (worker + 1) * s->own + i % OWN_KEYS : 0, 5};
		at_check(s->rl, s->rule, key, sizeof key, 1, BENCH_T0, &r);
	}
}

/* How many decisions there are in the time of one of the others. */
static void
tell_speedup(json_t *section, const struct lane *lane, enum kind kind, const struct samples *s,
             const struct samples *others, const char *to, double target)
{
	struct samples speedup = samples_ratio(others, s);
	struct row row = report_row_of(lane, s, NULL, NULL);

	row.group = kinds[kind].id;
	row.group_label = kinds[kind].label;
	row.to = to;
	row.ratio = samples_median(&speedup);
	row.medians = samples_medians(&speedup);
	row.target = target;
	row.is_at_least = true;
	report_row(section, &row);
}

void
bench_scale(struct bench *bench)
{
	static const struct {
		const char *id, *label;
		unsigned workers;
	} counts[COUNTS] = {
		{"1", "1 process", 1}, {"2", "2 processes", 2}, {"8", "8 processes", 8}};
	bool has_pair = bench->cpus >= 2;
	json_t *section = report_section(bench->report, "scale", "Processes at once");
	struct rl *rl = bench_open(&(struct rl_options){.keys = 100000, .ring = 8}, false);
	const struct rl_limit open = {
		.capacity = RL_CAPACITY_MAX, .window_ns = 3600 * RL_SECOND, .hard = 1};
	const struct rl_limit prefetched = {.capacity = RL_CAPACITY_MAX,
	                                    .window_ns = 3600 * RL_SECOND,
	                                    .hard = 1,
	                                    .prefetch = 64};
	const struct rl_limit shut = {.capacity = 1, .window_ns = 3600 * RL_SECOND, .hard = 1};
	struct subject subject[KINDS] = {
		[DISJOINT] = {rl, bench_define(rl, "disjoint", &open), OWN_KEYS},
		[ADMITTED] = {rl, bench_define(rl, "admitted", &open), 0},
		[PREFETCHED] = {rl, bench_define(rl, "prefetched", &prefetched), 0},
		[DENIED] = {rl, bench_define(rl, "denied", &shut), 0},
	};
	const struct lane ahead_of = {
		.id = "speedup", .label = "2 processes, beside two without it", .workers = 2};
	struct lane lanes[KINDS * COUNTS];
	struct samples samples[KINDS * COUNTS];

	for (int i = 0; i < KINDS * COUNTS; i++)
		lanes[i] = (struct lane){counts[i % COUNTS].id,
		                         counts[i % COUNTS].label,
		                         ask,
		                         &subject[i / COUNTS],
		                         bench_n(bench, OPERATIONS),
		                         counts[i % COUNTS].workers};
	lanes_measure(bench, lanes, KINDS * COUNTS, samples);
	for (int i = 0; i < KINDS * COUNTS; i++)
		tell_speedup(section, &lanes[i], (enum kind)(i / COUNTS), &samples[i],
		             &samples[i - i % COUNTS], "the decisions of one process",
		             i % COUNTS == 1 && has_pair ? kinds[i / COUNTS].target : 0);
	tell_speedup(section, &ahead_of, PREFETCHED, &samples[PREFETCHED * COUNTS + 1],
	             &samples[ADMITTED * COUNTS + 1], "the decisions without it", has_pair ? 3 : 0);
	report_note(section,
	            "ns of wall time for each decision of all processes together; "
	            "%u CPUs, one process pinned to each in turn",
	            bench->cpus);
	rl_close(rl);
}

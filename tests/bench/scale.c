/* SPDX-License-Identifier: BSD-2-Clause */
/* One process, as many as there are CPUs, and more than that, each on a CPU of its own. */
#include <stdio.h>

#include "open.h"
#include "report.h"

#define OPERATIONS 200000
#define CROWD 8
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
		rl_check_at(s->rl, s->rule, key, sizeof key, 1, BENCH_T0, &r);
	}
}

/* How many decisions there are in the time of one of the others. */
static void
tell_speedup(json_t *section, const struct lane *lane, const struct samples *s,
             const struct samples *others, const char *to, double target)
{
	struct samples speedup = samples_ratio(others, s);
	struct row row = report_row_of(lane, s, NULL, NULL);

	row.to = to;
	row.ratio = samples_median(&speedup);
	row.medians = samples_medians(&speedup);
	row.target = target;
	row.is_at_least = true;
	report_row(section, &row);
}

static void
tell(const struct bench *bench, json_t *section, const struct lane *lanes, const struct samples *s,
     enum kind kind)
{
	bool has_pair = bench->cpus >= 2;

	report_lane(section, &lanes[0], &s[0], NULL, NULL, 0);
	for (int i = 1; i < COUNTS; i++)
		tell_speedup(section, &lanes[i], &s[i], &s[0], "the decisions of one process",
		             i == 1 && has_pair ? kinds[kind].target : 0);
}

void
bench_scale(struct bench *bench)
{
	const unsigned workers[COUNTS] = {1, 2, CROWD};
	json_t *section = report_section(bench->report, "scale", "Processes at once");
	struct rl *rl = bench_open(&(struct rl_options){.keys = 100000, .ring = 8}, false);
	const struct rl_limit open = {
		.capacity = RL_CAPACITY_MAX, .window_ns = 3600 * RL_SECOND, .hard = 1};
	const struct rl_limit ahead = {.capacity = RL_CAPACITY_MAX,
	                               .window_ns = 3600 * RL_SECOND,
	                               .hard = 1,
	                               .prefetch = 64};
	const struct rl_limit shut = {.capacity = 1, .window_ns = 3600 * RL_SECOND, .hard = 1};
	struct subject subject[KINDS] = {
		[DISJOINT] = {rl, bench_define(rl, "disjoint", &open), OWN_KEYS},
		[ADMITTED] = {rl, bench_define(rl, "admitted", &open), 0},
		[PREFETCHED] = {rl, bench_define(rl, "prefetched", &ahead), 0},
		[DENIED] = {rl, bench_define(rl, "denied", &shut), 0},
	};
	char id[KINDS * COUNTS][32], label[KINDS * COUNTS][96];
	const struct lane ahead_of = {.id = "prefetch_speedup",
	                              .label = "one key, admitted: 2 processes, prefetch 64",
	                              .workers = 2};
	struct lane lanes[KINDS * COUNTS];
	struct samples samples[KINDS * COUNTS];

	for (int i = 0; i < KINDS * COUNTS; i++) {
		unsigned count = workers[i % COUNTS];
		snprintf(id[i], sizeof id[i], "%s_%u", kinds[i / COUNTS].id, count);
		snprintf(label[i], sizeof label[i], "%s: %u process%s", kinds[i / COUNTS].label,
		         count, count == 1 ? "" : "es");
		lanes[i] = (struct lane){
			id[i], label[i], ask, &subject[i / COUNTS], bench_n(bench, OPERATIONS),
			count};
	}
	lanes_measure(bench, lanes, KINDS * COUNTS, samples);
	for (int i = 0; i < KINDS; i++)
		tell(bench, section, &lanes[i * COUNTS], &samples[i * COUNTS], (enum kind)i);
	tell_speedup(section, &ahead_of, &samples[PREFETCHED * COUNTS + 1],
	             &samples[ADMITTED * COUNTS + 1], "the decisions without it",
	             bench->cpus >= 2 ? 3 : 0);
	report_note(section,
	            "ns of wall time for each decision of all processes together; "
	            "%u CPUs, one process pinned to each in turn",
	            bench->cpus);
	rl_close(rl);
}

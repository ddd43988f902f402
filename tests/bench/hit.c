/* SPDX-License-Identifier: BSD-2-Clause */
/* A key that is in the caches, beside the floor. */
#include <string.h>

#include <rl_cluster.h>

#include "floor.h"
#include "probe.h"
#include "report.h"

#define OPERATIONS 100000

enum hit_lane {
	CLOCK,
	HASH,
	CAS16,
	COUNT,
	ADMIT_CLOCK,
	ADMIT_NOW,
	ADMIT_LENT,
	DENY_HARD,
	DENY_ESTIMATE,
	LANES
};

static const uint64_t key[2] = {1, 2};

static struct probe
probe_of(struct rl *rl, const char *name, uint32_t capacity, uint32_t granularity, int hard)
{
	const struct rl_limit limit = {.capacity = capacity,
	                               .window_ns = 3600 * RL_SECOND,
	                               .granularity = granularity,
	                               .hard = hard};
	struct probe p = {.rl = rl, .item = {.key = key, .key_len = sizeof key}};

	p.item.rule = bench_define(rl, name, &limit);
	return p;
}

static int
set_share(const struct rl_share *share, void *rl)
{
	struct rl_share set;

	return rl_share_set(rl, &share->of, share->lent, BENCH_T0, &set);
}

/* The same under a limit of a cluster, of which this host has all there is. */
static struct probe
probe_lent(struct rl *rl)
{
	const struct rl_limit limit = {.capacity = RL_CAPACITY_MAX,
	                               .window_ns = 3600 * RL_SECOND,
	                               .granularity = 8,
	                               .hard = 1,
	                               .scope = RL_SCOPE_CLUSTER};
	struct probe p = {.rl = rl, .item = {.key = key, .key_len = sizeof key}};
	uint64_t from = 0;

	p.item.rule = bench_define(rl, "lent", &limit);
	rl_check_at(rl, p.item.rule, key, sizeof key, 1, BENCH_T0, NULL);
	if (rl_share_wishes(rl, &from, 1, BENCH_T0, set_share, rl) < 1 ||
	    rl_share_advance(rl, BENCH_T0 + 3600 * RL_SECOND) < 0)
		bench_die("no share was lent");
	return p;
}

static void
tell(const struct bench *bench, const struct lane *lanes, const struct samples *s)
{
	json_t *section = report_section(bench->report, "hit", "A hot key, beside the floor");
	struct samples now = samples_sum(&s[HASH], &s[CAS16]);
	struct samples clock = samples_sum(&now, &s[CLOCK]);

	for (int i = CLOCK; i <= COUNT; i++)
		report_lane(section, &lanes[i], &s[i], NULL, NULL, 0);
	report_lane(section, &lanes[ADMIT_CLOCK], &s[ADMIT_CLOCK], &clock, "(clock + hash + CAS16)",
	            0);
	report_lane(section, &lanes[ADMIT_NOW], &s[ADMIT_NOW], &now, "(hash + CAS16)", 2.0);
	report_lane(section, &lanes[ADMIT_LENT], &s[ADMIT_LENT], &s[ADMIT_NOW], "admitted", 1.1);
	report_lane(section, &lanes[DENY_HARD], &s[DENY_HARD], &s[ADMIT_NOW], "admitted", 1.1);
	report_lane(section, &lanes[DENY_ESTIMATE], &s[DENY_ESTIMATE], &s[ADMIT_NOW], "admitted",
	            1.1);
}

static void
run_only(const struct lane *lanes, const char *id)
{
	for (int i = 0; i < LANES; i++) {
		if (strcmp(lanes[i].id, id) == 0) {
			lanes[i].run(lanes[i].arg, 0, lanes[i].n);
			return;
		}
	}
	bench_die("there is no lane '%s'", id);
}

void
bench_hit(struct bench *bench)
{
	static uint64_t counters[64 * 8] __attribute__((aligned(64)));
	struct rl *rl = bench_open(&(struct rl_options){.keys = 1000, .ring = 8}, false);
	struct rl *clustered = bench_open(
		&(struct rl_options){.keys = 1000, .ring = 8, .flags = RL_OPEN_CLUSTER}, false);
	struct probe lent = probe_lent(clustered);
	struct probe open = probe_of(rl, "open", RL_CAPACITY_MAX, 8, 1);
	/* Its times are years after BENCH_T0: under one rule, every other round would go back. */
	struct probe timed = probe_of(rl, "timed", RL_CAPACITY_MAX, 8, 1);

	struct probe hard = probe_of(rl, "hard", 1, 8, 1);
	struct probe estimate = probe_of(rl, "estimate", 1, 1, 0);
	struct floor_words word = floor_words_make(1, BENCH_PAGES_AS_MOUNTED);
	uint64_t n = bench_n(bench, OPERATIONS);
	const struct lane lanes[LANES] = {
		[CLOCK] = {"clock", "clock read", floor_clock, rl, n, 0},
		[HASH] = {"hash", "SipHash-1-3-128 of the same 16-byte key", floor_hash, NULL, n,
	                  0},
		[CAS16] = {"cas16", "CAS16, uncontended", floor_cas16, &word, n, 0},
		[COUNT] = {"count", "CPU number and an atomic add", floor_count, counters, n, 0},
		[ADMIT_CLOCK] = {"admit_clock", "admitted, library's clock", probe_clock, &timed, n,
	                         0},
		[ADMIT_NOW] = {"admit_now", "admitted, caller's now", probe_now, &open, n, 0},
		[ADMIT_LENT] = {"admit_lent", "admitted, of a cluster's share", probe_now, &lent, n,
	                        0},
		[DENY_HARD] = {"deny_hard", "denied, hard, 8 sub-buckets", probe_now, &hard, n, 0},
		[DENY_ESTIMATE] = {"deny_estimate", "denied, estimate, 1 sub-bucket", probe_now,
	                           &estimate, n, 0},
	};
	struct samples samples[LANES];

	if (bench->only) {
		run_only(lanes, bench->only);
	} else {
		lanes_measure(bench, lanes, LANES, samples);
		tell(bench, lanes, samples);
	}
	floor_words_free(&word);
	rl_close(clustered);
	rl_close(rl);
}

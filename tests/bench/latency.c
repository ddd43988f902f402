/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How long single decisions take, the slow ones too: alone, beside a process that sweeps or scans
 * all the time, and beside one that changes the configuration ten times a second.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "contention.h"
#include "open.h"
#include "report.h"
#include "scan.h"
#include "walk.h"

#define KEYS 1000000
#define OPERATIONS 300000
#define SLICE 4096 /* slots of one call to sweep */
#define RELOAD_US 100000
#define RULES 20 /* of the configuration */

struct subject {
	struct walk walk;
	uint64_t slots;
};

static void
sweep(const void *subject)
{
	const struct subject *s = subject;

	for (uint64_t first = 0;; first = first + SLICE < s->slots ? first + SLICE : 0) {
		uint64_t count = s->slots - first < SLICE ? s->slots - first : SLICE;
		struct rl_swept swept = {0};
		if (rl_sweep_slots_at(s->walk.rl, first, count, BENCH_T0, &swept) < 0)
			_exit(1);
	}
}

static void
scan(const void *subject)
{
	const struct subject *s = subject;

	for (;;)
		scan_most(s->walk.rl);
}

static void
reload(const void *subject)
{
	const struct subject *s = subject;
	static char name[RULES][32];
	struct rl_config_rule rules[RULES];

	for (uint32_t turn = 0;; turn++) {
		struct rl_config_outcome outcome;
		for (int i = 0; i < RULES; i++) {
			snprintf(name[i], sizeof name[i], i == 0 ? "latency" : "configured.%d", i);
			rules[i] = (struct rl_config_rule){
				.rule = {.name = name[i],
			                 .limit = {.capacity = RL_CAPACITY_MAX - turn % 2,
			                           .window_ns = 3600 * RL_SECOND,
			                           .hard = 1}}};
		}
		if (rl_configure(s->walk.rl, rules, RULES, 0, NULL, &outcome) < 0)
			_exit(1);
		usleep(RELOAD_US);
	}
}

static const struct contention {
	const char *id, *label;
	void (*run[2])(const void *subject); /* processes beside the one that asks */
} contentions[] = {
	{"alone", "alone", {NULL}},
	{"sweeper", "a process sweeping all the time", {sweep}},
	{"scanner", "a process scanning all the time", {scan}},
	{"reloads", "a configuration every 100 ms", {reload}},
	{"both", "sweeping, and configurations", {sweep, reload}},
};
#define CONTENTIONS (sizeof contentions / sizeof contentions[0])

static void
ask_under_contention(const struct bench *bench, struct subject *s, const struct contention *c,
                     struct histogram *h)
{
	pid_t pid[2];

	for (int i = 0; i < 2; i++)
		pid[i] = c->run[i] ? contention_start(bench, c->run[i], s) : 0;
	usleep(10000);
	walk_timed(&s->walk, bench_n(bench, OPERATIONS), h);
	for (int i = 0; i < 2; i++)
		if (pid[i])
			contention_stop(pid[i], c->label);
}

void
bench_latency(struct bench *bench)
{
	static struct histogram histogram[CONTENTIONS], clock;
	json_t *section =
		report_section(bench->report, "latency", "How long single decisions take");
	const struct rl_limit limit = {
		.capacity = RL_CAPACITY_MAX, .window_ns = 3600 * RL_SECOND, .hard = 1};
	struct subject s = {.walk = {.keys = bench_n(bench, KEYS)}};
	struct rl_info info;

	s.walk.rl =
		bench_open(&(struct rl_options){.keys = (uint32_t)s.walk.keys, .ring = 1}, true);
	s.walk.rule = bench_define(s.walk.rl, "latency", &limit);
	rl_info(s.walk.rl, &info);
	s.slots = info.slots;
	bench_insert(s.walk.rl, s.walk.rule, 0, s.walk.keys);
	for (uint64_t i = 0; i < bench_n(bench, OPERATIONS); i++) {
		uint64_t start_ns = bench_clock_ns();
		histogram_add(&clock, bench_clock_ns() - start_ns);
	}
	for (unsigned round = 0; round < bench->rounds; round++)
		for (size_t i = 0; i < CONTENTIONS; i++)
			ask_under_contention(bench, &s, &contentions[i], &histogram[i]);
	report_histogram(section, &clock, "clock", "nothing, but read the clock twice");
	for (size_t i = 0; i < CONTENTIONS; i++)
		report_histogram(section, &histogram[i], contentions[i].id, contentions[i].label);
	report_note(section, "one of %llu keys each; both readings of the clock are in every line",
	            (unsigned long long)s.walk.keys);
	rl_close(s.walk.rl);
}

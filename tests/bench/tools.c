/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an administrator waits for: a list of all keys, a large configuration, and a process that
 * attaches.
 */
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "command.h"
#include "open.h"
#include "report.h"

#define KEYS 2000000
#define RULES 1000
#define OVERRIDES 1000000
#define ATTACHES 1000
#define RELOADS 3
#define WINDOW (24 * 3600 * RL_SECOND)

static const struct rl_limit limit = {.capacity = RL_CAPACITY_MAX, .window_ns = WINDOW};

/* Of now, not of BENCH_T0, for rlctl shows what counts now. */
static struct rl *
open_filled(uint64_t keys)
{
	struct rl *rl = bench_open(
		&(struct rl_options){.keys = (uint32_t)keys, .ring = 1, .key_bytes = 16}, true);
	int rule = bench_define(rl, "listed", &limit);
	char key[24];

	for (uint64_t i = 0; i < keys * 9 / 10; i++) {
		int len = snprintf(key, sizeof key, "user:%011" PRIu64, i);
		rl_check(rl, rule, key, (size_t)len, 1, NULL);
	}
	return rl;
}

static void
tell(json_t *section, const char *id, const char *label, double value, const char *unit)
{
	report_row(section, &(struct row){.id = id, .label = label, .value = value, .unit = unit});
}

static void
tell_list(json_t *section, const char *segment)
{
	static const struct {
		const char *id, *label, *option;
	} lists[] = {{"list_20", "rlctl list -n 20", "-n20"},
	             {"list", "rlctl list", NULL},
	             {"list_json", "rlctl list --json", "--json"}};

	for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
		const struct command command = {
			{command_rlctl(), "--segment", segment, "list", lists[i].option}};
		struct usage usage = command_run(&command);
		char id[32], label[64];
		snprintf(id, sizeof id, "%s_bytes", lists[i].id);
		snprintf(label, sizeof label, "%s: memory", lists[i].label);
		tell(section, lists[i].id, lists[i].label, usage.cpu_ns / 1e9, "s");
		tell(section, id, label, (double)usage.bytes / 1e6, "MB");
	}
}

static void
attach(void *segment, unsigned worker, uint64_t n)
{
	(void)worker;
	for (uint64_t i = 0; i < n; i++) {
		struct rl *rl;
		if (rl_open(segment, &(struct rl_options){.flags = RL_OPEN_EXISTING}, &rl) < 0)
			bench_die("cannot attach to %s", (const char *)segment);
		rl_close(rl);
	}
}

static void
tell_attach(const struct bench *bench, json_t *section, const char *segment)
{
	const struct lane lane = {"attach",
	                          "rl_open() of a segment that is there, and rl_close()",
	                          attach,
	                          (void *)(uintptr_t)segment,
	                          bench_n(bench, ATTACHES),
	                          0};
	struct samples samples;

	lanes_measure(bench, &lane, 1, &samples);
	tell(section, lane.id, lane.label, samples_least(&samples) / 1e3, "us");
}

/* ---- a configuration ---- */

static struct rl_config_rule rules[RULES];
static struct rl_override overrides[OVERRIDES];

/* `count` overrides, as many of each rule. */
static void
configure(size_t rule_count, size_t count)
{
	static char name[RULES][16], text[OVERRIDES][16];

	for (size_t i = 0; i < count; i++) {
		int len = snprintf(text[i], sizeof text[i], "user:%zu", i);
		overrides[i] = (struct rl_override){.pattern = {RL_MATCH_KEY, text[i], (size_t)len},
		                                    .capacity = {1000}};
	}
	for (size_t i = 0; i < rule_count; i++) {
		size_t each = count / rule_count;
		snprintf(name[i], sizeof name[i], "r%zu", i);
		rules[i] = (struct rl_config_rule){.rule = {.name = name[i], .limit = limit},
		                                   .overrides = overrides + i * each,
		                                   .override_count = each};
	}
}

static double
reload_ms(struct rl *rl, size_t rule_count, uint32_t capacity)
{
	struct rl_config_outcome outcome;
	clock_t start = clock();
	int error;

	for (size_t i = 0; i < rule_count; i++)
		rules[i].rule.limit.capacity = capacity;
	error = rl_configure(rl, rules, rule_count, 0, NULL, &outcome);
	if (error < 0)
		bench_die("a configuration: %s", rl_strerror(error));
	return (double)(clock() - start) * 1e3 / CLOCKS_PER_SEC;
}

static void
tell_reload(const struct bench *bench, json_t *section)
{
	size_t rule_count = bench->is_quick ? RULES / 100 : RULES;
	size_t count = bench_n(bench, OVERRIDES);
	struct rl *rl = bench_open(
		&(struct rl_options){
			.keys = 1000, .ring = 8, .rules = RULES + 1, .overrides = (uint32_t)count},
		true);
	struct samples changed = {.count = RELOADS};
	double first_ms;

	configure(rule_count, count);
	first_ms = reload_ms(rl, rule_count, 1000);
	for (uint32_t i = 0; i < RELOADS; i++)
		changed.ns[i] = reload_ms(rl, rule_count, 1001 + i);
	tell(section, "configure", "rl_configure(), of a segment that had none", first_ms, "ms");
	tell(section, "reload", "rl_configure(), each rule changed", samples_least(&changed), "ms");
	report_note(section, "A configuration of %zu rules and %zu overrides.", rule_count, count);
	rl_close(rl);
}

void
bench_tools(struct bench *bench)
{
	json_t *section = report_section(bench->report, "tools", "What an administrator waits for");
	uint64_t keys = bench_n(bench, KEYS);
	struct rl *rl = open_filled(keys);
	struct rl_info info;

	rl_info(rl, &info);
	tell_list(section, info.name);
	tell_attach(bench, section, info.name);
	report_note(section, "A list of %" PRIu64 " keys; seconds of a CPU.", rl_fill(rl));
	rl_close(rl);
	tell_reload(bench, section);
}

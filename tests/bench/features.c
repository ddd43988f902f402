/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What each feature adds to a decision on a hot key: one limit of one sub-bucket, hard, at the
 * caller's `now`.
 */
#include <stdio.h>
#include <string.h>

#include "floor.h"
#include "probe.h"
#include "report.h"
#include "walk.h"

#define OPERATIONS 100000
#define LANES_MAX 40
#define OTHERS 1000 /* overrides and bans of other keys */
#define HOUR (3600 * RL_SECOND)

struct features {
	struct rl *rl, *banned_rl;
	struct probe probe[LANES_MAX];
	struct lane lane[LANES_MAX];
	size_t count;
	uint64_t n;
	json_t *section;
};

static const uint64_t key[32] = {1, 2};
static const struct rl_limit plain = {.capacity = RL_CAPACITY_MAX, .window_ns = HOUR, .hard = 1};

static void
run_null(void *probe, unsigned worker, uint64_t n)
{
	const struct probe *p = probe;

	(void)worker;
	for (uint64_t i = 0; i < n; i++)
		rl_check_at(p->rl, p->item.rule, p->item.key, p->item.key_len, 1, BENCH_T0, NULL);
}

static void
run_item(void *probe, unsigned worker, uint64_t n)
{
	const struct probe *p = probe;
	struct rl_result r;

	(void)worker;
	for (uint64_t i = 0; i < n; i++)
		rl_check_item_at(p->rl, &p->item, BENCH_T0, &r);
}

/* Every request in the next sub-bucket: a closed one goes to the ring each time. */
static void
run_rolling(void *probe, unsigned worker, uint64_t n)
{
	static uint64_t now = BENCH_T0;
	const struct probe *p = probe;
	struct rl_result r;

	(void)worker;
	for (uint64_t i = 0; i < n; i++, now += RL_SECOND)
		rl_check_item_at(p->rl, &p->item, now, &r);
}

static void
run_limits(void *probe, unsigned worker, uint64_t n)
{
	const struct probe *p = probe;
	struct rl_result r, all[RL_LIMITS_MAX];
	size_t count;

	(void)worker;
	for (uint64_t i = 0; i < n; i++)
		rl_check_limits_at(p->rl, &p->item, BENCH_T0, &r, &count, all);
}

static void
run_all_of_two(void *probe, unsigned worker, uint64_t n)
{
	const struct probe *p = probe;
	const struct rl_item items[2] = {p[0].item, p[-1].item};
	struct rl_result r[2];

	(void)worker;
	for (uint64_t i = 0; i < n; i++)
		rl_check_all_at(p->rl, items, 2, BENCH_T0, r, NULL);
}

static void
run_peek(void *probe, unsigned worker, uint64_t n)
{
	const struct probe *p = probe;
	struct rl_result r;

	(void)worker;
	for (uint64_t i = 0; i < n; i++)
		rl_peek_at(p->rl, p->item.rule, p->item.key, p->item.key_len, BENCH_T0, &r);
}

/* A lane on a rule, or a note that there can be none. */
static struct probe *
add(struct features *f, const char *id, const char *label, struct rl *rl, int rule)
{
	struct probe *p = &f->probe[f->count];

	if (rule < 0) {
		report_note(f->section, "%s: skipped, %s", label, rl_strerror(rule));
		return NULL;
	}
	if (f->count == LANES_MAX)
		bench_die("too many features");
	*p = (struct probe){.rl = rl, .item = {.rule = rule, .key = key, .key_len = 16, .cost = 1}};
	f->lane[f->count++] = (struct lane){id, label, run_item, p, f->n, 0};
	return p;
}

static struct probe *
add_limit(struct features *f, const char *id, const char *label, struct rl_limit limit)
{
	return add(f, id, label, f->rl,
	           rl_define(f->rl, &(struct rl_rule){.name = id, .limit = limit}));
}

static void
run_with(struct features *f, void (*run)(void *probe, unsigned worker, uint64_t n))
{
	f->lane[f->count - 1].run = run;
}

static void
add_calls(struct features *f)
{
	struct probe *p;

	add_limit(f, "plain", "one hard limit, 1 sub-bucket, 16-byte key, caller's now", plain);
	add_limit(f, "null_result", "no result wanted", plain);
	run_with(f, run_null);
	add_limit(f, "clock", "the library reads the clock", plain);
	run_with(f, probe_clock);
	p = add_limit(f, "key_64", "a key of 64 bytes", plain);
	p->item.key_len = 64;
	p = add_limit(f, "key_256", "a key of 256 bytes", plain);
	p->item.key_len = 256;
	p = add_limit(f, "tier", "a capacity of the request's own", plain);
	p->item.capacity = 1000000;
	add_limit(f, "peek", "a peek instead", plain);
	run_with(f, run_peek);
	add_limit(f, "check_all", "two rules in one request", plain);
	run_with(f, run_all_of_two);
}

static void
add_algorithms(struct features *f)
{
	struct rl_limit l = plain;

	l.granularity = 8;
	add_limit(f, "sub_buckets_8", "8 sub-buckets", l);
	l.granularity = 64;
	add_limit(f, "sub_buckets_64", "64 sub-buckets", l);
	l = (struct rl_limit){.capacity = RL_CAPACITY_MAX, .window_ns = 8 * RL_SECOND, .hard = 1};
	add_limit(f, "rolling_1", "1 sub-bucket, each request in the next", l);
	run_with(f, run_rolling);
	l.granularity = 8;
	add_limit(f, "rolling_8", "8 sub-buckets, each request in the next", l);
	run_with(f, run_rolling);
	l = plain;
	l.hard = 0;
	add_limit(f, "estimate", "estimate, 1 sub-bucket", l);
	l.algorithm = RL_FIXED_WINDOW;
	add_limit(f, "fixed_window", "fixed_window", l);
	l.algorithm = RL_TOKEN_BUCKET;
	add_limit(f, "token_bucket", "token_bucket", l);
	l.burst = RL_CAPACITY_MAX - 1;
	l.algorithm = RL_LEAKY_BUCKET;
	add_limit(f, "leaky_bucket", "leaky_bucket", l);
	l = (struct rl_limit){.algorithm = RL_SLIDING_LOG, .capacity = 32, .window_ns = RL_SECOND};
	add_limit(f, "sliding_log", "sliding_log of 32, each request at a new time", l);
	run_with(f, run_rolling);
}

static void
add_several(struct features *f, const char *id, const char *label, size_t count,
            void (*run)(void *probe, unsigned worker, uint64_t n))
{
	struct rl_limit more[RL_LIMITS_MAX - 1];
	struct rl_rule rule = {.name = id, .limit = plain, .more = more, .more_count = count - 1};

	for (size_t i = 0; i + 1 < count; i++) {
		more[i] = plain;
		more[i].window_ns = (i + 2) * HOUR;
	}
	if (add(f, id, label, f->rl, rl_define(f->rl, &rule)))
		run_with(f, run);
}

static void
add_prefixes(struct features *f)
{
	static const char v4[] = "192.0.2.17", v6[] = "2001:db8:12:3456::17";
	struct rl_limit l = plain;
	struct probe *p;

	l.prefix_v4 = 24;
	l.prefix_v6 = 64;
	p = add_limit(f, "prefix_v4", "an IPv4 address in text, counted by /24", l);
	if (p) {
		p->item.key = v4;
		p->item.key_len = strlen(v4);
	}
	p = add_limit(f, "prefix_v6", "an IPv6 address in text, counted by /64", l);
	if (p) {
		p->item.key = v6;
		p->item.key_len = strlen(v6);
	}
}

static struct rl_pattern
other_key(char text[32], unsigned i)
{
	return (struct rl_pattern){RL_MATCH_KEY, text, (size_t)snprintf(text, 32, "other:%u", i)};
}

/* Two rules of the configuration: one with overrides of other keys, one of this one as well. */
static void
add_overrides(struct features *f)
{
	static struct rl_override overrides[OTHERS + 1];
	static char text[OTHERS][32];
	struct rl_config_rule rules[2] = {
		{.rule = {.name = "overrides_others", .limit = plain},
	         .overrides = overrides,
	         .override_count = OTHERS},
		{.rule = {.name = "overridden", .limit = plain},
	         .overrides = overrides,
	         .override_count = OTHERS + 1},
	};
	struct rl_config_outcome outcome;
	int error;

	for (unsigned i = 0; i < OTHERS; i++)
		overrides[i] = (struct rl_override){.pattern = other_key(text[i], i),
		                                    .kind = RL_OVERRIDE_BANNED};
	overrides[OTHERS] = (struct rl_override){.pattern = {RL_MATCH_KEY, key, 16},
	                                         .capacity = {RL_CAPACITY_MAX - 1}};
	error = rl_configure(f->rl, rules, 2, 0, NULL, &outcome);
	add(f, "overrides_others", "a rule with 1,000 overrides, none for the key", f->rl,
	    error < 0 ? error : rl_find(f->rl, "overrides_others"));
	add(f, "overridden", "a rule with 1,001 overrides, one for the key", f->rl,
	    error < 0 ? error : rl_find(f->rl, "overridden"));
}

static void
add_bans(struct features *f)
{
	struct rl *rl = f->banned_rl;
	int rule = bench_define(rl, "bans_others", &plain);
	char text[32];

	for (unsigned i = 0; i < OTHERS && rule >= 0; i++) {
		struct rl_pattern pattern = other_key(text, i);
		int error = rl_ban(rl, RL_ANY_RULE, &pattern, RL_NEVER_NS);
		if (error < 0)
			rule = error;
	}
	add(f, "bans_others", "a segment with 1,000 bans, none of the key", rl, rule);
}

static void
tell(const struct features *f, const struct samples *s)
{
	report_lane(f->section, &f->lane[0], &s[0], NULL, NULL, 0);
	for (size_t i = 1; i < f->count; i++) {
		struct samples added = samples_difference(&s[i], &s[0]);
		report_row(f->section, &(struct row){.id = f->lane[i].id,
		                                     .label = f->lane[i].label,
		                                     .value = samples_median(&added),
		                                     .unit = "ns more"});
	}
}

/* Names are written when a key takes its place: two tables, one that keeps 8 bytes of each. */
static void
tell_names(const struct bench *bench, json_t *section)
{
	uint32_t keys = (uint32_t)bench_n(bench, 500000);
	struct walk walk[2] = {0};
	struct lane lanes[2];
	struct samples s[2], added;

	for (unsigned i = 0; i < 2; i++) {
		walk[i].rl = bench_open(
			&(struct rl_options){.keys = keys, .ring = 1, .key_bytes = i == 0 ? 1 : 48},
			false);
		walk[i].rule = bench_define(walk[i].rl, "names", &plain);
		lanes[i] = (struct lane){"insert",
		                         "first request of a key, 8 bytes of it kept",
		                         walk_insert,
		                         &walk[i],
		                         keys / bench->rounds,
		                         0};
	}
	lanes_measure(bench, lanes, 2, s);
	report_lane(section, &lanes[0], &s[0], NULL, NULL, 0);
	added = samples_difference(&s[1], &s[0]);
	report_row(section, &(struct row){.id = "names",
	                                  .label = "first request of a key, 48 bytes kept",
	                                  .value = samples_median(&added),
	                                  .unit = "ns more"});
	rl_close(walk[0].rl);
	rl_close(walk[1].rl);
}

void
bench_features(struct bench *bench)
{
	static struct features f;
	static uint64_t counters[64 * 8] __attribute__((aligned(64)));
	const struct rl_options options = {.keys = 1000, .ring = 64, .overrides = 4 * OTHERS};
	struct samples samples[LANES_MAX], count_samples;
	struct lane count = {"statistics",
	                     "statistics: CPU number and an atomic add, included",
	                     floor_count,
	                     counters,
	                     bench_n(bench, OPERATIONS),
	                     0};

	f = (struct features){.n = bench_n(bench, OPERATIONS)};
	f.section = report_section(bench->report, "features", "What each feature adds");
	f.rl = bench_open(&options, true);
	f.banned_rl = bench_open(&options, false);
	add_calls(&f); /* the plain one first */
	add_algorithms(&f);
	add_several(&f, "limits_2", "2 limits", 2, run_item);
	add_several(&f, "limits_4", "4 limits", 4, run_item);
	add_several(&f, "limits_8", "8 limits", 8, run_item);
	add_several(&f, "limits_8_all", "8 limits, told of each", 8, run_limits);
	add_prefixes(&f);
	add_overrides(&f);
	add_bans(&f);
	lanes_measure(bench, f.lane, f.count, samples);
	tell(&f, samples);
	lanes_measure(bench, &count, 1, &count_samples);
	report_lane(f.section, &count, &count_samples, NULL, NULL, 0);
	tell_names(bench, f.section);
	rl_close(f.rl);
	rl_close(f.banned_rl);
}

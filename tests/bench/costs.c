/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The cheap decision and the dear ones side by side, each beside the hot admission of the same
 * rounds: denials of a window that was used bit by bit, buckets, several limits, prefixes, and a
 * segment with bans that do not match.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "contention.h"
#include "floor.h"
#include "probe.h"
#include "report.h"

#define OPERATIONS 100000
#define LANES_MAX 24
#define SPREAD 100 /* admissions, all over the window */
#define HOUR (3600 * RL_SECOND)
#define BANS_A_SECOND 1000

struct cost {
	struct probe probe;
	uint64_t now_ns;
	bool has_result;
	double target;    /* of its ratio to the hot admission; 0: nothing said */
	struct rl *other; /* another handle of the segment, with a seat of its own */
};

struct costs {
	const struct bench *bench;
	struct rl *rl;
	struct cost cost[LANES_MAX];
	struct lane lane[LANES_MAX];
	size_t count;
};

static const uint64_t key[2] = {1, 2};
static const char v4[] = "192.0.2.17";
static const struct rl_limit plain = {
	.capacity = RL_CAPACITY_MAX, .window_ns = HOUR, .granularity = 1};

static void
ask(void *cost, unsigned worker, uint64_t n)
{
	const struct cost *c = cost;
	struct rl_result r, *result = c->has_result ? &r : NULL;

	(void)worker;
	for (uint64_t i = 0; i < n; i++)
		rl_check_item_at(c->probe.rl, &c->probe.item, c->now_ns, result);
}

static void
increment(void *cost, unsigned worker, uint64_t n)
{
	const struct cost *c = cost;
	const struct rl_item *item = &c->probe.item;
	struct rl_count count;

	(void)worker;
	for (uint64_t i = 0; i < n; i++)
		rl_counter_add_at(c->probe.rl, item->rule, item->key, item->key_len, 1, HOUR,
		                  c->now_ns, &count);
}

/* Units in flight, taken and given back; by two holders in turns, where there is another. */
static void
hold(void *cost, unsigned worker, uint64_t n)
{
	const struct cost *c = cost;
	struct rl *const handle[2] = {c->probe.rl, c->other ? c->other : c->probe.rl};
	struct rl_item item = c->probe.item;
	struct rl_charges charges;
	struct rl_hold held;
	struct rl_result r;

	(void)worker;
	item.charges = &charges;
	for (uint64_t i = 0; i < n; i++) {
		rl_check_item_at(handle[i % 2], &item, c->now_ns, &r);
		rl_release(handle[i % 2], &held, rl_holds(&charges, &held, 1));
	}
}

static struct cost *
add(struct costs *c, const char *id, const char *label, double target, struct rl *rl, int rule)
{
	struct cost *cost = &c->cost[c->count];

	if (c->count == LANES_MAX)
		bench_die("too many costs");
	*cost = (struct cost){
		.probe = {.rl = rl,
	                  .item = {.rule = rule, .key = key, .key_len = sizeof key, .cost = 1}},
		.now_ns = BENCH_T0,
		.has_result = true,
		.target = target,
	};
	c->lane[c->count++] = (struct lane){id, label, ask, cost, bench_n(c->bench, OPERATIONS), 0};
	return cost;
}

static struct cost *
add_limit(struct costs *c, const char *id, const char *label, double target, struct rl_limit limit)
{
	return add(c, id, label, target, c->rl, bench_define(c->rl, id, &limit));
}

/* Uses up a window of 64 sub-buckets bit by bit, and stops shortly before its end. */
static void
spread(struct cost *cost)
{
	struct rl_result r;

	for (uint64_t i = 0; i < SPREAD; i++)
		rl_check_item_at(cost->probe.rl, &cost->probe.item, BENCH_T0 + i * (HOUR / SPREAD),
		                 &r);
	cost->now_ns = BENCH_T0 + HOUR - HOUR / SPREAD / 2;
}

static void
add_denials(struct costs *c)
{
	struct rl_limit l = plain;
	struct cost *cost;

	l.capacity = 1;
	add_limit(c, "deny", "denied, used up in one sub-bucket", 1.1, l);
	l = (struct rl_limit){.capacity = SPREAD, .window_ns = HOUR, .granularity = 64, .hard = 1};
	spread(add_limit(c, "deny_spread", "denied, used up over 64 sub-buckets", 1.3, l));
	cost = add_limit(c, "deny_spread_null", "the same, no answer wanted", 1.0, l);
	spread(cost);
	cost->has_result = false;
}

static void
add_algorithms(struct costs *c)
{
	struct rl_limit l = plain;

	l.algorithm = RL_FIXED_WINDOW;
	add_limit(c, "fixed_window", "a fixed window on the clock", 1.0, l);
	l.algorithm = RL_ANCHORED_WINDOW;
	add_limit(c, "anchored_window", "an anchored window", 1.0, l);
	l.capacity = 1;
	add_limit(c, "anchored_window_deny", "an anchored window, denied", 1.3, l);
	l.count_denied = 1;
	add_limit(c, "anchored_window_count", "the same, the denial counted", 1.5, l);
	l = plain;
	l.algorithm = RL_TOKEN_BUCKET;
	add_limit(c, "token_bucket", "token bucket", 1.7, l);
	l.capacity = 1;
	add_limit(c, "token_bucket_deny", "token bucket, denied", 1.7, l);
	l = plain;
	l.granularity = 64;
	l.hard = 1;
	add_limit(c, "peek", "a peek, 64 sub-buckets, hard", 1.0, l)->probe.item.cost = 0;
}

static void
add_counter(struct costs *c)
{
	add(c, "counter", "a counter's increment", 1.2, c->rl,
	    rl_define_counters(c->rl, "counter"));
	c->lane[c->count - 1].run = increment;
}

static void
add_in_flight(struct costs *c, struct rl *one, struct rl *other)
{
	const struct rl_limit l = {.algorithm = RL_IN_FLIGHT, .capacity = 1000};
	int rule = bench_define(one, "in_flight", &l);

	add(c, "in_flight", "units in flight, taken and given back", 1.6, one, rule);
	c->lane[c->count - 1].run = hold;
	add(c, "in_flight_turns", "the same, by two holders in turns", 2.5, one, rule)->other =
		other;
	c->lane[c->count - 1].run = hold;
}

static void
add_several(struct costs *c)
{
	struct rl_limit more[RL_LIMITS_MAX - 1];
	struct rl_rule rule = {.name = "limits_2", .limit = plain, .more = more, .more_count = 1};
	struct cost *cost;

	more[0] = plain;
	more[0].window_ns = 2 * HOUR;
	add(c, "limits_2", "two limits", 1.6, c->rl, bench_define_rule(c->rl, &rule));
	rule = (struct rl_rule){
		.name = "prefixes_4", .limit = plain, .more = more, .more_count = 3};
	rule.limit.prefix_v4 = 32;
	for (uint8_t i = 0; i < 3; i++) {
		more[i] = plain;
		more[i].prefix_v4 = (uint8_t)(24 - 8 * i);
	}
	cost = add(c, "prefixes_4", "four limits by prefix of an IPv4 address", 2.5, c->rl,
	           bench_define_rule(c->rl, &rule));
	cost->probe.item.key = v4;
	cost->probe.item.key_len = strlen(v4);
}

static void
ban(struct rl *rl, const char *text)
{
	struct rl_pattern pattern = rl_pattern_of(text, strlen(text));
	int error = rl_ban(rl, RL_ANY_RULE, &pattern, RL_NEVER_NS);

	if (error < 0)
		bench_die("a ban of %s: %s", text, rl_strerror(error));
}

static struct rl *
open_banned(uint32_t bans)
{
	return bench_open(&(struct rl_options){.keys = 1000, .ring = 64, .bans = bans}, false);
}

static void
add_bans(struct costs *c, struct rl *one, struct rl *networks, struct rl *prefixes)
{
	static const unsigned lengths[] = {8, 12, 16, 20, 24};
	char text[64];
	struct cost *cost;

	ban(one, "somebody else");
	for (unsigned i = 0; i < 64; i++) {
		snprintf(text, sizeof text, "%u.%u.0.0/%u", 100 + i % 5, i / 5 * 16,
		         lengths[i % 5]);
		ban(networks, text);
	}
	for (unsigned i = 0; i < 10000; i++) {
		snprintf(text, sizeof text, "user:%.*s%u*", (int)(i % 8), "abcdefgh", i);
		ban(prefixes, text);
	}
	add(c, "ban_of_a_key", "a segment with one ban, of another key", 1.2, one,
	    bench_define(one, "plain", &plain));
	cost = add(c, "ban_of_networks", "64 bans of networks of five lengths, an address as key",
	           2.5, networks, bench_define(networks, "plain", &plain));
	cost->probe.item.key = v4;
	cost->probe.item.key_len = strlen(v4);
	cost = add(c, "ban_of_prefixes", "10,000 bans of prefixes of other keys", 2.5, prefixes,
	           bench_define(prefixes, "plain", &plain));
	cost->probe.item.key = "user:somebody-else";
	cost->probe.item.key_len = 18;
}

static void
tell(const struct costs *c, json_t *section, const struct samples *floor, const struct samples *s)
{
	report_lane(section, &c->lane[0], &s[0], floor, "(hash + CAS16)", 2.0);
	for (size_t i = 1; i < c->count; i++)
		report_lane(section, &c->lane[i], &s[i], &s[0], "a hot admission",
		            c->cost[i].target);
}

/* Sets a ban and lifts it, over and over. */
static void
ban_and_lift(const void *rl)
{
	const struct timespec pause = {.tv_nsec = 1000000000L / BANS_A_SECOND};
	const struct rl_pattern pattern = rl_pattern_of("somebody else", 13);

	for (;;) {
		rl_ban((struct rl *)(uintptr_t)rl, RL_ANY_RULE, &pattern, RL_NEVER_NS);
		nanosleep(&pause, NULL);
		rl_unban((struct rl *)(uintptr_t)rl, RL_ANY_RULE, &pattern);
		nanosleep(&pause, NULL);
	}
}

/* Alone and under that contention in turns: two processes on two CPUs. */
static void
tell_beside_bans(const struct bench *bench, json_t *section)
{
	struct rl *rl = open_banned(64);
	struct costs c = {.bench = bench, .rl = rl};
	struct samples alone, beside;
	pid_t pid;

	add_limit(&c, "beside_bans", "while 1,000 bans a second are set and lifted", 1.3, plain);
	lanes_measure(bench, c.lane, 1, &alone);
	pid = contention_start(bench, ban_and_lift, rl);
	lanes_measure(bench, c.lane, 1, &beside);
	contention_stop(pid, "who sets bans");
	report_lane(section, &c.lane[0], &beside, &alone, "a hot admission", c.cost[0].target);
	rl_close(rl);
}

void
bench_costs(struct bench *bench)
{
	static struct costs c;
	struct rl *one = open_banned(64), *networks = open_banned(256),
		  *prefixes = open_banned(20000);
	struct rl *holder = bench_open(&(struct rl_options){.keys = 1000}, true), *other;
	struct floor_words word = floor_words_make(1, BENCH_PAGES_AS_MOUNTED);
	json_t *section =
		report_section(bench->report, "costs", "The cheap decision and the dear ones");
	struct samples samples[LANES_MAX + 2], floor;
	uint64_t n = bench_n(bench, OPERATIONS);
	struct rl_info info;

	rl_info(holder, &info);
	if (rl_open(info.name, NULL, &other) < 0)
		bench_die("another handle of %s", info.name);
	c = (struct costs){.bench = bench,
	                   .rl = bench_open(&(struct rl_options){.keys = 1000, .ring = 64}, false)};
	add_limit(&c, "admit", "hot admission: 16-byte key, caller's now", 0, plain);
	add_denials(&c);
	add_algorithms(&c);
	add_counter(&c);
	add_in_flight(&c, holder, other);
	add_several(&c);
	add_bans(&c, one, networks, prefixes);
	c.lane[c.count] = (struct lane){"hash", "", floor_hash, NULL, n, 0};
	c.lane[c.count + 1] = (struct lane){"cas16", "", floor_cas16, &word, n, 0};
	lanes_measure(bench, c.lane, c.count + 2, samples);
	floor = samples_sum(&samples[c.count], &samples[c.count + 1]);
	tell(&c, section, &floor, samples);
	tell_beside_bans(bench, section);
	floor_words_free(&word);
	rl_close(c.rl);
	rl_close(one);
	rl_close(networks);
	rl_close(prefixes);
	rl_close(other);
	rl_close(holder);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* What goes before a lane of hot.def: its segment, its rule, and what else there is in it. */
#include "hot.h"
#include "at.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "open.h"
#include "rl_cluster.h"

#define HOUR (3600 * RL_SECOND)
#define SPREADS 100 /* admissions, all over the window */
#define OTHERS 1000 /* bans and overrides of other keys */
#define CROWD 2000  /* keys, more than the tiny segment has slots for */

/* The words of hot.def. */
#define WINDOW(...) .limit = {.window_ns = HOUR, __VA_ARGS__}
#define SECONDS(n, ...) .limit = {.window_ns = (n)*RL_SECOND, __VA_ARGS__}
#define OPEN .capacity = RL_CAPACITY_MAX
#define SHUT .capacity = 1
#define HARD(n) .granularity = (n), .hard = 1
#define SPREAD .capacity = SPREADS, HARD(64)
#define TEXT(text) .key = (text), .key_len = sizeof(text) - 1
#define V4 TEXT("192.0.2.17")
#define V6 TEXT("2001:db8:12:3456::17")
#define LONG(len) .key = long_key, .key_len = (len)

static const uint64_t plain_key[2] = {1, 2};
static const uint64_t long_key[64] = {1, 2};

static const struct rl_options shared = {.keys = 1000, .ring = 64, .rules = 128};
static const struct rl_options tiny = {.keys = 16, .ring = 8};
static const struct rl_options clustered = {.keys = 1000, .ring = 8, .flags = RL_OPEN_CLUSTER};
static const struct rl_options of_lists = {.keys = 1000, .ring = 8, .bans = 80000};
static const struct rl_options guarded = {.keys = 1000, .ring = 8, .bans = 20000};
static const struct rl_options named = {.keys = 1000, .ring = 8, .overrides = 4 * OTHERS};

/* Uses up a window of 64 sub-buckets bit by bit, and stops shortly before its end. */
static void
spread(struct hot *h)
{
	for (uint64_t i = 0; i < SPREADS; i++)
		at_check_item(h->rl, h->item, BENCH_T0 + i * (HOUR / SPREADS), NULL);
	h->now_ns = BENCH_T0 + HOUR - HOUR / SPREADS / 2;
}

static void
charge(struct hot *h)
{
	at_check_item(h->rl, h->item, h->now_ns, NULL);
}

/* So much that a unit of it can be given back each time, and one more in each later sub-bucket. */
static void
charge_much(struct hot *h)
{
	h->item->charges = &h->charges;
	h->item->cost = RL_CAPACITY_MAX / 2;
	at_check_item(h->rl, h->item, h->now_ns, NULL);
	for (unsigned i = 0; h->lane->step_ns > 0 && i < h->lane->limit.granularity; i++) {
		h->now_ns += h->lane->step_ns;
		at_check(h->rl, h->item->rule, h->item->key, h->item->key_len, 1, h->now_ns, NULL);
	}
}

static void
define_other(struct hot *h)
{
	h->item[1] = h->item[0];
	h->item[1].rule = bench_define(h->rl, "other", &h->lane->limit);
}

static void
define_counters(struct hot *h)
{
	h->item->rule = rl_define_counters(h->rl, h->lane->id);
}

static void
open_other(struct hot *h)
{
	struct rl_info info;

	rl_info(h->rl, &info);
	if (rl_open(info.name, NULL, &h->other) < 0)
		bench_die("another handle of %s", info.name);
}

static int
set_share(const struct rl_share *share, void *rl)
{
	struct rl_share set;

	return rl_share_set(rl, &share->of, share->shared, BENCH_T0, &set);
}

/* This host has all there is. */
static void
lend(struct hot *h)
{
	uint64_t from = 0;

	charge(h);
	if (rl_share_wishes(h->rl, &from, 1, BENCH_T0, set_share, h->rl) < 1 ||
	    rl_share_advance(h->rl, BENCH_T0 + HOUR) < 0)
		bench_die("no share was lent");
}

/* Until the table is full, and on to a key that has found no slot. */
static void
fill(struct hot *h)
{
	static uint64_t key[2];
	struct rl_result r = {0};

	for (unsigned i = 0; i < 2 * CROWD && (i < CROWD || r.reason != RL_BY_RESERVE); i++) {
		key[0] = i % CROWD;
		at_check(h->rl, h->item->rule, key, sizeof key, 1, h->now_ns, &r);
	}
	if (r.reason != RL_BY_RESERVE)
		bench_die("each key has found a slot");
	h->item->key = key;
}

static void
ban(struct hot *h, struct rl_pattern pattern)
{
	int error = rl_ban(h->rl, RL_ANY_RULE, &pattern, RL_NEVER_NS);

	if (error < 0)
		bench_die("a ban: %s", rl_strerror(error));
}

static struct rl_pattern
other_key(char text[32], unsigned i)
{
	return (struct rl_pattern){RL_MATCH_KEY, text, (size_t)snprintf(text, 32, "other:%u", i)};
}

static void
ban_some(struct hot *h, unsigned count)
{
	char text[32];

	for (unsigned i = 0; i < count; i++)
		ban(h, other_key(text, i));
}

static void
ban_another(struct hot *h)
{
	ban_some(h, 1);
}

static void
ban_others(struct hot *h)
{
	ban_some(h, OTHERS);
}

static void
ban_it(struct hot *h)
{
	ban_others(h);
	ban(h, (struct rl_pattern){RL_MATCH_KEY, h->item->key, h->item->key_len});
}

static void
ban_networks(struct hot *h)
{
	char text[32];

	for (unsigned i = 0; i < 64; i++) {
		snprintf(text, sizeof text, "%u.%u.0.0/%u", 100 + i % 5, i / 5 * 16, 8 + i % 5 * 4);
		ban(h, rl_pattern_of(text, strlen(text)));
	}
}

/* As a list that others publish, of networks that are not the key's. */
static void
ban_a_list(struct hot *h)
{
	char text[32];

	for (unsigned i = 0; i < 60000; i++) {
		snprintf(text, sizeof text, "%u.%u.%u.0/%u", 11 + i % 80, i / 80 % 256,
		         i / 20480 * 4, 22 + i % 3);
		ban(h, rl_pattern_of(text, strlen(text)));
	}
}

static void
ban_prefixes(struct hot *h)
{
	char text[32];

	for (unsigned i = 0; i < 10000; i++) {
		snprintf(text, sizeof text, "user:%.*s%u*", (int)(i % 8), "abcdefgh", i);
		ban(h, rl_pattern_of(text, strlen(text)));
	}
}

/*
 * Put a rule of the configuration in the lane's place, with overrides of other keys, and of this
 * one.
 */
static void
override(struct hot *h, bool has_own)
{
	static struct rl_override list[OTHERS + 1];
	static char text[OTHERS][32];
	const struct rl_config_rule rule = {.rule = {.name = "configured", .limit = h->lane->limit},
	                                    .overrides = list,
	                                    .override_count = OTHERS + has_own};
	struct rl_config_outcome outcome;
	int error;

	for (unsigned i = 0; i < OTHERS; i++)
		list[i] = (struct rl_override){.pattern = other_key(text[i], i),
		                               .kind = RL_OVERRIDE_BANNED};
	list[OTHERS] =
		(struct rl_override){.pattern = {RL_MATCH_KEY, h->item->key, h->item->key_len},
	                             .capacity = {RL_CAPACITY_MAX - 1}};
	error = rl_configure(h->rl, &rule, 1, 0, NULL, &outcome);
	if (error < 0)
		bench_die("overrides: %s", rl_strerror(error));
	h->item->rule = rl_find(h->rl, "configured");
}

static void
override_others(struct hot *h)
{
	override(h, false);
}

static void
override_it(struct hot *h)
{
	override(h, true);
}

const struct hot_lane hot_lanes[] = {
#define HOT(id, label, most, lines, ...) {#id, label, most, lines, __VA_ARGS__},
#include "hot.def"
#undef HOT
};
const size_t hot_count = sizeof hot_lanes / sizeof hot_lanes[0];

/* Limits of a rule differ by their window, or by their prefix. */
static int
define(struct rl *rl, const struct hot_lane *lane)
{
	struct rl_limit more[RL_LIMITS_MAX];
	struct rl_rule rule = {.name = lane->id, .limit = lane->limit, .more = more};

	for (unsigned i = 1; i < lane->limits; i++) {
		struct rl_limit *l = &more[rule.more_count++];
		*l = lane->limit;
		if (l->prefix_v4 > 0) {
			l->prefix_v4 = (uint8_t)(l->prefix_v4 - 8 * i);
			l->prefix_v6 = (uint8_t)(l->prefix_v6 - 8 * i);
		} else {
			l->window_ns *= i + 1;
		}
		if (i + 1 == lane->limits && lane->last_capacity > 0)
			l->capacity = lane->last_capacity;
	}
	return bench_define_rule(rl, &rule);
}

static void
open_lane(struct hot *h, const struct hot_lane *lane, struct rl *common)
{
	*h = (struct hot){.lane = lane, .rl = common, .now_ns = BENCH_T0, .item[0] = {.cost = 1}};
	if (lane->options)
		h->rl = bench_open(lane->options, lane->options == &named);
	h->item->key = lane->key ? lane->key : plain_key;
	h->item->key_len = lane->key ? lane->key_len : sizeof plain_key;
	h->item->capacity = lane->capacity;
	if (lane->limit.capacity > 0)
		h->item->rule = define(h->rl, lane);
	if (lane->prepare)
		lane->prepare(h);
	if (h->item->rule < 0)
		bench_die("%s: %s", lane->id, rl_strerror(h->item->rule));
}

struct hot *
hot_open(void)
{
	struct rl *common = bench_open(&shared, false);
	struct hot *hot = calloc(hot_count, sizeof *hot);

	if (!hot)
		bench_die("no memory");
	for (size_t i = 0; i < hot_count; i++)
		open_lane(&hot[i], &hot_lanes[i], common);
	return hot;
}

struct hot *
hot_open_one(const char *id)
{
	struct hot *hot = calloc(1, sizeof *hot);

	for (size_t i = 0; hot && i < hot_count; i++) {
		if (strcmp(hot_lanes[i].id, id) == 0) {
			open_lane(hot, &hot_lanes[i],
			          hot_lanes[i].options ? NULL : bench_open(&shared, false));
			return hot;
		}
	}
	bench_die("there is no lane '%s'", id);
}

/* The segment that lanes share is of the first of them. */
void
hot_close(struct hot *hot, size_t count)
{
	for (size_t i = count; i > 0; i--) {
		if (hot[i - 1].other)
			rl_close(hot[i - 1].other);
		if (hot[i - 1].lane->options || i == 1)
			rl_close(hot[i - 1].rl);
	}
	free(hot);
}

struct lane
hot_lane_of(struct hot *hot, uint64_t n)
{
	const struct hot_lane *l = hot->lane;

	return (struct lane){l->id, l->label, l->run ? l->run : hot_check, hot, n, 0};
}

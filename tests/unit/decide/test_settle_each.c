/* SPDX-License-Identifier: BSD-2-Clause */
/* What a request has cost counts under each algorithm, wherever its key is by then, and once. */
#include <errno.h>
#include <rl_admin.h>
#include <rl_ban.h>
#include <rl_flight.h>
#include <stdio.h>
#include <string.h>

#include "at.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND - UINT64_C(1700000000) % 60 * RL_SECOND)
#define WINDOW (60 * RL_SECOND)
#define CAPACITY 10

static const struct rl_limit limits[] = {
	{.algorithm = RL_SLIDING_WINDOW,
         .capacity = CAPACITY,
         .window_ns = WINDOW,
         .granularity = 6,
         .hard = 1},
	{.algorithm = RL_SLIDING_WINDOW,
         .capacity = CAPACITY,
         .window_ns = WINDOW,
         .granularity = 1},
	{.algorithm = RL_FIXED_WINDOW, .capacity = CAPACITY, .window_ns = WINDOW},
	{.algorithm = RL_ANCHORED_WINDOW, .capacity = CAPACITY, .window_ns = WINDOW},
	{.algorithm = RL_TOKEN_BUCKET, .capacity = CAPACITY, .window_ns = WINDOW},
	{.algorithm = RL_LEAKY_BUCKET,
         .capacity = CAPACITY,
         .window_ns = WINDOW,
         .burst = CAPACITY - 1,
         .undelayed = CAPACITY - 1},
	{.algorithm = RL_SLIDING_LOG, .capacity = CAPACITY, .window_ns = WINDOW},
};
#define LIMITS (sizeof limits / sizeof limits[0])

static struct rl *
open_ring(uint32_t keys)
{
	const struct rl_options o = {.keys = keys, .ring = 64};
	struct rl *rl;

	assert_int_equal(rl_open_private(&o, &rl), 0);
	return rl;
}

static int
define(struct rl *rl, const char *name, const struct rl_limit *limit)
{
	int rule = rl_define(rl, &(struct rl_rule){.name = name, .limit = *limit});

	assert_true(rule >= 0);
	return rule;
}

static void
charge(struct rl *rl, int rule, const char *key, uint64_t cost, uint64_t now_ns,
       struct rl_charges *charges)
{
	assert_int_equal(test_check_at(rl, rule, key, strlen(key), cost, now_ns, NULL, charges),
	                 RL_ALLOWED);
	assert_int_equal(charges->count, 1);
}

static uint32_t
used(struct rl *rl, int rule, const char *key, uint64_t now_ns)
{
	struct rl_result r;

	at_peek(rl, rule, key, strlen(key), now_ns, &r);
	return r.used;
}

/* Denied until retry_after, and not a nanosecond longer. */
static void
judge_retry(struct rl *rl, int rule, uint64_t now_ns)
{
	struct rl_result r;
	uint64_t at_ns;

	assert_int_equal(at_check(rl, rule, "k", 1, 1, now_ns, &r), RL_DENIED);
	assert_int_equal(r.remaining, 0);
	at_ns = now_ns + r.retry_after_ns;
	assert_int_equal(at_peek(rl, rule, "k", 1, at_ns - 1, &r), RL_DENIED);
	assert_int_equal(at_check(rl, rule, "k", 1, 1, at_ns, &r), RL_ALLOWED);
}

/* A log tells no more than its capacity. */
static uint32_t
told(const struct rl_limit *l, uint32_t is)
{
	return l->algorithm == RL_SLIDING_LOG && is > CAPACITY ? CAPACITY : is;
}

static void
test_each_algorithm(void **state)
{
	(void)state;
	for (size_t i = 0; i < LIMITS; i++) {
		struct rl *rl = open_ring(64);
		int rule = define(rl, "r", &limits[i]);
		struct rl_charges charges;
		struct rl_result r;

		charge(rl, rule, "k", 6, T0, &charges);
		assert_int_equal(at_settle(rl, &charges, 2, T0), 1);
		assert_int_equal(used(rl, rule, "k", T0), 2);
		charge(rl, rule, "k", 3, T0, &charges);
		assert_int_equal(at_settle(rl, &charges, 3, T0), 0);
		charge(rl, rule, "k", 1, T0, &charges);
		assert_int_equal(at_settle(rl, &charges, 8, T0), 1);
		assert_int_equal(used(rl, rule, "k", T0), told(&limits[i], 13));
		at_check(rl, rule, "k", 1, 2, T0, &r);
		assert_int_equal(r.verdict, RL_DENIED);
		assert_int_equal(r.used, told(&limits[i], 13));
		judge_retry(rl, rule, T0);
		assert_int_equal(test_counter(rl, rule, RL_COUNT_settle_charged), 10);
		assert_int_equal(test_counter(rl, rule, RL_COUNT_settle_given), 4);
		assert_int_equal(test_counter(rl, rule, RL_COUNT_settle_debt), 7);
		assert_int_equal(test_counter(rl, rule, RL_COUNT_settle_late), 0);
		rl_close(rl);
	}
}

/* A debt, for which nobody waits, holds up no refund, and ends none that a booking holds up. */
static void
test_a_debt_among_bookings(void **state)
{
	struct rl *rl = open_ring(64);
	int rule = define(rl, "r", &limits[4]);
	struct rl_charges first, second;

	(void)state;
	charge(rl, rule, "k", 4, T0, &first);
	charge(rl, rule, "k", 4, T0, &second);
	assert_int_equal(at_settle(rl, &second, 12, T0), 1);
	assert_int_equal(used(rl, rule, "k", T0), 16);
	assert_int_equal(at_settle(rl, &first, 1, T0), 1);
	assert_int_equal(used(rl, rule, "k", T0), 13);
	charge(rl, rule, "j", 8, T0, &first);
	second = first;
	assert_int_equal(at_reserve(rl, rule, "j", 1, 8, WINDOW, T0, NULL), RL_ALLOWED);
	assert_int_equal(at_settle(rl, &second, 9, T0), 1);
	assert_int_equal(at_settle(rl, &first, 1, T0), 0);
	assert_int_equal(used(rl, rule, "j", T0), 17);
	rl_close(rl);
}

static void
test_refused_by_name(void **state)
{
	struct rl *rl = open_ring(64);
	int rule = define(rl, "r", &limits[0]);
	struct rl_charges charges;

	(void)state;
	charge(rl, rule, "k", 6, T0, &charges);
	assert_int_equal(at_settle(rl, &charges, (uint64_t)-1, T0), RL_EACTUAL);
	assert_int_equal(at_settle(rl, &charges, RL_CAPACITY_MAX + UINT64_C(1), T0), RL_EACTUAL);
	assert_int_equal(used(rl, rule, "k", T0), 6);
	assert_int_equal(at_settle(rl, &charges, 5, T0), 1);
	assert_int_equal(at_settle(rl, &charges, 4, T0), RL_ESETTLED);
	assert_int_equal(at_refund(rl, &charges, T0), 0);
	assert_int_equal(used(rl, rule, "k", T0), 5);
	assert_string_equal(rl_error_name(RL_EACTUAL), "actual");
	assert_string_equal(rl_error_name(RL_ESETTLED), "settled");
	charge(rl, rule, "k", 1, T0, &charges); /* the next request's charges are its own */
	assert_int_equal(at_settle(rl, &charges, 0, T0), 1);
	assert_int_equal(used(rl, rule, "k", T0), 5);
	rl_close(rl);
}

static int
found_fault(enum rl_fault fault, uint64_t at, void *arg)
{
	(void)fault, (void)at, (void)arg;
	return 1;
}

/* The window is over, and the slot gone: nothing comes back, and a debt counts from now. */
static void
test_after_its_slot(void **state)
{
	const uint64_t later = T0 + 10 * WINDOW;

	(void)state;
	for (size_t i = 0; i < LIMITS; i++) {
		struct rl *rl = open_ring(64);
		int rule = define(rl, "r", &limits[i]);
		struct rl_charges charges;
		struct rl_audit audit;

		charge(rl, rule, "k", 6, T0, &charges);
		assert_int_equal(rl_sweep_at(rl, later), 1);
		assert_int_equal(at_settle(rl, &charges, 2, later), 0);
		assert_int_equal(used(rl, rule, "k", later), 0);
		assert_int_equal(test_counter(rl, rule, RL_COUNT_settle_late), 4);
		charge(rl, rule, "j", 6, T0, &charges);
		assert_int_equal(rl_sweep_at(rl, later), 1);
		assert_int_equal(at_settle(rl, &charges, 14, later), 1);
		assert_int_equal(used(rl, rule, "j", later), 8);
		assert_int_equal(rl_audit(rl, found_fault, NULL, &audit), 0);
		assert_int_equal(audit.live, 1);
		rl_close(rl);
	}
}

/* All slots are used, by keys of the rule: none gives way. */
static void
fill(struct rl *rl, int rule, bool is_network)
{
	struct rl_info info;
	char key[32];

	rl_info(rl, &info);
	for (unsigned i = 0; rl_fill(rl) < info.slots; i++) {
		assert_true(i < 10000);
		snprintf(key, sizeof key, is_network ? "10.%u.%u.1" : "%u-%u", i / 200, i % 200);
		at_check(rl, rule, key, strlen(key), 1, T0, NULL);
	}
}

/* In a full table nothing comes back, and a debt is counted where the request was. */
static void
settle_in_a_full_table(const struct rl_limit *limit, const char *key, const char *same)
{
	const struct rl_options o = {.keys = 1, .ring = 64, .cells = 16, .reserves = 4};
	struct rl_charges charges;
	struct rl_result r;
	struct rl *rl;
	int rule;

	assert_int_equal(rl_open_private(&o, &rl), 0);
	rule = define(rl, "r", limit);
	fill(rl, rule, limit->prefix_v4 > 0);
	assert_int_equal(test_check_at(rl, rule, key, strlen(key), 4, T0, &r, &charges),
	                 RL_ALLOWED);
	assert_int_equal(r.reason, RL_BY_RESERVE);
	assert_int_equal(charges.count, 1);
	assert_int_equal(at_settle(rl, &charges, 1, T0), 0);
	assert_int_equal(used(rl, rule, same, T0), 4);
	assert_int_equal(test_check_at(rl, rule, key, strlen(key), 2, T0, &r, &charges),
	                 RL_ALLOWED);
	assert_int_equal(at_settle(rl, &charges, 9, T0), 1);
	at_check(rl, rule, same, strlen(same), 1, T0, &r);
	assert_int_equal(r.verdict, RL_DENIED);
	assert_int_equal(r.used, 13);
	assert_int_equal(r.limit, CAPACITY);
	rl_close(rl);
}

static void
test_in_a_full_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < LIMITS; i++) {
		struct rl_limit networks = limits[i];

		networks.prefix_v4 = 24;
		networks.prefix_v6 = 64;
		settle_in_a_full_table(&limits[i], "k", "k");
		settle_in_a_full_table(&networks, "192.0.2.1", "192.0.2.77");
		settle_in_a_full_table(&networks, "2001:db8:1:2::1", "2001:db8:1:2:3::4");
	}
}

/* A debt that has nowhere to be is told. */
static void
test_no_room(void **state)
{
	const struct rl_options o = {.keys = 1, .ring = 64, .on_full = RL_FULL_DENY};
	struct rl_charges charges;
	struct rl *rl;
	int rule;

	(void)state;
	assert_int_equal(rl_open_private(&o, &rl), 0);
	rule = define(rl, "r", &limits[0]);
	charge(rl, rule, "k", 4, T0, &charges);
	assert_int_equal(rl_reset(rl, rule, "k", 1), 1);
	fill(rl, rule, false);
	assert_int_equal(at_settle(rl, &charges, 9, T0), -ENOSPC);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_settle_late), 5);
	assert_int_equal(at_settle(rl, &charges, 9, T0), RL_ESETTLED);
	rl_close(rl);
}

static void
test_networks(void **state)
{
	struct rl *rl = open_ring(64);
	struct rl_limit limit = limits[0];
	struct rl_charges charges;
	int rule;

	(void)state;
	limit.prefix_v4 = 24;
	rule = define(rl, "r", &limit);
	charge(rl, rule, "192.0.2.1", 4, T0, &charges);
	assert_int_equal(at_settle(rl, &charges, 30, T0), 1);
	assert_int_equal(used(rl, rule, "192.0.2.200", T0), 30);
	rl_close(rl);
}

/* What a process has prefetched is charged already: of it a unit comes back, or more is charged. */
static void
test_prefetched(void **state)
{
	struct rl *rl = open_ring(64);
	const struct rl_limit limit = {
		.capacity = 1000, .window_ns = WINDOW, .granularity = 1, .hard = 1, .prefetch = 8};
	int rule = define(rl, "r", &limit);
	struct rl_charges charges;
	uint32_t before;

	(void)state;
	charge(rl, rule, "k", 3, T0, &charges);
	charge(rl, rule, "k", 3, T0, &charges);
	before = used(rl, rule, "k", T0);
	assert_int_equal(at_settle(rl, &charges, 1, T0), 1);
	assert_int_equal(used(rl, rule, "k", T0), before - 2);
	charge(rl, rule, "k", 1, T0, &charges);
	before = used(rl, rule, "k", T0);
	assert_int_equal(at_settle(rl, &charges, 2001, T0), 1);
	assert_int_equal(used(rl, rule, "k", T0), before + 2000);
	assert_int_equal(at_check(rl, rule, "k", 1, 8, T0, NULL), RL_DENIED);
	rl_close(rl);
}

/* Who was banned since has spent it all the same; who is exempt was charged nothing. */
static void
test_exceptions(void **state)
{
	struct rl *rl = open_ring(64);
	int rule = define(rl, "r", &limits[0]);
	struct rl_pattern key = {.match = RL_MATCH_KEY, .key = "k", .key_len = 1};
	struct rl_charges charges;

	(void)state;
	charge(rl, rule, "k", 4, T0, &charges);
	assert_int_equal(rl_ban(rl, rule, &key, RL_NEVER_NS), 0);
	assert_int_equal(at_settle(rl, &charges, 9, T0), 1);
	assert_int_equal(rl_unban(rl, rule, &key), 1);
	assert_int_equal(used(rl, rule, "k", T0), 9);
	assert_int_equal(rl_allow(rl, rule, &key, RL_NEVER_NS), 0);
	assert_int_equal(test_check_at(rl, rule, "k", 1, 4, T0, NULL, &charges), RL_ALLOWED);
	assert_int_equal(charges.count, 0);
	assert_int_equal(at_settle(rl, &charges, 9, T0), 0);
	assert_int_equal(rl_unban(rl, rule, &key), 1);
	assert_int_equal(used(rl, rule, "k", T0), 9);
	rl_close(rl);
}

/* What a shadow only looked at is not settled, what it was charged is. */
static void
test_shadow(void **state)
{
	struct rl *rl = open_ring(64);
	struct rl_limit limit = limits[0];
	struct rl_charges charges;
	int rule;

	(void)state;
	limit.shadow = 1;
	rule = define(rl, "r", &limit);
	charge(rl, rule, "k", 9, T0, &charges);
	assert_int_equal(at_settle(rl, &charges, 7, T0), 1);
	assert_int_equal(test_check_at(rl, rule, "k", 1, 5, T0, NULL, &charges), RL_ALLOWED);
	assert_int_equal(charges.count, 0);
	assert_int_equal(at_settle(rl, &charges, 50, T0), 0);
	assert_int_equal(used(rl, rule, "k", T0), 7);
	rl_close(rl);
}

static void
test_reset(void **state)
{
	struct rl *rl = open_ring(64);
	int rule = define(rl, "r", &limits[0]);
	struct rl_charges charges;

	(void)state;
	charge(rl, rule, "k", 4, T0, &charges);
	assert_int_equal(at_settle(rl, &charges, 40, T0), 1);
	assert_int_equal(rl_reset(rl, rule, "k", 1), 1);
	assert_int_equal(used(rl, rule, "k", T0), 0);
	charge(rl, rule, "k", 4, T0, &charges);
	assert_int_equal(rl_reset(rl, rule, "k", 1), 1);
	assert_int_equal(at_settle(rl, &charges, 1, T0), 0);
	assert_int_equal(used(rl, rule, "k", T0), 0);
	rl_close(rl);
}

/* Units in flight are held until they are given back. */
static void
test_in_flight(void **state)
{
	struct rl *rl = open_ring(64);
	const struct rl_limit flight = {.algorithm = RL_IN_FLIGHT, .capacity = 4};
	int rule = rl_define(
		rl, &(struct rl_rule){
			    .name = "r", .limit = limits[0], .more = &flight, .more_count = 1});
	struct rl_charges charges;
	struct rl_hold hold;

	(void)state;
	assert_int_equal(test_check_at(rl, rule, "k", 1, 4, T0, NULL, &charges), RL_ALLOWED);
	assert_int_equal(charges.count, 2);
	assert_int_equal(at_settle(rl, &charges, 6, T0), 1);
	assert_int_equal(charges.count, 1);
	assert_int_equal(at_settle(rl, &charges, 6, T0), RL_ESETTLED);
	assert_int_equal(test_check_at(rl, rule, "k", 1, 1, T0, NULL, NULL), RL_UNDECIDED);
	assert_int_equal(rl_holds(&charges, &hold, 1), 1);
	assert_int_equal(rl_release(rl, &hold, 1), 1);
	assert_int_equal(used(rl, rule, "k", T0), 6);
	rl_close(rl);
}

/* Two rules of one request, each settled by itself. */
static void
test_two_rules(void **state)
{
	struct rl *rl = open_ring(64);
	struct rl_charges charges[2];
	struct rl_item items[2] = {
		{.rule = define(rl, "a", &limits[0]), .key = "k", .key_len = 1, .cost = 1},
		{.rule = define(rl, "b", &limits[4]), .key = "k", .key_len = 1, .cost = 8},
	};

	(void)state;
	for (int i = 0; i < 2; i++)
		items[i].charges = &charges[i];
	assert_int_equal(at_check_all(rl, items, 2, T0, NULL, NULL), RL_ALLOWED);
	assert_int_equal(at_settle(rl, &charges[1], 3, T0), 1);
	assert_int_equal(used(rl, items[0].rule, "k", T0), 1);
	assert_int_equal(used(rl, items[1].rule, "k", T0), 3);
	rl_close(rl);
}

/* As much as can be counted does, and what is above is told. */
static void
test_too_much(void **state)
{
	(void)state;
	for (size_t i = 0; i < LIMITS - 1; i++) {
		struct rl *rl = open_ring(64);
		int rule = define(rl, "r", &limits[i]);
		uint32_t most = i == 1 ? RL_CAPACITY_MAX / 2 : RL_CAPACITY_MAX;
		struct rl_charges charges[2];
		bool is_bucket = limits[i].algorithm == RL_TOKEN_BUCKET ||
		                 limits[i].algorithm == RL_LEAKY_BUCKET;

		charge(rl, rule, "k", 2, T0, &charges[0]);
		charge(rl, rule, "k", 2, T0, &charges[1]);
		assert_int_equal(at_settle(rl, &charges[0], RL_CAPACITY_MAX, T0), 1);
		if (!is_bucket) { /* a bucket holds a century's */
			assert_int_equal(used(rl, rule, "k", T0), most);
			assert_int_equal(at_settle(rl, &charges[1], 3, T0), 0);
		}
		assert_true(test_counter(rl, rule, RL_COUNT_settle_late) > 0);
		judge_retry(rl, rule, T0);
		rl_close(rl);
	}
}

/* A key that has moved to another table since. */
static void
test_resized(void **state)
{
	const struct rl_options o = {.keys = 64, .ring = 64};
	struct rl_resize to = {.keys = 400};
	struct rl_charges charges[3];
	struct rl *rl;
	int rule;

	(void)state;
	assert_int_equal(rl_open(test_segment_name(), &o, &rl), 0);
	rule = define(rl, "r", &limits[0]);
	for (int i = 0; i < 3; i++)
		charge(rl, rule, "k", 3, T0, &charges[i]);
	assert_int_equal(rl_resize(rl, &to, 0), 0);
	assert_int_equal(at_settle(rl, &charges[0], 5, T0), 1); /* moves the key */
	assert_int_equal(used(rl, rule, "k", T0), 11);
	assert_int_equal(at_settle(rl, &charges[1], 1, T0), 0);
	assert_int_equal(used(rl, rule, "k", T0), 11);
	assert_int_equal(at_settle(rl, &charges[2], 4, T0), 1);
	assert_int_equal(used(rl, rule, "k", T0), 12);
	rl_close(rl);
}

struct handed_over {
	struct rl_charges charges;
	int done;
};

static int
settle_there(void *arg, int i)
{
	struct handed_over *h = arg;
	struct rl *rl;

	(void)i;
	if (rl_open(test_segment_name(), NULL, &rl) < 0)
		return 1;
	h->done = at_settle(rl, &h->charges, 17, T0);
	rl_close(rl);
	return 0;
}

/* By the bytes of the charges alone, in a process that never saw the rule. */
static void
test_elsewhere(void **state)
{
	const struct rl_options o = {.keys = 64, .ring = 64};
	struct handed_over *h = test_shared(sizeof *h);
	struct rl *rl;
	int rule;

	(void)state;
	assert_int_equal(rl_open(test_segment_name(), &o, &rl), 0);
	rule = define(rl, "r", &limits[0]);
	charge(rl, rule, "k", 3, T0, &h->charges);
	test_fork(1, settle_there, h);
	assert_int_equal(h->done, 1);
	assert_int_equal(used(rl, rule, "k", T0), 17);
	rl_close(rl);
}

static void
test_read_only(void **state)
{
	const struct rl_options o = {.keys = 64, .ring = 64};
	const struct rl_options look = {.flags = RL_OPEN_READONLY};
	struct rl_charges charges;
	struct rl *rl, *reader;

	(void)state;
	assert_int_equal(rl_open(test_segment_name(), &o, &rl), 0);
	charge(rl, define(rl, "r", &limits[0]), "k", 3, T0, &charges);
	assert_int_equal(rl_open(test_segment_name(), &look, &reader), 0);
	assert_int_equal(at_settle(reader, &charges, 1, T0), -EROFS);
	rl_close(reader);
	assert_int_equal(at_settle(rl, &charges, 1, T0), 1);
	rl_close(rl);
}

/*
 * A network that has given way since, and there is room again: its name is not known, so nobody
 * finds what it has used, and the debt must not begin a slot without that.
 */
static void
test_a_network_that_gave_way(void **state)
{
	struct rl_limit networks = limits[2];
	struct rl_charges charges[16];
	unsigned lost = 0;
	char key[32];

	(void)state;
	networks.prefix_v4 = 24;
	struct rl *rl = open_ring(1);
	int rule = define(rl, "r", &networks), other = define(rl, "other", &limits[2]);
	for (int i = 0; i < 16; i++) {
		snprintf(key, sizeof key, "10.0.%d.1", i);
		charge(rl, rule, key, CAPACITY - 1, T0, &charges[i]);
	}
	assert_int_equal(at_check(rl, other, "key", 3, 1, T0, NULL), RL_ALLOWED);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_folded), 1);
	assert_int_equal(rl_reset(rl, other, "key", 3), 1);
	for (int i = 0; i < 16; i++) {
		charges[i].now_ns = T0;
		lost += rl_settle(rl, &charges[i], CAPACITY) == -ENOSPC;
		snprintf(key, sizeof key, "10.0.%d.1", i);
		assert_int_equal(at_check(rl, rule, key, strlen(key), 2, T0, NULL), RL_DENIED);
	}
	assert_int_equal(lost, 1);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_inserted), 16); /* it takes no slot */
	rl_close(rl);
}

/* Eight limits of windows that no rule has had before. */
static void
take_rows(struct rl *rl, const char *name, const struct rl_limit *first)
{
	static uint64_t windows;
	struct rl_limit more[RL_LIMITS_MAX - 1];

	for (unsigned i = 0; i < RL_LIMITS_MAX - 1; i++)
		more[i] = (struct rl_limit){.capacity = 1, .window_ns = ++windows * RL_SECOND};
	assert_true(rl_define(rl, &(struct rl_rule){.name = name,
	                                            .limit = *first,
	                                            .more = more,
	                                            .more_count = RL_LIMITS_MAX - 1}) >= 0);
}

/*
 * The rule of a charge is gone, and the row of its limit is one's of what is in flight: nothing is
 * owed there. Of 16 rows the newest rules have taken all before that one comes again.
 */
static void
test_a_row_that_is_another_limits(void **state)
{
	const struct rl_limit flight = {.algorithm = RL_IN_FLIGHT, .capacity = 5};
	const struct rl_options o = {.keys = 10, .rules = 1, .ring = 64};
	struct rl_charges charges, held;
	struct rl_rule_info info;
	struct rl *rl;

	(void)state;
	assert_int_equal(rl_open_private(&o, &rl), 0);
	charge(rl, define(rl, "gone", &limits[2]), "k", 1, T0, &charges);
	assert_int_equal(rl_forget(rl, "gone"), 1);
	take_rows(rl, "first", &limits[1]);
	assert_int_equal(rl_forget(rl, "first"), 1);
	take_rows(rl, "second", &limits[0]);
	assert_int_equal(rl_forget(rl, "second"), 1);
	take_rows(rl, "third", &flight);
	assert_int_equal(rl_rule_info(rl, 0, &info), 1);
	assert_int_equal(test_check_at(rl, info.handle, "k", 1, 1, T0, NULL, &held), RL_ALLOWED);
	assert_int_equal(held.charge[0].limit, charges.charge[0].limit);

	assert_int_equal(rl_settle(rl, &charges, 5), 0);
	assert_int_equal(test_counter(rl, info.handle, RL_COUNT_settle_debt), 0);
	assert_int_equal(rl_refund(rl, &held), 1);
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_algorithm),
		cmocka_unit_test(test_a_debt_among_bookings),
		cmocka_unit_test(test_refused_by_name),
		cmocka_unit_test(test_after_its_slot),
		cmocka_unit_test(test_in_a_full_table),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_networks),
		cmocka_unit_test(test_a_network_that_gave_way),
		cmocka_unit_test(test_prefetched),
		cmocka_unit_test(test_exceptions),
		cmocka_unit_test(test_shadow),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_in_flight),
		cmocka_unit_test(test_a_row_that_is_another_limits),
		cmocka_unit_test(test_two_rules),
		cmocka_unit_test(test_too_much),
		cmocka_unit_test_teardown(test_resized, test_unlink),
		cmocka_unit_test_teardown(test_elsewhere, test_unlink),
		cmocka_unit_test_teardown(test_read_only, test_unlink),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an item may want of all limits of its rule: to be counted whatever is left, to take no more
 * than there ever is, to leave some for others. And limits that count requests beside others.
 */
#include <errno.h>
#include <rl_admin.h>
#include <rl_flight.h>
#include <string.h>

#include "at.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define WINDOW (60 * RL_SECOND)

static const struct rl_limit small = {
	.capacity = 10, .window_ns = WINDOW, .granularity = 6, .hard = 1};
static const struct rl_limit large = {
	.algorithm = RL_TOKEN_BUCKET, .capacity = 1000, .window_ns = WINDOW};

static struct rl *
open_ring(void)
{
	const struct rl_options o = {.keys = 64, .ring = 64};
	struct rl *rl;

	assert_int_equal(rl_open_private(&o, &rl), 0);
	return rl;
}

static int
define(struct rl *rl, const char *name, const struct rl_limit *limit, const struct rl_limit *more,
       size_t more_count)
{
	int rule = rl_define(
		rl, &(struct rl_rule){
			    .name = name, .limit = *limit, .more = more, .more_count = more_count});

	assert_true(rule >= 0);
	return rule;
}

static struct rl_item
item_of(int rule, uint64_t cost, unsigned flags, struct rl_charges *charges)
{
	return (struct rl_item){.rule = rule,
	                        .key = "k",
	                        .key_len = 1,
	                        .cost = cost,
	                        .now_ns = T0,
	                        .flags = flags,
	                        .charges = charges};
}

static enum rl_verdict
ask(struct rl *rl, int rule, uint64_t cost, unsigned flags, uint32_t leave, struct rl_result *r)
{
	struct rl_item item = item_of(rule, cost, flags, NULL);

	item.leave = leave;
	return rl_check_item(rl, &item, r);
}

/* What each limit of the rule counts. */
static void
judge_used(struct rl *rl, int rule, size_t limits, const uint32_t *used)
{
	const struct rl_item item = item_of(rule, 0, 0, NULL);
	struct rl_result each[RL_LIMITS_MAX];
	size_t count;

	rl_check_limits(rl, &item, NULL, &count, each);
	assert_int_equal(count, limits);
	for (size_t i = 0; i < limits; i++)
		assert_int_equal(each[i].used, used[i]);
}

static void
test_spent(void **state)
{
	struct rl *rl = open_ring();
	int rule = define(rl, "r", &small, &large, 1);
	struct rl_charges charges;
	struct rl_item item = item_of(rule, 25, RL_ITEM_SPEND, &charges);
	struct rl_result r;

	(void)state;
	assert_int_equal(rl_check_item(rl, &item, &r), RL_ALLOWED);
	assert_int_equal(r.index, 0);
	assert_int_equal(r.limit, 10);
	assert_int_equal(r.remaining, 0);
	assert_int_equal(r.used, 25);
	assert_int_equal(charges.count, 2);
	judge_used(rl, rule, 2, (const uint32_t[]){25, 25});
	assert_int_equal(ask(rl, rule, 1, 0, 0, &r), RL_DENIED);
	assert_int_equal(at_settle(rl, &charges, 5, T0), 1);
	judge_used(rl, rule, 2, (const uint32_t[]){5, 5});
	assert_int_equal(ask(rl, rule, 5, 0, 0, &r), RL_ALLOWED);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_allowed), 2);
	rl_close(rl);
}

/* Of several items, and of what is in flight, nothing is known afterwards. */
static void
test_not_spent(void **state)
{
	struct rl *rl = open_ring();
	const struct rl_limit flight = {.algorithm = RL_IN_FLIGHT, .capacity = 4};
	struct rl_charges charges;
	int rule = define(rl, "r", &small, NULL, 0);
	struct rl_item items[2] = {item_of(rule, 25, RL_ITEM_SPEND, NULL),
	                           item_of(rule, 25, RL_ITEM_SPEND, NULL)};
	struct rl_item item = items[0];
	struct rl_result r, results[2];

	(void)state;
	assert_int_equal(rl_check_all(rl, items, 2, results, NULL), RL_UNDECIDED);
	assert_int_equal(results[0].error, -EINVAL);
	item.rule = define(rl, "f", &small, &flight, 1);
	item.charges = &charges;
	assert_int_equal(rl_check_item(rl, &item, &r), RL_UNDECIDED);
	assert_int_equal(r.error, -EINVAL);
	assert_int_equal(charges.count, 0);
	rl_close(rl);
}

static void
test_clamped(void **state)
{
	struct rl *rl = open_ring();
	int rule = define(rl, "r", &small, &large, 1);
	struct rl_result r;

	(void)state;
	assert_int_equal(ask(rl, rule, 400, 0, 0, &r), RL_NEVER);
	assert_int_equal(ask(rl, rule, 400, RL_ITEM_CLAMP, 0, &r), RL_ALLOWED);
	judge_used(rl, rule, 2, (const uint32_t[]){10, 400});
	assert_int_equal(ask(rl, rule, 400, RL_ITEM_CLAMP, 0, &r), RL_DENIED);
	rl_close(rl);
}

/*
 * A request of low priority finds less, whatever the limit, and what it leaves is there for others.
 */
static void
test_left(void **state)
{
	static const struct rl_limit limits[] = {
		{.capacity = 10, .window_ns = WINDOW, .granularity = 6, .hard = 1},
		{.algorithm = RL_FIXED_WINDOW, .capacity = 10, .window_ns = WINDOW},
		{.algorithm = RL_SLIDING_LOG, .capacity = 10, .window_ns = WINDOW},
		{.algorithm = RL_TOKEN_BUCKET, .capacity = 10, .window_ns = WINDOW},
		{.algorithm = RL_LEAKY_BUCKET,
	         .capacity = 10,
	         .window_ns = WINDOW,
	         .burst = 9,
	         .undelayed = 9},
	};

	(void)state;
	for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
		struct rl *rl = open_ring();
		int rule = define(rl, "r", &large, &limits[i], 1);
		struct rl_result r;

		for (int n = 0; n < 7; n++)
			assert_int_equal(ask(rl, rule, 1, RL_ITEM_LEAVE, 250, &r), RL_ALLOWED);
		assert_int_equal(ask(rl, rule, 1, RL_ITEM_LEAVE, 250, &r), RL_DENIED);
		assert_int_equal(r.limit, 7); /* three are left, of 2.5 */
		for (int n = 0; n < 3; n++)
			assert_int_equal(ask(rl, rule, 1, 0, 0, &r), RL_ALLOWED);
		assert_int_equal(ask(rl, rule, 1, 0, 0, &r), RL_DENIED);
		assert_int_equal(ask(rl, rule, 1, RL_ITEM_LEAVE, 1000, &r), RL_UNDECIDED);
		assert_int_equal(r.error, -EINVAL);
		assert_int_equal(ask(rl, rule, 1, 0, 250, &r), RL_UNDECIDED);
		assert_int_equal(r.error, -EINVAL);
		rl_close(rl);
	}
}

/* Who asks what an item may want is told by name. */
static void
test_checked(void **state)
{
	struct rl_item item = item_of(0, 1, RL_ITEM_SPEND | RL_ITEM_CLAMP | RL_ITEM_LEAVE, NULL);
	char text[128];

	(void)state;
	item.leave = 999;
	assert_int_equal(rl_item_check(&small, &item, NULL, text, sizeof text), 0);
	item.leave = 1000;
	assert_int_equal(rl_item_check(&small, &item, NULL, text, sizeof text), -EINVAL);
	assert_string_equal(text, "leave: 1000; 0 to 999 is allowed");
	item.leave = 0;
	item.flags = 32;
	assert_int_equal(rl_item_check(&small, &item, NULL, text, sizeof text), -EINVAL);
}

/* Requests a minute, tokens a minute, and so many at once, in one decision. */
static void
test_counts_requests(void **state)
{
	const struct rl_limit more[2] = {
		large, {.algorithm = RL_IN_FLIGHT, .capacity = 2, .counts = RL_COUNTS_REQUESTS}};
	struct rl *rl = open_ring();
	struct rl_limit requests = small;
	struct rl_charges charges[3];
	struct rl_rule_info info;
	struct rl_item item;
	struct rl_hold hold;
	int rule;

	(void)state;
	requests.counts = RL_COUNTS_REQUESTS;
	rule = define(rl, "r", &requests, more, 2);
	for (int i = 0; i < 2; i++) {
		item = item_of(rule, 400, 0, &charges[i]);
		assert_int_equal(rl_check_item(rl, &item, NULL), RL_ALLOWED);
		assert_int_equal(charges[i].count, 3);
	}
	item.charges = &charges[2];
	item.cost = 1;
	assert_int_equal(rl_check_item(rl, &item, NULL), RL_DENIED); /* two are under way */
	assert_int_equal(rl_holds(&charges[0], &hold, 1), 1);
	assert_int_equal(rl_release(rl, &hold, 1), 1);
	assert_int_equal(at_settle(rl, &charges[0], 100, T0), 1);
	assert_int_equal(charges[0].count, 1); /* the request's */
	judge_used(rl, rule, 3, (const uint32_t[]){2, 500, 1});
	assert_int_equal(at_refund(rl, &charges[1], T0), 1); /* it was never made */
	judge_used(rl, rule, 3, (const uint32_t[]){1, 100, 0});
	assert_int_equal(rl_rule_info(rl, rule, &info), 1);
	assert_int_equal(info.limits[0].counts, RL_COUNTS_REQUESTS);
	assert_int_equal(info.limits[1].counts, RL_COUNTS_COST);
	rl_close(rl);
}

/* The only limit of a rule, and with all that a request may want. */
static void
test_counts_requests_alone(void **state)
{
	struct rl *rl = open_ring();
	struct rl_limit requests = small;
	struct rl_result r;
	int rule;

	(void)state;
	requests.counts = RL_COUNTS_REQUESTS;
	rule = define(rl, "r", &requests, NULL, 0);
	for (int i = 0; i < 10; i++)
		assert_int_equal(at_check(rl, rule, "k", 1, 1000 + (uint64_t)i, T0, &r),
		                 RL_ALLOWED);
	assert_int_equal(r.used, 10);
	assert_int_equal(at_check(rl, rule, "k", 1, 1, T0, &r), RL_DENIED);
	assert_int_equal(ask(rl, rule, 7, RL_ITEM_SPEND, 0, &r), RL_ALLOWED);
	assert_int_equal(r.used, 11);
	requests.counts = RL_COUNTS_REQUESTS + 1;
	assert_int_equal(rl_define(rl, &(struct rl_rule){.name = "r", .limit = requests}), -EINVAL);
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spent),
		cmocka_unit_test(test_not_spent),
		cmocka_unit_test(test_clamped),
		cmocka_unit_test(test_left),
		cmocka_unit_test(test_checked),
		cmocka_unit_test(test_counts_requests),
		cmocka_unit_test(test_counts_requests_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

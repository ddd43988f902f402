/* SPDX-License-Identifier: BSD-2-Clause */
/* Whatever a call hands out to be given back, all of it given back is what it charged. */
#include <string.h>

#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define COST 3

static const struct rl_limit daily = {
	.algorithm = RL_FIXED_WINDOW, .capacity = 100, .window_ns = 86400 * RL_SECOND};

static int
define(struct rl *rl, const char *name)
{
	return rl_define(rl, &(struct rl_rule){.name = name,
	                                       .limit = {.algorithm = RL_SLIDING_LOG,
	                                                 .capacity = 20,
	                                                 .window_ns = RL_SECOND},
	                                       .more = &daily,
	                                       .more_count = 1});
}

static struct rl_item
item_of(int rule, uint64_t cost)
{
	return (struct rl_item){.rule = rule, .key = "k", .key_len = 1, .cost = cost};
}

/* Of each limit, what it counts. */
static void
expect_used(struct rl *rl, int rule, uint32_t used)
{
	const struct rl_item peek = item_of(rule, 0);
	struct rl_result r, each[RL_LIMITS_MAX];
	size_t count;

	rl_check_limits_at(rl, &peek, T0, &r, &count, each);
	assert_int_equal(count, 2);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(each[i].limit - each[i].remaining, used);
}

static void
test_limits_hand_out_once(void **state)
{
	struct rl *rl = test_private(20);
	int rule = define(rl, "r");
	const struct rl_item item = item_of(rule, COST);
	struct rl_result r, each[RL_LIMITS_MAX];
	size_t count;

	(void)state;
	for (int again = 0; again < 2; again++) {
		assert_int_equal(rl_check_item_at(rl, &item, T0, NULL), RL_ALLOWED);
		assert_int_equal(rl_check_limits_at(rl, &item, T0, &r, &count, each), RL_ALLOWED);
		expect_used(rl, rule, 2 * COST);
		assert_int_equal(r.charges, 2);
		for (size_t i = 0; i < count; i++) /* the limits' own have nothing to give */
			assert_int_equal(rl_refund_at(rl, &each[i], T0), 0);
		expect_used(rl, rule, 2 * COST);
		assert_int_equal(rl_refund_at(rl, &r, T0), 1);
		assert_int_equal(rl_refund_at(rl, &r, T0), 0);
		expect_used(rl, rule, COST);
		rl_reset(rl, rule, "k", 1);
	}
	rl_close(rl);
}

/* A request under one limit goes another way. */
static void
test_one_limit(void **state)
{
	struct rl *rl = test_private(20);
	int rule = test_rule(rl, "one", 20, RL_SECOND, 1, true);
	const struct rl_item item = item_of(rule, COST);
	struct rl_result r, each[RL_LIMITS_MAX];
	size_t count;

	(void)state;
	assert_int_equal(rl_check_item_at(rl, &item, T0, NULL), RL_ALLOWED);
	assert_int_equal(rl_check_limits_at(rl, &item, T0, &r, &count, each), RL_ALLOWED);
	assert_int_equal(rl_refund_at(rl, &r, T0) + rl_refund_at(rl, &each[0], T0), 1);
	rl_peek_at(rl, rule, "k", 1, T0, &r);
	assert_int_equal(r.limit - r.remaining, COST);
	rl_close(rl);
}

/* Of several items each result has its own. */
static void
test_items_hand_out_once(void **state)
{
	struct rl *rl = test_private(20);
	int rules[] = {define(rl, "r"), define(rl, "s")};
	const struct rl_item items[] = {item_of(rules[0], COST), item_of(rules[1], COST)};
	struct rl_result results[2];

	(void)state;
	assert_int_equal(rl_check_all_at(rl, items, 2, T0, NULL, NULL), RL_ALLOWED);
	assert_int_equal(rl_check_all_at(rl, items, 2, T0, results, NULL), RL_ALLOWED);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rl_refund_at(rl, &results[i], T0), 1);
		expect_used(rl, rules[i], COST);
		expect_used(rl, rules[1 - i], i == 0 ? 2 * COST : COST);
	}
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limits_hand_out_once),
		cmocka_unit_test(test_one_limit),
		cmocka_unit_test(test_items_hand_out_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

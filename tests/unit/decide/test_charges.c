/* SPDX-License-Identifier: BSD-2-Clause */
/* Whatever a call hands out to be given back, all of it given back is what it charged. */
#include <string.h>

#include "at.h"
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
item_of(int rule, uint64_t cost, struct rl_charges *charges)
{
	return (struct rl_item){
		.rule = rule, .key = "k", .key_len = 1, .cost = cost, .charges = charges};
}

/* Of each limit, what it counts. */
static void
expect_used(struct rl *rl, int rule, uint32_t used)
{
	const struct rl_item peek = item_of(rule, 0, NULL);
	struct rl_result r, each[RL_LIMITS_MAX];
	size_t count;

	at_check_limits(rl, &peek, T0, &r, &count, each);
	assert_int_equal(count, 2);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(each[i].used, used);
}

static void
test_several_limits(void **state)
{
	struct rl *rl = test_private(20);
	int rule = define(rl, "r");
	struct rl_charges c;
	const struct rl_item kept = item_of(rule, COST, NULL), given = item_of(rule, COST, &c);
	struct rl_result each[RL_LIMITS_MAX];
	size_t count;

	(void)state;
	for (int again = 0; again < 4; again++) {
		assert_int_equal(at_check_item(rl, &kept, T0, NULL), RL_ALLOWED);
		if (again % 2 == 0)
			at_check_limits(rl, &given, T0, NULL, &count, each);
		else
			at_check_item(rl, &given, T0, NULL);
		expect_used(rl, rule, 2 * COST);
		assert_int_equal(c.count, 2);
		assert_int_equal(at_refund(rl, &c, T0), 1);
		assert_int_equal(at_refund(rl, &c, T0), 0);
		expect_used(rl, rule, COST);
		rl_reset(rl, rule, "k", 1);
	}
	rl_close(rl);
}

/* A request under one limit goes another way; as does the first one of a key. */
static void
test_one_limit(void **state)
{
	struct rl *rl = test_private(20);
	int rule = test_rule(rl, "one", 20, RL_SECOND, 1, true);
	struct rl_charges c;
	const struct rl_item given = item_of(rule, COST, &c);
	struct rl_result r;

	(void)state;
	for (int again = 0; again < 3; again++) {
		if (again < 2)
			at_check_item(rl, &given, T0, NULL);
		else
			at_check_many(rl, &given, 1, T0, &r);
		assert_int_equal(c.count, 1);
		assert_int_equal(at_refund(rl, &c, T0), 1);
		at_peek(rl, rule, "k", 1, T0, &r);
		assert_int_equal(r.used, 0);
	}
	rl_close(rl);
}

/* Each item has its own; one that is asked for none gets none. */
static void
test_items(void **state)
{
	struct rl *rl = test_private(20);
	int rules[] = {define(rl, "r"), define(rl, "s")};
	struct rl_charges c[2];
	const struct rl_item items[] = {item_of(rules[0], COST, &c[0]),
	                                item_of(rules[1], COST, &c[1])};

	(void)state;
	assert_int_equal(at_check_all(rl, items, 2, T0, NULL, NULL), RL_ALLOWED);
	assert_int_equal(at_check_all(rl, items, 2, T0, NULL, NULL), RL_ALLOWED);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(at_refund(rl, &c[i], T0), 1);
		expect_used(rl, rules[i], COST);
		expect_used(rl, rules[1 - i], i == 0 ? 2 * COST : COST);
	}
	rl_close(rl);
}

/* What charges nothing hands nothing out, whatever was there before. */
static void
test_nothing_charged(void **state)
{
	struct rl *rl = test_private(20);
	int rule = test_rule(rl, "one", 2, RL_SECOND, 1, true), two = define(rl, "r");
	struct rl_charges c;
	const struct rl_item none[] = {item_of(rule, 2, &c), item_of(rule, 0, &c),
	                               item_of(rule, 3, &c), item_of(77, 1, &c),
	                               item_of(two, 99, &c), item_of(two, 0, &c)};
	const struct rl_charges before = {.count = 3, .charge[0].cost = 1};
	struct rl_result r;

	(void)state;
	at_check(rl, rule, "k", 1, 1, T0, NULL);
	for (size_t i = 0; i < sizeof none / sizeof none[0]; i++) {
		c = before;
		at_check_item(rl, &none[i], T0, NULL);
		assert_int_equal(c.count, 0);
		c = before;
		at_check_many(rl, &none[i], 1, T0, &r);
		assert_int_equal(c.count, 0);
		c = before;
		at_check_all(rl, &none[i], 1, T0, &r, NULL);
		assert_int_equal(c.count, 0);
	}
	rl_close(rl);
}

/* Nor does a request of too many items, or of too many limits. */
static void
test_too_large(void **state)
{
	struct rl *rl = test_private(20);
	int rule = define(rl, "r");
	struct rl_charges c[RL_ITEMS_MAX + 1];
	struct rl_item items[RL_ITEMS_MAX + 1];
	struct rl_result r[RL_ITEMS_MAX + 1];
	size_t decided;

	(void)state;
	for (size_t count = RL_ITEMS_MAX / 2 + 1; count <= RL_ITEMS_MAX + 1; count++) {
		for (size_t i = 0; i < count; i++) {
			items[i] = item_of(rule, 1, &c[i]);
			c[i].count = 3;
			r[i] = (struct rl_result){.verdict = RL_ALLOWED, .remaining = 7};
		}
		assert_int_equal(at_check_all(rl, items, count, T0, NULL, NULL), RL_UNDECIDED);
		assert_int_equal(at_check_all(rl, items, count, T0, r, &decided), RL_UNDECIDED);
		assert_int_equal(decided, 0);
		for (size_t i = 0; i < count; i++) {
			assert_int_equal(c[i].count, 0);
			assert_int_equal(r[i].verdict, RL_UNDECIDED);
			assert_int_equal(r[i].error, RL_EITEMS);
			assert_int_equal(r[i].remaining, 0);
		}
	}
	rl_close(rl);
}

/* Of a key that was forgotten and came back, in whatever slot, nothing is taken. */
static void
test_another_life(void **state)
{
	struct rl *rl = test_private(20);
	int rule = test_rule(rl, "one", 9, 60 * RL_SECOND, 1, true);
	struct rl_charges c, one;
	const struct rl_item given = item_of(rule, 2, &c), again = item_of(rule, 5, NULL);
	struct rl_result r;

	(void)state;
	for (int lives = 0; lives < 1000; lives++) {
		at_check_item(rl, &given, T0, NULL);
		one = c;
		rl_reset(rl, rule, "k", 1);
		at_check_item(rl, &again, T0, NULL);
		assert_int_equal(at_refund(rl, &one, T0), 0);
		at_peek(rl, rule, "k", 1, T0, &r);
		assert_int_equal(r.used, 5);
		rl_reset(rl, rule, "k", 1);
	}
	rl_close(rl);
}

/* Whichever of its places a key has: each charge is given back once, and no other's. */
static void
test_every_place(void **state)
{
	static struct rl_charges c[400];
	struct rl *rl = test_private(400);
	int rule = test_rule(rl, "one", 9, 60 * RL_SECOND, 1, true);
	struct rl_result r;

	(void)state;
	for (int k = 0; k < 400; k++)
		assert_int_equal(test_check_at(rl, rule, &k, sizeof k, COST, T0, NULL, &c[k]),
		                 RL_ALLOWED);
	for (int k = 0; k < 400; k++) {
		assert_int_equal(at_refund(rl, &c[k], T0), 1);
		at_peek(rl, rule, &k, sizeof k, T0, &r);
		assert_int_equal(r.used, 0);
	}
	rl_close(rl);
}

static int
define_for(struct rl *rl, uint64_t window_ns)
{
	const struct rl_rule rule = {
		.name = "r",
		.limit = {.algorithm = RL_FIXED_WINDOW, .capacity = 10, .window_ns = window_ns}};

	return rl_define(rl, &rule);
}

/* Nor of a limit that has started anew since, under whatever slot its keys lie then. */
static void
test_another_incarnation(void **state)
{
	struct rl *rl = test_private(1000);
	struct rl_charges old;

	(void)state;
	for (uint32_t key = 0; key < 200; key++) {
		int rule = define_for(rl, 60 * RL_SECOND);
		test_check_at(rl, rule, &key, sizeof key, 10, T0, NULL, &old);
		define_for(rl, 3600 * RL_SECOND);
		assert_int_equal(define_for(rl, 60 * RL_SECOND), rule);
		assert_int_equal(at_check(rl, rule, &key, sizeof key, 10, T0, NULL), RL_ALLOWED);
		assert_int_equal(at_refund(rl, &old, T0), 0);
		assert_int_equal(at_check(rl, rule, &key, sizeof key, 1, T0, NULL), RL_DENIED);
	}
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_several_limits), cmocka_unit_test(test_one_limit),
		cmocka_unit_test(test_items),          cmocka_unit_test(test_nothing_charged),
		cmocka_unit_test(test_too_large),      cmocka_unit_test(test_another_life),
		cmocka_unit_test(test_every_place),    cmocka_unit_test(test_another_incarnation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

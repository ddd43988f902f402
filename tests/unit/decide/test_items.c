/* SPDX-License-Identifier: BSD-2-Clause */
/* Several limits for one request, tiers, shadow limits, and batches. */
#include <errno.h>
#include <string.h>

#include "at.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)

static uint32_t
used(struct rl *rl, int rule, const char *key)
{
	struct rl_result r;

	at_peek(rl, rule, key, strlen(key), T0, &r);
	return r.limit - r.remaining;
}

static struct rl_item
item(int rule, const char *key, uint64_t cost)
{
	return (struct rl_item){.rule = rule, .key = key, .key_len = strlen(key), .cost = cost};
}

static void
test_all_or_nothing(void **state)
{
	struct rl *rl = test_private(100);
	int user = test_rule(rl, "user", 3, 10 * RL_SECOND, 1, true);
	int ip = test_rule(rl, "ip", 5, 10 * RL_SECOND, 4, true);
	int total = test_rule(rl, "total", 100, 10 * RL_SECOND, 0, false);
	struct rl_item items[] = {item(user, "ann", 1), item(ip, "::1", 1), item(total, "*", 1)};
	struct rl_result r[3];
	size_t decided;

	(void)state;
	for (uint32_t i = 1; i <= 3; i++) {
		assert_int_equal(at_check_all(rl, items, 3, T0, r, &decided), RL_ALLOWED);
		assert_int_equal(decided, 3);
		assert_int_equal(r[0].remaining, 3 - i);
		assert_int_equal(r[1].remaining, 5 - i);
		assert_int_equal(r[2].remaining, 100 - i);
	}
	/* the user's limit decides; nothing else is spent, and all is told */
	assert_int_equal(at_check_all(rl, items, 3, T0, r, &decided), RL_DENIED);
	assert_int_equal(decided, 0);
	assert_true(r[0].retry_after_ns > 0);
	assert_int_equal(r[1].remaining, 2);
	assert_int_equal(r[2].remaining, 97);
	/* another user from there: the address decides, and that user has spent nothing */
	items[0] = item(user, "bob", 1);
	items[1].cost = 3;
	assert_int_equal(at_check_all(rl, items, 3, T0, r, &decided), RL_DENIED);
	assert_int_equal(decided, 1);
	assert_int_equal(used(rl, user, "bob"), 0);
	assert_int_equal(used(rl, ip, "::1"), 3);
	assert_int_equal(used(rl, total, "*"), 3);
	assert_int_equal(test_counter(rl, user, RL_COUNT_denied), 1);
	assert_int_equal(test_counter(rl, ip, RL_COUNT_denied), 1);
	assert_int_equal(test_counter(rl, total, RL_COUNT_denied), 0);
	assert_int_equal(test_counter(rl, total, RL_COUNT_allowed), 3);
	rl_close(rl);
}

/* The same key twice: each look allows it, the second charge does not; the first goes back. */
static void
test_charges_are_given_back(void **state)
{
	struct rl *rl = test_private(100);
	int rule = test_rule(rl, "r", 3, 10 * RL_SECOND, 4, true);
	struct rl_item items[] = {item(rule, "k", 2), item(rule, "k", 2)};
	struct rl_charges c = {.count = 1};
	struct rl_result r[2];
	size_t decided;

	(void)state;
	items[0].charges = &c;
	assert_int_equal(at_check_all(rl, items, 2, T0, r, &decided), RL_DENIED);
	assert_int_equal(decided, 1);
	assert_int_equal(used(rl, rule, "k"), 0);
	assert_int_equal(c.count, 0);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_refunded), 1);
	rl_close(rl);
}

static void
test_what_cannot_be_decided(void **state)
{
	struct rl *rl = test_private(100);
	int rule = test_rule(rl, "r", 3, 10 * RL_SECOND, 4, true);
	struct rl_item items[RL_ITEMS_MAX + 1];
	struct rl_result r[RL_ITEMS_MAX + 1];
	size_t decided;

	(void)state;
	for (int i = 0; i <= RL_ITEMS_MAX; i++)
		items[i] = item(rule, "k", 1);
	assert_int_equal(at_check_all(rl, items, RL_ITEMS_MAX + 1, T0, r, &decided), RL_UNDECIDED);
	assert_int_equal(at_check_all(rl, items, 0, T0, r, &decided), RL_ALLOWED);
	items[1].rule = 60;
	assert_int_equal(at_check_all(rl, items, 3, T0, r, &decided), RL_UNDECIDED);
	assert_int_equal(decided, 1);
	assert_int_equal(r[1].error, -EINVAL);
	items[1] = item(rule, "never", 4);
	assert_int_equal(at_check_all(rl, items, 2, T0, NULL, NULL), RL_NEVER);
	assert_int_equal(used(rl, rule, "k"), 0);
	/* an empty key is not limited, and a cost of 0 is looked at, not charged */
	items[0] = item(rule, "", 1);
	items[1] = item(rule, "k", 0);
	assert_int_equal(at_check_all(rl, items, 2, T0, r, &decided), RL_ALLOWED);
	assert_int_equal(rl_fill(rl), 0);
	rl_close(rl);
}

static void
test_tiers(void **state)
{
	struct rl *rl = test_private(100);
	int rule = test_rule(rl, "r", 3, 10 * RL_SECOND, 4, true);
	struct rl_item gold = item(rule, "k", 1);
	struct rl_result r;

	(void)state;
	gold.capacity = 10;
	for (uint32_t i = 1; i <= 10; i++) {
		assert_int_equal(at_check_item(rl, &gold, T0, &r), RL_ALLOWED);
		assert_int_equal(r.limit, 10);
		assert_int_equal(r.remaining, 10 - i);
	}
	assert_int_equal(at_check_item(rl, &gold, T0, &r), RL_DENIED);
	/* the same counter under the rule's own capacity */
	assert_int_equal(at_check(rl, rule, "k", 1, 1, T0, &r), RL_DENIED);
	assert_int_equal(r.limit, 3);
	assert_int_equal(r.remaining, 0);
	gold.capacity = RL_CAPACITY_MAX + 1;
	assert_int_equal(at_check_item(rl, &gold, T0, &r), RL_UNDECIDED);
	assert_int_equal(r.error, -EINVAL);
	rl_close(rl);
}

/* What a tier charged is given back at the tier's price. */
static void
test_refund_of_a_tier(void **state)
{
	struct rl *rl = test_private(100);
	const struct rl_rule bucket = {.name = "b",
	                               .limit.algorithm = RL_TOKEN_BUCKET,
	                               .limit.capacity = 10,
	                               .limit.window_ns = 10 * RL_SECOND};
	int rule = rl_define(rl, &bucket);
	struct rl_item gold = item(rule, "k", 50);
	struct rl_charges c;
	struct rl_result r;

	(void)state;
	gold.capacity = 100;
	gold.charges = &c;
	assert_int_equal(at_check_item(rl, &gold, T0, &r), RL_ALLOWED);
	assert_int_equal(r.limit, 100);
	assert_int_equal(r.remaining, 50);
	assert_int_equal(at_check_item(rl, &gold, T0, &r), RL_ALLOWED);
	assert_int_equal(r.remaining, 0);
	assert_int_equal(at_refund(rl, &c, T0), 1);
	gold.cost = 1;
	assert_int_equal(at_check_item(rl, &gold, T0, &r), RL_ALLOWED);
	assert_int_equal(r.remaining, 49);
	rl_close(rl);
}

/* A shadow limit beside an enforced one, on the same traffic. */
static void
test_shadow(void **state)
{
	struct rl *rl = test_private(100);
	int enforced = test_rule(rl, "enforced", 5, 10 * RL_SECOND, 4, true);
	struct rl_rule tight = {.name = "tight",
	                        .limit.capacity = 2,
	                        .limit.window_ns = 10 * RL_SECOND,
	                        .limit.shadow = 1};
	int shadow = rl_define(rl, &tight);
	const struct rl_item items[] = {item(shadow, "k", 1), item(enforced, "k", 1)};
	struct rl_result r[2];
	struct rl_rule_info info;
	size_t decided;

	(void)state;
	for (int i = 0; i < 5; i++) {
		assert_int_equal(at_check_all(rl, items, 2, T0, r, NULL), RL_ALLOWED);
		assert_int_equal(r[0].is_shadow_denied, i >= 2);
		assert_int_equal(r[0].retry_after_ns > 0, i >= 2);
	}
	assert_int_equal(at_check_all(rl, items, 2, T0, r, &decided), RL_DENIED);
	assert_int_equal(decided, 1);
	assert_int_equal(at_check(rl, shadow, "k", 1, 9, T0, r), RL_ALLOWED);
	assert_int_equal(r[0].is_shadow_denied, 1);
	assert_int_equal(at_check(rl, shadow, "k", 1, 1, T0, r), RL_ALLOWED);
	assert_int_equal(r[0].is_shadow_denied, 1);

	assert_int_equal(at_peek(rl, shadow, "k", 1, T0, r), RL_ALLOWED);
	assert_int_equal(test_counter(rl, shadow, RL_COUNT_shadow_denied), 5);
	assert_int_equal(test_counter(rl, shadow, RL_COUNT_denied), 0);
	rl_rule_info(rl, shadow, &info);
	assert_true(info.limits[0].shadow);
	/* enforced from now on, with the counter it has */
	tight.limit.shadow = 0;
	assert_int_equal(rl_define(rl, &tight), shadow);
	assert_int_equal(at_check(rl, shadow, "k", 1, 1, T0, NULL), RL_DENIED);
	rl_close(rl);
}

/* A batch answers what one by one answers, on all algorithms. */
static void
test_batches(void **state)
{
	enum {
		COUNT = 100
	};
	uint64_t seed = 31;

	(void)state;
	for (int run = 0; run < 60; run++) {
		struct rl *one = test_private(400), *many = test_private(400);
		struct rl_item items[COUNT];
		struct rl_result r[COUNT];
		char keys[COUNT];
		for (int a = 0; a < 5; a++) {
			char name[] = {(char)('a' + a), '\0'};
			const struct rl_rule rule = {.name = name,
			                             .limit.algorithm = (enum rl_algorithm)a,
			                             .limit.capacity = 7,
			                             .limit.window_ns = 10 * RL_SECOND,
			                             .limit.burst = a == RL_LEAKY_BUCKET ? 3 : 0};
			assert_int_equal(rl_define(one, &rule), a);
			assert_int_equal(rl_define(many, &rule), a);
		}
		for (int round = 0; round < 5; round++) {
			uint64_t now = T0 + (uint64_t)round * 3 * RL_SECOND;
			for (int i = 0; i < COUNT; i++) {
				keys[i] = (char)test_below(&seed, 10);
				items[i] = (struct rl_item){.rule = (int)test_below(&seed, 6),
				                            .key = &keys[i],
				                            .key_len = test_below(&seed, 20) > 0,
				                            .cost = test_below(&seed, 9)};
			}
			at_check_many(many, items, COUNT, now, r);
			for (int i = 0; i < COUNT; i++) {
				struct rl_result s;
				at_check_item(one, &items[i], now, &s);
				assert_memory_equal(&s, &r[i], sizeof s);
			}
		}
		for (int a = 0; a < 5; a++)
			for (int c = 0; c < RL_COUNTERS; c++)
				assert_int_equal(test_counter(one, a, (enum rl_counter)c),
				                 test_counter(many, a, (enum rl_counter)c));
		rl_close(one);
		rl_close(many);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_or_nothing),
		cmocka_unit_test(test_charges_are_given_back),
		cmocka_unit_test(test_what_cannot_be_decided),
		cmocka_unit_test(test_tiers),
		cmocka_unit_test(test_refund_of_a_tier),
		cmocka_unit_test(test_shadow),
		cmocka_unit_test(test_batches),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

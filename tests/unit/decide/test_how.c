/* SPDX-License-Identifier: BSD-2-Clause */
/* What is asked of items, and when: rl_decide(), the time of an item, and what a rule needs. */
#include <errno.h>
#include <string.h>

#include "at.h"
#include "rl_admin.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)

static struct rl_item
item(int rule, const char *key, uint64_t cost)
{
	return (struct rl_item){
		.rule = rule, .key = key, .key_len = strlen(key), .cost = cost, .now_ns = T0};
}

static uint32_t
used(struct rl *rl, int rule, const char *key, uint64_t now_ns)
{
	struct rl_result r;

	at_peek(rl, rule, key, strlen(key), now_ns, &r);
	return r.used;
}

static int
bucket(struct rl *rl, const char *name, uint32_t capacity)
{
	const struct rl_rule rule = {.name = name,
	                             .limit = {.algorithm = RL_TOKEN_BUCKET,
	                                       .capacity = capacity,
	                                       .window_ns = RL_SECOND}};

	return rl_define(rl, &rule);
}

/* Each way of one item is that of its own call. */
static void
test_of_one_item(void **state)
{
	struct rl *rl = test_private(20);
	struct rl_item it = item(bucket(rl, "r", 2), "k", 2);
	struct rl_result r;
	size_t decided = 7;

	(void)state;
	assert_int_equal(rl_decide(rl, &it, 1, RL_PEEK, 0, &r, &decided), RL_ALLOWED);
	assert_int_equal(decided, 1);
	assert_int_equal(used(rl, it.rule, "k", T0), 0);
	assert_int_equal(rl_decide(rl, &it, 1, RL_CHECK, 0, &r, NULL), RL_ALLOWED);
	assert_int_equal(used(rl, it.rule, "k", T0), 2);
	assert_int_equal(rl_decide(rl, &it, 1, RL_CHECK, 0, NULL, &decided), RL_DENIED);
	assert_int_equal(decided, 0);
	assert_int_equal(rl_decide(rl, &it, 1, RL_PEEK, 0, &r, NULL), RL_DENIED);
	assert_int_equal(rl_decide(rl, &it, 1, RL_RESERVE, RL_SECOND, &r, NULL), RL_ALLOWED);
	assert_int_equal(r.delay_ns, RL_SECOND);
	assert_int_equal(rl_decide(rl, &it, 1, RL_EACH, 0, &r, &decided), RL_DENIED);
	assert_int_equal(decided, 0);
	assert_int_equal(rl_decide(rl, &it, 1, (enum rl_how)4, 0, &r, NULL), RL_UNDECIDED);
	assert_int_equal(rl_decide(rl, &it, 0, RL_CHECK, 0, &r, &decided), RL_ALLOWED);
	assert_int_equal(decided, 0);
	rl_close(rl);
}

/* A look charges none of several, booking and checking all or none. */
static void
test_of_several(void **state)
{
	struct rl *rl = test_private(20);
	struct rl_item its[2] = {item(bucket(rl, "a", 5), "k", 1),
	                         item(bucket(rl, "b", 1), "k", 1)};
	struct rl_charges charges = {.count = 3};
	struct rl_result r[2];
	size_t decided;

	(void)state;
	its[0].charges = &charges;
	assert_int_equal(rl_decide(rl, its, 2, RL_PEEK, 0, r, &decided), RL_ALLOWED);
	assert_int_equal(decided, 2);
	assert_int_equal(charges.count, 0);
	assert_int_equal(its[0].cost, 1);
	assert_int_equal(used(rl, its[0].rule, "k", T0), 0);
	assert_int_equal(rl_decide(rl, its, 2, RL_CHECK, 0, r, &decided), RL_ALLOWED);
	assert_int_equal(rl_decide(rl, its, 2, RL_CHECK, 0, r, &decided), RL_DENIED);
	assert_int_equal(decided, 1);
	assert_int_equal(used(rl, its[0].rule, "k", T0), 1);
	assert_int_equal(rl_decide(rl, its, 2, RL_PEEK, 0, r, &decided), RL_DENIED);
	assert_int_equal(rl_decide(rl, its, 2, RL_RESERVE, RL_SECOND - 1, r, NULL), RL_DENIED);
	assert_int_equal(rl_decide(rl, its, 2, RL_RESERVE, RL_SECOND, r, NULL), RL_ALLOWED);
	assert_int_equal(r[1].delay_ns, RL_SECOND);
	assert_int_equal(used(rl, its[0].rule, "k", T0), 2);
	rl_close(rl);
}

/* Of those that are requests of their own, each has its time, and the first that fails decides. */
static void
test_of_each(void **state)
{
	struct rl *rl = test_private(20);
	int rule = bucket(rl, "a", 1);
	struct rl_item its[4] = {item(rule, "k", 1), item(rule, "k", 1), item(rule, "k", 1),
	                         item(rule, "other", 1)};
	struct rl_result r[4];
	size_t decided;

	(void)state;
	its[2].now_ns = T0 + RL_SECOND;
	assert_int_equal(rl_decide(rl, its, 4, RL_EACH, 0, r, &decided), RL_DENIED);
	assert_int_equal(decided, 1);
	assert_int_equal(r[2].verdict, RL_ALLOWED);
	assert_int_equal(r[3].verdict, RL_ALLOWED);
	rl_close(rl);
}

/* A request has one time: its first item's, or the clock's. */
static void
test_one_time(void **state)
{
	struct rl *rl = test_private(20);
	int rule = bucket(rl, "a", 5);
	struct rl_item its[3] = {item(rule, "a", 1), item(rule, "b", 1), item(rule, "c", 1)};
	struct rl_charges charges = {.count = 3};
	struct rl_result r[3];
	size_t decided;

	(void)state;
	its[1].now_ns = 0;
	assert_int_equal(rl_check_all(rl, its, 3, r, &decided), RL_ALLOWED);
	assert_int_equal(used(rl, rule, "b", T0), 1);
	its[2].now_ns = T0 + 1;
	its[2].charges = &charges;
	assert_int_equal(rl_check_all(rl, its, 3, r, &decided), RL_UNDECIDED);
	assert_int_equal(decided, 2);
	assert_int_equal(r[2].error, -EINVAL);
	assert_int_equal(charges.count, 0);
	assert_int_equal(used(rl, rule, "a", T0), 1);
	its[0].now_ns = 0;
	its[2].now_ns = T0;
	assert_int_equal(rl_check_all(rl, its, 3, r, &decided), RL_UNDECIDED);
	assert_int_equal(decided, 2);
	its[2].now_ns = 0;
	assert_int_equal(rl_check_all(rl, its, 3, r, &decided), RL_ALLOWED);
	assert_int_equal(used(rl, rule, "c", rl_now(rl)), 1);
	rl_close(rl);
}

/* Without a time of its own, a request comes now, and what was charged is given back now. */
static void
test_now(void **state)
{
	struct rl *rl = test_private(20);
	struct rl_item it = item(bucket(rl, "a", 3), "k", 3);
	struct rl_charges charges;
	struct rl_result results[RL_LIMITS_MAX], r;
	size_t count;

	(void)state;
	it.now_ns = rl_now(rl) - 2 * RL_SECOND;
	it.charges = &charges;
	memset(&charges, 0xff, sizeof charges);
	assert_int_equal(rl_check_item(rl, &it, &r), RL_ALLOWED);
	assert_int_equal(charges.now_ns, 0);
	it.now_ns = 0;
	it.charges = NULL;
	assert_int_equal(rl_check_item(rl, &it, &r), RL_ALLOWED);
	assert_int_equal(rl_refund(rl, &charges), 0); /* it has come back by then */
	assert_int_equal(rl_refund_key(rl, &it), 3);
	it.charges = &charges;
	memset(&charges, 0xff, sizeof charges);
	assert_int_equal(rl_check_limits(rl, &it, &r, &count, results), RL_ALLOWED);
	assert_int_equal(count, 1);
	assert_int_equal(charges.now_ns, 0);
	assert_int_equal(rl_refund(rl, &charges), 1);
	rl_close(rl);
}

/* What no flag makes count is refused, or not read. */
static void
test_what_later_versions_have(void **state)
{
	struct rl *rl = test_private(20);
	int rule = bucket(rl, "a", 3);
	struct rl_item it = item(rule, "k", 1);
	char text[RL_RULE_TEXT_SIZE];
	struct rl_limit limit = {
		.algorithm = RL_TOKEN_BUCKET, .capacity = 3, .window_ns = RL_SECOND};
	struct rl_result r;

	(void)state;
	assert_int_equal(rl_check_item(rl, &it, &r), RL_ALLOWED); /* it has its slot */
	it.leave = 1;
	assert_int_equal(rl_check_item(rl, &it, &r), RL_UNDECIDED);
	assert_int_equal(r.error, -EINVAL);
	assert_int_equal(rl_item_check(&limit, &it, NULL, text, sizeof text), -EINVAL);
	assert_string_equal(text, "leave: 1; 0 is allowed");
	it.leave = 0;
	for (unsigned flag = 128; flag <= 256; flag *= 2) {
		it.flags = flag;
		assert_int_equal(rl_check_item(rl, &it, &r), RL_UNDECIDED);
		assert_int_equal(r.error, -EINVAL);
	}
	it.flags = 0;
	it.reserved[0] = it.reserved[3] = 1;
	assert_int_equal(rl_check_item(rl, &it, &r), RL_ALLOWED);
	rl_close(rl);
}

/* What rl_check() cannot do for a rule is said when it is defined, and by an error of its own. */
static void
test_needs(void **state)
{
	struct rl *rl = test_private(20);
	unsigned needs = 77;
	const struct rl_limit held = {.algorithm = RL_IN_FLIGHT, .capacity = 2};
	struct rl_rule rule = {
		.name = "rate", .limit = {.capacity = 2, .window_ns = RL_SECOND}, .needs = &needs};
	struct rl_options o = {.keys = 20, .ring = 64, .holders = 4};
	struct rl_rule_info info;
	struct rl_result r;
	int id;

	(void)state;
	assert_true(rl_define(rl, &rule) >= 0);
	assert_int_equal(needs, 0);
	rule.name = "addresses";
	rule.limit.prefix_v4 = 24;
	assert_true(rl_define(rl, &rule) >= 0);
	assert_int_equal(needs, RL_NEEDS_ADDRESS);
	rule.limit.capacity = 0;
	assert_int_equal(rl_define(rl, &rule), -EINVAL);
	assert_int_equal(needs, 0);
	rl_close(rl);
	assert_int_equal(rl_open_private(&o, &rl), 0);
	rule = (struct rl_rule){.name = "both",
	                        .limit = {.capacity = 2, .window_ns = RL_SECOND},
	                        .more = &held,
	                        .more_count = 1,
	                        .needs = &needs};
	id = rl_define(rl, &rule);
	assert_int_equal(needs, RL_NEEDS_CHARGES);
	assert_int_equal(rl_rule_info(rl, id, &info), 1);
	assert_int_equal(info.needs, RL_NEEDS_CHARGES);
	assert_int_equal(rl_check(rl, id, "k", 1, 1, &r), RL_UNDECIDED);
	assert_int_equal(r.error, RL_ECHARGES);
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_of_one_item), cmocka_unit_test(test_of_several),
		cmocka_unit_test(test_of_each),     cmocka_unit_test(test_one_time),
		cmocka_unit_test(test_now),         cmocka_unit_test(test_what_later_versions_have),
		cmocka_unit_test(test_needs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* evict: what becomes of a new key when all slots are used. Every key here shares the same 16. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "at.h"
#include "rule/handle.h"
#include "shared/layout_people.h"
#include "testing.h"

#define SLOTS 16
#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define WINDOW (10 * RL_SECOND)
#define BUFFER (5 * RL_SECOND)

static struct rl *
open_tiny(enum rl_on_full on_full)
{
	const struct rl_options o = {
		.keys = 1, .ring = 64, .on_full = on_full, .buffer_ns = BUFFER};
	struct rl_info info;
	struct rl *rl;

	assert_int_equal(rl_open_private(&o, &rl), 0);
	rl_info(rl, &info);
	assert_int_equal(info.slots, SLOTS);
	return rl;
}

static enum rl_verdict
check(struct rl *rl, int rule, uint32_t key, uint64_t cost, uint64_t now, struct rl_result *r)
{
	return at_check(rl, rule, &key, sizeof key, cost, now, r);
}

/* Key i of 16 uses cost(i) at T0 + i ms, so that key 0 is the oldest. */
static void
fill(struct rl *rl, int rule, uint32_t cost, uint32_t cost_of_key_9)
{
	for (uint32_t i = 0; i < SLOTS; i++)
		assert_int_equal(check(rl, rule, i, i == 9 ? cost_of_key_9 : cost,
		                       T0 + i * RL_MILLISECOND, NULL),
		                 RL_ALLOWED);
	assert_int_equal(rl_fill(rl), SLOTS);
}

static void
test_deny(void **state)
{
	struct rl *rl = open_tiny(RL_FULL_DENY);
	int rule = test_rule(rl, "r", 5, WINDOW, 1, true);
	struct rl_result r;

	(void)state;
	fill(rl, rule, 1, 1);
	assert_int_equal(check(rl, rule, 100, 1, T0, &r), RL_DENIED);
	assert_int_equal(r.error, -ENOSPC);
	/* the first slot is free two windows (hard, one sub-bucket) and the buffer later */
	assert_int_equal(r.retry_after_ns, 2 * WINDOW + BUFFER);
	assert_int_equal(check(rl, rule, 100, 1, T0 + r.retry_after_ns - 1, &r), RL_DENIED);
	assert_int_equal(check(rl, rule, 100, 1, T0 + 2 * WINDOW + BUFFER, &r), RL_ALLOWED);
	assert_int_equal(r.error, 0);
	/* keys that have a slot are not concerned */
	assert_int_equal(test_counter(rl, rule, RL_COUNT_full_denied), 2);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_denied), 2);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_retired), 1);
	rl_close(rl);
}

static void
test_known_keys_are_served_while_full(void **state)
{
	struct rl *rl = open_tiny(RL_FULL_DENY);
	int rule = test_rule(rl, "r", 2, WINDOW, 1, true);

	(void)state;
	fill(rl, rule, 1, 1);
	for (uint32_t i = 0; i < SLOTS; i++)
		assert_int_equal(check(rl, rule, i, 1, T0, NULL), RL_ALLOWED);
	for (uint32_t i = 0; i < SLOTS; i++)
		assert_int_equal(check(rl, rule, i, 1, T0, NULL), RL_DENIED);
	rl_close(rl);
}

static void
test_allow(void **state)
{
	struct rl *rl = open_tiny(RL_FULL_ALLOW);
	int rule = test_rule(rl, "r", 5, WINDOW, 1, true);
	struct rl_charges c;
	struct rl_result r;

	(void)state;
	fill(rl, rule, 1, 1);
	for (int i = 0; i < 20; i++) {
		c.count = 1;
		assert_int_equal(test_check_at(rl, rule, "new", 3, 1, T0, &r, &c), RL_ALLOWED);
		assert_int_equal(r.error, -ENOSPC);
		assert_int_equal(c.count, 0);
		assert_int_equal(rl_refund(rl, &c), 0);
	}
	assert_int_equal(test_counter(rl, rule, RL_COUNT_full_allowed), 20);
	rl_close(rl);
}

/* However many keys come, a key at its limit keeps its slot, so its limit holds. */
static void
test_flood_of_keys_does_not_reset_a_limited_one(void **state)
{
	struct rl *rl = open_tiny(RL_FULL_RESERVE);
	int rule = test_rule(rl, "r", 3, WINDOW, 4, true);
	int admitted = 0;

	(void)state;
	for (uint32_t i = 0; i < 20000; i++) {
		check(rl, rule, 1000 + i, 1, T0, NULL);
		if (i % 10 == 0)
			admitted += check(rl, rule, 1, 3, T0, NULL) == RL_ALLOWED;
	}
	assert_int_equal(admitted, 1);
	rl_close(rl);
}

/* Without any daemon: ten thousand keys, each used once, pass through 16 slots. */
static void
test_cleans_up_after_itself(void **state)
{
	struct rl *rl = open_tiny(RL_FULL_DENY);
	int rule = test_rule(rl, "r", 5, WINDOW, 1, false);

	(void)state;
	for (uint32_t i = 0; i < 10000; i++)
		assert_int_equal(check(rl, rule, i, 5, T0 + i * 2 * RL_SECOND, NULL), RL_ALLOWED);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_retired), 10000 - SLOTS);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_full_denied), 0);
	rl_close(rl);
}

static void
test_sweep_after_window_and_buffer(void **state)
{
	struct rl *rl = open_tiny(RL_FULL_DENY);
	int rule = test_rule(rl, "r", 5, WINDOW, 1, true);
	uint64_t stale = T0 + 2 * WINDOW + BUFFER;
	struct rl_result r;

	(void)state;
	fill(rl, rule, 5, 5);
	assert_int_equal(rl_sweep_at(rl, stale - 1), 0);
	assert_int_equal(rl_fill(rl), SLOTS);
	assert_int_equal(check(rl, rule, 3, 1, T0, &r), RL_DENIED);
	assert_int_equal(rl_sweep_at(rl, stale), SLOTS);
	assert_int_equal(rl_fill(rl), 0);
	assert_int_equal(rl_sweep_at(rl, stale), 0);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_retired), SLOTS);
	rl_close(rl);
}

/* Of several limits, it is the one without a slot that decides, or is told of. */
static void
test_which_limit_is_full(void **state)
{
	const struct rl_limit more = {.capacity = 5, .window_ns = 2 * WINDOW};
	const struct rl_rule rule = {.name = "two",
	                             .limit = {.capacity = 1, .window_ns = WINDOW},
	                             .more = &more,
	                             .more_count = 1};

	(void)state;
	for (int on_full = RL_FULL_DENY; on_full <= RL_FULL_ALLOW; on_full++) {
		struct rl *rl = open_tiny((enum rl_on_full)on_full);
		int one = test_rule(rl, "one", 5, WINDOW, 1, true), two = rl_define(rl, &rule);
		struct rl_result r;

		for (uint32_t i = 0; i < SLOTS - 1; i++)
			assert_int_equal(check(rl, one, i, 1, T0, NULL), RL_ALLOWED);
		assert_int_equal(check(rl, two, 0, 1, T0, &r),
		                 on_full == RL_FULL_DENY ? RL_DENIED : RL_ALLOWED);
		assert_int_equal(r.error, -ENOSPC);
		if (on_full == RL_FULL_DENY)
			assert_int_equal(r.index, 1);
		rl_close(rl);
	}
}

/* As many keys as were asked for, with names of their own and another secret each time. */
static void
fill_up(uint32_t keys)
{
	const struct rl_options o = {
		.keys = keys, .ring = 1, .key_bytes = 1, .on_full = RL_FULL_DENY};
	struct rl_info info;
	struct rl *rl;
	int rule;

	assert_int_equal(rl_open_private(&o, &rl), 0);
	rl_info(rl, &info);
	assert_true(info.keys >= keys);
	rule = test_rule(rl, "r", 5, WINDOW, 1, true);
	for (uint32_t key = 0; key < keys; key++)
		assert_int_equal(check(rl, rule, key, 1, T0, NULL), RL_ALLOWED);
	assert_int_equal(rl_fill(rl), keys);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_inserted), keys);
	rl_close(rl);
}

static void
test_holds_the_keys_it_was_made_for(void **state)
{
	(void)state;
	for (uint32_t keys = 1; keys < 400; keys++)
		fill_up(keys);
	for (int secret = 0; secret < 20; secret++) {
		fill_up(1000);
		fill_up(0x6000); /* the default */
	}
	fill_up(400000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_holds_the_keys_it_was_made_for),
		cmocka_unit_test(test_deny),
		cmocka_unit_test(test_known_keys_are_served_while_full),
		cmocka_unit_test(test_allow),
		cmocka_unit_test(test_which_limit_is_full),
		cmocka_unit_test(test_flood_of_keys_does_not_reset_a_limited_one),
		cmocka_unit_test(test_cleans_up_after_itself),
		cmocka_unit_test(test_sweep_after_window_and_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

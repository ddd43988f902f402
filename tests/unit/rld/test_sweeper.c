/* SPDX-License-Identifier: BSD-2-Clause */
/* The pace of the sweep: every slot once in the interval, in slices that fit, never a burst. */

#include "../../../rld/loop/sweeper.h"

#include <stdio.h>

#include "at.h"
#include "testing.h"

#define KEYS 60000u
#define INTERVAL (100 * RL_SECOND)
#define LONG (300 * 86400 * RL_SECOND) /* a window that no test sees the end of */

static struct rl *
open_table(void)
{
	struct rl_options options = {.keys = KEYS, .ring = 1, .key_bytes = 8};
	struct rl *rl;

	assert_int_equal(rl_open_private(&options, &rl), 0);
	return rl;
}

/* When the pass that begins at `now_ns` has ended, and the next may begin. */
static uint64_t
run_pass(struct sweeper *s, uint64_t now_ns)
{
	uint64_t passes = s->passes;

	while (s->passes == passes)
		now_ns = sweeper_run(s, now_ns);
	return now_ns;
}

static void
test_a_pass_sees_each_place_once_in_the_interval(void **state)
{
	const uint64_t start = 1000;
	struct rl *rl = open_table();
	struct sweeper s;
	uint64_t end;

	(void)state;
	sweeper_start(&s, rl, INTERVAL, start);
	end = run_pass(&s, start);
	assert_int_equal(sweeper_total(&s).seen, s.slots);
	assert_true(s.slots > KEYS);
	assert_in_range(end - start, INTERVAL - RL_SECOND, INTERVAL + RL_SECOND);
	end = run_pass(&s, end);
	assert_int_equal(sweeper_total(&s).seen, 2 * s.slots);
	assert_in_range(end - start, 2 * (INTERVAL - RL_SECOND), 2 * (INTERVAL + RL_SECOND));
	rl_close(rl);
}

static void
test_nothing_is_swept_before_it_is_due(void **state)
{
	struct rl *rl = open_table();
	struct sweeper s;
	uint64_t due, seen;

	(void)state;
	sweeper_start(&s, rl, INTERVAL, 5);
	due = sweeper_run(&s, 5);
	assert_true(due > 5);
	seen = sweeper_total(&s).seen;
	assert_int_equal(sweeper_run(&s, due - 1), due);
	assert_int_equal(sweeper_total(&s).seen, seen);
	sweeper_run(&s, due);
	assert_true(sweeper_total(&s).seen > seen);
	rl_close(rl);
}

/* Stopped for an hour, it goes on at its pace: one slice now, the next a gap later. */
static void
test_what_was_missed_is_not_run_after(void **state)
{
	const uint64_t later = 3600 * RL_SECOND;
	struct rl *rl = open_table();
	struct sweeper s;
	uint64_t seen, due;

	(void)state;
	sweeper_start(&s, rl, INTERVAL, 1);
	sweeper_run(&s, 1);
	due = sweeper_run(&s, later);
	assert_true(due > later);
	seen = sweeper_total(&s).seen;
	assert_int_equal(sweeper_run(&s, later + 1), due);
	assert_int_equal(sweeper_total(&s).seen, seen);
	rl_close(rl);
}

static void
test_keys_are_counted_and_retired(void **state)
{
	struct rl_rule rule = {.name = "r", .limit = {.capacity = 1, .window_ns = RL_WINDOW_MIN}};
	struct rl *rl = open_table();
	struct sweeper s;
	int id = rl_define(rl, &rule);
	uint64_t old = rl_now(rl) - 3600 * RL_SECOND;

	(void)state;
	assert_true(id >= 0);
	for (uint32_t key = 0; key < 100; key++)
		assert_int_equal(at_check(rl, id, &key, sizeof key, 1, old, NULL), RL_ALLOWED);
	sweeper_start(&s, rl, INTERVAL, 1);
	assert_int_equal(sweeper_used(&s), 100);
	run_pass(&s, 1);
	assert_int_equal(sweeper_total(&s).retired, 100);
	assert_int_equal(sweeper_used(&s), 0);
	assert_int_equal(rl_fill(rl), 0);
	rl_close(rl);
}

static void
test_haste_comes_with_fill(void **state)
{
	(void)state;
	assert_int_equal(sweeper_haste(0, 1000), 1);
	assert_int_equal(sweeper_haste(749, 1000), 1);
	assert_int_equal(sweeper_haste(750, 1000), 4);
	assert_int_equal(sweeper_haste(874, 1000), 4);
	assert_int_equal(sweeper_haste(875, 1000), 16);
	assert_int_equal(sweeper_haste(1000, 1000), 16);
	assert_int_equal(sweeper_haste(UINT64_C(1) << 31, UINT64_C(1) << 31), 16);
	assert_int_equal(sweeper_haste(0, 0), 1);
}

/* Asked for a pass in no time, it still takes its part of a core and no more. */
static void
test_it_rests(void **state)
{
	struct rl *rl = open_table();
	struct sweeper s;
	uint64_t now_ns = 1;

	(void)state;
	sweeper_start(&s, rl, 1, now_ns);
	for (int i = 0; i < 200; i++) {
		uint64_t due_ns = sweeper_run(&s, now_ns);
		assert_true(due_ns > now_ns);
		now_ns = due_ns;
	}
	assert_true(s.passes > 0);
	assert_true(s.cpu_ns > 0);
	assert_true(s.cpu_ns * SWEEPER_REST <= now_ns);
	rl_close(rl);
}

/* A slice ends at the first look at the clock after its time is up. */
static void
test_a_slice_is_bounded(void **state)
{
	struct rl *rl = test_private(3000000);
	struct sweeper s;

	(void)state;
	sweeper_start(&s, rl, INTERVAL, 1);
	sweeper_run(&s, 1);
	assert_true(s.longest_ns >= SWEEPER_SLICE_NS);
	assert_true(sweeper_total(&s).seen < s.slots);
	assert_int_equal(sweeper_total(&s).seen % SWEEPER_STEP, 0);
	rl_close(rl);
}

static void
ask(struct rl *rl, int rule, const char *key, int times)
{
	for (int i = 0; i < times; i++)
		rl_check(rl, rule, key, 1, 1, NULL);
}

/* As the last pass has seen them: whoever is open again is not counted for ever. */
static void
test_a_pass_counts_who_is_limited(void **state)
{
	struct rl *rl = open_table();
	struct rl_rule two = {.name = "two",
	                      .limit = {.capacity = 3, .window_ns = LONG},
	                      .more = &(struct rl_limit){.capacity = 2, .window_ns = LONG},
	                      .more_count = 1};
	int one = test_rule(rl, "one", 1, LONG, 1, false), other;
	struct sweeper s;
	uint64_t now_ns;

	(void)state;
	other = rl_define(rl, &two);
	assert_true(other >= 0);
	/* With a ban, each key of the rule is looked at. */
	assert_int_equal(rl_ban(rl, other, &(struct rl_pattern){RL_MATCH_KEY, "z", 1}, RL_NEVER_NS),
	                 0);
	ask(rl, one, "a", 1);
	ask(rl, one, "b", 2);
	ask(rl, other, "a", 2);
	ask(rl, other, "b", 1);
	sweeper_start(&s, rl, INTERVAL, 1);
	assert_int_equal(limited_keys(&s.denied, one, 0), 0);
	now_ns = run_pass(&s, 1);
	assert_int_equal(limited_keys(&s.denied, one, 0), 2);
	assert_int_equal(limited_keys(&s.denied, other, 0), 0);
	assert_int_equal(limited_keys(&s.denied, other, 1), 1);
	rl_reset(rl, one, "a", 1);
	now_ns = run_pass(&s, now_ns);
	assert_int_equal(limited_keys(&s.denied, one, 0), 1);
	rl_reset(rl, one, "b", 1);
	run_pass(&s, now_ns);
	assert_int_equal(limited_keys(&s.denied, one, 0), 0);
	sweeper_end(&s);
	rl_close(rl);
}

/* More limits than the first room, in no order. */
static void
test_many_limits_are_counted(void **state)
{
	const struct rl_options options = {.keys = 4000, .ring = 1, .rules = 100};
	struct rl *rl;
	int rules[100];
	struct limited limited = {0};

	(void)state;
	assert_int_equal(rl_open_private(&options, &rl), 0);
	for (int i = 0; i < 100; i++) {
		char name[16];

		snprintf(name, sizeof name, "r%d", i);
		rules[i] = test_rule(rl, name, 1, LONG, 0, false);
		for (int k = 0; k <= i % 7; k++)
			ask(rl, rules[i], (char[]){(char)('a' + k), 0}, 1);
	}
	limited_add(&limited, rl, 0, UINT64_MAX, rl_now(rl));
	for (int i = 0; i < 100; i++)
		assert_int_equal(limited_keys(&limited, rules[i], 0), i % 7 + 1);
	limited_free(&limited);
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_pass_sees_each_place_once_in_the_interval),
		cmocka_unit_test(test_nothing_is_swept_before_it_is_due),
		cmocka_unit_test(test_what_was_missed_is_not_run_after),
		cmocka_unit_test(test_keys_are_counted_and_retired),
		cmocka_unit_test(test_haste_comes_with_fill),
		cmocka_unit_test(test_a_slice_is_bounded),
		cmocka_unit_test(test_it_rests),
		cmocka_unit_test(test_a_pass_counts_who_is_limited),
		cmocka_unit_test(test_many_limits_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Several processes define a rule for the first time: whose definition stays, and what it counts.
 */
#include <errno.h>
#include <stdlib.h>

#include "at.h"
#include "schedule.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define RUNS 40000

static struct rl *rl;
static int told[WORKERS];
static unsigned allowed;

/* All want the same shapes, and each admits something else. */
static uint32_t
capacity_of(int worker)
{
	return 10 + (uint32_t)worker % 2;
}

static int
define(int worker, unsigned flags)
{
	const struct rl_limit slow = {.capacity = 10 * capacity_of(worker),
	                              .window_ns = 60 * RL_SECOND};

	return rl_define(rl, &(struct rl_rule){.name = "r",
	                                       .limit = {.capacity = capacity_of(worker),
	                                                 .window_ns = RL_SECOND},
	                                       .more = &slow,
	                                       .more_count = 1,
	                                       .flags = flags});
}

/* As `worker` has defined it, and nobody else. */
static bool
is_of(int worker, const struct rl_rule_info *info)
{
	return info->limit_count == 2 && info->limits[0].capacity == capacity_of(worker) &&
	       info->limits[1].capacity == 10 * capacity_of(worker);
}

static void
work_first(int worker)
{
	told[worker] = -ECANCELED;
	told[worker] = define(worker, RL_DEFINE_KEEP);
}

/* What may stand there when the first comes. */
static void
prepare(uint64_t run)
{
	const struct rl_limit slow = {.capacity = 77, .window_ns = 60 * RL_SECOND};
	const struct rl_config_rule configured = {
		.rule = {.name = "r",
	                 .limit = {.capacity = 7, .window_ns = RL_SECOND},
	                 .more = &slow,
	                 .more_count = 1}};

	assert_int_equal(rl_open_private(&(struct rl_options){.keys = 1, .rules = 1}, &rl), 0);
	if (run & 1) /* then its limits do not start anew */
		assert_int_equal(rl_configure(rl, &configured, 1, 0, NULL, NULL), 0);
	if (run & 2) {
		assert_int_equal(define(run & 4 ? 1 : 0, 0), 0);
		assert_int_equal(rl_forget(rl, "r"), 1);
	}
}

/* One definition stands whole, and who was told 0 is its definer, or wants the same. */
static void
assert_one_won(uint64_t run)
{
	struct rl_rule_info info;

	if (run & 1)
		assert_int_equal(rl_configure(rl, NULL, 0, 0, NULL, NULL), 0);
	assert_int_equal(rl_rule_info(rl, 0, &info), 1);
	for (int i = 0; i < WORKERS; i++) {
		if (workers[i].fate == KILLED)
			continue;
		if (told[i] != 0 && told[i] != RL_EDEFINED)
			fail_msg("run %llu: %d was told %d", (unsigned long long)run, i, told[i]);
		if (is_of(i, &info) != (told[i] == 0))
			fail_msg("run %llu: %d was told %d, of %u and %u", (unsigned long long)run,
			         i, told[i], info.limits[0].capacity, info.limits[1].capacity);
	}
}

static void
play_first(void)
{
	for (uint64_t run = 1; run <= test_scaled(RUNS); run++) {
		seed = run;
		prepare(run);
		run_schedule(work_first);
		if (killed < WORKERS)
			assert_one_won(run);
		rl_close(rl);
	}
}

static void
test_one_definition_stays(void **state)
{
	(void)state;
	kills = false;
	play_first();
}

static void
test_one_definition_stays_with_kills(void **state)
{
	(void)state;
	kills = true;
	play_first();
}

/* Define and use: the rule begins to count once, whoever was first. */
static void
work_alike(int worker)
{
	(void)worker;
	if (define(0, 0) != 0)
		return;
	while (at_check(rl, 0, "k", 1, 1, T0, NULL) == RL_ALLOWED)
		allowed++;
}

/* The rule is new, was defined with other limits meanwhile, or was forgotten. */
static void
prepare_left(uint64_t run)
{
	assert_int_equal(rl_open_private(&(struct rl_options){.keys = 1, .rules = 1}, &rl), 0);
	if (run % 3 == 0)
		return;
	assert_int_equal(define(0, 0), 0);
	assert_int_equal(at_check(rl, 0, "k", 1, 5, T0, NULL), RL_ALLOWED);
	if (run % 3 == 1)
		assert_int_equal(test_rule(rl, "r", 9, 7 * RL_SECOND, 1, false), 0);
	else
		assert_int_equal(rl_forget(rl, "r"), 1);
}

static void
test_a_first_definition_begins_once(void **state)
{
	(void)state;
	kills = false;
	for (uint64_t run = 1; run <= test_scaled(RUNS); run++) {
		seed = run;
		allowed = 0;
		prepare_left(run);
		run_schedule(work_alike);
		if (allowed != capacity_of(0))
			fail_msg("run %llu: allowed %u", (unsigned long long)run, allowed);
		rl_close(rl);
	}
}

/* The same of a space of counters. */
static void
work_counting(int worker)
{
	int counters = rl_define_counters(rl, "counters");

	(void)worker;
	for (int i = 0; counters >= 0 && i < 3; i++)
		allowed += at_counter_add(rl, counters, "k", 1, 1, RL_NEVER_NS, T0, NULL) == 1;
}

static void
test_a_first_space_begins_once(void **state)
{
	struct rl_count count;

	(void)state;
	kills = false;
	for (uint64_t run = 1; run <= test_scaled(RUNS); run++) {
		seed = run;
		allowed = 0;
		assert_int_equal(rl_open_private(&(struct rl_options){.keys = 1, .rules = 1}, &rl),
		                 0);
		run_schedule(work_counting);
		assert_int_equal(allowed, 3 * WORKERS);
		assert_int_equal(at_counter_get(rl, 0, "k", 1, T0, &count), 1);
		if (count.value != allowed)
			fail_msg("run %llu: counted %llu", (unsigned long long)run,
			         (unsigned long long)count.value);
		rl_close(rl);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_definition_stays),
		cmocka_unit_test(test_one_definition_stays_with_kills),
		cmocka_unit_test(test_a_first_definition_begins_once),
		cmocka_unit_test(test_a_first_space_begins_once),
	};

	make_stacks();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

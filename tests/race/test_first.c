/* SPDX-License-Identifier: BSD-2-Clause */
/* Several processes define a rule for the first time: whose definition stays, and what it counts. */
#include <errno.h>
#include <stdlib.h>

#include "schedule.h"

#define RUNS 40000

static struct rl *rl;
static int told[WORKERS];

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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_definition_stays),
		cmocka_unit_test(test_one_definition_stays_with_kills),
	};

	make_stacks();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

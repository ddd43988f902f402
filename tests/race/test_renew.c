/* SPDX-License-Identifier: BSD-2-Clause */
/* A whole rule is reset at once while others decide or define it. */
#include <errno.h>
#include <stdlib.h>

#include "at.h"
#include "schedule.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define RUNS 40000
#define CAPACITY 3

static struct rl *rl;
static int rule;
static bool is_reset;     /* the reset has returned */
static unsigned admitted; /* by workers, */
static unsigned after;    /* and of it in decisions that began when the reset had returned */

static int
define(const char *name, uint32_t capacity)
{
	const struct rl_limit slow = {.capacity = capacity, .window_ns = 600 * RL_SECOND};

	return rl_define(rl, &(struct rl_rule){.name = name,
	                                       .limit = {.capacity = capacity,
	                                                 .window_ns = 60 * RL_SECOND,
	                                                 .granularity = 2,
	                                                 .hard = 1},
	                                       .more = &slow,
	                                       .more_count = 1});
}

static void
prepare(unsigned used)
{
	assert_int_equal(
		rl_open_private(&(struct rl_options){.keys = 1, .ring = 64, .rules = 1}, &rl), 0);
	rule = define("r", CAPACITY);
	is_reset = false;
	admitted = after = 0;
	if (used > 0)
		assert_int_equal(at_check(rl, rule, "k", 1, used, T0, NULL), RL_ALLOWED);
}

static unsigned
drain(int id)
{
	unsigned count = 0;

	while (count <= 3 * CAPACITY && at_check(rl, id, "k", 1, 1, T0, NULL) == RL_ALLOWED)
		count++;
	return count;
}

static void
work(int worker)
{
	if (worker == 0) {
		is_reset = rl_reset_matching(rl, rule, NULL, NULL) == 0;
		return;
	}
	for (int i = 0; i < CAPACITY; i++) {
		bool is_after = is_reset;
		bool is_allowed = at_check(rl, rule, "k", 1, 1, T0, NULL) == RL_ALLOWED;
		admitted += is_allowed;
		after += is_allowed && is_after;
	}
}

/* Each incarnation admits its capacity, and what begins after the reset is of the new one. */
static void
play(unsigned used, uint64_t run)
{
	unsigned rest = drain(rule);

	if (admitted + rest > CAPACITY - used + CAPACITY || after + rest > CAPACITY ||
	    (killed == 0 && admitted + rest < CAPACITY))
		fail_msg("run %llu: %u used, %u and %u admitted, %u after the reset",
		         (unsigned long long)run, used, admitted, rest, after);
	if (is_reset && killed == 0 && used == CAPACITY)
		assert_int_equal(admitted + rest, CAPACITY);
}

static void
play_all(void)
{
	for (uint64_t run = 1; run <= test_scaled(RUNS); run++) {
		unsigned used = (unsigned)(run % (CAPACITY + 1));

		seed = run;
		prepare(used);
		run_schedule(work);
		play(used, run);
		rl_close(rl);
	}
}

static void
test_a_reset_among_decisions(void **state)
{
	(void)state;
	kills = false;
	play_all();
}

static void
test_a_reset_among_decisions_with_kills(void **state)
{
	(void)state;
	kills = true;
	play_all();
}

/* Another defines the rule anew meanwhile: as much is admitted as by one of both, and not more. */
static void
work_defining(int worker)
{
	if (worker == 0)
		is_reset = rl_reset_matching(rl, rule, NULL, NULL) == 0;
	else if (worker == 1)
		rule = define("r", CAPACITY + 1);
	else
		admitted += drain(rule);
}

static void
test_a_definition_meanwhile(void **state)
{
	(void)state;
	kills = false;
	for (uint64_t run = 1; run <= test_scaled(RUNS); run++) {
		seed = run;
		prepare(CAPACITY);
		run_schedule(work_defining);
		admitted += drain(rule);
		if (!is_reset || admitted < CAPACITY + 1 || admitted > CAPACITY + 2)
			fail_msg("run %llu: %u admitted", (unsigned long long)run, admitted);
		rl_close(rl);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_reset_among_decisions),
		cmocka_unit_test(test_a_reset_among_decisions_with_kills),
		cmocka_unit_test(test_a_definition_meanwhile),
	};

	make_stacks();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

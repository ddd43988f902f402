/* SPDX-License-Identifier: BSD-2-Clause */
/* Who changes what decisions go by says so: see change.h. */
#include <string.h>

#include "at.h"
#include "rule/policy.h"
#include "segment/change.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)

static struct rl *rl;
static const struct rl_segment *s;

static int
open_one(void **state)
{
	(void)state;
	rl = test_private(100);
	s = &rl->segment;
	return 0;
}

static int
close_one(void **state)
{
	(void)state;
	rl_close(rl);
	return 0;
}

static bool
is_quiet(void)
{
	uint64_t version;

	return rl_change_is_quiet(s, &version);
}

static void
test_is_quiet_between_changes(void **state)
{
	struct rl_change a, b;
	uint64_t before, after;

	(void)state;
	assert_true(rl_change_is_quiet(s, &before));
	assert_true(rl_change_begin(s, &a));
	assert_false(is_quiet());
	assert_true(rl_change_begin(s, &b));
	rl_change_end(&a);
	assert_false(is_quiet());
	rl_change_end(&b);
	assert_true(rl_change_is_quiet(s, &after));
	assert_int_not_equal(before, after);
	assert_int_equal(after, rl_change_version(s));
}

static void
test_what_was_killed_is_given_up(void **state)
{
	struct rl_u128 seen = {0};
	struct rl_change killed, later;

	(void)state;
	assert_true(rl_change_begin(s, &killed));
	assert_false(rl_change_give_up(s, &seen)); /* seen for the first time */
	assert_true(rl_change_begin(s, &later));
	assert_false(rl_change_give_up(s, &seen)); /* somebody is at it */
	rl_change_end(&later);
	assert_false(rl_change_give_up(s, &seen));
	assert_false(is_quiet());
	assert_true(rl_change_give_up(s, &seen));
	assert_true(is_quiet());
	assert_false(rl_change_give_up(s, &seen));
}

/* It was only stopped: what it wrote meanwhile is a change, and leaves nothing open. */
static void
test_a_late_end_is_a_change(void **state)
{
	struct rl_u128 seen = s->header->changes;
	struct rl_change stopped, other;
	uint64_t version;

	(void)state;
	assert_true(rl_change_begin(s, &stopped));
	seen = s->header->changes;
	assert_true(rl_change_give_up(s, &seen));
	version = rl_change_version(s);
	assert_true(rl_change_begin(s, &other));
	rl_change_end(&stopped);
	assert_false(is_quiet());
	rl_change_end(&other);
	assert_true(is_quiet());
	assert_int_equal(rl_change_version(s), version + 2);
}

static void
test_who_sweeps_gives_up(void **state)
{
	struct rl_change killed;

	(void)state;
	rl_sweep_at(rl, T0);
	assert_true(rl_change_begin(s, &killed));
	rl_sweep_at(rl, T0 + RL_SECOND);
	rl_sweep_at(rl, T0 + 2 * RL_SECOND);
	assert_false(is_quiet());
	rl_sweep_at(rl, T0 + 3 * RL_SECOND);
	assert_false(is_quiet());
	rl_sweep_at(rl, T0 + 4 * RL_SECOND);
	assert_true(is_quiet());
}

/* What each writer has to move, or else what others keep stays in force. */
static void
test_rare_writers_say_so(void **state)
{
	const struct rl_config_rule rule = {
		.rule = {.name = "a", .limit = {.capacity = 2, .window_ns = RL_SECOND}}};
	const struct rl_pattern pattern = rl_pattern_of("someone", 7);
	uint64_t version = rl_change_version(s);
	int id;

	(void)state;
#define ASSERT_CHANGED                                               \
	do {                                                         \
		assert_int_not_equal(rl_change_version(s), version); \
		assert_true(is_quiet());                             \
		version = rl_change_version(s);                      \
	} while (0)
	id = test_rule(rl, "a", 1, RL_SECOND, 1, false);
	ASSERT_CHANGED;
	assert_int_equal(rl_configure(rl, &rule, 1, 0, NULL, NULL), 0);
	ASSERT_CHANGED;
	assert_int_equal(rl_ban(rl, id, &pattern, RL_NEVER_NS), 0);
	ASSERT_CHANGED;
	assert_int_equal(rl_allow(rl, RL_ANY_RULE, &pattern, RL_NEVER_NS), 0);
	ASSERT_CHANGED;
	assert_int_equal(rl_configure(rl, NULL, 0, 0, NULL, NULL), 0);
	ASSERT_CHANGED;
	assert_int_equal(rl_forget(rl, "a"), 1);
	ASSERT_CHANGED;
}

static bool
is_cached(int rule)
{
	struct rl_policy_look look = {0};

	return rl_policy_look(rl, rule, 0, &look) && look.steps == rl_policy_plain_steps(rule);
}

/*
 * A child that was forked while its parent wrote: it takes the writing over, and waits for nobody.
 */
static void
test_a_child_takes_over(void **state)
{
	int rule = test_rule(rl, "a", 2, RL_SECOND, 1, false);
	struct rl_policy_cached *cached = &rl->policies[rl_rule_row(rule)];

	(void)state;
	assert_int_equal(at_check(rl, rule, "k", 1, 1, T0, NULL), RL_ALLOWED);
	assert_true(is_cached(rule));
	cached->writer = 1; /* nobody here */
	cached->sequence |= 1;
	assert_false(is_cached(rule));
	assert_int_equal(at_check(rl, rule, "k", 1, 1, T0, NULL), RL_ALLOWED);
	assert_true(is_cached(rule));
	assert_int_equal(at_check(rl, rule, "k", 1, 1, T0, NULL), RL_DENIED);
}

/*
 * Nobody asks a filter then: each pattern is looked for, of those that are no longer than the key.
 */
static void
test_bans_during_an_open_change(void **state)
{
	const struct rl_pattern pattern = {RL_MATCH_PREFIX, "abcdef", 6};
	struct rl_change killed;
	int rule = test_rule(rl, "a", 9, RL_SECOND, 1, false);

	(void)state;
	assert_int_equal(rl_ban(rl, rule, &pattern, RL_NEVER_NS), 0);
	assert_true(rl_change_begin(s, &killed));
	assert_int_equal(at_check(rl, rule, "abcdefg", 7, 1, T0, NULL), RL_DENIED);
	assert_int_equal(at_check(rl, rule, "abcdefg", 2, 1, T0, NULL), RL_ALLOWED);
}

/* A thread that reads meets another that writes that the rule has no limits any more. */
static void
test_a_policy_that_is_being_written(void **state)
{
	int rule = test_rule(rl, "a", 1, RL_SECOND, 1, false);
	struct rl_policy_cached *cached = &rl->policies[rl_rule_row(rule)];
	struct rl_policy_look look = {0};

	(void)state;
	assert_int_equal(at_check(rl, rule, "k", 1, 1, T0, NULL), RL_ALLOWED);
	assert_true(rl_policy_look(rl, rule, T0, &look));
	assert_true(rl_policy_look_holds(&look));
	cached->sequence++;
	cached->policy.limit[0].limit = NULL;
	assert_false(rl_policy_look_holds(&look));
	assert_false(is_cached(rule));
	cached->sequence++;
	assert_false(rl_policy_look_holds(&look));
}

/* What is read while somebody changes something is used, and not kept. */
static void
test_an_open_change_costs_time_alone(void **state)
{
	struct rl_u128 seen = {0};
	struct rl_change killed;
	int rule = test_rule(rl, "a", 1, RL_SECOND, 1, false);

	(void)state;
	assert_true(rl_change_begin(s, &killed));
	assert_int_equal(at_check(rl, rule, "k", 1, 1, T0, NULL), RL_ALLOWED);
	assert_false(is_cached(rule));
	assert_int_equal(at_check(rl, rule, "k", 1, 1, T0, NULL), RL_DENIED);
	rl_change_give_up(s, &seen);
	assert_true(rl_change_give_up(s, &seen));
	assert_int_equal(at_check(rl, rule, "k", 1, 1, T0, NULL), RL_DENIED);
	assert_true(is_cached(rule));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_is_quiet_between_changes, open_one, close_one),
		cmocka_unit_test_setup_teardown(test_what_was_killed_is_given_up, open_one,
	                                        close_one),
		cmocka_unit_test_setup_teardown(test_a_late_end_is_a_change, open_one, close_one),
		cmocka_unit_test_setup_teardown(test_who_sweeps_gives_up, open_one, close_one),
		cmocka_unit_test_setup_teardown(test_rare_writers_say_so, open_one, close_one),
		cmocka_unit_test_setup_teardown(test_bans_during_an_open_change, open_one,
	                                        close_one),
		cmocka_unit_test_setup_teardown(test_a_child_takes_over, open_one, close_one),
		cmocka_unit_test_setup_teardown(test_a_policy_that_is_being_written, open_one,
	                                        close_one),
		cmocka_unit_test_setup_teardown(test_an_open_change_costs_time_alone, open_one,
	                                        close_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of limits that are given to other limits, while somebody sleeps with them or wants them. */
#include "few_rows.h"
#include "segment/change.h"

/* All sixteen rows are used: the first is in force, of "r" with `capacity` a minute. */
static struct rl *
with_no_row_left(uint32_t capacity)
{
	struct rl *rl = open_rows(1);

	for (uint64_t i = 0; i < 16; i++)
		define_one(rl, "r", capacity, (60 + i) * RL_SECOND, false);
	define_one(rl, "r", capacity, 60 * RL_SECOND, false);
	return rl;
}

/* The first row becomes that of a limit with the same sub-buckets, and another hash. */
static void
give_away(struct rl *rl, uint32_t capacity)
{
	define_one(rl, "r", capacity, 61 * RL_SECOND, false);
	define_one(rl, "r", capacity, 60 * RL_SECOND, true);
	assert_true(rl->segment.limits[0].identity.lo & RL_IDENTITY_HARD);
}

static void
give_away_and_use_up(struct rl *rl, int rule)
{
	give_away(rl, 5);
	for (int i = 0; i < 5; i++)
		assert_int_equal(check(rl, rule), RL_ALLOWED);
}

static void
give_away_to_more(struct rl *rl, int rule)
{
	(void)rule;
	give_away(rl, 1000);
}

static int
add_used(const struct rl_entry *e, void *arg)
{
	*(uint32_t *)arg += e->used;
	return 0;
}

static uint32_t
used_now(struct rl *rl)
{
	uint32_t used = 0;

	rl_lookup(rl, 0, "k", 1, T0, add_used, &used);
	return used;
}

/* What the process has kept of the rule holds no more: its next decision reads the segment. */
static void
make_it_read(struct rl *rl)
{
	struct rl_change change;

	assert_true(rl_change_begin(&rl->segment, &change));
	rl_change_end(&change);
}

/* A sleeper with the old row charges nothing of the new one's. */
static void
test_a_sleeper_with_a_row(void **state)
{
	bool goes_on = true;

	(void)state;
	for (int n = 1; goes_on; n++) {
		struct rl *rl = with_no_row_left(100);
		goes_on = intrude(rl, 0, check_and_tell, give_away_and_use_up, n);
		if (goes_on) {
			assert_int_equal(used_now(rl), 5);
			assert_int_equal(check(rl, 0), RL_DENIED);
		}
		rl_close(rl);
	}
}

/* Nor is it admitted to the old one by what the new one admits. */
static void
test_a_sleeper_and_another_quota(void **state)
{
	bool goes_on = true;

	(void)state;
	for (int n = 1; goes_on; n++) {
		struct rl *rl = with_no_row_left(5);
		for (int i = 0; i < 5; i++)
			check(rl, 0);
		make_it_read(rl);
		goes_on = intrude(rl, 0, check_and_tell, give_away_to_more, n);
		assert_int_equal(told.error, 0);
		assert_int_equal(used_now(rl), !goes_on ? 5 : told.limit == 1000);
		rl_close(rl);
	}
}

/* Two that want the same row: for what it was, and for something else. */

static void
define_as_it_was(struct rl *rl, int rule)
{
	const struct rl_rule was = {.name = "r",
	                            .limit = {.capacity = 7, .window_ns = 60 * RL_SECOND}};

	has_come = rl_rules_row_of(&rl->segment, rl_rules_identity_of(rule, &was, 0)) >= 0 ||
	           !rl->handle->is_configuring;
	if (has_come)
		define_one(rl, "r", 7, 60 * RL_SECOND, false);
}

static void
define_in_its_place(struct rl *rl, int rule)
{
	(void)rule;
	has_come = true;
	define_one(rl, "s", 9, 1000 * RL_SECOND, false);
}

static void
configure_as_it_was(struct rl *rl, int rule)
{
	const struct rl_config_rule r = {
		.rule = {.name = "r", .limit = {.capacity = 7, .window_ns = 60 * RL_SECOND}}};

	(void)rule;
	has_come = !rl->handle->is_configuring;
	if (has_come)
		assert_int_equal(rl_configure(rl, &r, 1, 0, NULL, NULL), 0);
}

static void
play_two(call_fn *first, call_fn *second)
{
	bool goes_on = true;

	for (int n = 1; goes_on; n++) {
		struct rl *rl = open_rows(2);
		define_one(rl, "s", 9, 999 * RL_SECOND, false);
		for (uint64_t i = 0; i < 31; i++)
			define_one(rl, "r", 7, (60 + i) * RL_SECOND, false);
		has_come = false;
		goes_on = intrude(rl, 1, first, second, n);
		if (!has_come || !goes_on)
			second(rl, 1);
		expect_limit(rl, "r", 7, 60 * RL_SECOND);
		expect_limit(rl, "s", 9, 1000 * RL_SECOND);
		audit_assert_whole(rl);
		rl_close(rl);
	}
}

static void
test_two_want_a_row(void **state)
{
	(void)state;
	play_two(define_as_it_was, define_in_its_place);
	play_two(define_in_its_place, define_as_it_was);
	play_two(define_in_its_place, configure_as_it_was);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_sleeper_with_a_row),
		cmocka_unit_test(test_a_sleeper_and_another_quota),
		cmocka_unit_test(test_two_want_a_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

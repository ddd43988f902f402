/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Limits in flight where somebody else comes in between: another holder that takes and gives back
 * before each access to a shared word, so that no step ever succeeds; and one that takes the last
 * unit in the midst of a request under several limits.
 */
#include <errno.h>
#include <string.h>

#include "at.h"
#include "intrude.h"

static struct rl *other;
static bool is_at_it;
static int held_rule;

static struct rl_limit
in_flight(uint32_t capacity)
{
	return (struct rl_limit){.algorithm = RL_IN_FLIGHT, .capacity = capacity};
}

static void
take_and_give(struct rl *rl, int rule)
{
	struct rl_charges charges;
	struct rl_hold hold;

	(void)rl;
	if (is_at_it)
		return;
	is_at_it = true;
	wait_for = 0;
	test_check_at(other, rule, "k", 1, 1, T0, NULL, &charges);
	if (rl_holds(&charges, &hold, 1) == 1)
		rl_release(other, &hold, 1);
	wait_for = 1; /* and again */
	is_at_it = false;
}

/* From now on, at every access. */
static void
hold_up(struct rl *rl, int rule)
{
	of = rl;
	rule_of = rule;
	intruder = take_and_give;
	wait_for = 1;
}

static void
let_go(void)
{
	wait_for = 0;
}

static struct rl *
open_segment(void)
{
	struct rl *rl;

	assert_int_equal(
		rl_open(test_segment_name(), &(struct rl_options){.keys = 100, .ring = 64}, &rl),
		0);
	return rl;
}

/* What could not be given back stays a hold, or a charge. */
static void
test_held_up(void **state)
{
	struct rl *rl = open_segment();
	int rule = rl_define(rl, &(struct rl_rule){.name = "r", .limit = in_flight(9)});
	struct rl_charges charges, more;
	struct rl_hold hold;
	struct rl_result r;

	(void)state;
	other = open_segment();
	assert_int_equal(test_check_at(rl, rule, "k", 1, 2, T0, &r, &charges), RL_ALLOWED);
	assert_int_equal(rl_holds(&charges, &hold, 1), 1);
	assert_int_equal(test_check_at(rl, rule, "k", 1, 3, T0, &r, &charges), RL_ALLOWED);
	hold_up(rl, rule);
	assert_int_equal(rl_release(rl, &hold, 1), -EBUSY);
	assert_int_equal(at_refund(rl, &charges, T0), -EBUSY);
	assert_int_equal(charges.count, 1);
	assert_int_equal(test_check_at(rl, rule, "k", 1, 1, T0, &r, &more), RL_UNDECIDED);
	assert_int_equal(r.error, -EBUSY);
	assert_int_equal(more.count, 0);
	let_go();
	at_peek(rl, rule, "k", 1, T0, &r);
	assert_int_equal(r.used, 5);
	assert_int_equal(rl_release(rl, &hold, 1), 1);
	assert_int_equal(at_refund(rl, &charges, T0), 1);
	at_peek(rl, rule, "k", 1, T0, &r);
	assert_int_equal(r.used, 0);
	rl_close(other);
	rl_close(rl);
}

static enum rl_verdict verdict;
static struct rl_charges both;

static void
ask_both(struct rl *rl, int rule)
{
	verdict = test_check_at(rl, rule, "k", 1, 1, T0, NULL, &both);
}

static void
take_the_last(struct rl *rl, int rule)
{
	struct rl_charges charges;

	(void)rl;
	test_check_at(other, held_rule, "k", 1, 1, T0, NULL, &charges);
	(void)rule;
}

/*
 * Under a rate and a concurrency limit, both of one rule: whoever comes too late for the unit has
 * spent no rate, not even for a moment, for what is in flight is charged first.
 */
static void
test_units_come_before_rates(void **state)
{
	const struct rl_limit rate = {
		.algorithm = RL_FIXED_WINDOW, .capacity = 1000, .window_ns = RL_SECOND};
	const struct rl_limit held = in_flight(1);
	const struct rl_rule rule_of_both = {
		.name = "both", .limit = rate, .more = &held, .more_count = 1};
	struct rl *rl = open_segment();
	int rule = rl_define(rl, &rule_of_both), late = 0;
	bool has_come = true;

	(void)state;
	other = open_segment();
	held_rule = rule;
	for (int n = 1; has_come; n++) {
		uint64_t refunded = test_counter(rl, rule, RL_COUNT_refunded);

		rl_reset(rl, rule, "k", 1);
		has_come = intrude(rl, rule, ask_both, take_the_last, n);
		late += verdict == RL_DENIED;
		assert_true(verdict == RL_ALLOWED || both.count == 0);
		assert_int_equal(test_counter(rl, rule, RL_COUNT_refunded), refunded);
	}
	assert_true(late > 10);
	rl_close(other);
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_held_up, test_unlink),
		cmocka_unit_test_teardown(test_units_come_before_rates, test_unlink),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* A charge to an overflow counter, a fold and a carry die at any instruction: see operation.h. */
#include "operation.h"

/* All slots: half of them are keys of the rule "hard", so that a new one of its keys finds none. */
static void
prepare_full(void)
{
	for (int key = 4; key < 4 + SLOTS / 2; key++)
		check_at(HARD, key, now, NULL);
	for (int key = 4 + SLOTS / 2; key < 4 + SLOTS; key++)
		check_at(LOG, key, now, NULL);
}

static void
prepare_without_slot(void)
{
	prepare_full();
	check_at(HARD, 0, now, NULL);
}

static void
run_hard(void)
{
	check_at(HARD, 0, now, NULL);
}

/* Of a rule that has no slot yet: a key of the others gives way. */
static void
run_newcomer(void)
{
	check_at(TOKEN, 0, now, NULL);
}

/* Of the limits of a rule, the one takes a slot, and the other too. */
static void
run_two(void)
{
	check_at(TWO, 0, now, NULL);
}

/*
 * What the key has in its overflow counter is of the window before: it is to have a slot, for there
 * is room.
 */
static void
prepare_carry(void)
{
	prepare_full();
	check_at(HARD, 0, now, NULL);
	check_at(HARD, 0, now, NULL);
	assert_int_equal(rl_reset(rl, rules[LOG], "k19", 3), 1);
	now = (T0 / (3 * RL_SECOND) + 1) * 3 * RL_SECOND;
}

/* It was given one, and has carried; what is frozen is closed. */
static void
prepare_close(void)
{
	prepare_carry();
	check_at(HARD, 0, now, NULL);
	now += RL_SECOND;
}

static void
run_reset(void)
{
	rl_reset(rl, rules[HARD], "k4", 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		OPERATION("the first key without a slot", prepare_full, run_hard, NULL),
		OPERATION("a key without a slot", prepare_without_slot, run_hard, NULL),
		OPERATION("a key gives way", prepare_full, run_newcomer, NULL),
		OPERATION("a key gives way to two", prepare_without_slot, run_two, NULL),
		OPERATION("a carry", prepare_carry, run_hard, NULL),
		OPERATION("a carry is closed", prepare_close, run_hard, NULL),
		OPERATION("a reset beside overflow counters", prepare_without_slot, run_reset,
	                  NULL),
	};

	return cmocka_run_group_tests(tests, open_base, close_base);
}

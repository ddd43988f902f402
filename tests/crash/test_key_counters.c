/* SPDX-License-Identifier: BSD-2-Clause */
/* A call on a counter by key dies at any instruction: see operation.h. */
#include "at.h"
#include "operation.h"

static void
prepare_nothing(void)
{
}

static void
run_add(void)
{
	at_counter_add(rl, space, "k0", 2, 3, 5 * RL_SECOND, now, NULL);
}

/* Another counter, too. */
static void
prepare_count(void)
{
	run_add();
	at_counter_add(rl, space, "k1", 2, 7, 60 * RL_SECOND, now, NULL);
	now += RL_SECOND;
}

/* One that is over when the operation comes. */
static void
prepare_expired(void)
{
	prepare_count();
	now += 5 * RL_SECOND;
}

/* As many keys of a rule as there are slots, none at its limit. */
static void
prepare_crowd(void)
{
	for (int key = 0; key < SLOTS; key++)
		check_at(HARD, key + 3, now, NULL);
}

static void
run_set(void)
{
	at_counter_set(rl, space, "k0", 2, RL_COUNT_MAX, 9 * RL_SECOND, now, NULL);
}

static void
run_drop(void)
{
	at_counter_drop(rl, space, "k0", 2, now);
}

/* The others count on, from what they find. */
static void
survive(void)
{
	struct rl_count had, count;

	at_counter_get(rl, space, "k0", 2, now, &had);
	assert_int_equal(at_counter_add(rl, space, "k0", 2, 1, RL_SECOND, now, &count), 1);
	assert_int_equal(count.value, had.value < RL_COUNT_MAX ? had.value + 1 : RL_COUNT_MAX);
	assert_int_equal(count.is_new, had.expires_after_ns == 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		OPERATION("count anew", prepare_nothing, run_add, survive),
		OPERATION("count", prepare_count, run_add, survive),
		OPERATION("count what is over", prepare_expired, run_add, survive),
		OPERATION("count in a full table", prepare_crowd, run_add, survive),
		OPERATION("set a counter", prepare_count, run_set, survive),
		OPERATION("drop a counter", prepare_count, run_drop, survive),
	};

	return cmocka_run_group_tests(tests, open_base, close_base);
}

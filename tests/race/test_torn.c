/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A counter is read while others change value and lifetime, and change both back: the halves of a
 * word are loaded one after the other, and what is told was there at one instant.
 */
#include "at.h"
#include "intrude.h"

#define GAPS 6

static struct rl_count told;
static int gap;

static void
set(struct rl *rl, int space, uint64_t value)
{
	assert_int_equal(at_counter_set(rl, space, "k", 1, value, value * RL_SECOND, T0, NULL), 1);
}

static void
set_back(struct rl *rl, int space)
{
	set(rl, space, 1);
}

/* And back, so many accesses later. */
static void
set_other(struct rl *rl, int space)
{
	set(rl, space, 2);
	intruder = set_back;
	wait_for = gap;
}

static void
get(struct rl *rl, int space)
{
	assert_int_equal(at_counter_get(rl, space, "k", 1, T0, &told), 1);
}

static void
test_halves_are_of_one_instant(void **state)
{
	struct rl *rl = test_private(10);
	int space = rl_define_counters(rl, "counters");

	(void)state;
	assert_true(space >= 0);
	for (gap = 1; gap <= GAPS; gap++)
		for (int n = 1;; n++) {
			set(rl, space, 1);
			intrude(rl, space, get, set_other, n);
			assert_int_equal(told.expires_after_ns, told.value * RL_SECOND);
			if (intruder == set_other) /* the call has not as many accesses */
				break;
		}
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_halves_are_of_one_instant)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

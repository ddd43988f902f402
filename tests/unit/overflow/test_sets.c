/* SPDX-License-Identifier: BSD-2-Clause */
/* How many sets of overflow counters a limit takes, and what becomes of a run that loses some. */
#include <errno.h>
#include <stdio.h>

#include "overflow/sets.h"
#include "rule/handle.h"
#include "testing.h"

#define CELLS 4
#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define WINDOW (60 * RL_SECOND)
#define BUFFER (10 * RL_SECOND)
#define LATER (T0 + 2 * WINDOW + BUFFER)
#define LIMITS 20

struct sets {
	struct rl *rl;
	const struct rl_segment *s;
	const struct rl_compiled *limit[LIMITS];
};

static struct sets
open_with(uint32_t reserves, unsigned limits)
{
	const struct rl_options o = {
		.keys = 1, .cells = CELLS, .reserves = reserves, .buffer_ns = BUFFER};
	struct sets t;
	char name[16];

	assert_int_equal(rl_open_private(&o, &t.rl), 0);
	t.s = &t.rl->segment;
	for (unsigned i = 0; i < limits; i++) {
		const struct rl_limit limit = {.capacity = 5, .window_ns = WINDOW};
		int rule;

		snprintf(name, sizeof name, "r%u", i);
		rule = rl_define(t.rl, &(struct rl_rule){.name = name, .limit = limit});
		assert_true(rule >= 0);
		t.limit[i] = rl_handle_limit(t.rl, rule);
	}
	return t;
}

/* How many a limit takes at that time, and keeps until `until_ns`; 0: there is none for it. */
static uint32_t
take(struct sets *t, unsigned i, uint64_t now_ns, uint64_t until_ns)
{
	struct rl_set set;
	int error = rl_sets_take(t->s, t->limit[i], 0, now_ns, &set);

	if (error < 0) {
		assert_int_equal(error, -ENOSPC);
		return 0;
	}
	for (uint32_t n = 0; n < rl_sets_count(t->s, t->limit[i]); n++)
		if (rl_sets_nth(t->s, t->limit[i], n, &set))
			assert_true(rl_sets_raise(t->s, &set, until_ns));
	return rl_sets_count(t->s, t->limit[i]);
}

static void
test_a_limit_takes_what_others_leave(void **state)
{
	static const struct {
		uint32_t reserves;
		unsigned limits;
		uint32_t taken[LIMITS];
	} cases[] = {
		{1, 2, {1, 0}},
		{2, 1, {1}},
		{64, 1, {32}},
		{64, 2, {32, 16}},
		{64, 16, {32, 4, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1}},
		{16, 16, {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}},
		{4, 6, {1, 1, 1, 1, 0, 0}},
	};

	(void)state;
	for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct sets t = open_with(cases[i].reserves, cases[i].limits);

		for (unsigned n = 0; n < cases[i].limits; n++)
			assert_int_equal(take(&t, n, T0, T0 + WINDOW), cases[i].taken[n]);
		for (unsigned n = 0; n < cases[i].limits; n++) /* and no more */
			assert_int_equal(take(&t, n, T0, T0 + WINDOW), cases[i].taken[n]);
		rl_close(t.rl);
	}
}

/* Each index has its own counter. */
static void
test_a_run_is_used_throughout(void **state)
{
	struct sets t = open_with(8, 1);
	struct rl_u128 *seen[8] = {0};
	uint32_t count = take(&t, 0, T0, T0 + WINDOW);
	struct rl_set set;

	(void)state;
	assert_true(count > 1);
	for (uint32_t n = 0; n < count; n++) {
		assert_true(rl_sets_find(t.s, t.limit[0], n * CELLS, &set));
		for (uint32_t i = 0; i < n; i++)
			assert_true(set.counters != seen[i]);
		seen[n] = set.counters;
		assert_true(rl_sets_find(t.s, t.limit[0], (n + count) * CELLS + 1, &set));
		assert_ptr_equal(set.counters, seen[n]);
	}
	rl_close(t.rl);
}

/*
 * A set that counts nothing any more becomes another limit's. The keys that it had go to the next
 * one, all to the same; the others stay; and the run is given up with its last set.
 */
static void
test_what_is_lost_is_passed_over(void **state)
{
	struct sets t = open_with(4, 2);
	uint32_t count = take(&t, 0, T0, T0 + WINDOW);
	struct rl_set kept, set;

	(void)state;
	assert_int_equal(count, 2);
	assert_true(rl_sets_nth(t.s, t.limit[0], 0, &kept));
	assert_true(rl_sets_raise(t.s, &kept, LATER + WINDOW)); /* this one alone counts on */
	while (take(&t, 1, LATER, LATER + WINDOW) > 0 && rl_sets_nth(t.s, t.limit[0], 1, &set))
		t.limit[1]->row->overflow_set = 0; /* as if it had none: it takes another */
	assert_false(rl_sets_nth(t.s, t.limit[0], 1, &set));
	for (uint32_t index = 0; index < 4 * CELLS; index++) {
		assert_int_equal(rl_sets_take(t.s, t.limit[0], index, LATER, &set), 0);
		assert_ptr_equal(set.at, kept.at);
	}
	assert_int_equal(rl_sets_forget(t.s, t.limit[0]->id), 0);
	assert_false(rl_sets_find(t.s, t.limit[0], 0, &set));
	rl_close(t.rl);
}

/* A reset gives back all of a run. */
static void
test_forgotten_sets_are_vacant_at_once(void **state)
{
	struct sets t = open_with(64, 2);

	(void)state;
	for (int i = 0; i < 300; i++) {
		assert_int_equal(take(&t, 0, T0, T0 + WINDOW), 32);
		assert_int_equal(rl_sets_forget(t.s, t.limit[0]->id), 0);
		assert_int_equal(rl_sets_count(t.s, t.limit[0]), 32);
	}
	assert_int_equal(take(&t, 1, T0, T0 + WINDOW), 32);
	rl_close(t.rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_limit_takes_what_others_leave),
		cmocka_unit_test(test_a_run_is_used_throughout),
		cmocka_unit_test(test_what_is_lost_is_passed_over),
		cmocka_unit_test(test_forgotten_sets_are_vacant_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

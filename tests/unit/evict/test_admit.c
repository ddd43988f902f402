/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counters and units in flight need a slot, and keep it while they count: who may have how many.
 * What is refused depends on the hash, so the bounds have room.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "at.h"
#include "rl_flight.h"
#include "testing.h"

#define KEYS 2048
#define USERS 200
#define RULES 8
#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define HOUR (3600 * RL_SECOND)

struct table {
	struct rl *rl;
	uint64_t slots;
	int space;  /* counters of the flood */
	int counts; /* of users */
	int flight;
	int rule[RULES];
};

static struct table
open_table(uint32_t keys)
{
	const struct rl_options o = {.keys = keys, .ring = 8};
	const struct rl_limit flight = {.algorithm = RL_IN_FLIGHT, .capacity = 5};
	const struct rl_limit window = {.capacity = 20, .window_ns = HOUR};
	struct table t;
	struct rl_info info;
	char name[32];

	assert_int_equal(rl_open_private(&o, &t.rl), 0);
	rl_info(t.rl, &info);
	t.slots = info.slots;
	t.space = rl_define_counters(t.rl, "space");
	t.counts = rl_define_counters(t.rl, "counts");
	t.flight = rl_define(t.rl, &(struct rl_rule){.name = "flight", .limit = flight});
	assert_true(t.space >= 0 && t.counts >= 0 && t.flight >= 0);
	for (int i = 0; i < RULES; i++) {
		snprintf(name, sizeof name, "rule-%d", i);
		t.rule[i] = rl_define(t.rl, &(struct rl_rule){.name = name, .limit = window});
		assert_true(t.rule[i] >= 0);
	}
	return t;
}

static bool
add(struct table *t, int space, uint32_t key, uint64_t now_ns)
{
	int done = at_counter_add(t->rl, space, &key, sizeof key, 1, HOUR, now_ns, NULL);

	assert_true(done == 1 || done == -ENOSPC);
	return done == 1;
}

static bool
hold(struct table *t, int rule, uint32_t key, uint64_t now_ns)
{
	struct rl_charges charges;
	enum rl_verdict verdict =
		test_check_at(t->rl, rule, &key, sizeof key, 1, now_ns, NULL, &charges);

	assert_true(verdict == RL_ALLOWED || verdict == RL_DENIED);
	return verdict == RL_ALLOWED;
}

static uint32_t
refused(struct table *t, bool (*use)(struct table *, int, uint32_t, uint64_t), int rule,
        uint32_t first, uint32_t count)
{
	uint32_t no = 0;

	for (uint32_t key = first; key < first + count; key++)
		no += !use(t, rule, key, T0);
	return no;
}

/* As many counters as the table is for, of one space: the table is promised to them. */
static void
test_keys_counters_of_one_space_all_fit(void **state)
{
	struct table t = open_table(16 * KEYS);

	(void)state;
	assert_int_equal(refused(&t, add, t.space, 0, 16 * KEYS), 0);
	rl_close(t.rl);
}

/* However many more one space has, others' keys find slots. */
static void
test_a_flood_of_counters_leaves_room(void **state)
{
	struct table t = open_table(KEYS);

	(void)state;
	assert_true(refused(&t, add, t.space, 0, 20 * KEYS) > 0);
	assert_true(rl_fill(t.rl) < t.slots * 9 / 10);
	assert_true(refused(&t, add, t.counts, 0, USERS) <= USERS / 10);
	assert_true(refused(&t, hold, t.flight, 0, USERS) <= USERS / 4);
	rl_close(t.rl);
}

static void
test_a_flood_of_units_leaves_room(void **state)
{
	struct table t = open_table(KEYS);

	(void)state;
	assert_true(refused(&t, hold, t.flight, 0, 20 * KEYS) > 0);
	assert_true(refused(&t, add, t.counts, 0, USERS) <= USERS / 10);
	rl_close(t.rl);
}

/*
 * What can be counted in an overflow counter gives way, and is forgotten nothing. Each of its rules
 * has a few of the 16 slots: no more than the newcomers have after a while.
 */
static void
test_who_can_be_elsewhere_gives_way(void **state)
{
	struct table t = open_table(KEYS);
	struct rl_result r;

	(void)state;
	for (uint32_t key = 0; key < 20 * KEYS; key++)
		at_check(t.rl, t.rule[key % RULES], &key, sizeof key, 5, T0, NULL);
	assert_int_equal(rl_fill(t.rl), t.slots);
	assert_true(refused(&t, add, t.counts, 0, 2 * USERS) <= USERS / 10);
	assert_true(refused(&t, hold, t.flight, 0, 2 * USERS) <= USERS / 10);
	for (uint32_t key = 0; key < 20 * KEYS; key++) {
		at_check(t.rl, t.rule[key % RULES], &key, sizeof key, 0, T0, &r);
		assert_true(r.used >= 5);
	}
	rl_close(t.rl);
}

/* Counters that have expired are hardly in the way of their own space, even without a sweep. */
static void
test_what_is_over_does_not_count(void **state)
{
	struct table t = open_table(KEYS);
	uint32_t no = 0;

	(void)state;
	assert_true(refused(&t, add, t.space, 0, 20 * KEYS) > 0);
	for (uint32_t key = 0; key < KEYS; key++)
		no += !add(&t, t.space, 1U << 20 | key, T0 + HOUR + 20 * RL_SECOND);
	assert_true(no <= KEYS / 100);
	rl_close(t.rl);
}

static void
hold_for_a_moment(struct table *t, uint32_t key)
{
	struct rl_charges charges;
	struct rl_hold held;

	if (test_check_at(t->rl, t->flight, &key, sizeof key, 1, T0, NULL, &charges) == RL_ALLOWED)
		assert_int_equal(rl_release(t->rl, &held, rl_holds(&charges, &held, 1)), 1);
}

/* Whose units are given back keeps no slot, and a flood that has its share gets none of these. */
static void
test_units_given_back_make_no_room_for_a_flood(void **state)
{
	struct table t = open_table(KEYS);
	uint32_t made_up = 20 * KEYS;
	uint64_t had;

	(void)state;
	refused(&t, add, t.space, 0, made_up);
	had = test_counter(t.rl, t.space, RL_COUNT_inserted);
	for (uint32_t i = 0; i < 20 * USERS; i++) {
		hold_for_a_moment(&t, i % USERS);
		refused(&t, add, t.space, made_up + 20 * i, 20);
	}
	assert_true(test_counter(t.rl, t.space, RL_COUNT_inserted) <= had + USERS / 4);
	assert_true(refused(&t, hold, t.flight, 0, USERS) <= USERS / 4);
	rl_close(t.rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys_counters_of_one_space_all_fit),
		cmocka_unit_test(test_a_flood_of_counters_leaves_room),
		cmocka_unit_test(test_a_flood_of_units_leaves_room),
		cmocka_unit_test(test_who_can_be_elsewhere_gives_way),
		cmocka_unit_test(test_what_is_over_does_not_count),
		cmocka_unit_test(test_units_given_back_make_no_room_for_a_flood),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The daemon's part of a resize: keys that nobody asks for move, and the room follows what is used.
 */

#include "../../../rld/loop/mover.h"

#include <stdio.h>
#include <string.h>

#include "testing.h"

#define LONG (300 * 86400 * RL_SECOND) /* a window that no test sees the end of */

static int rule;

static struct rl *
open_table(uint32_t keys)
{
	const struct rl_options options = {.keys = keys, .ring = 1, .key_bytes = 8};
	struct rl *rl;

	assert_int_equal(rl_open(test_segment_name(), &options, &rl), 0);
	rule = test_rule(rl, "r", 3, LONG, 1, true);
	return rl;
}

static void
spend(struct rl *rl, unsigned from, unsigned to, enum rl_verdict verdict)
{
	char key[16];

	for (unsigned i = from; i < to; i++) {
		snprintf(key, sizeof key, "k%u", i);
		assert_int_equal(rl_check(rl, rule, key, strlen(key), 2, NULL), verdict);
	}
}

static uint64_t
room(struct rl *rl)
{
	struct rl_info info;

	rl_info(rl, &info);
	return info.keys;
}

static uint64_t
slots_before(struct rl *rl)
{
	struct rl_info info;

	rl_info(rl, &info);
	return info.slots_before;
}

/* Until no keys are moving; when that is. */
static uint64_t
run_all(struct mover *m, uint64_t now_ns)
{
	uint64_t due_ns;

	while ((due_ns = mover_run(m, now_ns)) < UINT64_MAX)
		now_ns = due_ns;
	return now_ns;
}

static void
test_keys_move(void **state)
{
	struct rl *rl = open_table(30000);
	struct rl_resize to = {.keys = 60000};
	struct mover m;
	uint64_t due_ns;

	(void)state;
	spend(rl, 0, 20000, RL_ALLOWED);
	mover_start(&m, rl, 0, 0);
	assert_true(mover_run(&m, 5) == UINT64_MAX);
	assert_int_equal(rl_resize(rl, &to, 0), 0);
	due_ns = mover_run(&m, 5);
	assert_true(due_ns > 5 && due_ns < RL_SECOND && slots_before(rl) > 0);
	assert_true(mover_run(&m, 5) == due_ns); /* not before it is due */
	run_all(&m, due_ns);
	assert_true(slots_before(rl) == 0);
	spend(rl, 0, 20000, RL_DENIED);
	rl_close(rl);
}

static void
test_the_room_follows(void **state)
{
	struct rl *rl = open_table(1000);
	uint64_t now_ns = RL_SECOND;
	struct mover m;

	(void)state;
	mover_start(&m, rl, 1000, 5000);
	spend(rl, 0, 700, RL_ALLOWED);
	mover_judge(&m, 700, now_ns);
	assert_int_equal(slots_before(rl), 0);
	spend(rl, 700, 850, RL_ALLOWED);
	mover_judge(&m, 850, now_ns);
	assert_in_range(room(rl), 2000, 2200);
	run_all(&m, now_ns);
	mover_judge(&m, 1900, now_ns);
	assert_in_range(room(rl), 4000, 4400);
	run_all(&m, now_ns);
	mover_judge(&m, 4000, now_ns);
	assert_in_range(room(rl), 5000, 5010);
	run_all(&m, now_ns);
	mover_judge(&m, 5000, now_ns); /* there is no more */
	assert_int_equal(slots_before(rl), 0);
	mover_judge(&m, 850, now_ns);
	mover_judge(&m, 850, now_ns + MOVER_LOW_NS - 1);
	assert_in_range(room(rl), 5000, 5010);
	mover_judge(&m, 850, now_ns + MOVER_LOW_NS);
	assert_in_range(room(rl), 2500, 2510);
	run_all(&m, now_ns);
	spend(rl, 0, 850, RL_DENIED);
	rl_close(rl);
}

/* It was more for a while; and below the least it never goes. */
static void
test_not_for_a_moment(void **state)
{
	struct rl *rl = open_table(2000);
	uint64_t now_ns = RL_SECOND;
	struct mover m;

	(void)state;
	mover_start(&m, rl, 1000, 5000);
	mover_judge(&m, 10, now_ns);
	mover_judge(&m, 1000, now_ns + MOVER_LOW_NS / 2);
	mover_judge(&m, 10, now_ns + MOVER_LOW_NS);
	assert_int_equal(slots_before(rl), 0);
	mover_judge(&m, 10, now_ns + 2 * MOVER_LOW_NS);
	assert_in_range(room(rl), 1000, 1010);
	run_all(&m, now_ns);
	mover_judge(&m, 1, now_ns + 4 * MOVER_LOW_NS);
	mover_judge(&m, 1, now_ns + 6 * MOVER_LOW_NS);
	assert_in_range(room(rl), 1000, 1010);
	rl_close(rl);
}

/* What is refused is tried again after a minute, not with each sweep. */
static void
test_refused(void **state)
{
	struct rl *rl = open_table(1000), *readonly;
	struct rl_options o = {.flags = RL_OPEN_READONLY};
	uint64_t now_ns = RL_SECOND;
	struct mover m;

	(void)state;
	assert_int_equal(rl_open(test_segment_name(), &o, &readonly), 0);
	mover_start(&m, readonly, 1000, 5000);
	mover_judge(&m, 900, now_ns);
	assert_int_equal(slots_before(rl), 0);
	m.rl = rl;
	mover_judge(&m, 900, now_ns + MOVER_REFUSED_NS - 1);
	assert_int_equal(slots_before(rl), 0);
	mover_judge(&m, 900, now_ns + MOVER_REFUSED_NS);
	assert_true(slots_before(rl) > 0);
	rl_close(readonly);
	rl_close(rl);
}

static uint32_t
ring_of(struct rl *rl)
{
	struct rl_info info;

	rl_info(rl, &info);
	return info.ring;
}

/* Refused, for the ring that there is. */
static void
ask(struct rl *rl, enum rl_algorithm algorithm, uint32_t capacity, uint32_t granularity)
{
	struct rl_limit limit = {.algorithm = algorithm,
	                         .capacity = capacity,
	                         .window_ns = LONG,
	                         .granularity = granularity};

	assert_int_equal(rl_define(rl, &(struct rl_rule){.name = "more", .limit = limit}),
	                 RL_ERING);
}

/*
 * A definition has asked: with bounds it is given what any window needs, without them nothing. No
 * count is lost.
 */
static void
test_the_ring_follows(void **state)
{
	struct rl *rl = open_table(1000);
	uint64_t now_ns = RL_SECOND;
	struct mover m;

	(void)state;
	spend(rl, 0, 700, RL_ALLOWED);
	mover_start(&m, rl, 1000, 0);
	ask(rl, RL_SLIDING_WINDOW, 5, 60);
	mover_judge(&m, 700, now_ns);
	assert_int_equal(ring_of(rl), 1);
	assert_int_equal(m.ring_reported, 60);
	mover_set_bounds(&m, 1000, 5000);
	mover_judge(&m, 700, now_ns);
	assert_int_equal(ring_of(rl), 60);
	assert_in_range(room(rl), 1000, 1010);
	mover_judge(&m, 700, now_ns); /* not while keys are moving */
	run_all(&m, now_ns);
	spend(rl, 0, 700, RL_DENIED);
	ask(rl, RL_SLIDING_LOG, 1000, 0);
	mover_judge(&m, 700, now_ns);
	assert_int_equal(ring_of(rl), RL_GRANULARITY_MAX);
	assert_int_equal(m.ring_reported, 2000);
	run_all(&m, now_ns);
	mover_judge(&m, 700, now_ns);
	assert_int_equal(slots_before(rl), 0);
	mover_judge(&m, 850, now_ns); /* keys and ring go together */
	assert_in_range(room(rl), 2000, 2200);
	assert_int_equal(ring_of(rl), RL_GRANULARITY_MAX);
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_keys_move, test_unlink),
		cmocka_unit_test_teardown(test_the_room_follows, test_unlink),
		cmocka_unit_test_teardown(test_not_for_a_moment, test_unlink),
		cmocka_unit_test_teardown(test_the_ring_follows, test_unlink),
		cmocka_unit_test_teardown(test_refused, test_unlink),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

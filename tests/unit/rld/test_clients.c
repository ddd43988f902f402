/* SPDX-License-Identifier: BSD-2-Clause */
/* Who may be connected to the daemon's metrics, and for how long: by a clock of this test's. */

#include "../../../rld/serve/clients.h"

#include "testing.h"

#define START (100 * RL_SECOND)

/* All places taken, by descriptors from 0 on, a nanosecond apart. */
static void
fill(struct clients *c)
{
	clients_start(c, UINT64_MAX);
	for (int fd = 0; fd < CLIENTS_MAX; fd++) {
		assert_true(clients_have_room(c, START + (uint64_t)fd));
		assert_int_equal(clients_add(c, fd, START + (uint64_t)fd), -1);
	}
}

static void
test_each_has_a_moment_and_then_gives_way(void **state)
{
	struct clients c;

	(void)state;
	fill(&c);
	assert_false(clients_have_room(&c, START + CLIENTS_MOMENT_NS - 1));
	assert_int_equal(clients_due_ns(&c, START + CLIENTS_MOMENT_NS - 1),
	                 START + CLIENTS_MOMENT_NS);
	assert_true(clients_have_room(&c, START + CLIENTS_MOMENT_NS));
	assert_int_equal(clients_add(&c, 1000, START + CLIENTS_MOMENT_NS), 0);
	assert_false(clients_have_room(&c, START + CLIENTS_MOMENT_NS));
	assert_int_equal(clients_add(&c, 1001, START + CLIENTS_MOMENT_NS + 1), 1);
}

/* The newcomer is served for as long as everybody was: no flood pushes it out at once. */
static void
test_the_last_to_come_is_the_last_to_go(void **state)
{
	uint64_t now_ns = START + CLIENTS_MOMENT_NS;
	struct clients c;
	int fd = 1000;

	(void)state;
	fill(&c);
	assert_int_equal(clients_add(&c, fd, now_ns), 0);
	for (int i = 1; i < CLIENTS_MAX; i++)
		assert_int_equal(clients_add(&c, fd + i, now_ns + (uint64_t)i), i);
	assert_false(clients_have_room(&c, now_ns + CLIENTS_MOMENT_NS - 1));
	assert_int_equal(clients_add(&c, 0, now_ns + CLIENTS_MOMENT_NS), fd);
}

static void
test_nobody_stays_beyond_the_deadline(void **state)
{
	struct clients c;

	(void)state;
	clients_start(&c, UINT64_MAX);
	assert_int_equal(clients_due_ns(&c, START), UINT64_MAX);
	assert_int_equal(clients_take_older(&c, 0, START), -1);
	clients_add(&c, 7, START);
	clients_add(&c, 8, START + 1);
	assert_int_equal(clients_due_ns(&c, START + 5), START + CLIENTS_DEADLINE_NS);
	assert_int_equal(
		clients_take_older(&c, CLIENTS_DEADLINE_NS, START + CLIENTS_DEADLINE_NS - 1), -1);
	assert_int_equal(clients_take_older(&c, CLIENTS_DEADLINE_NS, START + CLIENTS_DEADLINE_NS),
	                 7);
	assert_int_equal(clients_take_older(&c, CLIENTS_DEADLINE_NS, START + CLIENTS_DEADLINE_NS),
	                 -1);
	assert_int_equal(clients_due_ns(&c, START + 5), START + 1 + CLIENTS_DEADLINE_NS);
}

static void
test_who_leaves_makes_room(void **state)
{
	struct clients c;

	(void)state;
	fill(&c);
	clients_remove(&c, 5);
	clients_remove(&c, 5);
	clients_remove(&c, 9999);
	assert_int_equal(c.count, CLIENTS_MAX - 1);
	assert_int_equal(clients_add(&c, 5, START + 200), -1);
	for (int fd = 0; fd < CLIENTS_MAX; fd++)
		clients_remove(&c, fd);
	assert_int_equal(c.count, 0);
}

static void
test_some_descriptors_are_left(void **state)
{
	struct clients c;

	(void)state;
	clients_start(&c, CLIENTS_DESCRIPTORS_LEFT + 3);
	assert_int_equal(c.places, 3);
	clients_start(&c, CLIENTS_DESCRIPTORS_LEFT);
	assert_int_equal(c.places, 1);
	clients_start(&c, 0);
	assert_int_equal(c.places, 1);
	clients_start(&c, CLIENTS_DESCRIPTORS_LEFT + CLIENTS_MAX + 1);
	assert_int_equal(c.places, CLIENTS_MAX);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_has_a_moment_and_then_gives_way),
		cmocka_unit_test(test_the_last_to_come_is_the_last_to_go),
		cmocka_unit_test(test_nobody_stays_beyond_the_deadline),
		cmocka_unit_test(test_who_leaves_makes_room),
		cmocka_unit_test(test_some_descriptors_are_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

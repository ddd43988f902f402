/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process that sits down, and what happens at one of its accesses to the seats, whichever:
 * another sits down or gets up, or a signal handler forks, so that both it and its child go on. A
 * handle stands for another process where one does.
 */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "holder/holder.h"
#include "holder/seat.h"
#include "testing.h"

#define SEATS 3
#define LATER (UINT64_C(1) << 60)

static struct rl_u128 *seats; /* shared with children */
static struct rl_holders *mine, *other;
static void (*happens)(void);
static uint64_t step, at_step;
static uint32_t others; /* the other's label */

void
rl_atomic_hook(void)
{
	if (++step == at_step)
		happens();
}

/* `left` seats are of a process that is gone, the others free: each can be had. */
static void
begin_step(uint64_t at, uint64_t left)
{
	struct rl_process gone = rl_process_self();

	gone.inode ^= 1;
	gone.start -= 10;
	for (uint32_t i = 0; i < SEATS; i++)
		seats[i] = i < left ? rl_seat_make(&gone, i) : (struct rl_u128){0};
	mine = rl_holders_make(seats, SEATS, true);
	other = rl_holders_make(seats, SEATS, true);
	step = 0;
	at_step = at;
}

static void
end_step(void)
{
	at_step = 0;
	rl_holders_free(mine);
	rl_holders_free(other);
}

static bool
is_of(pid_t pid, uint32_t label)
{
	struct rl_u128 seat = seats[rl_label_seat(label)];

	return rl_seat_process(seat).pid == pid && rl_seat_gen(seat) == rl_label_gen(label);
}

static void
other_sits_down(void)
{
	rl_holders_mine(other, &others);
}

static void
test_another_sits_down(void **state)
{
	uint32_t label;

	(void)state;
	happens = other_sits_down;
	for (uint64_t left = 0; left <= SEATS; left++)
		for (uint64_t at = 1; at <= step || at == 1; at++) {
			begin_step(at, left);
			others = UINT32_MAX;
			assert_int_equal(rl_holders_mine(mine, &label), 0);
			assert_true(is_of(getpid(), label));
			assert_int_not_equal(label, others);
			assert_true(others == UINT32_MAX || is_of(getpid(), others));
			end_step();
		}
}

#define LEFT 10 /* seats that programs before exec(2) have left */

static void
same_handle_sits_down(void)
{
	rl_holders_mine(mine, &others);
}

/* Both threads go on with one seat of before; whoever is too late leaves it alone. */
static void
test_another_thread_adopts_as_well(void **state)
{
	static struct rl_u128 left[LEFT];
	const struct rl_process self = rl_process_self();
	uint32_t label;

	(void)state;
	happens = same_handle_sits_down;
	for (uint64_t at = 1; at <= step || at == 1; at++) {
		for (uint32_t i = 0; i < LEFT; i++)
			left[i] = rl_seat_make(&self, i);
		mine = rl_holders_make(left, LEFT, true);
		others = UINT32_MAX;
		step = 0;
		at_step = at;
		assert_int_equal(rl_holders_mine(mine, &label), 0);
		at_step = 0;
		assert_true(others == UINT32_MAX || others == label);
		rl_holders_free(mine);
		for (uint32_t i = 0; i < LEFT; i++)
			assert_false(rl_seat_is_free(left[i]));
	}
}

static bool is_child, parent_first;
static pid_t child;
static int done[2]; /* by its end, whoever is first */

/* One of the two goes on when the other has sat down. */
static void
fork_in_a_handler(void)
{
	char byte;

	assert_int_equal(pipe(done), 0);
	child = fork();
	is_child = child == 0;
	if (is_child == parent_first) {
		close(done[1]);
		if (read(done[0], &byte, 1) < 0)
			_exit(2);
	} else {
		close(done[0]);
	}
}

/* In the child no assertion may run. */
static void
sit_down_both(uint64_t at, uint64_t left)
{
	uint32_t label = 0;
	int error, status;

	begin_step(at, left);
	child = -1;
	is_child = false;
	error = rl_holders_mine(mine, &label);
	if (is_child)
		_exit(error == 0 && is_of(getpid(), label) ? 0 : 1);
	assert_int_equal(error, 0);
	assert_true(is_of(getpid(), label));
	if (child > 0) {
		close(done[parent_first ? 1 : 0]);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
		assert_true(is_of(getpid(), label));
	}
	end_step();
}

static void
test_a_handler_forks(void **state)
{
	(void)state;
	happens = fork_in_a_handler;
	for (int order = 0; order < 2; order++)
		for (uint64_t left = 0; left <= SEATS; left += SEATS)
			for (uint64_t at = 1; at <= step || at == 1; at++) {
				parent_first = order;
				sit_down_both(at, left);
			}
}

static void
other_gets_up(void)
{
	rl_holders_free(other);
	other = NULL;
}

/* It gets up, and this handle's process sits down in its place, by a handle that stays. */
static void
seat_changes_hands(void)
{
	struct rl_process self = rl_process_self();

	other_gets_up();
	seats[rl_label_seat(others)] = rl_seat_make(&self, rl_label_gen(others) + 1);
}

/* A label is judged, and at its n-th access its seat changes. False if there are not so many. */
static bool
judge_and_change(uint64_t at, bool is_next_alive)
{
	bool has_changed;

	begin_step(0, 0);
	assert_int_equal(rl_holders_mine(other, &others), 0);
	step = 0;
	at_step = at;
	rl_holders_is_dead_at(mine, others, LATER); /* as it was before, or is since */
	has_changed = step >= at;
	at_step = 0;
	assert_int_equal(rl_holders_is_dead_at(mine, others, 2 * LATER), has_changed);
	assert_int_equal(rl_holders_is_dead_at(mine, others + (1u << RL_SEAT_BITS), 3 * LATER),
	                 !(has_changed && is_next_alive));
	end_step();
	return has_changed;
}

static void
judge_all(void (*how)(void))
{
	happens = how;
	for (uint64_t at = 1; judge_and_change(at, how != other_gets_up); at++)
		;
}

static void
test_it_gets_up(void **state)
{
	(void)state;
	judge_all(other_gets_up);
}

static void
test_it_changes_hands(void **state)
{
	(void)state;
	judge_all(seat_changes_hands);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_another_sits_down),
		cmocka_unit_test(test_another_thread_adopts_as_well),
		cmocka_unit_test(test_a_handler_forks),
		cmocka_unit_test(test_it_gets_up),
		cmocka_unit_test(test_it_changes_hands),
	};

	seats = test_shared(SEATS * sizeof *seats);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Seats: who has one, who gets one, and whose label is nobody's. A handle stands for a process
 * where it can.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "holder/holder.h"
#include "holder/seat.h"
#include "testing.h"

#define SEATS 4
#define THREADS 8
#define LATER (UINT64_C(1) << 60) /* a time after all that anybody saw */

static struct rl_u128 *seats; /* shared with children */
static uint32_t *told;        /* by a child: its label */
static struct rl_holders *mine;

static int
begin(void **state)
{
	(void)state;
	memset(seats, 0, SEATS * sizeof *seats);
	mine = rl_holders_make(seats, SEATS, true);
	return mine ? 0 : -1;
}

static int
end(void **state)
{
	(void)state;
	rl_holders_free(mine);
	return 0;
}

static uint32_t
label_of(struct rl_holders *h)
{
	uint32_t label;

	assert_int_equal(rl_holders_mine(h, &label), 0);
	assert_in_range(rl_label_seat(label), 0, SEATS - 1);
	assert_in_range(label, 0, (1u << 20) - 1);
	return label;
}

static int
taken(void)
{
	int count = 0;

	for (int i = 0; i < SEATS; i++)
		count += !rl_seat_is_free(seats[i]);
	return count;
}

/* A child that has sat down, or tried, and lives until it is killed. */
static pid_t
begin_child(struct rl_holders *h, int *error)
{
	int ready[2], result = -1;
	pid_t pid;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (pid == 0) {
		result = rl_holders_mine(h, told);
		if (write(ready[1], &result, sizeof result) == sizeof result)
			for (;;)
				pause();
		_exit(1);
	}
	assert_int_equal(read(ready[0], &result, sizeof result), sizeof result);
	close(ready[0]);
	close(ready[1]);
	*error = result;
	return pid;
}

static void
end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void
test_one_seat_a_handle(void **state)
{
	struct rl_holders *other = rl_holders_make(seats, SEATS, true);
	uint32_t label = label_of(mine);
	struct rl_process self = rl_process_self(), p;

	(void)state;
	assert_int_equal(label_of(mine), label);
	assert_int_equal(taken(), 1);
	p = rl_seat_process(seats[rl_label_seat(label)]);
	assert_int_equal(p.pid, getpid());
	assert_int_equal(p.start, self.start);
	assert_int_equal(p.namespace, self.namespace);
	assert_int_equal(p.inode, self.inode);
	assert_int_equal(rl_label_gen(label), 1);
	assert_int_not_equal(label_of(other), label);
	assert_int_equal(taken(), 2);
	assert_false(rl_holders_is_dead_at(other, label, LATER));
	assert_false(rl_holders_is_dead_at(mine, label_of(other), LATER));
	rl_holders_free(other);
}

static void
test_no_seat(void **state)
{
	struct rl_holders *reader = rl_holders_make(seats, SEATS, false);
	struct rl_holders *none = rl_holders_make(seats, 0, true);
	uint32_t label = label_of(mine);

	(void)state;
	assert_int_equal(rl_holders_mine(reader, &(uint32_t){0}), -EROFS);
	assert_false(rl_holders_is_dead_at(reader, label, LATER));
	assert_int_equal(rl_holders_mine(none, &(uint32_t){0}), -ENOSPC);
	assert_true(rl_holders_is_dead_at(none, label, LATER));
	assert_int_equal(rl_holders_look_elsewhere(none) <= 0, 1);
	rl_holders_free(none);
	rl_holders_free(reader);
	rl_holders_free(NULL);
	assert_int_equal(taken(), 1);
}

static void
test_closed(void **state)
{
	struct rl_holders *other = rl_holders_make(seats, SEATS, true);
	uint32_t label = label_of(other);

	(void)state;
	assert_false(rl_holders_is_dead_at(mine, label, LATER));
	rl_holders_free(other);
	assert_int_equal(taken(), 0);
	assert_true(rl_holders_is_dead_at(mine, label, LATER));
	assert_int_equal(rl_seat_gen(seats[rl_label_seat(label)]), rl_label_gen(label));
	assert_int_equal(label_of(mine), label + (1u << RL_SEAT_BITS)); /* from the same place on */
	assert_true(rl_holders_is_dead_at(mine, label, LATER));
}

static void
test_a_child_has_its_own(void **state)
{
	uint32_t label = label_of(mine);
	int error;
	pid_t pid = begin_child(mine, &error);

	(void)state;
	assert_int_equal(error, 0);
	assert_int_not_equal(*told, label);
	assert_int_equal(rl_seat_process(seats[rl_label_seat(*told)]).pid, pid);
	assert_int_equal(label_of(mine), label);
	assert_false(rl_holders_is_dead_at(mine, *told, LATER));
	end_child(pid);
	assert_true(rl_holders_is_dead_at(mine, *told, 2 * LATER));
	assert_false(rl_holders_is_dead_at(mine, label, 2 * LATER));
}

static int
close_in_child(void *arg, int i)
{
	(void)i;
	rl_holders_free(arg);
	return 0;
}

static int
sit_and_close_in_child(void *arg, int i)
{
	uint32_t label;

	(void)i;
	if (rl_holders_mine(arg, &label) < 0)
		return 1;
	rl_holders_free(arg);
	return 0;
}

static void
test_a_child_closes(void **state)
{
	uint32_t label = label_of(mine);

	(void)state;
	test_fork(1, close_in_child, mine);
	assert_false(rl_holders_is_dead_at(mine, label, LATER));
	test_fork(1, sit_and_close_in_child, mine);
	assert_int_equal(taken(), 1);
	assert_false(rl_holders_is_dead_at(mine, label, 2 * LATER));
}

struct race {
	struct rl_holders *h;
	pthread_barrier_t *start;
	uint32_t label;
	int error;
};

static void *
sit_down_at_once(void *arg)
{
	struct race *race = arg;

	pthread_barrier_wait(race->start);
	race->error = rl_holders_mine(race->h, &race->label);
	return NULL;
}

/* More of them than seats, so that each needs the others' to be given up. */
static void
race_of_threads(void)
{
	struct rl_holders *h = rl_holders_make(seats, SEATS, true);
	struct race race[THREADS];
	pthread_t thread[THREADS];
	pthread_barrier_t start;

	pthread_barrier_init(&start, NULL, THREADS);
	for (int i = 0; i < THREADS; i++) {
		race[i] = (struct race){.h = h, .start = &start};
		assert_int_equal(pthread_create(&thread[i], NULL, sit_down_at_once, &race[i]), 0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	assert_int_equal(taken(), 1);
	for (int i = 0; i < THREADS; i++)
		assert_true(race[i].error == -ENOSPC || race[i].label == label_of(h));
	rl_holders_free(h);
	pthread_barrier_destroy(&start);
	assert_int_equal(taken(), 0);
}

static void
test_threads_share_one(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < test_scaled(400); i++)
		race_of_threads();
}

/* All are living processes', then one is not. */
static void
test_full(void **state)
{
	struct rl_holders *other = rl_holders_make(seats, SEATS, true);
	pid_t pid[SEATS];
	uint32_t last;
	int error;

	(void)state;
	for (int i = 0; i < SEATS; i++) {
		pid[i] = begin_child(mine, &error);
		assert_int_equal(error, 0);
	}
	last = *told;
	assert_int_equal(rl_holders_mine(mine, &(uint32_t){0}), -ENOSPC);
	end_child(pid[SEATS - 1]);
	assert_true(rl_holders_is_dead_at(mine, last, LATER));
	assert_int_equal(rl_holders_mine(mine, &(uint32_t){0}), -ENOSPC); /* just as before */
	assert_int_equal(label_of(other), last + (1u << RL_SEAT_BITS));
	assert_int_equal(taken(), SEATS);
	rl_holders_free(other);
	for (int i = 0; i < SEATS - 1; i++)
		end_child(pid[i]);
}

/* A seat is taken from the dead by its gen as by its process; a free one is taken first. */
static void
test_gens(void **state)
{
	struct rl_process self = rl_process_self();
	uint32_t label;

	(void)state;
	for (int i = 0; i < SEATS; i++)
		seats[i].lo = UINT64_C(255) << RL_SEAT_PID_BITS;
	label = label_of(mine);
	assert_int_equal(rl_label_gen(label), 0);
	for (uint32_t gen = 1; gen < 256; gen++)
		assert_true(rl_holders_is_dead_at(mine, rl_label_make(rl_label_seat(label), gen),
		                                  gen * RL_SECOND));
	assert_false(rl_holders_is_dead_at(mine, label, LATER));
	seats[rl_label_seat(label)] = rl_seat_make(&self, 1);
	assert_true(rl_holders_is_dead_at(mine, label, LATER)); /* and there is nobody to look at */
}

static void
test_looks_are_rare(void **state)
{
	int error;
	pid_t pid = begin_child(mine, &error), seen;
	uint32_t label = *told;

	(void)state;
	assert_int_equal(error, 0);
	assert_int_equal(rl_holders_look(mine, label, &seen), RL_ALIVE);
	assert_int_equal(seen, pid);
	assert_false(rl_holders_is_dead_at(mine, label, LATER));
	end_child(pid);
	assert_false(rl_holders_is_dead_at(mine, label, LATER));
	assert_false(rl_holders_is_dead_at(mine, label, LATER + RL_HOLDERS_LOOK_NS - 1));
	assert_true(rl_holders_is_dead_at(mine, label, LATER + RL_HOLDERS_LOOK_NS));
	assert_true(rl_holders_is_dead_at(mine, label, LATER + RL_HOLDERS_LOOK_NS)); /* known */
	assert_true(rl_holders_is_dead(mine, label));
}

static void
test_a_look_is_a_look(void **state)
{
	int error;
	pid_t pid = begin_child(mine, &error), seen;
	uint32_t label = *told;

	(void)state;
	assert_false(rl_holders_is_dead_at(mine, label, LATER));
	end_child(pid);
	assert_int_equal(rl_holders_look(mine, label, &seen), RL_DEAD);
	assert_int_equal(seen, pid);
	assert_true(rl_holders_is_dead_at(mine, label, LATER)); /* found out just now */
	assert_int_equal(rl_holders_look(mine, label + (1u << RL_SEAT_BITS), &seen), RL_DEAD);
	assert_int_equal(seen, 0);
	assert_int_equal(rl_holders_look(mine, SEATS, &seen), RL_DEAD);
	assert_int_equal(seen, 0);
}

/* What a look found is of the process that it found, not of the next one in the seat. */
static void
test_the_next_one_is_alive(void **state)
{
	int error;
	pid_t pid = begin_child(mine, &error);
	uint32_t label = *told, seat = rl_label_seat(label);

	(void)state;
	end_child(pid);
	assert_true(rl_holders_is_dead_at(mine, label, LATER));
	const struct rl_process self = rl_process_self();
	seats[seat] = rl_seat_make(&self, rl_label_gen(label)); /* as after 256 of them */
	assert_false(rl_holders_is_dead_at(mine, label, 2 * LATER));
}

static void
test_elsewhere(void **state)
{
	struct rl_process other = rl_process_self();
	uint32_t label = rl_label_make(0, 7);
	pid_t seen = 1;

	(void)state;
	other.namespace ++;
	seats[0] = rl_seat_make(&other, 7);
	assert_false(rl_holders_is_dead_at(mine, label, LATER));
	assert_int_equal(rl_holders_look(mine, label, &seen), RL_ELSEWHERE);
	assert_int_equal(seen, 0);
	/*
	 * Only the host's namespace knows that there is none below it, and only where it sees all.
	 */
	if (rl_holders_look_elsewhere(mine) != 1)
		skip();
	assert_true(rl_holders_is_dead_at(mine, label, LATER));
	assert_int_equal(rl_holders_look(mine, label, &seen), RL_DEAD);
	assert_true(rl_seat_is_free(seats[0])); /* also for those who could never know */
	assert_int_equal(label_of(mine) == label, 0);
}

/* Whatever the bytes say, each call ends, within its memory, and a label has a seat. */
static void
test_hostile_bytes(void **state)
{
	uint64_t seed = 7;
	uint32_t label;
	pid_t seen;

	(void)state;
	for (uint64_t round = 0; round < test_scaled(2000); round++) {
		struct rl_holders *h = rl_holders_make(seats, SEATS, true);
		for (int i = 0; i < SEATS; i++) {
			seats[i].lo = test_random(&seed) >> test_below(&seed, 64);
			seats[i].hi = test_random(&seed) >> test_below(&seed, 64);
			if (round % 2 == 0) /* so that it is judged */
				seats[i].hi = rl_process_namespace();
		}
		label = (uint32_t)test_random(&seed) >> test_below(&seed, 32);
		rl_holders_is_dead_at(h, label, round * RL_SECOND);
		rl_holders_look(h, label, &seen);
		if (rl_holders_mine(h, &label) == 0)
			assert_int_equal(rl_seat_process(seats[rl_label_seat(label)]).pid,
			                 getpid());
		rl_holders_free(h);
	}
}

/* A seat that was taken from a living process: its words are another's, which it leaves. */
static void
test_a_stolen_seat_is_left(void **state)
{
	struct rl_holders *other = rl_holders_make(seats, SEATS, true);
	uint32_t label = label_of(other), seat = rl_label_seat(label);
	struct rl_process self = rl_process_self();
	struct rl_u128 thief;

	(void)state;
	thief = rl_seat_make(&self, rl_label_gen(label) + 1);
	seats[seat] = thief;
	rl_holders_free(other);
	assert_memory_equal(&seats[seat], &thief, sizeof thief);
}

/*
 * One process finds out, and all others know: the seat is free, also for who could not have judged
 * it.
 */
static void
test_a_dead_process_frees_its_seat(void **state)
{
	struct rl_holders *reader = rl_holders_make(seats, SEATS, false);
	struct rl_holders *other = rl_holders_make(seats, SEATS, true);
	int error;
	pid_t pid = begin_child(mine, &error);
	uint32_t label = *told;

	(void)state;
	end_child(pid);
	assert_true(rl_holders_is_dead_at(reader, label, LATER)); /* who may not write leaves it */
	assert_int_equal(rl_holders_taken(mine), 1);
	rl_holders_look_here(mine);
	assert_int_equal(rl_holders_taken(mine), 0);
	assert_false(rl_holders_is_dead_at(other, label_of(mine), 0)); /* no look is due */
	assert_true(rl_holders_is_dead_at(other, label, 0));
	rl_holders_free(reader);
	rl_holders_free(other);
}

/*
 * However many there are: a request pays for so many looks, and the next one goes on behind them.
 */
static void
test_looks_are_bounded(void **state)
{
	enum {
		MANY = 3 * RL_HOLDERS_LOOKS
	};
	static struct rl_u128 many[MANY];
	struct rl_holders *h = rl_holders_make(many, MANY, true);
	struct rl_process gone = rl_process_self();
	uint32_t dead = 0, turn = rl_holders_turn(h);

	(void)state;
	gone.inode ^= 1;
	gone.start -= 10;
	for (uint32_t i = 0; i < MANY; i++)
		many[i] = rl_seat_make(&gone, 3);
	for (uint32_t i = 0; i < MANY; i++)
		dead += rl_holders_is_dead_at(h, rl_label_make(i, 3), LATER);
	assert_int_equal(dead, RL_HOLDERS_LOOKS);
	for (uint32_t i = 0; i < MANY; i++)
		dead += rl_holders_is_dead_at(h, rl_label_make(i, 3), LATER + RL_HOLDERS_LOOK_NS);
	assert_int_equal(dead, 3 * RL_HOLDERS_LOOKS); /* the known ones and as many more */
	assert_int_equal(rl_holders_turn(h), turn + RL_HOLDERS_LOOKS);
	rl_holders_free(h);
}

/*
 * Who cannot know itself takes no seat, for nobody could tell it from the next process of its
 * number.
 */
static void
test_out_of_descriptors(void **state)
{
	struct rlimit before, none = {0};
	uint32_t label;
	int error;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none.rlim_max = before.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	error = rl_holders_mine(mine, &label);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(error, -EMFILE);
	assert_int_equal(rl_holders_taken(mine), 0);
	assert_int_equal(rl_holders_mine(mine, &label), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_a_dead_process_frees_its_seat, begin, end),
		cmocka_unit_test_setup_teardown(test_looks_are_bounded, begin, end),
		cmocka_unit_test_setup_teardown(test_out_of_descriptors, begin, end),
		cmocka_unit_test_setup_teardown(test_one_seat_a_handle, begin, end),
		cmocka_unit_test_setup_teardown(test_no_seat, begin, end),
		cmocka_unit_test_setup_teardown(test_closed, begin, end),
		cmocka_unit_test_setup_teardown(test_a_child_has_its_own, begin, end),
		cmocka_unit_test_setup_teardown(test_a_child_closes, begin, end),
		cmocka_unit_test_setup_teardown(test_threads_share_one, begin, end),
		cmocka_unit_test_setup_teardown(test_full, begin, end),
		cmocka_unit_test_setup_teardown(test_gens, begin, end),
		cmocka_unit_test_setup_teardown(test_looks_are_rare, begin, end),
		cmocka_unit_test_setup_teardown(test_a_look_is_a_look, begin, end),
		cmocka_unit_test_setup_teardown(test_the_next_one_is_alive, begin, end),
		cmocka_unit_test_setup_teardown(test_elsewhere, begin, end),
		cmocka_unit_test_setup_teardown(test_hostile_bytes, begin, end),
		cmocka_unit_test_setup_teardown(test_a_stolen_seat_is_left, begin, end),
	};

	seats = test_shared(SEATS * sizeof *seats);
	told = test_shared(sizeof *told);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

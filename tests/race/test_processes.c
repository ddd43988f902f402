/* SPDX-License-Identifier: BSD-2-Clause */
/* The scenarios in processes, and what SIGKILL does to them. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "at.h"
#include "audit.h"
#include "scenario.h"
#include "shared/atomic.h"
#include "testing.h"

/* What a child needs to know; set before the fork. */
static struct {
	const struct scenario *scenario;
	struct rl *inherited;
	bool opens_itself;
} setup;

static struct scenario_run *run;

static int
child(void *arg, int i)
{
	struct rl *rl = setup.inherited;

	if (setup.opens_itself &&
	    (rl_open(test_segment_name(), &(struct rl_options){.ring = 64}, &rl) < 0 ||
	     rl_find(rl, "r") != run->rule))
		return 9;
	return setup.scenario->work(arg, rl, i);
}

static void
launch(const struct scenario *s, struct scenario_run *shared, struct rl *rl)
{
	setup.scenario = s;
	setup.inherited = rl;
	test_fork(shared->workers, child, shared);
}

static void
play_all(bool opens_itself)
{
	setup.opens_itself = opens_itself;
	for (int i = 0; i < scenario_count; i++) {
		print_message("           %s\n", scenarios[i].name);
		scenario_play(&scenarios[i], run, launch);
	}
}

static void
test_opened_before_fork(void **state)
{
	(void)state;
	play_all(false);
}

static void
test_opened_after_fork(void **state)
{
	(void)state;
	play_all(true);
}

/* Charge keys until killed, telling of each charge after it was made. */
static void
charge_until_killed(struct rl *rl, uint64_t seed)
{
	for (;;) {
		uint64_t key = test_below(&seed, SCENARIO_KEYS);
		uint64_t now = rl_atomic_load(&run->clock_ns);
		if (at_check(rl, run->rule, &key, sizeof key, 1, now, NULL) == RL_ALLOWED)
			rl_atomic_add(&run->allowed[key], 1);
	}
}

static uint64_t
acknowledged_so_far(void)
{
	uint64_t sum = 0;

	for (int key = 0; key < SCENARIO_KEYS; key++)
		sum += rl_atomic_load(&run->allowed[key]);
	return sum;
}

static pid_t
start_worker(struct rl *rl, uint64_t seed)
{
	pid_t pid = fork();

	if (pid == 0)
		charge_until_killed(rl, seed);
	assert_true(pid > 0);
	return pid;
}

/* With room for all keys, however the segment's secret spreads them. */
static struct rl *
open_roomy(void)
{
	struct rl *rl;

	assert_int_equal(rl_open(test_segment_name(),
	                         &(struct rl_options){.keys = 2 * SCENARIO_KEYS, .ring = 64}, &rl),
	                 0);
	return rl;
}

/*
 * Workers are killed at random and replaced. Nothing stands still, and no more is counted
 * than was acknowledged and the one charge that each killed worker may have had in hand. The
 * window outlasts the test, so that all of it still counts at the end; its sub-buckets do not,
 * so that workers also die while they move a counter on.
 */
static void
test_killed_workers(void **state)
{
	enum {
		WORKERS = 4
	};
	const uint64_t kills = test_scaled(400);
	pid_t workers[WORKERS];
	struct rl *rl;
	uint64_t seed = 5, counted = 0;

	(void)state;
	rl = open_roomy();
	*run = (struct scenario_run){.clock_ns = UINT64_C(1700000000) * RL_SECOND};
	run->rule = test_rule(rl, "r", RL_CAPACITY_MAX, 20 * RL_SECOND, 64, true);
	for (int i = 0; i < WORKERS; i++)
		workers[i] = start_worker(rl, test_random(&seed));
	for (uint64_t i = 0; i < kills; i++) {
		rl_atomic_add(&run->clock_ns, 40 * RL_MILLISECOND);
		usleep((useconds_t)test_below(&seed, 2000)); /* any moment will do */
		int victim = (int)test_below(&seed, WORKERS);
		kill(workers[victim], SIGKILL);
		waitpid(workers[victim], NULL, 0);
		workers[victim] = start_worker(rl, test_random(&seed));
		for (uint64_t before = acknowledged_so_far(); acknowledged_so_far() == before;)
			usleep(100); /* the others go on: run.sh's timeout says if not */
	}
	for (int i = 0; i < WORKERS; i++) {
		kill(workers[i], SIGKILL);
		waitpid(workers[i], NULL, 0);
	}
	audit_assert_whole(rl);
	uint64_t acknowledged = acknowledged_so_far();
	for (uint64_t key = 0; key < SCENARIO_KEYS; key++) {
		struct rl_result r;
		at_peek(rl, run->rule, &key, sizeof key, run->clock_ns, &r);
		counted += r.limit - r.remaining;
		assert_int_equal(at_check(rl, run->rule, &key, sizeof key, 1, run->clock_ns, NULL),
		                 RL_ALLOWED);
	}
	assert_true(acknowledged > kills);
	assert_true(acknowledged <= counted);
	assert_true(counted <= acknowledged + kills + WORKERS);
	assert_int_equal(test_counter(rl, run->rule, RL_COUNT_reserved), 0);
	rl_close(rl);
}

/* A worker that is stopped, wherever that may be, holds up nobody. */
static void
test_stopped_workers(void **state)
{
	const uint64_t rounds = test_scaled(100);
	struct rl *rl;
	uint64_t seed = 6;

	(void)state;
	rl = open_roomy();
	*run = (struct scenario_run){.clock_ns = UINT64_C(1700000000) * RL_SECOND};
	run->rule = test_rule(rl, "r", RL_CAPACITY_MAX, 20 * RL_SECOND, 64, false);
	for (uint64_t i = 0; i < rounds; i++) {
		pid_t pid = start_worker(rl, test_random(&seed));
		usleep((useconds_t)test_below(&seed, 1000));
		kill(pid, SIGSTOP);
		waitpid(pid, NULL, WUNTRACED);
		for (uint64_t key = 0; key < SCENARIO_KEYS; key++)
			assert_int_equal(
				at_check(rl, run->rule, &key, sizeof key, 1, run->clock_ns, NULL),
				RL_ALLOWED);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
	rl_close(rl);
}

static int
prepare(void **state)
{
	(void)state;
	run = test_shared(sizeof *run);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_opened_before_fork, test_unlink),
		cmocka_unit_test_teardown(test_opened_after_fork, test_unlink),
		cmocka_unit_test_teardown(test_killed_workers, test_unlink),
		cmocka_unit_test_teardown(test_stopped_workers, test_unlink),
	};

	test_segment_name();
	return cmocka_run_group_tests(tests, prepare, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes that hold units of a few keys and are killed -9 all the time. What they hold never adds up to
 * more than the capacity, the total is what their tallies say whenever all stand still, and afterwards a
 * newcomer gets every unit.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "audit.h"
#include "shared/atomic.h"
#include "testing.h"

#define WORKERS 8
#define KEYS 2
#define CAPACITY 5
#define ROUNDS 25
#define ROUND_US 15000

enum {
	EXIT_OPEN = 10,
	EXIT_ABOVE,
	EXIT_LOST,
	EXIT_UNDECIDED
};

/* What each worker knows that it holds. Who is about to be killed does not count any more. */
static struct {
	uint64_t holds[WORKERS][KEYS];
	uint64_t is_leaving[WORKERS];
	uint64_t acquired;
	uint64_t denied;
} * board;

static int rule;
static pid_t pids[WORKERS];

static bool
is_above(uint64_t key)
{
	uint64_t sum = 0;

	for (int i = 0; i < WORKERS; i++) {
		uint64_t holds = rl_atomic_load(&board->holds[i][key]);
		sum += rl_atomic_load(&board->is_leaving[i]) ? 0 : holds;
	}
	return sum > CAPACITY;
}

/* Whoever was killed before a release has not lowered what he holds; whoever is late holds less. */
static void
hold_once(struct rl *rl, int worker, uint64_t *seed)
{
	uint64_t key = test_below(seed, KEYS), cost = 1 + test_below(seed, 2);
	struct rl_charges charges;
	struct rl_hold hold;
	struct rl_result r;

	switch (test_check_at(rl, rule, &key, sizeof key, cost, rl_now(rl), &r, &charges)) {
	case RL_ALLOWED:
		break;
	case RL_DENIED:
		rl_atomic_add(&board->denied, 1);
		return;
	default:
		_exit(EXIT_UNDECIDED);
	}
	rl_atomic_store(&board->holds[worker][key], cost);
	rl_atomic_fence(); /* its own first, then the others' */
	if (is_above(key))
		_exit(EXIT_ABOVE);
	rl_atomic_add(&board->acquired, 1);
	rl_holds(&charges, &hold, 1);
	rl_atomic_store(&board->holds[worker][key], 0);
	if (rl_release(rl, &hold, 1) != 1)
		_exit(EXIT_LOST);
}

static void
work(int worker, uint64_t seed)
{
	struct rl *rl;

	if (rl_open(test_segment_name(), NULL, &rl) < 0)
		_exit(EXIT_OPEN);
	for (;;)
		hold_once(rl, worker, &seed);
}

static void
begin(int worker, uint64_t seed)
{
	memset(board->holds[worker], 0, sizeof board->holds[worker]);
	rl_atomic_store(&board->is_leaving[worker], 0);
	pids[worker] = fork();
	assert_true(pids[worker] >= 0);
	if (pids[worker] == 0)
		work(worker, seed);
}

static void
strike(int worker)
{
	int status;

	rl_atomic_store(&board->is_leaving[worker], 1);
	kill(pids[worker], SIGKILL);
	assert_int_equal(waitpid(pids[worker], &status, 0), pids[worker]);
	if (WIFEXITED(status))
		fail_msg("a worker has ended with %d", WEXITSTATUS(status));
}

/* All stand still: the total is the sum of the tallies. */
static void
look(struct rl *rl)
{
	for (int i = 0; i < WORKERS; i++)
		kill(pids[i], SIGSTOP);
	for (int i = 0; i < WORKERS; i++) {
		siginfo_t info;
		waitid(P_PID, (id_t)pids[i], &info, WSTOPPED | WEXITED | WNOWAIT);
	}
	audit_assert_whole(rl);
	for (int i = 0; i < WORKERS; i++)
		kill(pids[i], SIGCONT);
}

/* One that has looked at nobody yet. */
static void
take_all(void)
{
	struct rl *newcomer;

	assert_int_equal(rl_open(test_segment_name(), NULL, &newcomer), 0);
	for (uint64_t key = 0; key < KEYS; key++) {
		struct rl_charges charges;
		assert_int_equal(test_check_at(newcomer, rule, &key, sizeof key, CAPACITY,
		                               rl_now(newcomer), NULL, &charges),
		                 RL_ALLOWED);
		assert_int_equal(rl_refund(newcomer, &charges), 1);
	}
	rl_close(newcomer);
}

static void
test_killed(void **state)
{
	const struct rl_limit limit = {.algorithm = RL_IN_FLIGHT, .capacity = CAPACITY};
	uint64_t seed = 1, rounds = test_scaled(ROUNDS), kills = 0;
	struct rl *rl;

	(void)state;
	board = test_shared(sizeof *board);
	assert_int_equal(rl_open(test_segment_name(), NULL, &rl), 0);
	rule = rl_define(rl, &(struct rl_rule){.name = "r", .limit = limit});
	for (int i = 0; i < WORKERS; i++)
		begin(i, test_random(&seed));
	for (uint64_t round = 0; round < rounds; round++) {
		for (int k = 0; k < 4; k++, kills++) {
			int victim = (int)test_below(&seed, WORKERS);
			usleep(ROUND_US / 4);
			strike(victim);
			begin(victim, test_random(&seed));
		}
		look(rl);
		rl_sweep_at(rl, rl_now(rl));
	}
	for (int i = 0; i < WORKERS; i++, kills++)
		strike(i);
	audit_assert_whole(rl);
	take_all();
	audit_assert_whole(rl);
	assert_true(board->acquired > 0 && board->denied > 0);
	print_message("           %llu kills, %llu times held, %llu denied, %llu reclaimed\n",
	              (unsigned long long)kills, (unsigned long long)board->acquired,
	              (unsigned long long)board->denied,
	              (unsigned long long)test_counter(rl, rule, RL_COUNT_reclaimed));
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_killed, test_unlink)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

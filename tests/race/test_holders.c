/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Processes that hold units of a few keys and are killed -9 all the time. What they hold never adds
 * up to more than the capacity, the total is what their tallies say whenever all stand still, and
 * afterwards a newcomer gets every unit. The second time everything else happens, too: children
 * release what their parents hold, other keys crowd a small table, the capacity is changed, and one
 * key is reset. With RL_STORM_SECONDS each takes so long.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "audit.h"
#include "shared/atomic.h"
#include "testing.h"

#define WORKERS 8
#define KEYS 3
#define RESET_KEY 2 /* of which more may be held, once it is reset */
#define OTHERS 500  /* keys of a rate, in a table for a few dozen */
#define CAPACITY 5
#define ROUNDS 25
#define UNITS_BITS 8
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

static int rule, rate;
static bool is_crowded; /* the second time */
static pid_t pids[WORKERS];

/* What a worker says that it holds of a key, and how often it has said so: no word comes back. */
static void
tell(int worker, uint64_t key, uint64_t units)
{
	uint64_t *word = &board->holds[worker][key];

	rl_atomic_store(word, ((rl_atomic_load(word) >> UNITS_BITS) + 1) << UNITS_BITS | units);
}

static void
read_board(uint64_t key, uint64_t seen[static WORKERS])
{
	for (int i = 0; i < WORKERS; i++) {
		uint64_t word = rl_atomic_load(&board->holds[i][key]);
		seen[i] = rl_atomic_load(&board->is_leaving[i]) ? 0 : word;
	}
}

/* Words that are the same twice were so all at once, in between. */
static bool
is_above(uint64_t key)
{
	uint64_t once[WORKERS], again[WORKERS], sum = 0;

	read_board(key, once);
	rl_atomic_fence();
	read_board(key, again);
	for (int i = 0; i < WORKERS; i++)
		sum += once[i] & ((UINT64_C(1) << UNITS_BITS) - 1);
	return sum > CAPACITY && memcmp(once, again, sizeof once) == 0 &&
	       !(is_crowded && key == RESET_KEY);
}

/* Done by a child now and then, which may outlive its parent. */
static int
release(struct rl *rl, struct rl_hold *hold, uint64_t *seed)
{
	int status;
	pid_t child;

	if (!is_crowded || test_below(seed, 64) > 0)
		return rl_release(rl, hold, 1);
	child = fork();
	if (child == 0)
		_exit(rl_release(rl, hold, 1));
	if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
		return -1;
	return WEXITSTATUS(status);
}

/* Other keys want the slots. */
static void
crowd(struct rl *rl, uint64_t *seed)
{
	uint64_t other = test_below(seed, OTHERS);

	rl_check(rl, rate, &other, sizeof other, 1, NULL);
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
		if (is_crowded && r.error == -ENOSPC) /* all slots are of keys at their limit */
			return;
		_exit(EXIT_UNDECIDED);
	}
	tell(worker, key, cost);
	rl_atomic_fence(); /* its own first, then the others' */
	if (is_above(key))
		_exit(EXIT_ABOVE);
	rl_atomic_add(&board->acquired, 1);
	rl_holds(&charges, &hold, 1);
	tell(worker, key, 0);
	if (release(rl, &hold, seed) != 1 && !(is_crowded && key == RESET_KEY))
		_exit(EXIT_LOST);
}

static void
work(int worker, uint64_t seed)
{
	struct rl *rl;

	if (rl_open(test_segment_name(), &(struct rl_options){.ring = 64}, &rl) < 0)
		_exit(EXIT_OPEN);
	for (;;) {
		hold_once(rl, worker, &seed);
		if (is_crowded)
			crowd(rl, &seed);
	}
}

static void
begin(int worker, uint64_t seed)
{
	for (uint64_t key = 0; key < KEYS; key++)
		tell(worker, key, 0);
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

	assert_int_equal(rl_open(test_segment_name(), &(struct rl_options){.ring = 64}, &newcomer),
	                 0);
	for (uint64_t key = 0; key < KEYS; key++) {
		struct rl_charges charges;
		struct rl_result r;
		if (test_check_at(newcomer, rule, &key, sizeof key, CAPACITY, rl_now(newcomer), &r,
		                  &charges) != RL_ALLOWED)
			fail_msg("key %d: verdict %d, error %d, reason %d, used %u of %u", (int)key,
			         r.verdict, r.error, r.reason, r.used, r.limit);
		assert_int_equal(rl_refund(newcomer, &charges), 1);
	}
	rl_close(newcomer);
}

static void
define(struct rl *rl, uint32_t capacity)
{
	const struct rl_limit limit = {.algorithm = RL_IN_FLIGHT, .capacity = capacity};

	rule = rl_define(rl, &(struct rl_rule){.name = "r", .limit = limit});
	assert_true(rule >= 0);
}

/* What an administrator does meanwhile. */
static void
interfere(struct rl *rl, uint64_t *seed)
{
	const uint64_t key = RESET_KEY;

	define(rl, CAPACITY - (uint32_t)test_below(seed, 3));
	assert_true(rl_reset(rl, rule, &key, sizeof key) >= 0);
}

static void
play_round(struct rl *rl, uint64_t *seed, uint64_t *kills)
{
	for (int k = 0; k < 4; k++, ++*kills) {
		int victim = (int)test_below(seed, WORKERS);

		usleep(ROUND_US / 4);
		strike(victim);
		begin(victim, test_random(seed));
		if (is_crowded)
			interfere(rl, seed);
	}
	look(rl);
	rl_sweep_at(rl, rl_now(rl));
}

static bool
goes_on(uint64_t round, time_t began)
{
	const char *seconds = getenv("RL_STORM_SECONDS");

	return seconds ? time(NULL) - began < atol(seconds) : round < test_scaled(ROUNDS);
}

static void
play(struct rl *rl)
{
	uint64_t seed = 1, kills = 0;
	time_t began = time(NULL);

	board = test_shared(sizeof *board);
	for (int i = 0; i < WORKERS; i++)
		begin(i, test_random(&seed));
	for (uint64_t round = 0; goes_on(round, began); round++)
		play_round(rl, &seed, &kills);
	for (int i = 0; i < WORKERS; i++, kills++)
		strike(i);
	audit_assert_whole(rl);
	define(rl, CAPACITY);
	take_all();
	audit_assert_whole(rl);
	assert_true(board->acquired > 0 && board->denied > 0);
	print_message("           %llu kills, %llu times held, %llu denied, %llu reclaimed\n",
	              (unsigned long long)kills, (unsigned long long)board->acquired,
	              (unsigned long long)board->denied,
	              (unsigned long long)test_counter(rl, rule, RL_COUNT_reclaimed));
}

static void
test_killed(void **state)
{
	struct rl *rl;

	(void)state;
	is_crowded = false;
	assert_int_equal(rl_open(test_segment_name(), &(struct rl_options){.ring = 64}, &rl), 0);
	define(rl, CAPACITY);
	play(rl);
	rl_close(rl);
}

static void
test_killed_in_a_crowd(void **state)
{
	struct rl *rl;

	(void)state;
	is_crowded = true;
	assert_int_equal(
		rl_open(test_segment_name(), &(struct rl_options){.keys = 20, .ring = 64}, &rl), 0);
	define(rl, CAPACITY);
	rate = test_rule(rl, "rate", 1000, RL_SECOND, 0, false);
	play(rl);
	assert_true(test_counter(rl, rate, RL_COUNT_folded) > 0);
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_killed, test_unlink),
		cmocka_unit_test_teardown(test_killed_in_a_crowd, test_unlink),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

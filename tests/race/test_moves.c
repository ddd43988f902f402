/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Is there an order while tables change? As test_linearizable; but each worker has a handle of its
 * own, and so its own idea of which table is in force. Each may resize the segment before any of
 * its operations, move keys of the table before, and say that all have moved, which gives back that
 * table's memory. None of that is to show: but for refunds, which come too late once a key has
 * moved.
 *
 * A sliding window with sub-buckets has an order while time stands. Where it passes, no window of
 * the real length may hold more than the capacity, wherever it begins, without resets.
 *
 * At the end of each run the survivors move what is left, and the keys are asked after once more.
 */
#include "audit.h"
#include "history.h"
#include "moves.h"

#define RUNS 1000
#define SUB_BUCKETS 4
#define CHECK_OF_ONE 5 /* what operate() is told for one; 0 is a peek */
#define RESET_OF_ONE 1

static const struct rl_options options = {
	.keys = 12, .bans = 1, .ring = 8, .rules = 2, .buffer_ns = RL_BUFFER_MAX};

static const struct rl_limit sub_buckets = {
	.capacity = CAPACITY, .window_ns = WINDOW_NS, .granularity = SUB_BUCKETS, .hard = 1};

static bool has_resets = true;
static uint64_t unnamed; /* how often a key's name was not there, or another writer's */

static void
start(void)
{
	empty_tables(handle, WORKERS);
	length = instant = 0;
}

static void
work(int worker)
{
	int last = -1;

	for (int i = 0; i < OPERATIONS; i++) {
		uint64_t what = test_below(&seed, 8);

		change_tables(handle[worker], T0);
		last = operate(worker, last,
		               what == RESET_OF_ONE && !has_resets ? CHECK_OF_ONE : what);
	}
}

/*
 * Whoever was killed where: what is left moves, and counts as before. A key whose name is not there
 * waits for who asks for it.
 */
static void
finish(void)
{
	struct rl *rl = handle[test_below(&seed, WORKERS)];
	struct audit a;
	int ended;

	move_all(rl, T0);
	ended = rl_move_end(rl);
	for (int i = 0; i < keys; i++)
		operate_on((int)test_below(&seed, WORKERS), (char)('k' + i), -1,
		           test_below(&seed, 2) * CHECK_OF_ONE);
	if (ended == 0) {
		unnamed++;
		move_all(rl, T0);
	}
	assert_int_equal(ended == 0 ? rl_move_end(rl) : ended, 1);
	if (!audit_segment(rl, &a))
		fail_msg("%s", a.fault);
}

static uint64_t
counts_from_ns(const struct operation *o)
{
	uint64_t width = WINDOW_NS / SUB_BUCKETS, start = o->charges.charge[0].epoch * width;

	return o->now_ns > start ? o->now_ns : start;
}

static bool
was_given_back(int number)
{
	for (int i = 0; i < length; i++)
		if (history[i].kind == REFUND && history[i].of == number &&
		    (history[i].ended == 0 || history[i].did == 1))
			return true;
	return false;
}

static bool
was_admitted(int number, int key)
{
	const struct operation *o = &history[number];

	return o->kind == CHECK && o->key == key && o->ended > 0 && o->verdict == RL_ALLOWED &&
	       !was_given_back(number);
}

/* Of a key, in the window that begins when `first` began to count. */
static uint32_t
admitted_from(int first)
{
	uint64_t from = counts_from_ns(&history[first]);
	uint32_t units = 0;

	for (int i = 0; i < length; i++)
		if (was_admitted(i, history[first].key) && counts_from_ns(&history[i]) >= from &&
		    counts_from_ns(&history[i]) - from < WINDOW_NS)
			units += history[i].cost;
	return units;
}

static void
judge_windows(uint64_t run)
{
	for (int i = 0; i < length; i++)
		if (was_admitted(i, history[i].key) && admitted_from(i) > CAPACITY) {
			show_history();
			fail_msg("run %llu: %u from %d on", (unsigned long long)run,
			         admitted_from(i), i);
		}
}

static void
play(uint64_t first, uint64_t step_ns)
{
	pause_ns = step_ns;
	for (uint64_t run = first; run < first + test_scaled(RUNS); run++) {
		seed = run;
		start();
		run_schedule(work);
		finish();
		if (has_resets)
			judge(run);
		else
			judge_windows(run);
	}
}

static void
open_handles(const struct rl_limit *limit)
{
	const struct rl_rule r = {.name = "r", .limit = *limit};

	rl_unlink(test_segment_name());
	for (int i = 0; i < WORKERS; i++)
		assert_int_equal(rl_open(test_segment_name(), &options, &handle[i]), 0);
	rule = rl_define(handle[0], &r);
	assert_true(rule >= 0);
	may_be_late = true;
	resizes = unnamed = 0;
}

static void
close_handles(uint64_t runs)
{
	assert_true(resizes > test_scaled(runs) / 4 && unnamed < test_scaled(runs) / 40);
	for (int i = 0; i < WORKERS; i++)
		rl_close(handle[i]);
}

/* One key and two, without kills and with them; and time that passes, if it may. */
static void
play_all(const struct rl_limit *limit, const struct limiter *as, bool may_pass)
{
	limiter = as;
	open_handles(limit);
	for (int i = 0; i < (may_pass ? 8 : 4); i++) {
		kills = i % 2;
		keys = 1 + i / 2 % 2;
		play(1 + (uint64_t)i * RUNS, i < 4 ? 0 : WINDOW_NS / 4);
	}
	close_handles((may_pass ? 8 : 4) * RUNS);
}

static void
test_fixed_window(void **state)
{
	(void)state;
	play_all(&(struct rl_limit){.capacity = CAPACITY,
	                            .window_ns = WINDOW_NS,
	                            .algorithm = RL_FIXED_WINDOW},
	         &window, true);
}

static void
test_sliding_window(void **state)
{
	(void)state;
	play_all(&sub_buckets, &window, false);
}

/* In real time. */
static void
test_windows_of_any_begin(void **state)
{
	(void)state;
	has_resets = false;
	keeps_charges = true;
	open_handles(&sub_buckets);
	for (int i = 0; i < 4; i++) {
		kills = i % 2;
		keys = 1 + i / 2;
		play(1 + (uint64_t)i * RUNS, WINDOW_NS / 4);
	}
	close_handles(4 * RUNS);
	has_resets = true;
	keeps_charges = false;
}

static void
test_sliding_log(void **state)
{
	(void)state;
	play_all(&(struct rl_limit){.capacity = CAPACITY,
	                            .window_ns = WINDOW_NS,
	                            .algorithm = RL_SLIDING_LOG},
	         &log_of_times, true);
}

static void
test_token_bucket(void **state)
{
	(void)state;
	play_all(&(struct rl_limit){.capacity = CAPACITY,
	                            .window_ns = WINDOW_NS,
	                            .burst = CAPACITY,
	                            .algorithm = RL_TOKEN_BUCKET},
	         &bucket, true);
}

static void
test_leaky_bucket(void **state)
{
	(void)state;
	play_all(&(struct rl_limit){.capacity = CAPACITY,
	                            .window_ns = WINDOW_NS,
	                            .burst = CAPACITY - 1,
	                            .algorithm = RL_LEAKY_BUCKET},
	         &bucket, true);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_fixed_window, test_unlink),
		cmocka_unit_test_teardown(test_sliding_window, test_unlink),
		cmocka_unit_test_teardown(test_windows_of_any_begin, test_unlink),
		cmocka_unit_test_teardown(test_sliding_log, test_unlink),
		cmocka_unit_test_teardown(test_token_bucket, test_unlink),
		cmocka_unit_test_teardown(test_leaky_bucket, test_unlink),
	};

	make_stacks();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

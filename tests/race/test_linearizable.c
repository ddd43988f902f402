/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Is there an order? Workers charge, give back, forget and ask after one key, under chosen
 * schedules of the real code. What each was told, and between which instants it asked, is a
 * history. It must be one that a limiter without any concurrency could have given, asked in some
 * order that contradicts no instant (Herlihy and Wing, 1990; searched as Wing and Gong did,
 * 1993). An operation whose worker was killed may have taken effect, or not. Time passes while
 * one is stopped: the `now` of an operation is as old as its begin.
 *
 * Not a sliding window with sub-buckets: there, a later request may move the key's time on, an
 * earlier one then be admitted at that time, and the later one be denied for it (PROTOCOL.md, Time
 * that goes back), which no order of single instants has.
 */
#include "history.h"

#define RUNS 15000

static struct rl *rl;

static void
work(int worker)
{
	int last = -1; /* the worker's last charge */

	for (int i = 0; i < OPERATIONS; i++) {
		uint64_t what = test_below(&seed, 8);

		if (what == 5)
			rl_sweep_at(rl, T0); /* nothing is stale: it may not show */
		last = operate(worker, last, what);
	}
}

static void
start(void)
{
	const struct rl_segment *s = &rl->segment;

	memset(s->table.bucket, 0,
	       s->bytes - (size_t)((unsigned char *)s->table.bucket - (unsigned char *)s->header));
	length = instant = 0;
}

static void
play(uint64_t first, uint64_t step_ns)
{
	int longest = 0;

	pause_ns = step_ns;
	for (uint64_t run = first; run < first + test_scaled(RUNS); run++) {
		seed = run;
		start();
		run_schedule(work);
		longest = length > longest ? length : longest;
		judge(run);
	}
	assert_int_equal(longest, WORKERS * OPERATIONS);
}

/* With time that stands or passes, with and without kills. */
static void
play_all(enum rl_algorithm algorithm, uint32_t burst, const struct limiter *as)
{
	const struct rl_options o = {.keys = 12, .bans = 1, .ring = 8, .rules = 2};

	limiter = as;
	assert_int_equal(rl_open_private(&o, &rl), 0);
	for (int i = 0; i < WORKERS; i++)
		handle[i] = rl;
	rule = rl_define(rl, &(struct rl_rule){.name = "r",
	                                       .limit = {.algorithm = algorithm,
	                                                 .capacity = CAPACITY,
	                                                 .window_ns = WINDOW_NS,
	                                                 .burst = burst}});
	assert_true(rule >= 0);
	for (int i = 0; i < 4; i++) {
		kills = i % 2;
		play(1 + (uint64_t)i * RUNS, i < 2 ? 0 : WINDOW_NS / 4);
	}
	rl_close(rl);
}

static void
test_fixed_window(void **state)
{
	(void)state;
	play_all(RL_FIXED_WINDOW, 0, &window);
}

static void
test_sliding_log(void **state)
{
	(void)state;
	play_all(RL_SLIDING_LOG, 0, &log_of_times);
}

static void
test_token_bucket(void **state)
{
	(void)state;
	play_all(RL_TOKEN_BUCKET, CAPACITY, &bucket);
}

static void
test_leaky_bucket(void **state)
{
	(void)state;
	play_all(RL_LEAKY_BUCKET, CAPACITY - 1, &bucket);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fixed_window),
		cmocka_unit_test(test_sliding_log),
		cmocka_unit_test(test_token_bucket),
		cmocka_unit_test(test_leaky_bucket),
	};

	make_stacks();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

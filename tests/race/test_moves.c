/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Is there an order while tables change? As test_linearizable; but each worker has a handle of its own, and so its own idea
 * of which table is in force. Each may resize the segment before any of its operations, move keys of the table before, and
 * say that all have moved, which gives back that table's memory. None of that is to show: but for refunds, which come too
 * late once a key has moved.
 *
 * A resize is made at once, for processes take turns at it by a lock, and it comes into force by one CAS. All else is
 * interleaved, and killed. At the end of each run the survivors move what is left, and the key is asked after once more.
 */
#include "history.h"
#include "move/follow.h"

#define RUNS 3000

static const struct rl_options options = {
	.keys = 12, .bans = 1, .ring = 8, .rules = 2, .buffer_ns = RL_BUFFER_MAX};

static uint64_t resizes; /* that were made, in all runs; */
static uint64_t unnamed; /* and how often the key's name was not there, or another writer's */

/* As a process that has just attached. */
static void
forget_tables(struct rl *rl)
{
	rl_follow_no_more(rl);
	rl->here = rl->newest = rl;
}

static void
start(void)
{
	struct rl_segment *s = &handle[0]->segment;

	for (int i = 0; i < WORKERS; i++)
		forget_tables(handle[i]);
	memset(s->table.bucket, 0,
	       s->bytes - (size_t)((unsigned char *)s->table.bucket - (unsigned char *)s->header));
	memset(&s->header->tables, 0, sizeof s->header->tables);
	length = instant = 0;
}

static void
resize(struct rl *rl)
{
	struct rl_resize to = {.keys = 12 + (uint32_t)test_below(&seed, 30)};
	int worker = current;

	current = -1; /* nobody is handed over to */
	resizes += rl_resize(rl, &to, 0) == 0;
	current = worker;
}

static void
move_all(struct rl *rl)
{
	struct rl_moving moving = {0};
	struct rl_info info;

	rl_info(rl, &info);
	if (info.slots_before > 0)
		assert_true(rl_move_slots_at(rl, 0, info.slots_before, T0, &moving) >= 0);
}

static void
work(int worker)
{
	int last = -1;

	for (int i = 0; i < OPERATIONS; i++) {
		switch (test_below(&seed, 6)) {
		case 0:
			resize(handle[worker]);
			break;
		case 1:
			move_all(handle[worker]);
			break;
		case 2:
			assert_true(rl_move_end(handle[worker]) >= 0);
			break;
		case 3:
			rl_sweep_at(handle[worker], T0);
			break;
		default:
			break;
		}
		last = operate(worker, last, test_below(&seed, 8));
	}
}

/*
 * Whoever was killed where: what is left moves, and counts as before. A key whose name is not there waits for who asks for
 * it.
 */
static void
finish(void)
{
	struct rl *rl = handle[test_below(&seed, WORKERS)];
	int ended;

	move_all(rl);
	ended = rl_move_end(rl);
	operate((int)test_below(&seed, WORKERS), -1, test_below(&seed, 2) * 5);
	if (ended == 1)
		return;
	assert_int_equal(ended, 0);
	unnamed++;
	move_all(rl);
	assert_int_equal(rl_move_end(rl), 1);
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
		judge(run);
	}
}

static void
play_all(enum rl_algorithm algorithm, uint32_t burst, const struct limiter *as)
{
	struct rl_rule r = {.name = "r",
	                    .limit = {.algorithm = algorithm,
	                              .capacity = CAPACITY,
	                              .window_ns = WINDOW_NS,
	                              .burst = burst}};

	limiter = as;
	may_be_late = true;
	resizes = unnamed = 0;
	rl_unlink(test_segment_name());
	for (int i = 0; i < WORKERS; i++)
		assert_int_equal(rl_open(test_segment_name(), &options, &handle[i]), 0);
	rule = rl_define(handle[0], &r);
	assert_true(rule >= 0);
	for (int i = 0; i < 4; i++) {
		kills = i % 2;
		play(1 + (uint64_t)i * RUNS, i < 2 ? 0 : WINDOW_NS / 4);
	}
	assert_true(resizes > test_scaled(RUNS) && unnamed < test_scaled(RUNS) / 40);
	for (int i = 0; i < WORKERS; i++)
		rl_close(handle[i]);
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_fixed_window, test_unlink),
		cmocka_unit_test_teardown(test_sliding_log, test_unlink),
		cmocka_unit_test_teardown(test_token_bucket, test_unlink),
	};

	make_stacks();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

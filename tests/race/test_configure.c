/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules that are defined or configured in the middle of another call. */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "intrude.h"

/* A limit that comes into force again while its keys are being swept away. */

static void
define_short(struct rl *rl, int rule)
{
	const struct rl_rule r = {.name = "r", .limit = {.capacity = 5, .window_ns = RL_SECOND}};

	(void)rule;
	assert_int_equal(rl_define(rl, &r), 0);
}

static void
define_long(struct rl *rl, int rule)
{
	const struct rl_rule r = {.name = "r",
	                          .limit = {.capacity = 5, .window_ns = 60 * RL_SECOND}};

	(void)rule;
	assert_int_equal(rl_define(rl, &r), 0);
}

static void
define_and_use_up(struct rl *rl, int rule)
{
	define_long(rl, rule);
	while (check(rl, rule) == RL_ALLOWED)
		;
}

static void
sweep(struct rl *rl, int rule)
{
	(void)rule;
	assert_true(rl_sweep_at(rl, T0) >= 0);
}

static void
test_in_force_again_while_swept(void **state)
{
	bool goes_on = true;

	(void)state;
	for (int n = 1; goes_on; n++) {
		struct rl *rl = test_private(10);
		define_long(rl, 0);
		assert_int_equal(check(rl, 0), RL_ALLOWED);
		define_short(rl, 0);
		goes_on = intrude(rl, 0, sweep, define_and_use_up, n);
		if (goes_on)
			assert_int_equal(check(rl, 0), RL_DENIED);
		rl_close(rl);
	}
}

/* The same limits in another order: none of them is ever out of force. */

static void
define_in_order(struct rl *rl, const unsigned order[RL_LIMITS_MAX])
{
	struct rl_limit l[RL_LIMITS_MAX];

	for (unsigned i = 0; i < RL_LIMITS_MAX; i++)
		l[i] = (struct rl_limit){.capacity = order[i] == 7 ? 1 : 1000,
		                         .window_ns = (1 + order[i]) * RL_SECOND};
	assert_int_equal(rl_define(rl, &(struct rl_rule){.name = "r",
	                                                 .limit = l[0],
	                                                 .more = l + 1,
	                                                 .more_count = RL_LIMITS_MAX - 1}),
	                 0);
}

static void
define_tight_last(struct rl *rl, int rule)
{
	(void)rule;
	define_in_order(rl, (const unsigned[]){0, 1, 2, 3, 4, 5, 6, 7});
}

static void
define_tight_first(struct rl *rl, int rule)
{
	(void)rule;
	define_in_order(rl, (const unsigned[]){7, 0, 1, 2, 3, 4, 5, 6});
}

static void
is_denied(struct rl *rl, int rule)
{
	assert_int_equal(check(rl, rule), RL_DENIED);
}

/* All of one order: the last window ends it, or the first has moved there. */
static void
is_shown_whole(struct rl *rl, int rule)
{
	struct rl_rule_info info;
	bool is_moved;

	assert_int_equal(rl_rule_info(rl, rule, &info), 1);
	assert_int_equal(info.limit_count, RL_LIMITS_MAX);
	is_moved = info.limits[0].capacity == 1;
	for (uint64_t i = 0; i < RL_LIMITS_MAX; i++)
		assert_true(info.limits[(i + is_moved) % RL_LIMITS_MAX].window_ns ==
		            (1 + i) * RL_SECOND);
}

static void
play_order(call_fn *first)
{
	bool goes_on = true;

	for (int n = 1; goes_on; n++) {
		struct rl *rl = test_private(20);
		define_tight_last(rl, 0);
		assert_int_equal(check(rl, 0), RL_ALLOWED);
		goes_on = intrude(rl, 0, first, define_tight_first, n);
		rl_close(rl);
	}
}

static void
test_limits_in_another_order(void **state)
{
	(void)state;
	play_order(is_denied);
	play_order(is_shown_whole);
}

/* A rule that each of three configurations has. */

static void
configure(struct rl *rl, uint32_t capacity)
{
	const struct rl_config_rule r = {
		.rule = {.name = "r", .limit = {.capacity = capacity, .window_ns = RL_SECOND}}};

	assert_int_equal(rl_configure(rl, &r, 1, 0, NULL, NULL), 0);
}

static jmp_buf killed;
static int lives_for; /* accesses */

static void
die(struct rl *rl, int rule)
{
	(void)rl;
	(void)rule;
	longjmp(killed, 1);
}

/* The second time it is killed in the middle of writing the bank that was in force before. */
static void
configure_twice(struct rl *rl, int rule)
{
	(void)rule;
	configure(rl, 2);
	intruder = die;
	wait_for = lives_for;
	if (setjmp(killed) == 0)
		configure(rl, 3);
	wait_for = 0;
}

static void
is_found(struct rl *rl, int rule)
{
	struct rl_rule_info info;

	assert_int_equal(rl_find(rl, "r"), rule);
	assert_int_equal(rl_rule_info(rl, rule, &info), 1);
	assert_int_equal(info.source, RL_SOURCE_CONFIGURATION);
}

static void
test_a_rule_is_there_throughout(void **state)
{
	const int most = 20000, step = most / (int)test_scaled(400);

	(void)state;
	for (lives_for = step; lives_for < most; lives_for += step) {
		bool goes_on = true;
		for (int n = 1; goes_on; n++) {
			struct rl *rl = test_private(10);
			configure(rl, 1);
			goes_on = intrude(rl, 0, is_found, configure_twice, n);
			rl_close(rl);
		}
	}
}

/* A process that is forked while another thread configures lives on. */

static pid_t child;

static void
fork_a_worker(struct rl *rl, int rule)
{
	(void)rl;
	(void)rule;
	child = fork();
	if (child == 0) {
		pause();
		_exit(0);
	}
}

static void
configure_named(struct rl *rl, int rule)
{
	(void)rule;
	configure(rl, 7);
}

static void
test_a_fork_holds_no_lock(void **state)
{
	struct rl *rl;

	(void)state;
	assert_int_equal(rl_open(test_segment_name(), &(struct rl_options){.ring = 64}, &rl), 0);
	assert_true(intrude(rl, 0, configure_named, fork_a_worker, 20));
	const struct rl_config_rule r = {
		.rule = {.name = "r", .limit = {.capacity = 8, .window_ns = RL_SECOND}}};
	int error = rl_configure(rl, &r, 1, 0, NULL, NULL);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	rl_close(rl);
	rl_unlink(test_segment_name());
	assert_int_equal(error, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_force_again_while_swept),
		cmocka_unit_test(test_limits_in_another_order),
		cmocka_unit_test(test_a_rule_is_there_throughout),
		cmocka_unit_test(test_a_fork_holds_no_lock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

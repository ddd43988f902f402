/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whoever creates a segment dies at any instruction and at each system call: there is none or a
 * whole one, and the next process has it at once. Whoever resizes one dies there, too: all others
 * go on with it.
 */
#include <errno.h>
#include <stdio.h>

#include "at.h"
#include "audit.h"
#include "rule/handle.h"
#include "step.h"

#define T0 (UINT64_C(1700000001) * RL_SECOND)

static const struct rl_options tiny = {
	.keys = 12, .ring = 8, .rules = 6, .bans = 4, .overrides = 4, .buffer_ns = RL_SECOND};

/* What a child does, and what others find when it has died. */
struct act {
	const char *name;
	void (*begin)(void);
	void (*run)(void);
	void (*judge)(void);
	void (*end)(void);
};

static void
begin_with_nothing(void)
{
}

static void
run_create(void)
{
	struct rl *mine;

	rl_open(test_segment_name(), &tiny, &mine);
}

/* A new process finds it whole. */
static void
expect_whole(const struct rl_options *o)
{
	struct audit a;
	struct rl *rl;
	int rule;

	assert_int_equal(rl_open(test_segment_name(), o, &rl), 0);
	assert_true(audit_segment(rl, &a));
	rule = test_rule(rl, "r", 6, 3 * RL_SECOND, 3, true);
	assert_int_equal(at_check(rl, rule, "k", 1, 1, T0, NULL), RL_ALLOWED);
	rl_close(rl);
}

static void
judge_created(void)
{
	struct rl *rl;
	int error =
		rl_open(test_segment_name(), &(struct rl_options){.flags = RL_OPEN_EXISTING}, &rl);

	assert_true(error == 0 || error == -ENOENT);
	if (error == 0)
		rl_close(rl);
	expect_whole(&tiny);
}

static void
unlink_it(void)
{
	assert_int_equal(rl_unlink(test_segment_name()), 0);
}

static struct rl *user; /* the segment of who resizes, and of one who goes on */
static int spent;       /* a rule that `user` has spent a key of */

static void
move_all(void)
{
	struct rl_moving moving = {0};

	rl_move_slots_at(user, 0, UINT64_MAX, T0, &moving);
	rl_move_end(user);
}

/* From a second table to a third, so that a place is written over. */
static void
begin_with_tables(void)
{
	assert_int_equal(rl_open(test_segment_name(), &tiny, &user), 0);
	spent = test_rule(user, "spent", 1, 3600 * RL_SECOND, 1, true);
	assert_int_equal(rl_resize(user, &(struct rl_resize){.keys = 40}, 0), 0);
	move_all();
	assert_int_equal(at_check(user, spent, "k", 1, 1, T0, NULL), RL_ALLOWED);
}

static void
run_resize(void)
{
	if (rl_resize(user, &(struct rl_resize){.keys = 20}, 0) == 0)
		move_all();
}

static void
judge_resized(void)
{
	assert_int_equal(at_check(user, spent, "k", 1, 1, T0, NULL), RL_DENIED);
	expect_whole(NULL);
	move_all();
	assert_int_equal(rl_resize(user, &(struct rl_resize){.keys = 60}, 0), 0);
	move_all();
	assert_int_equal(at_check(user, spent, "k", 1, 1, T0, NULL), RL_DENIED);
	expect_whole(NULL);
}

static void
close_it(void)
{
	rl_close(user);
	unlink_it();
}

static const struct act acts[] = {
	{"create", begin_with_nothing, run_create, judge_created, unlink_it},
	{"resize", begin_with_tables, run_resize, judge_resized, close_it},
};

static void
die(const struct act *act, enum __ptrace_request request, int steps)
{
	pid_t pid;

	act->begin();
	pid = start(act->run);
	advance(request, pid, steps);
	finish(pid);
	act->judge();
	act->end();
}

static int
count_steps(const struct act *act, enum __ptrace_request request)
{
	int steps = 0;
	pid_t pid;

	act->begin();
	pid = start(act->run);
	while (step(request, pid))
		if (++steps > 10000000)
			fail();
	finish(pid);
	act->end();
	return steps;
}

/* After the last system call the child pauses: that one is not the operation's. */
static int
count_calls(const struct act *act)
{
	int calls = 0;
	pid_t pid;

	act->begin();
	pid = start(act->run);
	for (; !*is_done; calls++)
		step(PTRACE_SYSCALL, pid);
	finish(pid);
	act->end();
	return calls;
}

static void
test_act(const struct act *act)
{
	int steps = count_steps(act, PTRACE_SINGLESTEP), calls = count_calls(act), kills = 0;

	for (int i = 1; i < steps; i += stride(steps), kills++)
		die(act, PTRACE_SINGLESTEP, i);
	for (int i = 1; i < calls; i++, kills++)
		die(act, PTRACE_SYSCALL, i);
	/* and two that are through before their time comes */
	die(act, PTRACE_SINGLESTEP, 2 * steps);
	die(act, PTRACE_SYSCALL, 2 * calls);
	print_message("           %s: %d instructions, %d stops at system calls, %d kills\n",
	              act->name, steps, calls, kills);
}

static void
test_creation(void **state)
{
	(void)state;
	test_act(&acts[0]);
}

static void
test_resize(void **state)
{
	(void)state;
	test_act(&acts[1]);
}

static int
prepare(void **state)
{
	(void)state;
	is_done = test_shared(sizeof *is_done);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_creation, test_unlink),
		cmocka_unit_test_teardown(test_resize, test_unlink),
	};

	test_segment_name();
	return cmocka_run_group_tests(tests, prepare, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whoever creates a segment dies at any instruction and at each system call: there is none or a
 * whole one, and the next process has it at once.
 */
#include <errno.h>
#include <stdio.h>

#include "audit.h"
#include "rule/handle.h"
#include "step.h"

#define T0 (UINT64_C(1700000001) * RL_SECOND)

static const struct rl_options tiny = {
	.keys = 12, .ring = 8, .rules = 6, .bans = 4, .overrides = 4, .buffer_ns = RL_SECOND};

static void
run_create(void)
{
	struct rl *mine;

	rl_open(test_segment_name(), &tiny, &mine);
}

static void
create_and_die(enum __ptrace_request request, int steps)
{
	pid_t pid = start(run_create);
	struct audit a;
	struct rl *rl;
	int error, rule;

	advance(request, pid, steps);
	finish(pid);
	error = rl_open(test_segment_name(), &(struct rl_options){.flags = RL_OPEN_EXISTING}, &rl);
	assert_true(error == 0 || error == -ENOENT);
	if (error < 0)
		assert_int_equal(rl_open(test_segment_name(), &tiny, &rl), 0);
	assert_true(audit_segment(rl, &a));
	rule = test_rule(rl, "r", 6, 3 * RL_SECOND, 3, true);
	assert_int_equal(rl_check_at(rl, rule, "k", 1, 1, T0, NULL), RL_ALLOWED);
	rl_close(rl);
	assert_int_equal(rl_unlink(test_segment_name()), 0);
}

static int
count_steps(enum __ptrace_request request)
{
	pid_t pid = start(run_create);
	int steps = 0;

	while (step(request, pid))
		if (++steps > 10000000)
			fail();
	finish(pid);
	assert_int_equal(rl_unlink(test_segment_name()), 0);
	return steps;
}

/* After the last system call the child pauses: that one is not the operation's. */
static int
count_calls(void)
{
	pid_t pid = start(run_create);
	int calls = 0;

	for (; !*is_done; calls++)
		step(PTRACE_SYSCALL, pid);
	finish(pid);
	assert_int_equal(rl_unlink(test_segment_name()), 0);
	return calls;
}

static void
test_creation(void **state)
{
	int steps, calls, kills = 0;

	(void)state;
	steps = count_steps(PTRACE_SINGLESTEP);
	calls = count_calls();
	for (int i = 1; i < steps; i += stride(steps), kills++)
		create_and_die(PTRACE_SINGLESTEP, i);
	for (int i = 1; i < calls; i++, kills++)
		create_and_die(PTRACE_SYSCALL, i);
	/* and two that are through before their time comes */
	create_and_die(PTRACE_SINGLESTEP, 2 * steps);
	create_and_die(PTRACE_SYSCALL, 2 * calls);
	print_message("           create: %d instructions, %d stops at system calls, %d kills\n",
	              steps, calls, kills);
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
	const struct CMUnitTest tests[] = {cmocka_unit_test_teardown(test_creation, test_unlink)};

	test_segment_name();
	return cmocka_run_group_tests(tests, prepare, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_STEP_H
#define RL_STEP_H

/*
 * A child that is single-stepped, to die after any of its instructions, or at any of its system
 * calls. For one file of a program.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "testing.h"

#define KILLS_MIN 4      /* in earnest, of each operation, */
#define KILL_STEPS 15000 /* or as many as take so many steps */

static volatile int *is_done; /* the child has come to its end: before the first, test_shared() */

/* A child that stands before the first instruction of `run`. */
static pid_t
start(void (*run)(void))
{
	pid_t pid;
	int status;

	*is_done = 0;
	pid = fork();
	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0)
			_exit(1);
		raise(SIGTRAP);
		run();
		*is_done = 1;
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSTOPPED(status));
	return pid;
}

/* One more instruction, or whatever the request means; false when the operation is over. */
static bool
step(enum __ptrace_request request, pid_t pid)
{
	int status;

	assert_int_equal(ptrace(request, pid, NULL, NULL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSTOPPED(status));
	return !*is_done;
}

/*
 * So many of them, or until the operation is over: it may take fewer steps than it took when they
 * were counted, for it waits for others of this machine. Beyond its end the child sleeps for ever.
 */
static inline void
advance(enum __ptrace_request request, pid_t pid, int steps)
{
	for (int i = 0; i < steps; i++)
		if (!step(request, pid))
			return;
}

static void
finish(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* How far apart the kills are: a kill at step n takes n steps. */
static inline int
stride(int steps)
{
	const char *given = getenv("RL_CRASH_EVERY");
	int kills = 2 * (int)test_scaled(KILL_STEPS) / (steps + 1);
	int every = given ? atoi(given) : steps / (kills > KILLS_MIN ? kills : KILLS_MIN);

	return every > 0 ? every : 1;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_STOP_H
#define RL_STOP_H

/*
 * One stop, everywhere: an operation runs up to its n-th access to a shared word and stops there,
 * others run to their ends, and it goes on. For one file of a program: it defines the hook.
 */
#include <stdlib.h>
#include <ucontext.h>

#include "testing.h"

#define STOP_STACK_BYTES (1024 * 1024)

void rl_atomic_hook(void);

static struct {
	ucontext_t stopped, others;
	unsigned char *stack;
	int accesses; /* so far */
	int stop_at;  /* 0: no more */
	bool is_inside;
	void (*operation)(void);
} stop;

void
rl_atomic_hook(void)
{
	if (!stop.is_inside || ++stop.accesses != stop.stop_at)
		return;
	stop.is_inside = false;
	swapcontext(&stop.stopped, &stop.others);
	stop.is_inside = true;
}

static void
stop_enter(void)
{
	stop.is_inside = true;
	stop.operation();
	stop.is_inside = false;
	stop.stop_at = 0;
}

/*
 * Begin an operation. True: it stands before its n-th access, and if it is not taken up again it is
 * as good as killed there. False: it has ended before.
 */
static bool
stop_before(int n, void (*operation)(void))
{
	if (!stop.stack)
		stop.stack = malloc(STOP_STACK_BYTES);
	stop.operation = operation;
	stop.accesses = 0;
	stop.stop_at = n;
	getcontext(&stop.stopped);
	stop.stopped.uc_stack.ss_sp = stop.stack;
	stop.stopped.uc_stack.ss_size = STOP_STACK_BYTES;
	stop.stopped.uc_link = &stop.others;
	makecontext(&stop.stopped, stop_enter, 0);
	swapcontext(&stop.others, &stop.stopped);
	return stop.stop_at != 0;
}

/* False: the operation has ended before its n-th access, and `meanwhile` was not run. */
static inline bool
stop_at(int n, void (*operation)(void), void (*meanwhile)(void))
{
	if (!stop_before(n, operation))
		return false;
	meanwhile();
	swapcontext(&stop.others, &stop.stopped);
	return true;
}

#endif

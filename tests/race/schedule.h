/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_SCHEDULE_H
#define RL_SCHEDULE_H

/*
 * Chosen schedules. Workers are coroutines; before every access to a shared word the hook of
 * atomic.h may hand over to another worker, at a few random steps of each run, or kill the
 * worker: it is never resumed. Time may pass whenever one is stopped, so that what it has read of
 * the clock before is old when it goes on. For one file of a program: it defines the hook.
 */
#include <stdlib.h>
#include <ucontext.h>

#include "testing.h"

#ifndef WORKERS
#define WORKERS 3
#endif
#define STACK_BYTES (256 * 1024)
#define SWITCHES 6 /* hand-overs in a run */
#ifndef STEPS
#define STEPS 250 /* the first so many steps may be chosen for one */
#endif

void rl_atomic_hook(void);

enum fate {
	READY,
	DONE,
	KILLED
};

static struct {
	ucontext_t context;
	enum fate fate;
	unsigned char *stack;
} workers[WORKERS];

static ucontext_t scheduler;
static int current = -1; /* the worker that runs, or none */
static int steps;        /* accesses so far in this run */
static int switch_at[SWITCHES];
static bool kills;
static int killed; /* workers in this run */
static uint64_t seed;
static uint64_t pause_ns;  /* time passes by up to three of these at a hand-over; 0: it stands */
static uint64_t passed_ns; /* since the run began */

void
rl_atomic_hook(void)
{
	if (current < 0)
		return;
	steps++;
	for (int i = 0; i < SWITCHES; i++) {
		if (switch_at[i] == steps) {
			swapcontext(&workers[current].context, &scheduler);
			return;
		}
	}
}

static void (*body)(int worker);

static void
enter(int worker)
{
	body(worker);
	workers[worker].fate = DONE;
}

static int
pick(void)
{
	int ready[WORKERS], count = 0;

	for (int i = 0; i < WORKERS; i++)
		if (workers[i].fate == READY)
			ready[count++] = i;
	return count > 0 ? ready[test_below(&seed, (uint64_t)count)] : -1;
}

/* Run all workers to the end under one random schedule. */
static void
run_schedule(void (*work)(int worker))
{
	int next;

	body = work;
	steps = 0;
	killed = 0;
	passed_ns = 0;
	for (int i = 0; i < SWITCHES; i++)
		switch_at[i] = 1 + (int)test_below(&seed, STEPS);
	for (int i = 0; i < WORKERS; i++) {
		getcontext(&workers[i].context);
		workers[i].context.uc_stack.ss_sp = workers[i].stack;
		workers[i].context.uc_stack.ss_size = STACK_BYTES;
		workers[i].context.uc_link = &scheduler;
		workers[i].fate = READY;
		makecontext(&workers[i].context, (void (*)(void))enter, 1, i);
	}
	while ((next = pick()) >= 0) {
		current = next;
		swapcontext(&scheduler, &workers[next].context);
		current = -1;
		if (pause_ns > 0)
			passed_ns += test_below(&seed, 4) * pause_ns;
		if (kills && workers[next].fate == READY && test_below(&seed, 3) == 0) {
			workers[next].fate = KILLED;
			killed++;
		}
	}
}

/* Once, before the first run. */
static void
make_stacks(void)
{
	for (int i = 0; i < WORKERS; i++)
		workers[i].stack = malloc(STACK_BYTES);
}

#endif

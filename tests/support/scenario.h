/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_SCENARIO_H
#define RL_SCENARIO_H

/*
 * What many workers do to one segment at once. Each scenario is a `work` that every worker
 * runs, and an `audit` afterwards; test_processes runs them in processes, test_threads in
 * threads on one mapping, which ThreadSanitizer sees. A worker must not assert.
 */

#include <stdbool.h>
#include <stdint.h>

#include "rl.h"

#define SCENARIO_KEYS 64
#define SCENARIO_WORKERS 8
#define SCENARIO_LOG 20000

/* An admission: when it counts from, and where it was charged. */
struct scenario_charge {
	uint64_t effective_ns;
	uint64_t epoch;
};

/* Shared by all workers of a run. */
struct scenario_run {
	int rule; /* the same in every process */
	int workers;
	int rounds;
	uint64_t arrived; /* at line-ups, all workers' together */
	uint64_t clock_ns;
	uint64_t allowed[SCENARIO_KEYS];
	uint64_t undone[SCENARIO_KEYS]; /* resets, or refunds */
	struct scenario_charge log[SCENARIO_WORKERS][SCENARIO_LOG];
	uint32_t logged[SCENARIO_WORKERS];
};

struct scenario {
	const char *name;
	struct rl_options options;
	struct rl_rule rule;
	int rounds;
	int (*work)(struct scenario_run *run, struct rl *rl, int worker); /* exit code */
	void (*audit)(const struct scenario_run *run, struct rl *rl);
};

extern const struct scenario scenarios[];
extern const int scenario_count;

/* Make a new segment, let `launch` run all workers to the end, audit. */
void scenario_play(const struct scenario *s, struct scenario_run *run,
                   void (*launch)(const struct scenario *s, struct scenario_run *run,
                                  struct rl *rl));

#endif

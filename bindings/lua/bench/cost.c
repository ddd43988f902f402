/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What rl_check() with its own clock costs in C: ns for a hot key, of its own time on the CPU, the
 * median of nine rounds.
 */
#include <rl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ROUNDS 9
#define CALLS 500000

static double
now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double
measure(struct rl *rl, int rule)
{
	struct rl_result result;
	double ns[ROUNDS];

	for (int round = 0; round < ROUNDS; round++) {
		double before = now_ns();
		for (int i = 0; i < CALLS; i++)
			rl_check(rl, rule, "203.0.113.7", 11, 1, &result);
		ns[round] = (now_ns() - before) / CALLS;
	}
	qsort(ns, ROUNDS, sizeof ns[0], compare);
	return ns[ROUNDS / 2];
}

int
main(void)
{
	struct rl *rl;
	struct rl_rule rule = {.name = "r",
	                       .limit = {.algorithm = RL_FIXED_WINDOW,
	                                 .capacity = 1,
	                                 .window_ns = 86400 * RL_SECOND}};

	if (rl_open_private(NULL, &rl) < 0)
		return 1;
	printf("denied %.1f\n", measure(rl, rl_define(rl, &rule)));
	rule.name = "s";
	rule.limit.capacity = RL_CAPACITY_MAX;
	printf("allowed %.1f\n", measure(rl, rl_define(rl, &rule)));
	rl_close(rl);
	return 0;
}

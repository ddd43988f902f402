/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * check_ns SEGMENT: the nanoseconds of CPU time of one rl_check() with its own clock, of a hot key
 * that is admitted, in C: what bindings measure their calls beside. The median of nine rounds. The
 * segment has the rule "bench".
 */
#include <rl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS 9
#define CALLS 1000000

static double
seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int
compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int
main(int argc, char **argv)
{
	double ns[ROUNDS];
	struct rl_result result;
	unsigned denied = 0;
	struct rl *rl;
	int rule;

	if (argc != 2 || rl_open(argv[1], NULL, &rl) < 0 || (rule = rl_find(rl, "bench")) < 0) {
		fprintf(stderr, "check_ns: no segment with a rule bench\n");
		return 2;
	}
	for (int r = 0; r < ROUNDS; r++) {
		double start = seconds();

		for (int i = 0; i < CALLS; i++)
			denied += rl_check(rl, rule, "203.0.113.7", 11, 1, &result) != RL_ALLOWED;
		ns[r] = (seconds() - start) * 1e9 / CALLS;
	}
	qsort(ns, ROUNDS, sizeof ns[0], compare);
	printf("%.1f\n", ns[ROUNDS / 2]);
	rl_close(rl);
	return denied > 0;
}

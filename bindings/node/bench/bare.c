/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <rl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/*
 * bare SEGMENT ROUNDS: nanoseconds of CPU time of an rl_check() with its own clock, a line for each
 * round.
 */
#define CALLS 1000000

static double
measure(struct rl *rl, const char *name, uint32_t capacity)
{
	struct rl_rule rule = {.name = name,
	                       .limit = {.capacity = capacity, .window_ns = 3600 * RL_SECOND}};
	struct rl_result result;
	clock_t start;
	int id = rl_define(rl, &rule);

	if (id < 0)
		exit(1);
	start = clock();
	for (int i = 0; i < CALLS; i++)
		rl_check(rl, id, "203.0.113.7", strlen("203.0.113.7"), 1, &result);
	return (double)(clock() - start) * (1e9 / CLOCKS_PER_SEC) / CALLS;
}

int
main(int argc, char **argv)
{
	struct rl *rl;

	if (argc != 3 || rl_open(argv[1], NULL, &rl) < 0)
		return 1;
	for (int i = 0; i < atoi(argv[2]); i++) {
		double allowed = measure(rl, "bare", RL_CAPACITY_MAX);

		printf("{\"allowed\": %.1f, \"denied\": %.1f}\n", allowed,
		       measure(rl, "denied", 1));
		fflush(stdout);
	}
	rl_close(rl);
	return 0;
}

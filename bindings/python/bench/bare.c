/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a check costs in C, with its own clock: the best of many rounds, in nanoseconds. bench.py
 * compares.
 */
#include <rl.h>
#include <stdio.h>
#include <time.h>

#define ROUNDS 200
#define CALLS 20000

static double
seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double
round_of(struct rl *rl, int rule)
{
	static const char key[] = "203.0.113.241";
	double start = seconds();

	for (int i = 0; i < CALLS; i++)
		rl_check(rl, rule, key, sizeof key - 1, 1, NULL);
	return (seconds() - start) / CALLS * 1e9;
}

int
main(void)
{
	struct rl_rule made = {.name = "bench",
	                       .limit = {.capacity = RL_CAPACITY_MAX,
	                                 .window_ns = 3600 * RL_SECOND,
	                                 .granularity = 60,
	                                 .hard = 1}};
	double best = 0;
	struct rl *rl;
	int rule;

	if (rl_open_private(&(struct rl_options){.ring = 64}, &rl) < 0 ||
	    (rule = rl_define(rl, &made)) < 0)
		return 1;
	for (int i = 0; i < ROUNDS; i++) {
		double ns = round_of(rl, rule);
		if (i == 0 || ns < best)
			best = ns;
	}
	printf("%.1f\n", best);
	rl_close(rl);
	return 0;
}

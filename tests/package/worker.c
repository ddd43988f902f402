/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * worker SEGMENT: spends what the rule "login" has for alice, and asks on for as long as it lives.
 */
#include <rl.h>
#include <stdio.h>
#include <time.h>

int
main(int argc, char **argv)
{
	struct timespec pause = {.tv_nsec = 5000000};
	struct rl_options options = {.flags = RL_OPEN_EXISTING};
	struct rl *rl;
	int error = argc == 2 ? rl_open(argv[1], &options, &rl) : -EINVAL;
	int rule = error < 0 ? error : rl_find(rl, "login");

	if (rule < 0) {
		fprintf(stderr, "worker: %s\n", rl_strerror(rule));
		return 1;
	}
	while (rl_check(rl, rule, "alice", 5, 1, NULL) != RL_UNDECIDED)
		nanosleep(&pause, NULL);
	rl_close(rl);
	return 1;
}

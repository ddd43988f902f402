/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * worker SEGMENT CAPACITY WINDOW_MS PAUSE_US
 *
 * Ask for one key of a hard sliding window again and again, and write each request that was allowed
 * to stdout as a line "BEFORE AFTER": nanoseconds of CLOCK_BOOTTIME, before and after the decision;
 * and "denied" when one is denied after one that was not. It makes a small segment if there is
 * none, and ends when its standard input does. Exits 0 if each request was decided.
 */

#include <fcntl.h>
#include <inttypes.h>
#include <rl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static uint64_t
boot_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * RL_SECOND + (uint64_t)now.tv_nsec;
}

/* The end of standard input; nobody writes to it. */
static int
is_over(void)
{
	char byte;

	return read(STDIN_FILENO, &byte, 1) == 0;
}

static int
work(struct rl *rl, int rule, uint64_t pause_us)
{
	const struct timespec pause = {.tv_nsec = (long)(pause_us * 1000)};
	enum rl_verdict last = RL_ALLOWED;

	while (!is_over()) {
		uint64_t before_ns = boot_ns();
		enum rl_verdict verdict = rl_check(rl, rule, "alice", 5, 1, NULL);

		if (verdict == RL_UNDECIDED)
			return -1;
		if (verdict == RL_ALLOWED)
			printf("%" PRIu64 " %" PRIu64 "\n", before_ns, boot_ns());
		else if (last == RL_ALLOWED)
			puts("denied");
		last = verdict;
		nanosleep(&pause, NULL);
	}
	return 0;
}

int
main(int argc, char **argv)
{
	const struct rl_options small = {.keys = 100, .ring = 16, .rules = 8, .bans = 16};
	struct rl_rule rule = {.name = "login"};
	struct rl *rl;
	int error, id;

	if (argc != 5)
		return 2;
	rule.limit.capacity = (uint32_t)strtoul(argv[2], NULL, 10);
	rule.limit.window_ns = strtoull(argv[3], NULL, 10) * RL_MILLISECOND;
	rule.limit.granularity = 8;
	rule.limit.hard = 1;
	error = rl_open(argv[1], &small, &rl);
	id = error == 0 ? rl_define(rl, &rule) : error;
	if (id < 0) {
		fprintf(stderr, "worker: segment '%s': %s\n", argv[1], rl_strerror(id));
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
	error = work(rl, id, strtoull(argv[4], NULL, 10));
	rl_close(rl);
	return error == 0 ? 0 : 1;
}

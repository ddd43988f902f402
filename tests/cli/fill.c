/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fill SEGMENT RULE CAPACITY WINDOW_MS GRANULARITY KEY=COUNT...
 *
 * Ask COUNT times for each KEY, so that rlctl has something to show. GRANULARITY 0 is a
 * fixed window. The segment is small, and its keys are soon stale. Exits 0 if every request
 * was decided.
 */

#include <errno.h>
#include <rl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int
fail(const char *what, int error)
{
	fprintf(stderr, "fill: %s: %s\n", what, rl_strerror(error));
	return -1;
}

static uint32_t
number(const char *text)
{
	return (uint32_t)strtoul(text, NULL, 10);
}

static int
define(struct rl *rl, char **args)
{
	struct rl_rule rule = {
		.name = args[0],
		.limit.capacity = number(args[1]),
		.limit.window_ns = number(args[2]) * RL_MILLISECOND,
		.limit.granularity = number(args[3]),
	};

	if (rule.limit.granularity == 0)
		rule.limit.algorithm = RL_FIXED_WINDOW;
	return rl_define(rl, &rule);
}

static int
ask(struct rl *rl, int rule, const char *pair)
{
	const char *split = strrchr(pair, '=');
	struct rl_result result;

	if (!split)
		return fail(pair, -EINVAL);
	for (uint32_t n = number(split + 1); n > 0; n--)
		if (rl_check(rl, rule, pair, (size_t)(split - pair), 1, &result) == RL_UNDECIDED)
			return fail(pair, result.error);
	return 0;
}

static int
fill(struct rl *rl, int count, char **args)
{
	int rule = define(rl, args);

	if (rule < 0)
		return fail(args[0], rule);
	for (int i = 4; i < count; i++)
		if (ask(rl, rule, args[i]) < 0)
			return -1;
	return 0;
}

int
main(int argc, char **argv)
{
	struct rl_options options = {
		.keys = 256,
		.rules = 8,
		.key_bytes = 48,
		.buffer_ns = 200 * RL_MILLISECOND,
	};
	struct rl *rl;
	int error;

	if (argc < 6) {
		fprintf(stderr, "usage: fill SEGMENT RULE CAPACITY WINDOW_MS GRANULARITY "
		                "KEY=COUNT...\n");
		return 2;
	}
	error = rl_open(argv[1], &options, &rl);
	if (error == 0) {
		error = fill(rl, argc - 2, argv + 2);
		rl_close(rl);
	} else {
		fail(argv[1], error);
	}
	return error == 0 ? 0 : 2;
}

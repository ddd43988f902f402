/* SPDX-License-Identifier: BSD-2-Clause */
/* replay: run rl-replay, which has no use for a segment, with the same words. */

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/command.h"
#include "base/output.h"

#define PROGRAM "rl-replay"

/* The program beside this one; where that cannot be told, the one of PATH. */
static void
find_program(char path[static PATH_MAX + sizeof(PROGRAM)])
{
	ssize_t len = readlink("/proc/self/exe", path, PATH_MAX - 1);
	char *slash;

	path[len > 0 ? len : 0] = '\0';
	slash = strrchr(path, '/');
	strcpy(slash ? slash + 1 : path, PROGRAM);
}

int
run_replay(const struct context *context)
{
	char path[PATH_MAX + sizeof(PROGRAM)], name[] = PROGRAM;

	find_program(path);
	context->words[0] = name;
	execvp(path, context->words);
	complain("%s: %s; it comes with rlctl, and belongs beside it", path, strerror(errno));
	return EXIT_TROUBLE;
}

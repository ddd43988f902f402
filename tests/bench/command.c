/* SPDX-License-Identifier: BSD-2-Clause */
#include "command.h"

#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static double
to_ns(struct timeval t)
{
	return (double)t.tv_sec * 1e9 + (double)t.tv_usec * 1e3;
}

struct usage
command_run(const struct command *c)
{
	posix_spawn_file_actions_t actions;
	struct rusage usage;
	int status = 0;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	if (posix_spawnp(&pid, c->argv[0], &actions, NULL, (char **)c->argv, environ) != 0 ||
	    wait4(pid, &status, 0, &usage) != pid || status != 0)
		bench_die("%s: failed", c->argv[0]);
	posix_spawn_file_actions_destroy(&actions);
	return (struct usage){.cpu_ns = to_ns(usage.ru_utime) + to_ns(usage.ru_stime),
	                      .bytes = (uint64_t)usage.ru_maxrss * 1024};
}

/* build/tests/bench/bench is this one, build/rlctl that. */
const char *
command_rlctl(void)
{
	static char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof path - 1);

	path[len < 0 ? 0 : len] = '\0';
	for (int i = 0; i < 3; i++) {
		char *slash = strrchr(path, '/');

		if (!slash)
			bench_die("/proc/self/exe: cannot be read");
		*slash = '\0';
	}
	strncat(path, "/rlctl", sizeof path - strlen(path) - 1);
	return path;
}

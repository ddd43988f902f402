/* SPDX-License-Identifier: BSD-2-Clause */
#include "contention.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

pid_t
contention_start(const struct bench *bench, void (*run)(const void *arg), const void *arg)
{
	pid_t parent = getpid(), pid = fork();

	if (pid < 0)
		bench_die("fork: %s", strerror(errno));
	if (pid > 0)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	bench_pin(bench, 1);
	run(arg);
	_exit(1);
}

void
contention_stop(pid_t pid, const char *what)
{
	int status;

	kill(pid, SIGKILL);
	if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status))
		bench_die("%s failed", what);
}

/* SPDX-License-Identifier: BSD-2-Clause */

#include "dump/old_tool.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/command.h"
#include "base/complain.h"
#include "base/interrupt.h"

#define NOT_RUN 127 /* as shells say it */

static void
become_tool(const struct old_tool *tool, const char *segment, int out)
{
	if (dup2(out, STDOUT_FILENO) >= 0)
		execl(tool->path, tool->path, "--segment", segment, "dump", "-", (char *)NULL);
	complain("%s: %s", tool->path, strerror(errno));
	_exit(NOT_RUN);
}

FILE *
old_tool_dump(struct old_tool *tool, const char *segment)
{
	int ends[2];
	FILE *in = NULL;

	if (pipe2(ends, O_CLOEXEC) < 0) {
		complain("%s: %s", tool->path, strerror(errno));
		return NULL;
	}
	fflush(stdout); /* or the child has it, too */
	tool->pid = fork();
	if (tool->pid == 0)
		become_tool(tool, segment, ends[1]);
	close(ends[1]);
	if (tool->pid > 0)
		in = fdopen(ends[0], "re");
	if (!in) {
		complain("%s: %s", tool->path, strerror(errno));
		close(ends[0]);
	}
	return in;
}

bool
old_tool_end(struct old_tool *tool)
{
	int status = -1;

	if (interrupt_came() && tool->pid > 0) /* it may never come to write again */
		kill(tool->pid, SIGTERM);
	while (tool->pid > 0 && waitpid(tool->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) <= EXIT_NO)
		return true;
	if (!interrupt_came() && (!WIFEXITED(status) || WEXITSTATUS(status) != NOT_RUN))
		complain("%s: the dump failed", tool->path);
	return false;
}

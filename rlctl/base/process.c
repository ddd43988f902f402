/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/process.h"

#include <errno.h>
#include <rl_admin.h>
#include <signal.h>

bool
process_is_running(pid_t pid)
{
	return pid == RL_PID_ELSEWHERE || kill(pid, 0) == 0 || errno == EPERM;
}

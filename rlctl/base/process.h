/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_PROCESS_H
#define RLCTL_PROCESS_H

#include <stdbool.h>
#include <sys/types.h>

/* Is there such a process? One of another pid namespace, RL_PID_ELSEWHERE, is taken for running. */
bool process_is_running(pid_t pid);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_HOLDER_PROC_H
#define RL_HOLDER_PROC_H

/* What /proc tells of a process. Nothing here allocates. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct rl_proc_stat {
	char state;
	int threads;
	uint64_t start_ticks; /* since boot, 1/100 s, as clocks of this process's time namespace
	                         have it */
};

/* Numbers of a process: of the pid namespace that /proc is of, and of the process's own. */
struct rl_proc_numbers {
	pid_t outer;
	pid_t inner;
	int levels; /* of namespaces, from the one to the other */
};

/*
 * False: there is no such process there, or it may not be read. `name` is below /proc: a number,
 * "self", "self/task/" and a number.
 */
bool rl_proc_read_stat(const char *name, struct rl_proc_stat *stat);
bool rl_proc_read_numbers(const char *name, struct rl_proc_numbers *numbers);

/* Is /proc that of this process's pid namespace? A container may have its host's. */
bool rl_proc_is_ours(void);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_HOLDER_ALIVE_H
#define RL_HOLDER_ALIVE_H

/*
 * Is a process alive that once described itself?
 *
 * Units of a process that is taken for alive stay with it; those of one that is taken for dead are
 * given to others. So dead is said on evidence alone, and whatever is unknown is alive:
 *
 *	it is of another pid namespace, or nobody knows of which    elsewhere: its number says
 *	                                                            nothing
 *	no process has its number                                   dead
 *	the number's pidfs inode is another one, both known         dead
 *	its pidfd can be read, for all its threads have ended       dead
 *	the number's process began at another time                  dead, asked where an inode lacks
 *	all else                                                    alive
 *
 * Where the kernel or a filter has no pidfd, kill(2) says whether there is such a number, and /proc
 * when it began and whether it is a zombie. A zombie is dead if it has exactly one thread: a
 * process whose main thread has ended is a zombie with others, and one of whose other threads calls
 * exec(2) may for a moment be seen with none.
 *
 * /proc is believed if it is that of the own pid namespace. The kernel shifts a start as the
 * reader's time namespace says; it is kept without the shift, so that all compare the same.
 *
 * A judgement takes some 8 us by pidfd, and 50 us by /proc.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define RL_PROCESS_START_BITS 34 /* of 1/100 s: five years of uptime, compared for equality alone */

/* 0 is unknown. A pid namespace is its inode. */
struct rl_process {
	uint64_t start; /* 1/100 s of the host's time since boot, lowest bits */
	pid_t pid;
	uint32_t namespace;
	uint32_t inode; /* of the process in pidfs, lowest bits: unique until the next boot */
};

enum rl_alive {
	RL_ALIVE,
	RL_DEAD,
	RL_ELSEWHERE, /* in another pid namespace, or nobody knows */
};

/* This process, whichever thread asks. */
struct rl_process rl_process_self(void);

/*
 * This process's pid namespace. It never changes while the process lives; its children's may
 * differ.
 */
uint32_t rl_process_namespace(void);

/* Judge a process, in the namespace `here`. */
enum rl_alive rl_alive_judge(const struct rl_process *process, uint32_t here);

/* The same of one whose pid is a number of this process's namespace for certain. */
bool rl_alive_is_dead(const struct rl_process *process);

#endif

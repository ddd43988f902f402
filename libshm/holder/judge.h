/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_HOLDER_JUDGE_H
#define RL_HOLDER_JUDGE_H

/*
 * Does the process of a label still hold its seat, and live? A label of another gen than its seat's
 * is dead without a system call: the seat has been given up, or was taken from the dead. Else the
 * process that the seat names is judged, by alive.h. All of it may be called by any thread, at any
 * time.
 *
 * A look at a process takes 100 times what a decision takes. So each process looks at a seat at
 * most once in 100 ms, and at RL_HOLDERS_LOOKS seats in that time; between looks whoever was not
 * dead is not dead. What is dead stays so, for a seat's word never returns: it is remembered with
 * the verdict, and whoever may write frees the seat, so that it is dead for all, without a look,
 * and can be taken.
 */

#include "holder/alive.h"

struct rl_holders;

#define RL_HOLDERS_LOOK_NS UINT64_C(100000000)
#define RL_HOLDERS_LOOKS 64 /* in as long */

/* Never wrong if true. A label is any number: one that no seat has is dead. */
bool rl_holders_is_dead(struct rl_holders *h, uint32_t label);

/* The same at a time of any clock that does not run backwards. */
bool rl_holders_is_dead_at(struct rl_holders *h, uint32_t label, uint64_t now_ns);

/* The time that looks are counted by, coarse. */
uint64_t rl_holders_now_ns(void);

/* A look now, for people. *pid is its number here, or 0 if there is none or nobody knows it. */
enum rl_alive rl_holders_look(struct rl_holders *h, uint32_t label, pid_t *pid);

/*
 * Where a search through seats or tallies is to begin, so that not always the same are looked at:
 * each time as many further on as are looked at in a while.
 */
uint32_t rl_holders_turn(struct rl_holders *h);

/* Judge all seats of this pid namespace now. Some 7 us for each that is taken: for a sweep. */
void rl_holders_look_here(struct rl_holders *h);

/*
 * Judge all seats of other pid namespaces at once, as elsewhere.h says; the rest of this module
 * then knows of the dead. How many of them were found dead; -EPERM if not all processes can be
 * seen; -ENOMEM: it allocates while it runs. For one thread of a sweep.
 */
int rl_holders_look_elsewhere(struct rl_holders *h);

#endif

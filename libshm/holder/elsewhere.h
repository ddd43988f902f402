/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_HOLDER_ELSEWHERE_H
#define RL_HOLDER_ELSEWHERE_H

/*
 * Judges processes of other pid namespaces. Their numbers mean nothing here; but a namespace sees
 * the processes of all below it, each by a number of its own:
 *
 *	/proc/10073/ns/pid    the namespace that it is of
 *	/proc/10073/status    "NSpid: 10073 2", its number here and its number there
 *
 * So one walk through /proc finds whoever lives, and judges it by its number here. Who was not
 * found is dead, if such a one would have been seen:
 *
 *	somebody else of its namespace was, so that namespace is below this one; or
 *	this is the host's namespace, which is above all
 *
 * and if nothing was hidden: /proc is of this namespace and mounted without hidepid. Else nobody is
 * judged. What may not be asked of a process, as its namespace unless by root, may be anything: so
 * it is compared by what is known, of which a pidfs inode is enough. Numbers go up as the walk
 * does, and who lives keeps its own: it is not missed.
 *
 * It costs some 20 us a process of the machine, so it is for a sweep.
 */

#include "holder/alive.h"

#include <stddef.h>

struct rl_stranger {
	struct rl_process process;
	bool is_found;   /* it lives, or nobody knows that it does not */
	bool is_visible; /* somebody of its namespace was seen */
	bool is_dead;    /* the verdict */
};

/*
 * Sets is_dead of each, in the namespace `here`. 0, or -EPERM: not all could be seen, and none is
 * dead.
 */
int rl_elsewhere_judge(struct rl_stranger *strangers, size_t count, uint32_t here);

#endif

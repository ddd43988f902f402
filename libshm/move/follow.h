/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_FOLLOW_H
#define RL_FOLLOW_H

/*
 * Which table a process is in. A handle has one struct rl for each table that it has used: the
 * application's own for the first, and one more for each table that it has followed to, whose
 * segment has another table and the same of all else. What a process keeps of rules is kept for
 * each of them, for a limit's shape may depend on the ring's length.
 *
 * A call begins by rl_here(), and goes on with that struct rl throughout. So all that one call does
 * is of one table, unless it asks again. None of them is given up before rl_close().
 */

#include "rule/handle.h"

/* The struct rl of the table in force, or where that cannot be mapped the newest that could. */
struct rl *rl_follow(struct rl *rl);

/*
 * The one that was in force when this was last asked. What is decided there is right, too, as long
 * as it can be decided. A change of tables is one of what processes keep (segment/change.h), so the
 * next decision looks at all of it again, and asks rl_here(). Part of every decision.
 */
static inline __attribute__((always_inline)) struct rl *
rl_here_known(const struct rl *rl)
{
	return rl_atomic_load_pointer(&rl->here);
}

static inline struct rl *
rl_here(const struct rl *rl)
{
	struct rl *here = rl_here_known(rl);

	return rl_table_is_left(&here->segment.table) ? rl_follow(rl->handle->first) : here;
}

/*
 * While keys are moving to the table of `rl`: the struct rl of the one before. NULL: none are, or
 * it cannot be mapped.
 */
struct rl *rl_before(struct rl *rl);

/* The struct rl of that table, mapped if need be; NULL: that is not to be had. */
struct rl *rl_followed(struct rl *rl, uint64_t number);

/*
 * Why the last table that was not to be had was not: RL_EDAMAGED, -ENOMEM, or -EAGAIN if it was
 * left meanwhile.
 */
int rl_follow_failed(const struct rl *rl);

/* Give up all that rl_follow() has made. */
void rl_follow_no_more(struct rl *first);

#endif

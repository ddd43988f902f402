/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_DECIDE_H
#define RL_DECIDE_H

/*
 * Deciding about one limit, whatever stands in the way: a key without a slot, a slot that is being
 * retired, a table that is left, a sub-bucket to close. What most requests meet is plan.h's.
 */

#include "decide/part.h"

/* For deciding so many limits. */
static inline struct rl_budget
rl_decision_budget(const struct rl_segment *s, unsigned limits)
{
	return (struct rl_budget){RL_DECIDE_STEPS + limits * RL_RING_TRIES * s->geometry.ring};
}

/* The candidate slots of a key's hash under a limit; the cache is told to expect them. */
static inline void
rl_part_candidates(const struct rl_table *table, const struct rl_compiled *limit, uint64_t hash,
                   struct rl_candidates *candidates)
{
	*candidates = rl_table_candidates(table, limit->owner, hash ^ limit->salt);
	rl_table_prefetch(table, candidates);
}

/*
 * Decide about a cost, and charge it for RL_CHECK; cost 0 is a peek at 1. Returns the
 * verdict of the limit, and fills *p->result: see rl_part_lift_shadow().
 */
enum rl_verdict rl_part_decide(struct rl_part *p, uint64_t cost, enum rl_how how);

/*
 * Do what is planned for a slot that was charged before, in whatever steps. The verdict, or
 * RL_AGAIN.
 */
int rl_decide_carry_out(struct rl_part *p);

/*
 * A peek at a key that was seen to have no slot, in a table that was filled before. RL_AGAIN: it
 * may be counted elsewhere.
 */
int rl_decide_absent(struct rl_part *p);

/*
 * If tables change: point a part at the table where its key is, which may move it there. 0;
 * -EAGAIN; -ENOSPC: there is no room for what is on its way; -ENOMEM. With rl_must_migrate() only.
 */
int rl_part_migrate(struct rl_part *p);

/* A slot for a part's key that has none. 0; -EAGAIN; -ENOSPC. */
int rl_decide_claim(struct rl_part *p, struct rl_slot *slot);

#endif

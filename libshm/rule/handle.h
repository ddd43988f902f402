/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_HANDLE_H
#define RL_HANDLE_H

#include "rule/rules.h"
#include "segment/segment.h"

/*
 * How often limits start anew because their rule is reset: RL_RENEWALS_AT_ONCE times, and after that once in
 * RL_RENEWALS_EACH, in ns. A process can compile twice as many.
 */
#define RL_RENEWALS_AT_ONCE (UINT64_C(1) << 18)
#define RL_RENEWALS_EACH (20 * RL_SECOND)

/* What rl.h calls struct rl: private memory of one process, inherited by its children. */
struct rl {
	struct rl_segment segment;
	char name[RL_NAME_MAX + 1];
	struct rl_compiled **limits;     /* by row, NULL until first used */
	struct rl_policy_kept *policies; /* by the row of their rule */
	struct rl_ahead *ahead;          /* units taken ahead; NULL: none can be */
	struct rl_holders *holders;      /* who holds units in flight, this process among them */
	uint64_t compiled;               /* how many, earlier ones of their rows with them */
	uint64_t opened_ns;
	uint64_t is_configuring;     /* a private segment: some thread is at it */
	uint64_t changes_seen_ns;    /* by who sweeps: when, */
	struct rl_u128 changes_seen; /* and how rl_header.changes stood */
	uint64_t looked_around_ns;   /* by who sweeps: for holders that have died */
	uint64_t history_due_ns;     /* by who sweeps: when all rules' histories are to be noted */
	uint64_t denials_until_ns;   /* keys that are denied are expected: see rl_tell_expect() */
	int lock;                    /* what rl_supervise() holds, or -1 */
	struct rl *first;    /* the application's; and of that one, what other threads change: */
	void *here;          /* the struct rl of the table in force, as far as it is known */
	void *newest;        /* the list of all: move/follow.c */
	uint64_t unfollowed; /* why a table was not to be had: -rl_follow_failed() */
	struct rl *older;    /* the next in that list */
};

/* Is there such a rule? */
static inline bool
rl_handle_has(const struct rl *rl, int rule)
{
	return rl_rules_has(&rl->segment, rule);
}

/* Check a limit that is there, and publish it to the other threads. */
const struct rl_compiled *rl_handle_compile(struct rl *rl, int limit);

/*
 * A limit as this process has used it, or NULL. Its row may be another's by now, or the limit have
 * started anew: ask rl_compiled_holds() after all else that is read of the row.
 */
static inline const struct rl_compiled *
rl_handle_known(const struct rl *rl, int limit)
{
	if (limit < 0 || (uint32_t)limit >= rl->segment.geometry.limits)
		return NULL;
	return rl_atomic_load_pointer((void *const *)&rl->limits[limit]);
}

/*
 * The limit that a row holds, or NULL: if there is none, or no memory for it. Any thread, at any
 * time.
 */
static inline const struct rl_compiled *
rl_handle_limit(struct rl *rl, int limit)
{
	const struct rl_compiled *known = rl_handle_known(rl, limit);

	return known && rl_compiled_holds(known) ? known : rl_handle_compile(rl, limit);
}

/* Free what was compiled of a row. */
void rl_handle_forget(struct rl_compiled *limit);

/* Why rl_handle_limit() said NULL: -EINVAL or -ENOMEM. */
int rl_handle_no_limit(const struct rl *rl, int limit);

#endif

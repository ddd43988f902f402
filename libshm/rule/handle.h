/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_HANDLE_H
#define RL_HANDLE_H

#include "rule/rules.h"
#include "segment/segment.h"

/*
 * How often limits start anew because their rule is reset: RL_RENEWALS_AT_ONCE times, and after
 * that once in RL_RENEWALS_EACH, in ns. A process can compile twice as many.
 */
#define RL_RENEWALS_AT_ONCE (UINT64_C(1) << 18)
#define RL_RENEWALS_EACH (20 * RL_SECOND)

/* What a process keeps of rules: rule/cached.h. */
struct rl_cached {
	uint32_t ring;
	struct rl_compiled **limits;
	struct rl_policy_cached *policies;
	struct rl_cached *earlier;
};

/*
 * What a handle has once, whatever tables it has followed to. Private memory of one process,
 * inherited by its children.
 */
struct rl_handle {
	char name[RL_NAME_MAX + 1];
	struct rl_origin origin;
	struct rl *first;               /* the application's */
	void *newest;                   /* the list of all its struct rls: move/follow.c */
	uint64_t unfollowed;            /* why a table was not to be had: -rl_follow_failed() */
	void *cached;                   /* the list of each struct rl_cached */
	uint64_t mapped;                /* how many tables are mapped for it, but the first */
	uint64_t followed;              /* the bytes of memory that all of them take */
	uint64_t next_map;              /* where the next table is mapped: rl_tables_map() */
	struct rl_prefetch *prefetched; /* prefetched units; NULL: none can be */
	struct rl_holders *holders;     /* who holds units in flight, this process among them */
	uint64_t compiled;              /* how many limits, earlier ones of their rows with them */
	uint64_t opened_ns;
	uint64_t is_configuring;     /* a private segment: some thread is at it */
	uint64_t changes_seen_ns;    /* by who sweeps: when, */
	struct rl_u128 changes_seen; /* and how rl_header.changes stood */
	uint64_t looked_around_ns;   /* by who sweeps: for holders that have died */
	uint64_t history_due_ns;     /* by who sweeps: when all rules' histories are to be noted */
	int lock;                    /* what rl_supervise() holds, or -1 */
};

/*
 * What rl.h calls struct rl: a handle with one table. One is cached for each table that it has
 * followed to, as long as it is open: so it is small.
 */
struct rl {
	struct rl_segment segment;
	struct rl_handle *handle;
	struct rl_compiled **limits;       /* by row, NULL until first used; those of rl_cached, */
	struct rl_policy_cached *policies; /* by the row of their rule, and so are these */
	uint64_t denials_until_ns; /* keys that are denied are expected: see rl_expect_record() */
	void *here; /* of the application's: the struct rl of the table in force, as far as it is
	               known */
	struct rl *older; /* the next in the list of all */
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

/* Why rl_handle_limit() said NULL: -EINVAL or -ENOMEM. */
int rl_handle_no_limit(const struct rl *rl, int limit);

#endif

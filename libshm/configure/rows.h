/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_ROWS_H
#define RL_ROWS_H

/* Rows of limits: whose they become, and when a limit in them starts anew. See rows.c. */

#include "configure/lock.h"
#include "rule/handle.h"

/* A set of rows. */
struct rl_row_set {
	uint64_t bits[(RL_LIMIT_ROWS_MAX + 63) / 64];
};

static inline bool
rl_row_set_has(const struct rl_row_set *set, int row)
{
	return (set->bits[row / 64] >> row % 64 & 1) != 0;
}

static inline void
rl_row_set_add(struct rl_row_set *set, int row)
{
	set->bits[row / 64] |= UINT64_C(1) << row % 64;
}

/* One definition, or one configuration, that takes rules and limits. */
struct rl_rows {
	struct rl *rl;
	struct rl_lock lock;
	bool is_locked;
	bool is_configuring;      /* the lock is the caller's, and the bank not in force, too */
	bool has_forgotten;       /* has called rl_rows_forget() */
	struct rl_refs taken;     /* rows that no list refers to yet */
	struct rl_row_set wanted; /* rows of rules that are not to be given away */
};

/*
 * The rows of a checked rule's limits, ready to be referred to: those in force as they are, others
 * anew. 0; RL_ELIMITS; -EBUSY; or what rl_lock_take() says.
 */
int rl_rows_take(struct rl_rows *rows, int rule, const struct rl_rule *of);

/* Those that `rule` has as applications define it, if they are not in force, start anew. */
int rl_rows_restart_own(struct rl_rows *rows, int rule);

/* Write what the limits admit, whose rows were just taken. 0, -EAGAIN or -EBUSY. */
int rl_rows_set_quota(struct rl_rows *rows, int rule, const struct rl_rule *of, enum rl_bank bank);

/* Are they the rule's still, now that a list refers to them? Then they stay so. */
bool rl_rows_hold(const struct rl_segment *s, int rule, const struct rl_rule *of,
                  const struct rl_refs *refs);

/*
 * Take the lock, if it is not held yet, and clear the bank that is not in force. What
 * rl_lock_take() says.
 */
int rl_rows_lock(struct rl_rows *rows);

/*
 * Forget what limits that are not in force have counted, and what is left behind of earlier
 * incarnations: nothing of it is in the table then.
 */
void rl_rows_forget(struct rl_rows *rows);

/* Drop the lock, if it was taken. */
void rl_rows_end(struct rl_rows *rows);

/* Those that nobody can give away: in force, or as applications define them. How many. */
uint32_t rl_rows_kept(const struct rl_segment *s, struct rl_row_set *set);

#endif

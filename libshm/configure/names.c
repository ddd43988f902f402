/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A row of the segment is a rule's for as long as the rule has limits: as applications defined
 * them, or in the configuration. Then, when no row was never used, it may become another's.
 *
 *	A(i) --mark--> A(i)* --give--> X(i+1), fresh --> X(i+1)     under the lock
 *	  ^---rescue----+
 *
 * Each arrow is one CAS16 of the name's hash and the flags, which have the incarnation, i. A handle
 * has it, too, and so has every list of limits. A list of another incarnation is none: to a
 * process that holds the handle of A, the row has no limits, as if A were removed; and what a
 * process writes late that slept with A is none to X. Such a write meets no list of X's either: it
 * expects what it read before it saw that the row was A's, and no list of X's is equal to that.
 *
 * A rule that has limits keeps its row. Who gives a row away marks it and then looks for lists;
 * who defines a rule writes the list and then looks for the mark. A fence stands before each of
 * these looks, so at least one sees the other's step: the giver the list, and leaves the row; or
 * the definer the mark, which he takes off, so that the giver's CAS16 fails, or that the row is
 * another's, and takes another. A mark that a killed giver has left means nothing.
 *
 * X begins with counters of zero. They are A's until they are cleared, and until then the row is
 * marked as fresh: who asks is told zero. A giver that is killed before leaves that to the next
 * who wants X, under the lock, too; so nobody clears what X has counted. What A's keys count is
 * forgotten before, so that no sweep adds to X's. A process that slept between a decision under A
 * and counting it counts it for X: each at most what one request counts.
 *
 * Bans of A are lifted, and none holds for X: what they are found by has the incarnation. That and
 * the names do not repeat but after 2^20 incarnations of one row.
 */
#include "configure/names.h"

#include <errno.h>

#include "rl.h"
#include "rule/ban.h"
#include "rule/history.h"
#include "segment/change.h"
#include "segment/event.h"
#include "segment/stats.h"

#define TRIES 16

static bool
has_limits(const struct rl_segment *s, int row)
{
	struct rl_refs refs;
	unsigned count = 0;

	for (int bank = 0; bank < RL_BANKS; bank++) {
		rl_rules_refs(s, row, (enum rl_bank)bank, &refs);
		count += refs.count;
	}
	return count > 0;
}

uint32_t
rl_names_kept(const struct rl_segment *s, struct rl_row_set *set)
{
	struct rl_refs refs;
	uint32_t rows = 0;

	*set = (struct rl_row_set){0};
	for (uint32_t row = 0; row < s->geometry.rules; row++) {
		if (rl_rules_row_now(s, (int)row, &refs) == RL_BANKS)
			rl_rules_refs(s, (int)row, RL_BANK_APP, &refs);
		if (refs.count == 0)
			continue;
		rl_row_set_add(set, (int)row);
		rows++;
	}
	return rows;
}

/* See the head of the file. False: it is not to be had. */
static bool
try_give(const struct rl_segment *s, int row, uint64_t hash)
{
	struct rl_u128 *word = &s->rows[row].identity, held, marked, next = {.lo = hash};

	rl_atomic_load16(word, &held);
	marked = held;
	marked.hi |= RL_ROW_LEAVING;
	if (held.lo == 0 || (held.hi != marked.hi && !rl_atomic_cas16(word, held, marked)))
		return false;
	rl_atomic_fence(); /* first the mark, then the lists: partner in rl_names_hold() */
	next.hi = ((rl_row_incarnation(held.hi) + 1) & RL_ROW_INCARNATION_MASK)
	                  << RL_ROW_INCARNATION_SHIFT |
	          RL_ROW_FRESH;
	return !has_limits(s, row) && rl_atomic_cas16(word, marked, next);
}

/* Others ban under the rule meanwhile. */
static bool
give(const struct rl_segment *s, int row, uint64_t hash)
{
	for (int tries = 0; tries < TRIES && !has_limits(s, row); tries++)
		if (try_give(s, row, hash))
			return true;
	return false;
}

static void
clear_counters(const struct rl_segment *s, int row)
{
	for (uint32_t stripe = 0; stripe < s->geometry.stripes; stripe++) {
		struct rl_stat *stat = rl_stats_at(s, stripe, row);
		struct rl_denials *limits = rl_stats_limits_at(s, stripe, row);

		for (int c = 0; c < RL_STAT_WORDS; c++)
			rl_atomic_store(&stat->counter[c], 0);
		for (int i = 0; i < RL_LIMITS_MAX; i++) {
			rl_atomic_store(&limits->denied[i], 0);
			rl_atomic_store(&limits->shadow_denied[i], 0);
		}
	}
}

/* Clear what the former rule left. Only under the lock: nobody uses the row, nor clears it. */
static int
begin(const struct rl_segment *s, int rule, const char *name)
{
	struct rl_row *row = &s->rows[rl_rule_row(rule)];

	clear_counters(s, rl_rule_row(rule));
	rl_history_clear(s, rl_rule_row(rule));
	rl_ban_forget(s, rl_rule_row(rule));
	rl_lengths_clear(&row->bans);
	rl_rules_write_name(s, rl_rule_row(rule), name);
	return rl_rules_set_flags(s, rule, RL_ROW_FRESH, false);
}

static bool
is_fresh(const struct rl_segment *s, int rule)
{
	return (rl_atomic_load(&rl_rules_at(s, rule)->flags) & RL_ROW_FRESH) != 0;
}

/* A row that is nobody's, for that name. The lock is held, so that no name comes to two rows. */
static int
reuse(struct rl_rows *rows, const char *name)
{
	const struct rl_segment *s = &rows->rl->segment;
	uint64_t hash = rl_rules_name_hash(s, name);

	rl_rows_forget(rows);
	for (int row = 0; row < (int)s->geometry.rules; row++)
		if (!rl_row_set_has(&rows->wanted, row) && give(s, row, hash))
			return rl_rules_handle(s, row);
	return RL_ERULES;
}

int
rl_names_take(struct rl_rows *rows, const char *name)
{
	const struct rl_segment *s = &rows->rl->segment;
	int rule = rl_rules_append(s, name), error;

	if (rule != RL_ERULES && (rule < 0 || !is_fresh(s, rule)))
		return rule;
	error = rl_rows_lock(rows);
	if (error < 0) /* -ENOENT: its name is gone, and who has it open uses it up */
		return error == -ENOENT ? RL_ERULES : error;
	rule = rl_rules_append(s, name);
	if (rule == RL_ERULES)
		rule = reuse(rows, name);
	if (rule < 0 || !is_fresh(s, rule))
		return rule;
	error = begin(s, rule, name);
	return error < 0 ? error : rule;
}

bool
rl_names_hold(const struct rl_segment *s, int rule)
{
	rl_atomic_fence(); /* first the list, then the mark: partner in try_give() */
	return rl_rules_set_flags(s, rule, RL_ROW_LEAVING, false) == 0;
}

int
rl_forget(struct rl *rl, const char *name)
{
	const struct rl_segment *s = &rl->segment;
	const struct rl_refs none = {0};
	struct rl_change change;
	struct rl_refs own;
	int rule, error;

	if (!rl_rules_name_is_valid(name))
		return -EINVAL;
	rule = rl_rules_seek(s, name);
	if (rule < 0)
		return rule;
	if (!s->is_writable)
		return -EROFS;
	if (!rl_change_begin(s, &change))
		return -EBUSY;
	rl_rules_refs(s, rl_rule_row(rule), RL_BANK_APP, &own);
	error = rl_rules_set_refs(s, rule, RL_BANK_APP, &none);
	rl_change_end(&change);
	if (error < 0 && error != -EAGAIN)
		return error;
	if (error == 0 && own.count > 0)
		rl_event_report_change(s, RL_EVENT_FORGOTTEN, rule, NULL, 0, 0);
	return error == 0 && own.count > 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A row of the segment is a limit's for as long as some list of a rule refers to it: what the
 * applications defined, or either bank of the configuration. Then it may become another's.
 *
 * A row has an incarnation, of 20 bits, that goes into the hash of every key under it. It is one
 * more whenever the limit starts anew: because its rule takes it up again after it was not in
 * force, or because the row becomes another limit's. A process that slept meanwhile with the old
 * row finds and charges keys of the old incarnation, which nobody looks for any more.
 *
 *	A(i) --restart--> A(i+1), new      in no list in force: one CAS16 of the identity
 *	A(i), new --settle--> A(i)         in a list in force: before anything is counted
 *	A(i) --mark--> A(i)* --give--> X(i+1), new   in no list at all: under the lock
 *	  ^---rescue----+
 *
 * Nothing that has counted in force starts anew, unless its rule is reset (renew.c). Whoever
 * restarts a row loads its identity first and then looks whether it is in force. Should it come
 * into force after that look, and something be counted, the row was new, and was settled
 * (rl_rules_settle()) by who counted: before or after that identity was loaded. After: then this
 * CAS16 fails. Before: then it was in force already, and if it was not any more when the restarter
 * looked, who brought it back has restarted it first, and this CAS16 fails, too. (But for one who
 * took it while it was in force, and put it into a list when others had replaced it: programs that
 * define one rule differently start it anew for each other.)
 *
 * Nothing that a list refers to is given away. Who takes a row for a list loads its identity,
 * refers to it, and then looks at the identity again; who gives it away marks it first, and then
 * looks for references. Of these two looks at least one sees what the other did (a fence stands
 * before each): the taker a marked row, which it rescues, so that the last CAS16 fails, or one that
 * is another's, and takes another; or the giver the reference, and leaves it. A mark that a killed
 * giver has left means nothing to those who use the row. A taker that is killed between its two
 * steps, while a row it slept with was given away, leaves a list with a row of another rule: who
 * reads it sees that, and is undecided until the rule is defined or configured again.
 *
 * A decision takes references, then quota, and then sees that the identity is the one by which it
 * has compiled the limit: it is, so the row was the limit's when the quota was loaded, for an
 * incarnation does not come back (but after 2^20).
 *
 * What has been counted in an earlier incarnation stays in the table until a sweep, or who needs
 * room, frees it: a tag has the lowest four bits of its incarnation. A row says which one is the
 * oldest that may be in the table. Before a seventeenth came to be there, all that is left behind
 * is forgotten, by one walk over all tags. A process that slept through it with a decision of an
 * old incarnation may charge one more slot. No key leads there; it is freed as above, or, where its
 * four bits are those of the incarnation in force, when it looks stale.
 *
 * Cost: a limit that starts anew walks over all tags each fifteenth time, some 5 ns a slot. Looking
 * for a row reads three lists of each rule.
 */
#include "configure/rows.h"

#include <errno.h>

#include "evict/evict.h"
#include "rule/denials.h"

#define TRIES 16
#define NO_ROW (-1)

static void
set_add(struct rl_row_set *set, const struct rl_refs *refs)
{
	for (unsigned i = 0; i < refs->count; i++)
		if (refs->limit[i] >= 0)
			rl_row_set_add(set, refs->limit[i]);
}

/* The limits in force, of all rules. */
static void
gather_in_force(const struct rl_segment *s, struct rl_row_set *set)
{
	struct rl_refs refs;

	*set = (struct rl_row_set){0};
	for (uint32_t rule = 0; rule < s->geometry.rules; rule++) {
		rl_rules_row_now(s, (int)rule, &refs);
		set_add(set, &refs);
	}
}

/* The rows that any list refers to. */
static void
gather_referred(const struct rl_segment *s, struct rl_row_set *set)
{
	struct rl_refs refs;

	*set = (struct rl_row_set){0};
	for (uint32_t rule = 0; rule < s->geometry.rules; rule++) {
		for (int bank = 0; bank < RL_BANKS; bank++) {
			rl_rules_refs(s, (int)rule, (enum rl_bank)bank, &refs);
			set_add(set, &refs);
		}
	}
}

static uint32_t
count(const struct rl_row_set *set)
{
	uint32_t rows = 0;

	for (size_t i = 0; i < sizeof set->bits / sizeof set->bits[0]; i++)
		rows += (uint32_t)__builtin_popcountll(set->bits[i]);
	return rows;
}

uint32_t
rl_rows_kept(const struct rl_segment *s, struct rl_row_set *set)
{
	struct rl_refs refs;

	gather_in_force(s, set);
	for (uint32_t rule = 0; rule < s->geometry.rules; rule++) {
		rl_rules_refs(s, (int)rule, RL_BANK_APP, &refs);
		set_add(set, &refs);
	}
	return count(set);
}

/* Left behind by an earlier incarnation, or its limit is not in force. */
static bool
is_left(const struct rl_segment *s, const struct rl_row_set *in_force, uint64_t tag)
{
	int row = rl_tag_limit(tag);

	if (rl_tag_status(tag) != RL_TAG_LIVE || row >= (int)s->geometry.limits)
		return false;
	return !rl_row_set_has(in_force, row) || rl_rules_have_left(s, tag);
}

void
rl_rows_forget(struct rl_rows *rows)
{
	const struct rl_segment *s = &rows->rl->segment;
	struct rl_u128 identity[RL_LIMIT_ROWS_MAX];
	struct rl_swept swept = {0};
	struct rl_row_set in_force;

	if (rows->has_forgotten)
		return;
	rows->has_forgotten = true;
	for (uint32_t row = 0; row < s->geometry.limits; row++)
		identity[row] = rl_rules_identity(s, (int)row);
	gather_in_force(s, &in_force);
	for (uint64_t i = 0; i < rl_segment_slots(s); i++) {
		rl_table_look_ahead(&s->table, i);
		if (is_left(s, &in_force, rl_atomic_load(rl_table_tag(&s->table, i))))
			rl_evict_stale(rows->rl, i, 0, &swept);
	}
	for (uint32_t row = 0; row < s->geometry.limits; row++)
		rl_rules_note_oldest(&s->limits[row], identity[row]);
}

/* So that the row may have another incarnation. */
static void
make_room(struct rl_rows *rows, int row, struct rl_u128 held)
{
	if (!rl_rules_may_renew(&rows->rl->segment.limits[row], held))
		rl_rows_forget(rows);
}

static bool
has(const struct rl_refs *refs, int row)
{
	for (unsigned i = 0; i < refs->count; i++)
		if (refs->limit[i] == row)
			return true;
	return false;
}

/* Do its counters go on? What is defined and not in force starts anew when it comes into force. */
static bool
goes_on(const struct rl_rows *rows, int rule, int row)
{
	const struct rl_segment *s = &rows->rl->segment;
	struct rl_refs refs;

	rl_rules_row_now(s, rl_rule_row(rule), &refs);
	if (has(&refs, row) || rows->is_configuring)
		return has(&refs, row);
	rl_rules_refs(s, rl_rule_row(rule), RL_BANK_APP, &refs);
	return has(&refs, row);
}

/* 0; -EAGAIN if it is another limit's by now; -EBUSY. */
static int
restart(struct rl_rows *rows, int rule, int row, struct rl_u128 identity)
{
	struct rl_u128 *word = &rows->rl->segment.limits[row].identity;

	for (int tries = 0; tries < TRIES; tries++) {
		struct rl_u128 held = rl_rules_identity(&rows->rl->segment, row);

		if (!rl_identity_is(held, identity))
			return -EAGAIN;
		rl_atomic_fence(); /* first the identity, then whether it is in force */
		if (goes_on(rows, rule, row))
			return 0;
		make_room(rows, row, held);
		if (rl_atomic_cas16(word, held, rl_identity_next(held, identity))) {
			rl_denials_clear(&rows->rl->segment.limits[row]);
			return 0;
		}
		rows->has_forgotten = false; /* another incarnation may have come and gone */
	}
	return -EBUSY;
}

static bool
is_referred(const struct rl_segment *s, int row)
{
	struct rl_row_set set;

	gather_referred(s, &set);
	return rl_row_set_has(&set, row);
}

/* See the head of the file. False: it is not to be had. */
static bool
give(struct rl_rows *rows, int row, struct rl_u128 identity)
{
	const struct rl_segment *s = &rows->rl->segment;
	struct rl_u128 *word = &s->limits[row].identity;
	struct rl_u128 held = rl_rules_identity(s, row), marked = held;

	marked.lo |= RL_IDENTITY_LEAVING;
	if (held.lo == 0 || (held.lo != marked.lo && !rl_atomic_cas16(word, held, marked)))
		return false;
	rl_atomic_fence(); /* first the mark, then the references: partner in rl_rows_hold() */
	if (is_referred(s, row))
		return false;
	make_room(rows, row, marked);
	if (!rl_atomic_cas16(word, marked, rl_identity_next(marked, identity)))
		return false;
	rl_denials_clear(&s->limits[row]);
	return true;
}

/* The bank that is not in force refers to rows for nothing. Who configures clears it himself. */
static int
drop_other_bank(const struct rl_segment *s)
{
	uint64_t g = rl_atomic_load(&s->header->generation);
	int error = 0;

	for (uint32_t row = 0; row < s->geometry.rules && error == 0; row++)
		error = rl_rules_clear_refs(s, (int)row, g % 2 == 0 ? RL_BANK_B : RL_BANK_A);
	return error;
}

/* One turn at a time, so that nothing comes to two rows. */
int
rl_rows_lock(struct rl_rows *rows)
{
	int error;

	if (rows->is_locked || rows->is_configuring)
		return 0;
	error = rl_lock_take(rows->rl, &rows->lock);
	rows->is_locked = error == 0;
	return error < 0 ? error : drop_other_bank(&rows->rl->segment);
}

/* A row that is nobody's, given to that limit; or one that it has by now. */
static int
reuse(struct rl_rows *rows, struct rl_u128 identity)
{
	const struct rl_segment *s = &rows->rl->segment;
	struct rl_row_set referred;
	int error = rl_rows_lock(rows), row;

	if (error < 0) /* -ENOENT: its name is gone, and who has it open uses it up */
		return error == -ENOENT ? RL_ELIMITS : error;
	row = rl_rules_row_of(s, identity);
	if (row >= 0)
		return row;
	gather_referred(s, &referred);
	set_add(&referred, &rows->taken);
	for (row = 0; row < (int)s->geometry.limits; row++)
		if (!rl_row_set_has(&referred, row) && give(rows, row, identity))
			return row;
	return RL_ELIMITS;
}

/* The row of one limit, as it is in force, or anew. */
static int
take(struct rl_rows *rows, int rule, struct rl_u128 identity)
{
	const struct rl_segment *s = &rows->rl->segment;
	int row = rl_rules_row_of(s, identity), error;

	if (row == NO_ROW) {
		row = rl_rules_append_row(s, identity);
		return row == NO_ROW ? reuse(rows, identity) : row;
	}
	error = restart(rows, rule, row, identity);
	return error < 0 ? error : row;
}

int
rl_rows_take(struct rl_rows *rows, int rule, const struct rl_rule *of)
{
	rows->taken.count = 0;
	for (unsigned i = 0; i <= of->more_count; i++) {
		int row = -EAGAIN;

		for (int tries = 0; row == -EAGAIN && tries < TRIES; tries++)
			row = take(rows, rule, rl_rules_identity_of(rule, of, i));
		if (row < 0)
			return row == -EAGAIN ? -EBUSY : row;
		rows->taken.limit[rows->taken.count++] = row;
	}
	return 0;
}

int
rl_rows_restart_own(struct rl_rows *rows, int rule)
{
	const struct rl_segment *s = &rows->rl->segment;
	struct rl_refs refs;
	int error = 0;

	rl_rules_refs(s, rl_rule_row(rule), RL_BANK_APP, &refs);
	for (unsigned i = 0; i < refs.count && error == 0; i++) {
		if (rl_rules_of_limit(s, refs.limit[i]) != rl_rule_row(rule))
			continue;
		error = restart(rows, rule, refs.limit[i], rl_rules_identity(s, refs.limit[i]));
		if (error == -EAGAIN) /* it has been defined anew */
			error = 0;
	}
	return error;
}

int
rl_rows_set_quota(struct rl_rows *rows, int rule, const struct rl_rule *of, enum rl_bank bank)
{
	const struct rl_segment *s = &rows->rl->segment;
	int error = 0;

	for (unsigned i = 0; i < rows->taken.count && error == 0; i++) {
		struct rl_limit l = rl_rules_limit(of, i);
		error = rl_rules_set_quota(s, rows->taken.limit[i], bank,
		                           rl_rules_identity_of(rule, of, i), &l);
	}
	return error;
}

/* Take a mark off a row that is the limit's. False if it is another's. */
static bool
rescue(const struct rl_segment *s, int row, struct rl_u128 identity)
{
	for (int tries = 0; tries < TRIES; tries++) {
		struct rl_u128 held = rl_rules_identity(s, row), free = held;

		free.lo &= ~RL_IDENTITY_LEAVING;
		if (!rl_identity_is(held, identity))
			return false;
		if (free.lo == held.lo || rl_atomic_cas16(&s->limits[row].identity, held, free))
			return true;
	}
	return false;
}

bool
rl_rows_hold(const struct rl_segment *s, int rule, const struct rl_rule *of,
             const struct rl_refs *refs)
{
	rl_atomic_fence(); /* first the references, then the marks: partner in give() */
	for (unsigned i = 0; i < refs->count; i++)
		if (!rescue(s, refs->limit[i], rl_rules_identity_of(rule, of, i)))
			return false;
	return true;
}

void
rl_rows_end(struct rl_rows *rows)
{
	if (rows->is_locked)
		rl_lock_drop(&rows->lock);
	rows->is_locked = false;
}

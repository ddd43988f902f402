/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Forgets many keys: those of a rule, or of all, or of them those that a pattern matches.
 *
 * Those of a whole rule, if nobody wants to know how many there are, by another incarnation of its
 * limits: renew.c. Else it walks over all slots, for a tag says of which limit's row its key is.
 * Each slot is retired as a sweep does it: the CAS16 of the state expects the word that was loaded.
 * A charge that was made after that load makes it fail, and the slot is judged again. Nobody waits.
 *
 *	for each slot whose tag is used
 *		tag -> its limit's row -> its rule      another's: next slot
 *		record, with a pattern                  another key: next slot; not enough kept:
 *		                                        unknown
 *		state -> retire                         changed: judge the slot again
 *
 * Nothing of another rule is forgotten, whoever sleeps between these steps: rows change hands. The
 * tag is loaded first, then whose its limit's row is, then whose the rule's row is. Incarnations of
 * both only grow. So when the tag was loaded, the limit's row was of this rule, or of one before it
 * in these rows, whose keys nobody looks for any more. And what is retired has counted under that
 * tag: a key of a later owner is in a later life of the slot, with another generation.
 *
 * Each key that was there when the call began is forgotten at some instant of the call. A key that
 * the walk does not meet, for it came to a slot behind it, has left its former slot meanwhile: at
 * that instant it had nothing.
 *
 * A slot that was left behind by an earlier incarnation is freed on the way, and is no key. So when
 * a walk without a pattern is over, nothing older is there than what was in force when it began.
 *
 * Cost: some 5 ns for each slot, and some 50 ns for each that is retired. With a pattern, some 70
 * ns for each key of the rule, to read its record and hash it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#include "move/move.h"
#include "overflow/sets.h"
#include "reset/renew.h"
#include "reset/reset.h"
#include "rule/pattern.h"
#include "segment/record.h"
#include "segment/stats.h"
#include "segment/view.h"

/* The longest text of an address or a network. */
#define ADDRESS_TEXT_MAX (INET6_ADDRSTRLEN - 1 + sizeof "/128" - 1)

struct reset {
	struct rl *rl;
	int rule;                         /* or RL_ANY_RULE */
	const struct rl_pattern *pattern; /* NULL: every key */
	struct rl_address network;        /* with RL_MATCH_NETWORK, its */
	unsigned prefix;                  /* bits */
	struct rl_reset_counts counts;
	int error; /* -EBUSY: some slot kept changing */
};

enum judgement {
	MEANT,
	ANOTHER,
	UNKNOWN, /* not all that is needed of its name is kept */
};

static bool
is_of_rule(const struct reset *r, int limit)
{
	const struct rl_segment *s = &r->rl->segment;

	if (r->rule == RL_ANY_RULE)
		return true;
	if (rl_rules_of_limit(s, limit) != rl_rule_row(r->rule))
		return false;
	rl_atomic_fence(); /* first whose the limit's row is, then whose the rule's */
	return rl_rules_has(s, r->rule);
}

static enum judgement
judge_beginning(const struct rl_pattern *p, const struct rl_record_copy *copy)
{
	size_t known = p->key_len < copy->key_kept ? p->key_len : copy->key_kept;

	if (copy->key_len < p->key_len || memcmp(copy->bytes, p->key, known) != 0)
		return ANOTHER;
	return known == p->key_len ? MEANT : UNKNOWN;
}

/* An address, or a network as limits with prefixes count it. */
static enum judgement
judge_address(const struct reset *r, const struct rl_record_copy *copy)
{
	struct rl_address address;
	unsigned prefix;

	if (copy->key_len > ADDRESS_TEXT_MAX)
		return ANOTHER;
	if (copy->key_kept < copy->key_len)
		return UNKNOWN;
	return rl_network_parse(copy->bytes, copy->key_len, &address, &prefix) &&
	                       prefix >= r->prefix &&
	                       rl_network_has(&r->network, r->prefix, &address)
	               ? MEANT
	               : ANOTHER;
}

static enum judgement
judge(const struct reset *r, struct rl_slot slot)
{
	struct rl_record_copy copy;

	if (!r->pattern)
		return MEANT;
	if (!rl_record_read(&r->rl->segment, slot, &copy))
		return UNKNOWN;
	return r->pattern->match == RL_MATCH_NETWORK ? judge_address(r, &copy)
	                                             : judge_beginning(r->pattern, &copy);
}

static bool
counts_something(const struct rl_segment *s, struct rl_slot slot)
{
	struct rl_view v;

	return rl_view_load(s, slot, &v) == RL_SEEN && !v.is_zero;
}

static bool
is_left(const struct rl_segment *s, struct rl_slot slot)
{
	return rl_tag_limit(slot.tag) < (int)s->geometry.limits && rl_rules_have_left(s, slot.tag);
}

static int
forget(struct reset *r, struct rl_slot slot, bool is_key)
{
	const struct rl_segment *s = &r->rl->segment;
	int row = rl_rules_of_limit(s, rl_tag_limit(slot.tag)), done = rl_reset_slot(r->rl, slot);

	if (done <= 0 || !is_key)
		return done;
	r->counts.forgotten++;
	if (row >= 0)
		rl_stats_add(s, row, RL_COUNT_reset);
	return done;
}

/* One try at a slot: 1 forgotten, 0 there is nothing to forget, -1 look again. */
static int
try_slot(struct reset *r, uint64_t index)
{
	const struct rl_segment *s = &r->rl->segment;
	struct rl_slot slot = {.index = index,
	                       .tag = rl_atomic_load(rl_table_tag(&s->table, index))};

	if (rl_tag_is_leaving(slot.tag)) { /* a LEAVING slot may become LIVE again: see table.c */
		rl_table_free(&s->table, slot);
		return -1;
	}
	if (rl_tag_status(slot.tag) != RL_TAG_LIVE || !is_of_rule(r, rl_tag_limit(slot.tag)))
		return 0;
	if (is_left(s, slot))
		return r->pattern ? 0 : forget(r, slot, false);
	switch (judge(r, slot)) {
	case MEANT:
		return forget(r, slot, true);
	case UNKNOWN:
		r->counts.unknown += counts_something(s, slot);
		break;
	case ANOTHER:
		break;
	}
	return 0;
}

static void
reset_slot(struct reset *r, uint64_t index)
{
	int done = -1;

	for (int tries = 0; tries < RL_RESET_TRIES && done < 0; tries++)
		done = try_slot(r, index);
	if (done < 0)
		r->error = -EBUSY;
}

/*
 * In the table before, a key that is on its way comes first: then it is met in the table in force.
 */
static void
reset_table(struct reset *r, struct rl *rl)
{
	const struct rl_table *t = &rl->segment.table;
	struct rl *here = r->rl;

	r->rl = rl;
	for (uint64_t i = 0; i < rl_segment_slots(&rl->segment); i++) {
		rl_table_look_ahead(t, i);
		if (!rl_tag_is_free(rl_atomic_load(rl_table_tag(t, i))) &&
		    !(rl != here && rl_move_is_on_its_way(here, rl, i)))
			reset_slot(r, i);
	}
	r->rl = here;
}

static void
reset_slots(struct reset *r)
{
	struct rl *before = rl_before(r->rl);

	if (before)
		reset_table(r, before);
	reset_table(r, r->rl);
}

/* All of a rule's, or of every rule's. */
static void
reset_whole(struct reset *r)
{
	const struct rl_segment *s = &r->rl->segment;
	struct rl_u128 identity[RL_LIMIT_ROWS_MAX];

	for (uint32_t row = 0; row < s->geometry.limits; row++)
		identity[row] = rl_rules_identity(s, (int)row);
	reset_slots(r);
	for (uint32_t row = 0; row < s->geometry.limits && r->error == 0; row++)
		if (r->rule == RL_ANY_RULE ||
		    rl_rules_of_identity(s, identity[row].lo) == rl_rule_row(r->rule)) {
			rl_rules_note_oldest(&s->limits[row], identity[row]);
			r->error = rl_sets_forget(s, (int)row);
		}
}

static bool
renew(const struct reset *r)
{
	const struct rl_segment *s = &r->rl->segment;
	bool is_done = true;

	if (r->rule != RL_ANY_RULE)
		return rl_renew_rule(r->rl, r->rule);
	for (int row = 0; row < (int)s->geometry.rules && is_done; row++) {
		int rule = rl_rules_handle(s, row);

		is_done = !rl_handle_has(r->rl, rule) || rl_renew_rule(r->rl, rule);
	}
	return is_done;
}

static int
reset_key(struct reset *r, int rule)
{
	return rl_reset_key(r->rl, rule, r->pattern->key, r->pattern->key_len,
	                    &r->counts.forgotten);
}

/* Under every rule. One that has just gone has nothing; nor has one that counts addresses alone. */
static void
reset_key_everywhere(struct reset *r)
{
	const struct rl_segment *s = &r->rl->segment;

	for (int row = 0; row < (int)s->geometry.rules; row++) {
		int rule = rl_rules_handle(s, row);
		int error = rl_handle_has(r->rl, rule) ? reset_key(r, rule) : 0;

		if (error < 0 && error != -EINVAL && error != RL_EADDRESS)
			r->error = error;
	}
}

static void
run(struct reset *r, bool is_counted)
{
	if (!r->pattern) {
		if (is_counted || !renew(r))
			reset_whole(r);
	} else if (r->pattern->match != RL_MATCH_KEY)
		reset_slots(r);
	else if (r->rule == RL_ANY_RULE)
		reset_key_everywhere(r);
	else
		r->error = reset_key(r, r->rule);
}

static int
check(struct reset *r)
{
	struct rl_normal_pattern normal;
	int error = r->pattern ? rl_normal_pattern_of(r->pattern, &normal) : 0;

	if (error < 0)
		return error;
	if (r->rule != RL_ANY_RULE && !rl_handle_has(r->rl, r->rule))
		return -EINVAL;
	if (r->pattern && r->pattern->match == RL_MATCH_NETWORK)
		rl_network_parse(r->pattern->key, r->pattern->key_len, &r->network, &r->prefix);
	return r->rl->segment.is_writable ? 0 : -EROFS;
}

int
rl_reset_matching(struct rl *rl, int rule, const struct rl_pattern *pattern,
                  struct rl_reset_counts *counts)
{
	struct reset r = {.rl = rl_here(rl), .rule = rule, .pattern = pattern};

	r.error = check(&r);
	if (r.error == 0)
		run(&r, counts != NULL);
	if (counts)
		*counts = r.counts;
	return r.error;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_HISTORY_H
#define RL_HISTORY_H

/*
 * What a rule has allowed and denied, and of that by bans and for a full table, by minutes and
 * quarters of an hour. Its counters only ever
 * grow; so when a minute begins, its row notes how they stand, and a minute is the difference of
 * two notes:
 *
 *	minute      12:01     12:02     12:03     12:04 (now)
 *	noted        40        55         -        55          the counters now: 60
 *	in it        15         0         0         5
 *
 * The first decision of a minute under the rule notes it, before it is counted, or a sweep. A
 * minute that is not noted had no decision: so its note would have been as that of the next one
 * that there is.
 *
 * A note is one pair of words, changed by one CAS16: of several first decisions one notes. Before
 * it a word of causes is changed, from what it was before the pair was looked at: so it is of no
 * earlier minute, and of other decisions than the pair by those in between at most. Each process
 * looks at the segment for that once in a minute and rule: `due_ns` of its own memory says when.
 */

#include "rule/policy.h"
#include "shared/layout_people.h"

#define RL_MINUTE_NS (60 * RL_SECOND)
#define RL_QUARTER_NS (15 * RL_MINUTE_NS)

/* Note how the counters of the rule in that row stand, if that was not done in this minute. */
void rl_history_note(const struct rl_segment *s, int row, uint64_t now_ns);

/* The same of all rules, once in a minute of this handle: for who sweeps. */
void rl_history_sweep(struct rl *rl, uint64_t now_ns);

/* Forget it: the row becomes another rule's. */
void rl_history_clear(const struct rl_segment *s, int row);

/* The same as rl_history_note(), once in a minute of this process. The rule has a row. */
void rl_history_begin(struct rl *rl, int rule, uint64_t now_ns);

static inline void
rl_history_look(struct rl *rl, int rule, uint64_t now_ns)
{
	if (now_ns >= rl_atomic_own_load(&rl->policies[rl_rule_row(rule)].due_ns))
		rl_history_begin(rl, rule, now_ns);
}

/* The number of a note, and what was allowed. */
static inline uint64_t
rl_history_number(struct rl_u128 note)
{
	return note.lo >> RL_HISTORY_COUNT_BITS;
}

/* How a rule's counters stand. */
struct rl_history_counts {
	struct rl_u128 counts; /* what it allowed, and denied */
	uint64_t causes;       /* as a word of causes */
};

struct rl_history_counts rl_history_now(const struct rl_segment *s, int row);

#define RL_HISTORY_NUMBER_MASK ((UINT64_C(1) << (64 - RL_HISTORY_COUNT_BITS)) - 1)

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_RULES_H
#define RL_RULES_H

/*
 * Rules and limits in the segment: two lists that grow without a lock.
 *
 * A rule is a name; its row is claimed by one CAS of the name's keyed hash from zero. A limit is
 * a rule and a shape; its row is claimed by one CAS16 of both from zero. A claimer walks the rows
 * from the first: its own identity is the row; an empty one is where it appends; whoever loses
 * that CAS looks at the same row again. As all append at the first empty row, no identity can
 * stand twice. What a killed claimer left undone, the name for people, the next completes.
 * When no row was never used, those that nothing refers to are used again: see rows.c for limits,
 * names.c for rules. So a rule's handle has its row's index and incarnation.
 *
 * Which limits a rule has, and how much each admits, are words of their own: see enum rl_bank.
 */

#include "rule/compiled.h"
#include "rule/refs.h"

static inline bool
rl_limit_has_prefix(const struct rl_limit *l)
{
	return l->prefix_v4 > 0 || l->prefix_v6 > 0;
}

/* 0 if the rule's limits can be, else what rl_define() says; *limit is the one at fault. */
int rl_rules_check(const struct rl_segment *s, const struct rl_rule *rule, size_t *limit);

/* The i-th limit of a rule that was checked, 0 <= i <= more_count, complete. */
struct rl_limit rl_rules_limit(const struct rl_rule *rule, size_t i);

/* What the row of a checked rule's i-th limit holds, in incarnation 0. Any handle of its row. */
struct rl_u128 rl_rules_identity_of(int id, const struct rl_rule *rule, size_t i);

/* What a row holds. */
struct rl_u128 rl_rules_identity(const struct rl_segment *s, int limit);

/* Is the tag, of a row that there is, of another incarnation than its limit's now? */
static inline bool
rl_rules_have_left(const struct rl_segment *s, uint64_t tag)
{
	int limit = rl_tag_limit(tag);

	return (tag & RL_TAG_OWNER_MASK) !=
	       rl_tag_owner(limit, rl_identity_incarnation(rl_rules_identity(s, limit)));
}

/* The row of a limit, or -1. The second appends it; -1 if no row was never used. */
int rl_rules_row_of(const struct rl_segment *s, struct rl_u128 identity);
int rl_rules_append_row(const struct rl_segment *s, struct rl_u128 identity);

/* The rows of a checked rule's limits, -1 for one that has none. */
void rl_rules_limits(const struct rl_segment *s, int id, const struct rl_rule *rule,
                     struct rl_refs *refs);

/* Is it a row that nothing was counted under? Read-only handles leave it so. */
static inline bool
rl_rules_is_new(const struct rl_limit_row *row)
{
	return (rl_atomic_load(&row->identity.lo) & RL_IDENTITY_NEW) != 0;
}

/*
 * Before anything is counted under a limit: take the mark of a new one off its row, if what the
 * rule has under generation `g` is that list still. False: look again.
 */
bool rl_rules_settle(const struct rl_segment *s, int rule, uint64_t g, struct rl_u128 list,
                     struct rl_limit_row *row);

/* How much a limit admits, in a bank. */
static inline void
rl_rules_quota(const struct rl_limit_row *row, enum rl_bank bank, struct rl_quota *quota)
{
	struct rl_u128 word = {.lo = rl_atomic_load(&row->quota[bank].lo)};

	word.hi = rl_atomic_load(&row->quota[bank].hi);
	rl_quota_unpack(word, quota);
	if (rl_atomic_load_relaxed(&row->identity.lo) & RL_IDENTITY_CLUSTERED)
		rl_quota_share(word, rl_atomic_load_relaxed(&row->waits) >> RL_ROW_WAIT_BITS * bank,
		               quota);
}

/*
 * Has a request under the limit, or under another that had its row, ever had a capacity of its own?
 * Then a walk has to read the tier of each of its keys. It is noted before the tier is kept, and
 * never taken back.
 */
static inline bool
rl_rules_have_tiers(const struct rl_limit_row *row)
{
	return rl_atomic_load_relaxed(&row->has_tiers) != 0;
}

static inline void
rl_rules_note_tiers(struct rl_limit_row *row)
{
	if (!rl_rules_have_tiers(row))
		rl_atomic_store_relaxed(&row->has_tiers, 1);
}

/* The word of a quota that replaces `held`, in a row of that identity. */
struct rl_u128 rl_rules_quota_after(struct rl_u128 held, struct rl_u128 identity,
                                    const struct rl_limit *complete);

/* For how long callers wait for a share of a limit, in that bank: before its quota is set. */
void rl_rules_set_wait(const struct rl_segment *s, int limit, enum rl_bank bank,
                       const struct rl_limit *complete);

/* 0; -EAGAIN if the row is not that limit's; -EBUSY. */
int rl_rules_set_quota(const struct rl_segment *s, int limit, enum rl_bank bank,
                       struct rl_u128 identity, const struct rl_limit *complete);

/* Does a limit admit that much, in a bank? */
bool rl_rules_has_quota(const struct rl_segment *s, int limit, enum rl_bank bank,
                        const struct rl_limit *complete);

/* The row of the rule that an identity's low half is of, or -1 if that is empty or damaged. */
int rl_rules_of_identity(const struct rl_segment *s, uint64_t lo);

/* The same of the limit in a row. */
int rl_rules_of_limit(const struct rl_segment *s, int limit);

/*
 * May the limit in that row have another incarnation? Not if its keys' tags are then as those of
 * an old one may be, which is in the table still: RL_TAG_INCARNATIONS are told apart.
 */
bool rl_rules_may_renew(const struct rl_limit_row *row, struct rl_u128 identity);

/* Note that no key of an incarnation before that of `identity` is in the table any more. */
void rl_rules_note_oldest(struct rl_limit_row *row, struct rl_u128 identity);

#endif

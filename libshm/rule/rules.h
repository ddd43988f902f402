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
 * names.c for rules. So a rule's handle has its row's index and incarnation. A parameter that is
 * called `row` is an index alone: of whatever rule is there now.
 *
 * Which limits a rule has, and how much each admits, are words of their own: see enum rl_bank.
 */

#include "rl.h"
#include "rule/address.h"
#include "rule/shape.h"
#include "segment/segment.h"

/* A limit as this process uses it: checked once. */
struct rl_compiled {
	struct rl_limiter limiter;
	struct rl_limiter cell; /* of the cells that count its keys without a slot, if */
	bool has_cells;         /* it has any */
	struct rl_limit_row *row;
	uint64_t mix;                /* makes a key's hash its own: see rl_rules_mix() */
	struct rl_compiled *earlier; /* of the same row */
	uint64_t identity;           /* the low half, without marks */
	uint64_t owner;              /* of its keys' tags: rl_tag_owner() */
	int id;                      /* the row's index */
	int rule;                    /* the index of its rule's */
	uint8_t prefix_v4;           /* 0: that family is not counted */
	uint8_t prefix_v6;
	bool has_prefix;
};

/* Is the row still the limit's, in this incarnation? */
static inline bool
rl_compiled_holds(const struct rl_compiled *limit)
{
	uint64_t identity = rl_atomic_load(&limit->row->identity.lo);

	return (identity & ~RL_IDENTITY_MARKS) == limit->identity;
}

/* Is the tag of a key that the limit counts, in this incarnation? */
static inline bool
rl_compiled_owns(const struct rl_compiled *limit, uint64_t tag)
{
	return (tag & RL_TAG_OWNER_MASK) == limit->owner;
}

/* How many bits of an address the limit counts by; 0: it does not count it. */
static inline unsigned
rl_compiled_prefix(const struct rl_compiled *limit, const struct rl_address *address)
{
	return address->bits == 32 ? limit->prefix_v4 : limit->prefix_v6;
}

static inline int
rl_rule_row(int handle)
{
	return handle & RL_RULE_INDEX_MASK;
}

static inline uint64_t
rl_rule_incarnation(int handle)
{
	return (uint64_t)(unsigned)handle >> RL_RULE_INDEX_BITS;
}

/* What lists of the rule's limits have above the references. */
static inline uint64_t
rl_rule_refs_tag(int handle)
{
	return rl_rule_incarnation(handle) << RL_REFS_INCARNATION_SHIFT;
}

/* Are they the flags of the rule's row, while it is the rule's? */
static inline bool
rl_rule_has_flags(int handle, uint64_t flags)
{
	return rl_row_incarnation(flags) == rl_rule_incarnation(handle);
}

static inline int
rl_rule_handle(int row, uint64_t flags)
{
	return row | (int)(rl_row_incarnation(flags) << RL_RULE_INDEX_BITS);
}

/* References to a rule's limits, in its order. */
struct rl_refs {
	unsigned count;
	int limit[RL_LIMITS_MAX];
};

/* Take the first off packed references; -1: there is none, whatever the bytes say. */
static inline int
rl_refs_take(const struct rl_segment *s, struct rl_u128 *packed)
{
	uint64_t ref = packed->lo & RL_REF_MASK, high = packed->hi & RL_REFS_HIGH_MASK;

	packed->lo = packed->lo >> RL_REF_BITS | (high & RL_REF_MASK)
	                                                 << (RL_REFS_LOW_BITS - RL_REF_BITS);
	packed->hi = high >> RL_REF_BITS;
	return ref <= s->geometry.limits ? (int)ref - 1 : -1;
}

/* The hash that identifies a name. Never 0. */
uint64_t rl_rules_name_hash(const struct rl_segment *s, const char *name);

/* The rule of that name, appended if need be, or -EINVAL, RL_ERULES. See rl_names_take(). */
int rl_rules_append(const struct rl_segment *s, const char *name);

/* The rule of that name, or -ENOENT. It may have no limits. */
int rl_rules_seek(const struct rl_segment *s, const char *name);

/* Store the name, for people, of the rule that has the row. */
void rl_rules_write_name(const struct rl_segment *s, int row, const char *name);

static inline const struct rl_row *
rl_rules_at(const struct rl_segment *s, int rule)
{
	return &s->rows[rl_rule_row(rule)];
}

/* Was the rule there once? Its row may be another's by now. */
static inline bool
rl_rules_had(const struct rl_segment *s, int rule)
{
	return rule >= 0 && (uint32_t)rl_rule_row(rule) < s->geometry.rules &&
	       rl_atomic_load_relaxed(&rl_rules_at(s, rule)->name_hash) != 0;
}

/* Is it there? */
static inline bool
rl_rules_has(const struct rl_segment *s, int rule)
{
	return rl_rules_had(s, rule) &&
	       rl_rule_has_flags(rule, rl_atomic_load(&rl_rules_at(s, rule)->flags));
}

/* The rule that has the row now. */
static inline int
rl_rules_handle(const struct rl_segment *s, int row)
{
	return rl_rule_handle(row, rl_atomic_load(&s->rows[row].flags));
}

/* Change flags of a rule that is there still. 0, -EAGAIN if it is not, -EBUSY. */
int rl_rules_set_flags(const struct rl_segment *s, int rule, uint64_t flags, bool is_set);

/* The rule's name, or "" when its record is damaged. */
void rl_rules_name(const struct rl_segment *s, int rule, char name[static RL_NAME_MAX + 1]);

bool rl_rules_name_is_valid(const char *name);
bool rl_rules_name_has(char byte); /* may it be in one? */

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

/* What the rule in a row has in one of the banks. */
void rl_rules_refs(const struct rl_segment *s, int row, enum rl_bank bank, struct rl_refs *refs);

/* 0; -EAGAIN if the row is another rule's by now; -EBUSY. */
int rl_rules_set_refs(const struct rl_segment *s, int rule, enum rl_bank bank,
                      const struct rl_refs *refs);

/* Whatever stands there. 0 or -EBUSY. */
int rl_rules_clear_refs(const struct rl_segment *s, int row, enum rl_bank bank);
struct rl_u128 rl_refs_pack(const struct rl_refs *refs);

/* Is it a row that nothing was counted under? Read-only handles leave it so. */
static inline bool
rl_rules_is_new(const struct rl_limit_row *row)
{
	return (rl_atomic_load(&row->identity.lo) & RL_IDENTITY_NEW) != 0;
}

/* Does the list refer to a limit, and did the rule write it, and none that had its row before? */
static inline bool
rl_refs_are_of(const struct rl_segment *s, int rule, struct rl_u128 packed)
{
	return (packed.hi & ~RL_REFS_HIGH_MASK) == rl_rule_refs_tag(rule) &&
	       rl_refs_take(s, &packed) >= 0;
}

/*
 * What a rule has under generation `g` of the configuration, packed, and where that stands.
 * RL_BANKS: nowhere.
 */
static inline enum rl_bank
rl_rules_in_force(const struct rl_segment *s, int rule, uint64_t g, struct rl_u128 *packed)
{
	enum rl_bank bank = g % 2 == 0 ? RL_BANK_A : RL_BANK_B;
	const struct rl_u128 *limits = rl_rules_at(s, rule)->limits;

	/* Half of an old list and half of a new one may lack a limit that both have. */
	rl_atomic_load16(&limits[bank], packed);
	if (rl_refs_are_of(s, rule, *packed))
		return bank;
	rl_atomic_load16(&limits[RL_BANK_APP], packed);
	if (rl_refs_are_of(s, rule, *packed))
		return RL_BANK_APP;
	*packed = (struct rl_u128){0};
	return RL_BANKS;
}

/* The same as a list. */
enum rl_bank rl_rules_list(const struct rl_segment *s, int rule, uint64_t g, struct rl_refs *refs);

/* The same for the generation that is in force now. */
enum rl_bank rl_rules_now(const struct rl_segment *s, int rule, struct rl_refs *refs);

/* The same of whatever rule has the row now. */
enum rl_bank rl_rules_row_now(const struct rl_segment *s, int row, struct rl_refs *refs);

/*
 * Before anything is counted under a limit: take the mark of a new one off its row, if what the rule has
 * under generation `g` is that list still. False: look again.
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
		rl_quota_lend(word, quota);
}

/*
 * Has a request under the limit, or under another that had its row, ever had a capacity of its own? Then a
 * walk has to read the tier of each of its keys. It is noted before the tier is kept, and never taken back.
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
 * What a limit mixes into the hashes of its keys, or did so many incarnations of its row ago: keyed, of
 * its id and incarnation. So a key is hashed once for all of its limits, and still lies elsewhere
 * under each; and keys of another incarnation are other keys.
 */
uint64_t rl_rules_mix(const struct rl_segment *s, const struct rl_compiled *limit, uint64_t ago);

/*
 * May the limit in that row have another incarnation? Not if its keys' tags are then as those of
 * an old one may be, which is in the table still: RL_TAG_INCARNATIONS are told apart.
 */
bool rl_rules_may_renew(const struct rl_limit_row *row, struct rl_u128 identity);

/* Note that no key of an incarnation before that of `identity` is in the table any more. */
void rl_rules_note_oldest(struct rl_limit_row *row, struct rl_u128 identity);

/* False if there is no such limit, or its row is damaged. */
bool rl_rules_compile(const struct rl_segment *s, int limit, struct rl_compiled *compiled);

#endif

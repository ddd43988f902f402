/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_REFS_H
#define RL_REFS_H

/* Which limits a rule has: lists of references to their rows, one in each enum rl_bank. */

#include "rule/rule_row.h"

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

/* What the rule in a row has in one of the banks. */
void rl_rules_refs(const struct rl_segment *s, int row, enum rl_bank bank, struct rl_refs *refs);

/* 0; -EAGAIN if the row is another rule's by now; -EBUSY. */
int rl_rules_set_refs(const struct rl_segment *s, int rule, enum rl_bank bank,
                      const struct rl_refs *refs);

/* Whatever stands there. 0 or -EBUSY. */
int rl_rules_clear_refs(const struct rl_segment *s, int row, enum rl_bank bank);
struct rl_u128 rl_refs_pack(const struct rl_refs *refs);

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

#endif

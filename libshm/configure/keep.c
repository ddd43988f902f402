/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The first definition of a rule stays (RL_DEFINE_KEEP). A definition is a list of limits and the
 * quota of each: several words, and each definer of the same shapes writes the same quotas. So a
 * definer claims the list first. A claim is a number where a list has none; nobody takes it for a
 * list.
 *
 *	no list --claim--> claim(n) --list--> the list, that stays
 *	                     |  ^
 *	                     +--+ another definer: claim(n + 1)
 *
 * Each arrow is one CAS16 of the list. Between the two a definer writes the quotas. A claim that a
 * killed definer has left, or one that takes long, is replaced by the next definer; whose claim was
 * replaced cannot write the list, and looks again.
 *
 * What he still does is one late CAS16 of a quota. It does no harm:
 *
 * 1. A definer loads a quota, and then sees that the claim is his still (a fence stands between).
 * 2. So who claims later writes that quota after this look: each of these writes adds one to the
 *    quota's serial, even if it admits the same.
 * 3. The late CAS16 expects the quota as it was before the later definer wrote it, and fails.
 *
 * So when a list comes into force its quotas are its definer's. A definer without the flag claims,
 * too, where there is no list; a list it replaces at any time, and keeps the serial. A serial comes
 * back after 128 claims, a number of a claim after 2^24 of them; after a list it begins with bits
 * of the clock.
 */
#include "configure/keep.h"

#include <errno.h>

#define TRIES 16
#define PATIENCE 256 /* pauses before a claim is replaced: some 10 us */

static struct rl_u128 *
list_of(const struct rl_segment *s, int rule)
{
	return &s->rows[rl_rule_row(rule)].limits[RL_BANK_APP];
}

/* A list that a killed definer has left may refer to rows of others: that is no definition. */
static bool
is_whole(const struct rl_segment *s, int rule, struct rl_u128 packed)
{
	int limit;

	if (!rl_refs_are_of(s, rule, packed))
		return false;
	while ((limit = rl_refs_take(s, &packed)) >= 0)
		if (rl_rules_of_limit(s, limit) != rl_rule_row(rule))
			return false;
	return true;
}

enum rl_defined
rl_keep_compare(const struct rl_segment *s, int rule, const struct rl_rule *of)
{
	struct rl_u128 packed;

	rl_atomic_load16(list_of(s, rule), &packed);
	if (!is_whole(s, rule, packed))
		return RL_DEFINED_NOT;
	for (size_t i = 0; i <= of->more_count; i++) {
		struct rl_limit complete = rl_rules_limit(of, i);
		int limit = rl_refs_take(s, &packed);

		if (limit < 0 ||
		    !rl_identity_is(rl_rules_identity(s, limit),
		                    rl_rules_identity_of(rule, of, i)) ||
		    !rl_rules_has_quota(s, limit, RL_BANK_APP, &complete))
			return RL_DEFINED_OTHER;
	}
	return rl_refs_take(s, &packed) < 0 ? RL_DEFINED_SO : RL_DEFINED_OTHER;
}

static uint64_t
claim_number(struct rl_u128 list)
{
	return list.hi >> RL_REFS_CLAIM_SHIFT & RL_REFS_CLAIM_MASK;
}

/* The claim that replaces `held`. No claim has the number 0. */
static struct rl_u128
next_claim(const struct rl_segment *s, int rule, struct rl_u128 held)
{
	uint64_t number = claim_number(held);

	number = (number > 0 ? number + 1 : rl_segment_now(s)) & RL_REFS_CLAIM_MASK;
	return (struct rl_u128){.hi = rl_rule_refs_tag(rule) | (number > 0 ? number : 1)
	                                                               << RL_REFS_CLAIM_SHIFT};
}

/* The list, once whoever has claimed it had a moment to finish. */
static struct rl_u128
load_settled(const struct rl_u128 *list)
{
	struct rl_u128 held;

	rl_atomic_load16(list, &held);
	if (claim_number(held) == 0)
		return held;
	for (int i = 0; i < PATIENCE; i++)
		rl_atomic_pause();
	rl_atomic_load16(list, &held);
	return held;
}

static int
claim(const struct rl_segment *s, int rule, struct rl_u128 *mine)
{
	struct rl_u128 held = load_settled(list_of(s, rule));

	rl_atomic_fence(); /* first the list, then whose the row is */
	if (!rl_rules_has(s, rule) || is_whole(s, rule, held))
		return -EAGAIN;
	*mine = next_claim(s, rule, held);
	return rl_atomic_cas16(list_of(s, rule), held, *mine) ? 0 : -EAGAIN;
}

static bool
is_claimed(const struct rl_segment *s, int rule, struct rl_u128 mine)
{
	struct rl_u128 held;

	rl_atomic_load16(list_of(s, rule), &held);
	return rl_u128_equal(held, mine);
}

/* See the head of the file. */
static int
set_quota(const struct rl_segment *s, int rule, struct rl_u128 mine, int limit,
          struct rl_u128 identity, const struct rl_limit *complete)
{
	struct rl_u128 *word = &s->limits[limit].quota[RL_BANK_APP], held, now, next;

	for (int tries = 0; tries < TRIES; tries++) {
		rl_atomic_load16(word, &held);
		now = rl_rules_identity(s, limit);
		rl_atomic_fence(); /* first the quota, then the claim */
		if (!rl_identity_is(now, identity) || !is_claimed(s, rule, mine))
			return -EAGAIN;
		next = rl_rules_quota_after(held, now, complete);
		rl_rules_set_wait(s, limit, RL_BANK_APP, complete);
		next.lo += UINT64_C(1) << RL_QUOTA_SERIAL_SHIFT;
		if (rl_atomic_cas16(word, held, next))
			return 0;
	}
	return -EAGAIN;
}

int
rl_keep_define(struct rl_rows *rows, int rule, const struct rl_rule *of)
{
	const struct rl_segment *s = &rows->rl->segment;
	struct rl_u128 mine, list = rl_refs_pack(&rows->taken);
	int error = claim(s, rule, &mine);

	for (unsigned i = 0; i < rows->taken.count && error == 0; i++) {
		struct rl_limit complete = rl_rules_limit(of, i);

		error = set_quota(s, rule, mine, rows->taken.limit[i],
		                  rl_rules_identity_of(rule, of, i), &complete);
	}
	if (error < 0)
		return error;
	list.hi |= rl_rule_refs_tag(rule);
	return rl_atomic_cas16(list_of(s, rule), mine, list) ? 0 : -EAGAIN;
}

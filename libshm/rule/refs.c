/* SPDX-License-Identifier: BSD-2-Clause */
#include "rule/refs.h"

#include <errno.h>

struct rl_u128
rl_refs_pack(const struct rl_refs *refs)
{
	struct rl_u128 word = {0};

	for (unsigned i = 0; i < refs->count; i++) {
		uint64_t ref = (uint64_t)(refs->limit[i] + 1) << RL_REF_BITS * (i % RL_REFS_LOW);
		if (i < RL_REFS_LOW)
			word.lo |= ref;
		else
			word.hi |= ref;
	}
	return word;
}

static void
unpack_refs(const struct rl_segment *s, struct rl_u128 packed, struct rl_refs *refs)
{
	int limit;

	refs->count = 0;
	while (refs->count < RL_LIMITS_MAX && (limit = rl_refs_take(s, &packed)) >= 0)
		refs->limit[refs->count++] = limit;
}

void
rl_rules_refs(const struct rl_segment *s, int row, enum rl_bank bank, struct rl_refs *refs)
{
	struct rl_u128 packed;

	rl_atomic_load16(&s->rows[row].limits[bank], &packed);
	rl_atomic_fence(); /* whose the row is then: not before the list */
	refs->count = 0;
	if (rl_refs_are_of(s, rl_rules_handle(s, row), packed))
		unpack_refs(s, packed, refs);
}

enum rl_bank
rl_rules_list(const struct rl_segment *s, int rule, uint64_t g, struct rl_refs *refs)
{
	struct rl_u128 packed;
	enum rl_bank bank = rl_rules_in_force(s, rule, g, &packed);

	unpack_refs(s, packed, refs);
	return bank;
}

enum rl_bank
rl_rules_now(const struct rl_segment *s, int rule, struct rl_refs *refs)
{
	enum rl_bank bank;
	uint64_t g, again = rl_atomic_load(&s->header->generation);
	int tries = 0;

	do {
		g = again;
		bank = rl_rules_list(s, rule, g, refs);
		rl_atomic_fence(); /* as in rl_policy_load() */
		again = rl_atomic_load(&s->header->generation);
	} while (again != g && ++tries < RL_RULES_TRIES);
	return bank;
}

/* A row that is being given away has empty lists for a moment; the rule has not. */
enum rl_bank
rl_rules_row_now(const struct rl_segment *s, int row, struct rl_refs *refs)
{
	int rule, again = rl_rules_handle(s, row), tries = 0;
	enum rl_bank bank;

	do {
		rule = again;
		bank = rl_rules_now(s, rule, refs);
		rl_atomic_fence(); /* as in rl_rules_refs() */
		again = rl_rules_handle(s, row);
	} while (again != rule && ++tries < RL_RULES_TRIES);
	return bank;
}

int
rl_rules_set_refs(const struct rl_segment *s, int rule, enum rl_bank bank,
                  const struct rl_refs *refs)
{
	struct rl_u128 *word = &s->rows[rl_rule_row(rule)].limits[bank];
	struct rl_u128 held, next = rl_refs_pack(refs);

	next.hi |= rl_rule_refs_tag(rule);
	for (int tries = 0; tries < RL_RULES_TRIES; tries++) {
		rl_atomic_load16(word, &held);
		rl_atomic_fence(); /* first the list, then whose the row is */
		if (!rl_rules_has(s, rule))
			return -EAGAIN;
		if (rl_u128_equal(held, next) || rl_atomic_cas16(word, held, next))
			return 0;
		rl_atomic_pause();
	}
	return -EBUSY;
}

int
rl_rules_clear_refs(const struct rl_segment *s, int row, enum rl_bank bank)
{
	struct rl_u128 *word = &s->rows[row].limits[bank], held, none = {0};

	for (int tries = 0; tries < RL_RULES_TRIES; tries++) {
		rl_atomic_load16(word, &held);
		if (rl_u128_equal(held, none) || rl_atomic_cas16(word, held, none))
			return 0;
		rl_atomic_pause();
	}
	return -EBUSY;
}

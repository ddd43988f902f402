/* SPDX-License-Identifier: BSD-2-Clause */
/* What stands for a pattern, of all that a key has, and for a limit of it. */
#include "rule/ban_word.h"

#define PROBE_STEPS 3 /* to read an entry: see rl_atomic_load16() */

struct rl_u128 *
rl_ban_find_standing(const struct rl_segment *s, struct rl_hash hash, uint64_t now_ns,
                     struct rl_budget *budget, struct rl_u128 *held)
{
	for (unsigned step = 0; step < rl_ban_steps(s) && rl_budget_take(budget, PROBE_STEPS);
	     step++) {
		struct rl_u128 *at = rl_ban_slot_at(s, hash, step);
		if (!rl_atomic_load16(at, held) || held->lo == 0)
			return NULL;
		if (held->lo == hash.a && rl_ban_stands(held->hi, now_ns))
			return at;
	}
	return NULL;
}

/*
 * The ban or exemption active at now_ns for a pattern under `scope`. False also if the budget ends.
 */
static bool
find(const struct rl_segment *s, uint64_t scope, struct rl_hash pattern, uint64_t now_ns,
     struct rl_budget *budget, struct rl_ban *ban)
{
	struct rl_u128 held, *at;

	at = rl_ban_find_standing(s, rl_pattern_hash_in(pattern, scope), now_ns, budget, &held);
	if (!at)
		return false;
	if (rl_ban_is_override(held.hi)) /* damage: its scope is another */
		return false;
	*ban = rl_ban_unpack(held.hi);
	ban->slot = (uint32_t)(at - s->bans);
	return true;
}

/*
 * One pass, from the most special on, tells when a key that is banned is so no more. Be `end` when
 * all are over that were met so far; up to then each instant is some ban's. The next one that still
 * stands at `end` decides there, all before it being over: an exemption ends the pass, a ban moves
 * `end` on. One that does not stand at `end` never decides. An automatic ban is kept for the end of
 * all: it is met first, for it is of the key itself.
 */
static bool
go_on(const struct rl_segment *s, uint64_t scope, struct rl_hash pattern, struct rl_budget *budget,
      struct rl_standing *standing)
{
	struct rl_ban ban;

	if (standing->until_ns == RL_NEVER_NS ||
	    !find(s, scope, pattern, standing->until_ns, budget, &ban))
		return true;
	if (ban.is_automatic) {
		standing->has_automatic = true;
		standing->automatic = ban;
		return true;
	}
	if (!standing->is_found)
		standing->first = ban;
	standing->is_found = true;
	standing->is_exempt_then = ban.is_exemption;
	if (!ban.is_exemption)
		standing->until_ns = ban.until_ns;
	return !ban.is_exemption;
}

bool
rl_ban_of_pattern(const struct rl_segment *s, int rule, struct rl_hash pattern,
                  struct rl_budget *budget, struct rl_standing *standing)
{
	return go_on(s, rl_pattern_scope(rule), pattern, budget, standing) &&
	       go_on(s, rl_pattern_scope(RL_ANY_RULE), pattern, budget, standing);
}

void
rl_ban_of_key(const struct rl_segment *s, int rule, const struct rl_lengths *lengths,
              const void *key, size_t key_len, const struct rl_address *address, uint64_t now_ns,
              struct rl_budget *budget, struct rl_standing *standing)
{
	struct rl_pattern_iter it = {
		.left = *lengths, .key = key, .key_len = key_len, .address = address};
	struct rl_normal_pattern normal;

	*standing = (struct rl_standing){.until_ns = now_ns};
	while (budget->left > 0 && standing->until_ns != RL_NEVER_NS &&
	       rl_pattern_next(&it, &normal))
		if (!rl_ban_of_pattern(s, rule, rl_ban_hash_of(s, &normal), budget, standing))
			break;
}

uint32_t
rl_ban_override_of(const struct rl_segment *s, int rule, unsigned limit, struct rl_hash key,
                   uint64_t now_ns, struct rl_budget *budget)
{
	struct rl_u128 held;

	if (!rl_ban_find_standing(s, rl_ban_hash_of_override(rule, limit, key), now_ns, budget,
	                          &held) ||
	    !rl_ban_is_override(held.hi))
		return 0;
	return rl_ban_unpack_override(held.hi).capacity;
}

void
rl_standing_add_automatic(struct rl_standing *standing)
{
	if (!standing->has_automatic || standing->is_exempt_then ||
	    standing->automatic.until_ns <= standing->until_ns)
		return;
	if (!standing->is_found)
		standing->first = standing->automatic;
	standing->is_found = true;
	standing->until_ns = standing->automatic.until_ns;
}

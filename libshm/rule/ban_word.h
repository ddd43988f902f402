/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_BAN_WORD_H
#define RL_BAN_WORD_H

/* An entry of the table of bans, and where it stands. */

#include <limits.h>

#include "rule/ban.h"
#include "rule/fingerprint.h"
#include "rule/handle.h"

/*
 * word.lo  fingerprint:32 | hash of scope and pattern:32, never 0. Of an entry alone its bits in
 *          the filter are known: see filter.h
 * word.hi  incarnation:7 | until, ms:44 | rule:10 | match:2 | exemption:1, exemption lowest. An
 *          until of all ones: no end. The lowest bits of the incarnation of the rule's row tell
 *          people whose it is; the hash has all. Match 3: an automatic ban, of a key.
 * A lifted one is 0 but for word.lo.
 *
 * Match 3 with exemption is an override for a time, of one limit for one key. What a decision needs
 * of it is here, so that one load has it; whose it is is in the note:
 *
 * word.hi  until, s:33 | capacity:28 | 7:3, the latter lowest
 *
 * Its scope is the rule's with bits that no handle has, and the limit's, so that it stands beside a
 * ban of the same key.
 */
#define RL_BAN_FINGERPRINT_SHIFT 32
#define RL_BAN_EXEMPTION UINT64_C(1)
#define RL_BAN_MATCH_SHIFT 1
#define RL_BAN_AUTOMATIC 3
#define RL_BAN_RULE_SHIFT 3
#define RL_BAN_RULE_MASK 0x3ff
#define RL_BAN_UNTIL_SHIFT 13
#define RL_BAN_UNTIL_MAX ((UINT64_C(1) << 44) - 1)
#define RL_BAN_INCARNATION_SHIFT 57
#define RL_BAN_INCARNATION_MASK UINT64_C(0x7f)
#define RL_BAN_KIND_MASK 7
#define RL_BAN_OVERRIDE 7 /* match 3, and exemption */
#define RL_BAN_CAPACITY_SHIFT 3
#define RL_BAN_OVERRIDE_SHIFT 31 /* its until */
#define RL_BAN_OVERRIDE_UNTIL_MAX ((UINT64_C(1) << 33) - 1)
#define RL_BAN_OVERRIDE_SCOPE (UINT64_C(1) << 30)
#define RL_BAN_LIMIT_SCOPE_SHIFT 27

_Static_assert(RL_CAPACITY_MAX < 1 << 28 && RL_LIMITS_MAX == 8, "both fit");

/* How far from where its hash points to an entry may stand. */
#define RL_BAN_STEPS_MAX 64
#define RL_BAN_TRIES 1000

static inline bool
rl_ban_is_override(uint64_t hi)
{
	return (hi & RL_BAN_KIND_MASK) == RL_BAN_OVERRIDE;
}

/* Of an override its capacity, and until when. */
static inline struct rl_ban
rl_ban_unpack_override(uint64_t hi)
{
	return (struct rl_ban){
		.rule = RL_ANY_RULE,
		.capacity = (uint32_t)(hi >> RL_BAN_CAPACITY_SHIFT) & RL_CAPACITY_MAX,
		.until_ns = (hi >> RL_BAN_OVERRIDE_SHIFT) * RL_SECOND,
	};
}

static inline struct rl_ban
rl_ban_unpack(uint64_t hi)
{
	uint64_t until_ms = hi >> RL_BAN_UNTIL_SHIFT & RL_BAN_UNTIL_MAX;
	int rule = (int)(hi >> RL_BAN_RULE_SHIFT & RL_BAN_RULE_MASK);
	unsigned match = hi >> RL_BAN_MATCH_SHIFT & 3;

	if (rl_ban_is_override(hi))
		return rl_ban_unpack_override(hi);
	return (struct rl_ban){
		.rule = rule == RL_BAN_RULE_MASK ? RL_ANY_RULE : rule,
		.match = match == RL_BAN_AUTOMATIC ? RL_MATCH_KEY : (enum rl_match)match,
		.is_exemption = (hi & RL_BAN_EXEMPTION) != 0,
		.is_automatic = match == RL_BAN_AUTOMATIC,
		.until_ns = until_ms == RL_BAN_UNTIL_MAX ? RL_NEVER_NS : until_ms * RL_MILLISECOND,
	};
}

static inline uint64_t
rl_ban_pack_override(const struct rl_ban *b)
{
	uint64_t until_s = b->until_ns / RL_SECOND + (b->until_ns % RL_SECOND > 0);

	if (until_s > RL_BAN_OVERRIDE_UNTIL_MAX)
		until_s = RL_BAN_OVERRIDE_UNTIL_MAX;
	return until_s << RL_BAN_OVERRIDE_SHIFT | (uint64_t)b->capacity << RL_BAN_CAPACITY_SHIFT |
	       RL_BAN_OVERRIDE;
}

static inline uint64_t
rl_ban_pack(const struct rl_ban *b)
{
	uint64_t until_ms = b->until_ns / RL_MILLISECOND + (b->until_ns % RL_MILLISECOND > 0);
	uint64_t match = b->is_automatic ? RL_BAN_AUTOMATIC : (uint64_t)b->match;

	if (b->capacity > 0)
		return rl_ban_pack_override(b);
	if (until_ms > RL_BAN_UNTIL_MAX)
		until_ms = RL_BAN_UNTIL_MAX;
	return rl_rule_incarnation(b->rule & INT_MAX) << RL_BAN_INCARNATION_SHIFT |
	       until_ms << RL_BAN_UNTIL_SHIFT |
	       (uint64_t)(b->rule & RL_BAN_RULE_MASK) << RL_BAN_RULE_SHIFT |
	       match << RL_BAN_MATCH_SHIFT | (b->is_exemption ? RL_BAN_EXEMPTION : 0);
}

static inline bool
rl_ban_stands(uint64_t hi, uint64_t now_ns)
{
	return rl_ban_unpack(hi).until_ns > now_ns;
}

/*
 * A pattern's hash as the table of bans has it, whatever the scope: its fingerprint is the upper
 * half of hash.a, where a whole key's is anyway.
 */
static inline struct rl_hash
rl_ban_hash_of(const struct rl_segment *s, const struct rl_normal_pattern *normal)
{
	struct rl_hash hash = rl_normal_pattern_hash(s, normal);

	if (normal->match != RL_MATCH_KEY)
		hash.a = (uint64_t)rl_fingerprint_of(s, normal) << RL_BAN_FINGERPRINT_SHIFT |
		         (uint32_t)hash.a;
	return hash;
}

/* Where an entry is kept, and what is its word.lo. */
static inline struct rl_hash
rl_ban_hash_in(const struct rl_segment *s, int rule, const struct rl_normal_pattern *normal)
{
	return rl_pattern_hash_in(rl_ban_hash_of(s, normal), rl_pattern_scope(rule));
}

/* The same of an override of a limit for a time. `key` is that of the whole key. */
static inline struct rl_hash
rl_ban_hash_of_override(int rule, unsigned limit, struct rl_hash key)
{
	return rl_pattern_hash_in(key, rl_pattern_scope(rule) ^ RL_BAN_OVERRIDE_SCOPE ^
	                                       (uint64_t)limit << RL_BAN_LIMIT_SCOPE_SHIFT);
}

/* The slot `step` < ban_slots steps from home; no division, for lookups take many. */
static inline struct rl_u128 *
rl_ban_slot_at(const struct rl_segment *s, struct rl_hash hash, unsigned step)
{
	uint64_t n = s->geometry.ban_slots;
	uint64_t at = (uint64_t)(((unsigned __int128)hash.b * n) >> 64) + step;

	return &s->bans[at < n ? at : at - n];
}

static inline unsigned
rl_ban_steps(const struct rl_segment *s)
{
	return s->geometry.ban_slots < RL_BAN_STEPS_MAX ? s->geometry.ban_slots : RL_BAN_STEPS_MAX;
}

static inline uint64_t
rl_ban_index_of(const struct rl_segment *s, const struct rl_u128 *at)
{
	return rl_segment_slots(s) + (uint64_t)(at - s->bans);
}

/* The first entry of that hash that stands, or NULL; and what it held. */
struct rl_u128 *rl_ban_find_standing(const struct rl_segment *s, struct rl_hash hash,
                                     uint64_t now_ns, struct rl_budget *budget,
                                     struct rl_u128 *held);

/* Is there such a rule; the pattern made normal. */
int rl_ban_check_pattern(struct rl *rl, int rule, const struct rl_pattern *pattern,
                         struct rl_normal_pattern *normal);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_BAN_NOTE_H
#define RL_BAN_NOTE_H

/*
 * What is kept of a ban for people, beside its slot: since when, by whom, why, and how often it
 * answered. It decides nothing. It is written after the ban stands, as a record is after the claim,
 * so that its writer may die half way, be overtaken, or come late. A keyed hash ties all but the
 * hits to the very word of the ban, and a reader believes only what hashes right: a torn note, or
 * one of a ban that was replaced, is none.
 *
 * A hit is one relaxed addition to this line, which no decision reads, and nothing else is written
 * by it. One that comes while the ban is replaced may be counted to the next.
 */

#include <stdbool.h>
#include <stdint.h>

#include "rl_admin.h"
#include "rule/ban_word.h"
#include "segment/segment.h"
#include "shared/layout_people.h"

struct rl_ban_words {
	uint64_t since_ns;
	uint64_t hits;
	uint32_t author;
	uint32_t reason_len;
	uint32_t of; /* of an override for a time: rl_ban_note_of() */
	uint64_t reason[RL_REASON_MAX / 8 + 1];
};

#define RL_BAN_OF_INCARNATION_SHIFT 10
#define RL_BAN_OF_LIMIT_SHIFT 17

/* Whose limit: row:10 | incarnation:7 | limit:3, lowest first. */
static inline uint32_t
rl_ban_note_of(int rule, unsigned limit)
{
	return (uint32_t)rl_rule_row(rule) |
	       (uint32_t)(rl_rule_incarnation(rule) & RL_BAN_INCARNATION_MASK)
	               << RL_BAN_OF_INCARNATION_SHIFT |
	       limit << RL_BAN_OF_LIMIT_SHIFT;
}

/* At most RL_REASON_MAX bytes of a reason. */
void rl_ban_note_set(struct rl_ban_words *words, const char *reason, size_t len);

void rl_ban_note_write(const struct rl_segment *s, uint32_t slot, struct rl_u128 ban,
                       const struct rl_ban_words *words);

/* False if what is there was not written for that ban, or not all of it. */
bool rl_ban_note_read(const struct rl_segment *s, uint32_t slot, struct rl_u128 ban,
                      struct rl_ban_words *words);

static inline void
rl_ban_note_hit(const struct rl_segment *s, uint32_t slot)
{
	rl_atomic_add(&s->notes[slot].hits, 1);
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#include "rule/ban_note.h"

#include <string.h>

#define REASON_WORDS (RL_REASON_MAX / 8)
#define LEN_SHIFT 32
#define LEN_MASK 0xff
#define OF_SHIFT 40
#define NOTE_DOMAIN \
	(UINT64_C(1) << 50) /* apart from the hashes of keys, names, patterns and fingerprints */

static uint64_t
by_of(const struct rl_ban_words *words)
{
	return words->author | (uint64_t)words->reason_len << LEN_SHIFT |
	       (uint64_t)words->of << OF_SHIFT;
}

static uint64_t
check_of(const struct rl_segment *s, struct rl_u128 ban, const struct rl_ban_words *words)
{
	uint64_t all[4 + REASON_WORDS] = {ban.lo, ban.hi, words->since_ns, by_of(words)};

	memcpy(all + 4, words->reason, sizeof(all) - 4 * sizeof(all[0]));
	return rl_hash_with(s->key, NOTE_DOMAIN, all, sizeof all).a;
}

void
rl_ban_note_set(struct rl_ban_words *words, const char *reason, size_t len)
{
	words->reason_len = (uint32_t)len;
	memset(words->reason, 0, sizeof words->reason);
	if (len > 0)
		memcpy(words->reason, reason, len);
}

void
rl_ban_note_write(const struct rl_segment *s, uint32_t slot, struct rl_u128 ban,
                  const struct rl_ban_words *words)
{
	struct rl_ban_note *note = &s->notes[slot];

	rl_atomic_store_relaxed(&note->since_ns, words->since_ns);
	rl_atomic_store_relaxed(&note->by, by_of(words));
	for (unsigned i = 0; i < REASON_WORDS; i++)
		rl_atomic_store_relaxed(&note->reason[i], words->reason[i]);
	rl_atomic_store_relaxed(&note->hits, words->hits);
	rl_atomic_store(&note->check, check_of(s, ban, words));
}

bool
rl_ban_note_read(const struct rl_segment *s, uint32_t slot, struct rl_u128 ban,
                 struct rl_ban_words *words)
{
	const struct rl_ban_note *note = &s->notes[slot];
	uint64_t check = rl_atomic_load(&note->check), by = rl_atomic_load_relaxed(&note->by);

	words->since_ns = rl_atomic_load_relaxed(&note->since_ns);
	words->hits = rl_atomic_load_relaxed(&note->hits);
	words->author = (uint32_t)by;
	words->reason_len = (uint32_t)(by >> LEN_SHIFT) & LEN_MASK;
	words->of = (uint32_t)(by >> OF_SHIFT);
	for (unsigned i = 0; i < REASON_WORDS; i++)
		words->reason[i] = rl_atomic_load_relaxed(&note->reason[i]);
	words->reason[REASON_WORDS] = 0;
	return words->reason_len <= RL_REASON_MAX && check_of(s, ban, words) == check;
}

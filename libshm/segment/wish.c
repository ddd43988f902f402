/* SPDX-License-Identifier: BSD-2-Clause */
#include "segment/wish.h"

#include "segment/geometry.h"

static uint64_t *
summary_of(const struct rl_segment *s)
{
	return s->wishes + rl_wish_words(&s->geometry);
}

/* True: it was not set. */
static bool
set_bit(uint64_t *word, unsigned bit)
{
	for (;;) {
		uint64_t held = rl_atomic_load(word), next = held | UINT64_C(1) << bit;

		if (held == next)
			return false;
		if (rl_atomic_cas(word, held, next))
			return true;
		rl_atomic_pause();
	}
}

static uint64_t
take_all(uint64_t *word)
{
	for (;;) {
		uint64_t held = rl_atomic_load(word);

		if (held == 0 || rl_atomic_cas(word, held, 0))
			return held;
		rl_atomic_pause();
	}
}

bool
rl_wish_set(const struct rl_segment *s, uint64_t slot)
{
	uint64_t word = slot / RL_WISH_SLOTS;
	bool is_new = set_bit(&s->wishes[word], (unsigned)(slot % RL_WISH_SLOTS));

	set_bit(&summary_of(s)[word / 64], (unsigned)(word % 64));
	return is_new;
}

bool
rl_wish_is_set(const struct rl_segment *s, uint64_t slot)
{
	uint64_t word = rl_atomic_load_relaxed(&s->wishes[slot / RL_WISH_SLOTS]);

	return (word >> slot % RL_WISH_SLOTS & 1) != 0;
}

/*
 * The first of the words from `word` on whose bit of the summary is set, which is cleared; or
 * `words`.
 */
static uint64_t
next_word(const struct rl_segment *s, uint64_t word, uint64_t words)
{
	while (word < words) {
		uint64_t *summary = &summary_of(s)[word / 64], held = rl_atomic_load(summary);
		uint64_t left = held >> word % 64;

		if (left == 0) {
			word = (word / 64 + 1) * 64;
			continue;
		}
		word += (unsigned)__builtin_ctzll(left);
		if (rl_atomic_cas(summary, held, held & ~(UINT64_C(1) << word % 64)))
			return word < words ? word : words;
		word -= (unsigned)__builtin_ctzll(left);
	}
	return words;
}

uint64_t
rl_wish_take(const struct rl_segment *s, uint64_t *at, uint64_t *first)
{
	uint64_t words = rl_wish_words(&s->geometry), word = *at / RL_WISH_SLOTS, bits = 0;

	while (bits == 0 && (word = next_word(s, word, words)) < words) {
		bits = take_all(&s->wishes[word]);
		*first = word++ * RL_WISH_SLOTS;
	}
	*at = word * RL_WISH_SLOTS;
	return bits;
}

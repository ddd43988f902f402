/* SPDX-License-Identifier: BSD-2-Clause */
#include "rule/filter.h"

#define CROWDED_NUM 3 /* of CROWDED_DEN bits; one in four or so is set at capacity */
#define CROWDED_DEN 8
#define BANKS 2

bool
rl_filter_add(const struct rl_filter *f, unsigned bank, uint32_t fingerprint)
{
	return rl_atomic_set_bits(&f->bank[bank][rl_filter_index(f->words, fingerprint)],
	                          UINT64_MAX, rl_filter_bits(fingerprint));
}

/* By CAS: what it takes away it has seen, and with it the entry that was put before. */
void
rl_filter_clear(const struct rl_filter *f, unsigned bank)
{
	for (uint32_t i = 0; i < f->words; i++)
		rl_atomic_set_bits(&f->bank[bank][i], 0, 0);
}

bool
rl_filter_is_crowded(const struct rl_filter *f, unsigned bank)
{
	uint64_t set = 0;

	for (uint32_t i = 0; i < f->words; i++)
		set += (uint64_t)__builtin_popcountll(rl_atomic_load_relaxed(&f->bank[bank][i]));
	return set * CROWDED_DEN > (uint64_t)f->words * 64 * CROWDED_NUM;
}

unsigned
rl_filter_steps(const struct rl_filter_ask *ask)
{
	const struct rl_lengths *l = &ask->lengths;
	int lengths = __builtin_popcountll(l->text) + __builtin_popcountll(l->v4) +
	              __builtin_popcountll(l->v6[0]) + __builtin_popcountll(l->v6[1]);

	return BANKS * (unsigned)lengths + BANKS;
}

/* The lowest `bits` of a word. */
static inline uint64_t
lowest(unsigned bits)
{
	return bits < 64 ? (UINT64_C(1) << bits) - 1 : UINT64_MAX;
}

/*
 * What follows looks for patterns of one kind. Without `hits` it ends at the first, and true says
 * that there was one; with it, it notes the lengths of all, and returns false.
 */

static inline __attribute__((always_inline)) bool
note(uint64_t *hits, unsigned bit)
{
	if (hits)
		*hits |= UINT64_C(1) << bit;
	return !hits;
}

/*
 * Beginnings of `at` to `at` + 7 bytes, by their bits in `lengths`; `word` begins with byte `at`.
 */
static inline __attribute__((always_inline)) bool
has_beginning(const struct rl_filter_question *q, uint64_t state, uint64_t word, size_t at,
              unsigned lengths, uint64_t *hits)
{
	for (; lengths != 0; lengths &= lengths - 1) {
		unsigned n = (unsigned)__builtin_ctz(lengths) & 7;
		uint64_t part = word & ((UINT64_C(1) << 8 * n) - 1);
		uint64_t what = rl_fingerprint_what(RL_MATCH_PREFIX, false, at + n);
		if (rl_filter_has(q, rl_fingerprint_end(q->s, state, part, what)) &&
		    note(hits, (unsigned)at + n))
			return true;
	}
	return false;
}

/* All beginnings in one pass; `lengths` has one at least. */
static inline __attribute__((always_inline)) bool
has_beginnings(const struct rl_filter_question *q, uint64_t lengths, const unsigned char *key,
               size_t key_len, uint64_t *hits)
{
	uint64_t state = q->s->fingerprint_key[0], left = lengths, word;
	size_t at = 0;

	if (key_len < RL_PREFIX_MAX)
		left &= lowest((unsigned)key_len + 1);
	for (;; at += 8, left >>= 8) {
		word = rl_fingerprint_read(key, key_len, at);
		if (has_beginning(q, state, word, at, left & 0xff, hits))
			return true;
		if (key_len - at < 8)
			break;
		state = rl_fingerprint_word(q->s, state, word);
	}
	return false;
}

/* Networks of `first` bits and more, by their bits in `lengths`. */
static inline __attribute__((always_inline)) bool
has_networks(const struct rl_filter_question *q, uint64_t lengths, struct rl_fingerprint_address a,
             unsigned first, uint64_t *hits)
{
	for (; lengths != 0; lengths &= lengths - 1) {
		unsigned n = (unsigned)__builtin_ctzll(lengths);
		if (rl_filter_has(q, rl_fingerprint_network(q->s, a, first + n)) && note(hits, n))
			return true;
	}
	return false;
}

static inline __attribute__((always_inline)) bool
has_any(const struct rl_filter_question *q, const struct rl_filter_ask *ask, const void *key,
        size_t key_len, uint64_t hash, const struct rl_address *address, struct rl_lengths *hits)
{
	const struct rl_lengths *l = &ask->lengths;
	uint64_t text = rl_atomic_own_load(&l->text), *of_text = hits ? &hits->text : NULL;
	struct rl_fingerprint_address a;
	uint64_t v4, *of_v4;

	if ((text & 1) && rl_filter_has(q, rl_fingerprint_of_key(hash)) && note(of_text, 0))
		return true;
	if (text > 1 && has_beginnings(q, text & ~UINT64_C(1), key, key_len, of_text))
		return true;
	if (!address)
		return false;
	v4 = rl_atomic_own_load(&l->v4);
	of_v4 = hits ? &hits->v4 : NULL;
	a = rl_fingerprint_address(address->bytes, address->bits);
	if (a.bits == 32)
		return has_networks(q, v4 & lowest(33), a, 0, of_v4);
	return has_networks(q, rl_atomic_own_load(&l->v6[0]), a, 0, hits ? &hits->v6[0] : NULL) ||
	       has_networks(q, rl_atomic_own_load(&l->v6[1]), a, 64, hits ? &hits->v6[1] : NULL) ||
	       has_networks(q, v4 & RL_LENGTHS_V6_HOST, a, 128 - 63, of_v4);
}

bool
rl_filter_has_any(struct rl_filter_question q, const struct rl_filter_ask *ask, const void *key,
                  size_t key_len, uint64_t hash, const struct rl_address *address)
{
	return has_any(&q, ask, key, key_len, hash, address, NULL);
}

bool
rl_filter_narrow(const struct rl_segment *s, const struct rl_filter_ask *ask, const void *key,
                 size_t key_len, uint64_t hash, const struct rl_address *address,
                 struct rl_lengths *lengths)
{
	uint64_t epoch = rl_atomic_load(s->ban_epoch);
	struct rl_filter_question q = rl_filter_question(s, ask, epoch);

	*lengths = (struct rl_lengths){0};
	has_any(&q, ask, key, key_len, hash, address, lengths);
	rl_atomic_fence(); /* as in rl_filter_may_have() */
	return rl_atomic_load(s->ban_epoch) == epoch;
}

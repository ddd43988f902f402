/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_FINGERPRINT_H
#define RL_FINGERPRINT_H

/*
 * A fingerprint: 32 bits of a pattern, for a filter (filter.h). Of a whole key it is the upper half
 * of the key's hash, which every decision has. Of beginnings and networks it is cheap, and the
 * fingerprints of all beginnings of a key come from one pass: a state takes in whole words of 8
 * bytes, and each length ends it with what it has of the next one.
 *
 *	state 0  = key[0]
 *	state i  = mix(state i-1 ^ word i-1, key[1])
 *	fingerprint = stir(mix(state n/8 ^ rest, key[2] ^ what))
 *
 * mix() is the two halves of a product of 128 bits, one over the other. Of words that differ by
 * little, as a network's hosts do, the products differ by as little for some keys: stir() folds the
 * upper half into the lower, and multiplies once more. Whoever does not know the segment's secret
 * finds two patterns of one fingerprint by luck alone, and has a lookup for it. A fingerprint is
 * never what tells one pattern from another.
 */

#include "rule/pattern.h"

#define RL_FINGERPRINT_STIR UINT64_C(0xd6e8feb86659fd93) /* odd, and half of its bits are set */

static inline uint64_t
rl_fingerprint_mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t
rl_fingerprint_word(const struct rl_segment *s, uint64_t state, uint64_t word)
{
	return rl_fingerprint_mix(state ^ word, s->fingerprint_key[1]);
}

/* `what` tells patterns of the same bytes apart. */
static inline uint32_t
rl_fingerprint_end(const struct rl_segment *s, uint64_t state, uint64_t rest, uint64_t what)
{
	uint64_t mixed = rl_fingerprint_mix(state ^ rest, s->fingerprint_key[2] ^ what);

	return (uint32_t)((mixed ^ mixed >> 32) * RL_FINGERPRINT_STIR >> 32);
}

static inline uint64_t
rl_fingerprint_what(enum rl_match match, bool is_v6, size_t length)
{
	return (uint64_t)length << 3 | (uint64_t)is_v6 << 2 | (uint64_t)match;
}

/* The word that begins with byte `at`, as far as there is any; the rest is zero. */
static inline uint64_t
rl_fingerprint_read(const unsigned char *key, size_t key_len, size_t at)
{
	size_t left = key_len - at;

	if (left >= 8)
		return rl_sip_read(key + at);
	if (key_len >= 8) /* the upper bytes of the last eight; a shift by 64 would be none */
		return rl_sip_read(key + key_len - 8) >> 1 >> (63 - 8 * left);
	return rl_sip_tail(key + at, left);
}

static inline uint32_t
rl_fingerprint_of_key(uint64_t hash)
{
	return (uint32_t)(hash >> 32);
}

static inline uint32_t
rl_fingerprint_beginning(const struct rl_segment *s, const void *text, size_t len)
{
	uint64_t state = s->fingerprint_key[0];
	size_t at = 0;

	for (; len - at >= 8; at += 8)
		state = rl_fingerprint_word(s, state, rl_fingerprint_read(text, len, at));
	return rl_fingerprint_end(s, state, rl_fingerprint_read(text, len, at),
	                          rl_fingerprint_what(RL_MATCH_PREFIX, false, len));
}

/* An address as a number of 128 bits, or of 32. */
struct rl_fingerprint_address {
	uint64_t hi, lo;
	unsigned bits;
};

/* The `bytes` bytes of a number, the first highest. */
static inline uint64_t
rl_fingerprint_number(const unsigned char *at, size_t bytes)
{
	uint64_t number = 0;

	for (size_t i = 0; i < bytes; i++)
		number = number << 8 | at[i];
	return number;
}

static inline struct rl_fingerprint_address
rl_fingerprint_address(const unsigned char *bytes, unsigned bits)
{
	if (bits == 32)
		return (struct rl_fingerprint_address){.lo = rl_fingerprint_number(bytes, 4),
		                                       .bits = bits};
	return (struct rl_fingerprint_address){
		.hi = rl_fingerprint_number(bytes, 8),
		.lo = rl_fingerprint_number(bytes + 8, 8),
		.bits = bits,
	};
}

/* A number without its lowest `bits` bits. */
static inline uint64_t
rl_fingerprint_masked(uint64_t number, unsigned bits)
{
	return bits < 64 ? number >> bits << bits : 0;
}

/* The network of `length` bits that has it. */
static inline uint32_t
rl_fingerprint_network(const struct rl_segment *s, struct rl_fingerprint_address a, unsigned length)
{
	uint64_t what = rl_fingerprint_what(RL_MATCH_NETWORK, a.bits != 32, length);
	uint64_t lo = rl_fingerprint_masked(a.lo, a.bits - length);
	uint64_t state = s->fingerprint_key[0];

	if (a.bits == 128)
		state = rl_fingerprint_word(
			s, state, length < 64 ? rl_fingerprint_masked(a.hi, 64 - length) : a.hi);
	return rl_fingerprint_end(s, state, lo, what);
}

static inline uint32_t
rl_fingerprint_of(const struct rl_segment *s, const struct rl_normal_pattern *n)
{
	if (n->match == RL_MATCH_KEY)
		return rl_fingerprint_of_key(rl_hash_of_key(s->key_start, n->bytes, n->len));
	if (n->match == RL_MATCH_PREFIX)
		return rl_fingerprint_beginning(s, n->bytes, n->len);
	/* Behind its first two bytes is the address: rl_network_key(). */
	return rl_fingerprint_network(s, rl_fingerprint_address(n->network + 2, n->family),
	                              n->length);
}

#endif

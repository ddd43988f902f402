/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_HASH_H
#define RL_HASH_H

/*
 * SipHash (Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012, and their reference for
 * the 128-bit result), written from the paper, with 1 compression and 3 finalization rounds: keyed
 * with a secret of the segment, nobody who cannot read the segment can find keys that collide. Keys
 * are hashed to 64 bits, of which two keys of n share all with a chance of n^2 / 2^65 (3e-6 for ten
 * million); layout_slot.h has what a tag keeps of them. What has no table in front of it, or must
 * not repeat, has 128. So have keys that a ban or an override names: the same 64, and as many more
 * from three rounds on.
 */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Which hash of keys this is: another one finds none of their slots. */
#define RL_KEY_HASH 64

struct rl_hash {
	uint64_t a;
	uint64_t b;
};

struct rl_hash_key {
	uint64_t k0;
	uint64_t k1;
};

struct rl_sip {
	uint64_t v0, v1, v2, v3;
};

static inline uint64_t
rl_sip_rotate(uint64_t x, int bits)
{
	return x << bits | x >> (64 - bits);
}

static inline __attribute__((always_inline)) void
rl_sip_rounds(struct rl_sip *s, int rounds)
{
#pragma GCC unroll 4
	while (rounds-- > 0) {
		s->v0 += s->v1;
		s->v2 += s->v3;
		s->v1 = rl_sip_rotate(s->v1, 13) ^ s->v0;
		s->v3 = rl_sip_rotate(s->v3, 16) ^ s->v2;
		s->v0 = rl_sip_rotate(s->v0, 32);
		s->v2 += s->v1;
		s->v0 += s->v3;
		s->v1 = rl_sip_rotate(s->v1, 17) ^ s->v2;
		s->v3 = rl_sip_rotate(s->v3, 21) ^ s->v0;
		s->v2 = rl_sip_rotate(s->v2, 32);
	}
}

static inline __attribute__((always_inline)) void
rl_sip_word(struct rl_sip *s, uint64_t word, int rounds)
{
	s->v3 ^= word;
	rl_sip_rounds(s, rounds);
	s->v0 ^= word;
}

static inline uint64_t
rl_sip_read(const unsigned char *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof word);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	word = __builtin_bswap64(word);
#endif
	return word;
}

static inline struct rl_sip
rl_sip_start(struct rl_hash_key key)
{
	return (struct rl_sip){
		.v0 = key.k0 ^ UINT64_C(0x736f6d6570736575),
		.v1 = key.k1 ^ UINT64_C(0x646f72616e646f6d) ^ 0xee,
		.v2 = key.k0 ^ UINT64_C(0x6c7967656e657261),
		.v3 = key.k1 ^ UINT64_C(0x7465646279746573),
	};
}

/* The same for a result of 64 bits. */
static inline struct rl_sip
rl_sip_start64(struct rl_hash_key key)
{
	struct rl_sip s = rl_sip_start(key);

	s.v1 ^= 0xee;
	return s;
}

/* The last bytes of a message, fewer than a word, the first lowest. */
static inline uint64_t
rl_sip_tail(const unsigned char *at, size_t len)
{
	uint64_t tail = 0;

	switch (len) {
	case 7:
		tail |= (uint64_t)at[6] << 48; /* fall through */
	case 6:
		tail |= (uint64_t)at[5] << 40; /* fall through */
	case 5:
		tail |= (uint64_t)at[4] << 32; /* fall through */
	case 4:
		tail |= (uint64_t)at[3] << 24; /* fall through */
	case 3:
		tail |= (uint64_t)at[2] << 16; /* fall through */
	case 2:
		tail |= (uint64_t)at[1] << 8; /* fall through */
	case 1:
		tail |= at[0];
	}
	return tail;
}

/* The same of a message of at least a word: the upper bytes of its last one. */
static inline uint64_t
rl_sip_tail_of(const unsigned char *end, unsigned rest)
{
	return rest > 0 ? rl_sip_read(end - 8) >> (64 - 8 * rest) : 0;
}

/* The rest of a message whose whole length is `before` + `len`; `before` must be whole words. */
static inline __attribute__((always_inline)) struct rl_sip
rl_sip_message(struct rl_sip s, const void *data, size_t len, size_t before, int c)
{
	const unsigned char *at = data;
	uint64_t last = (uint64_t)(before + len) << 56;

	last |= len < 8 ? rl_sip_tail(at, len) : rl_sip_tail_of(at + len, (unsigned)len & 7);
	for (; len >= 8; len -= 8, at += 8)
		rl_sip_word(&s, rl_sip_read(at), c);
	rl_sip_word(&s, last, c);
	return s;
}

static inline __attribute__((always_inline)) struct rl_hash
rl_sip_finish(struct rl_sip s, const void *data, size_t len, size_t before, int c, int d)
{
	struct rl_hash hash;

	s = rl_sip_message(s, data, len, before, c);
	s.v2 ^= 0xee;
	rl_sip_rounds(&s, d);
	hash.a = s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
	s.v1 ^= 0xdd;
	rl_sip_rounds(&s, d);
	hash.b = s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
	return hash;
}

/* The state after the first 8 bytes, which many messages share. */
static inline struct rl_sip
rl_hash_prefix(struct rl_hash_key key, uint64_t prefix)
{
	struct rl_sip s = rl_sip_start(key);

	rl_sip_word(&s, prefix, 1);
	return s;
}

/* SipHash-1-3-128 of such a message: `data` is what follows. Part of every decision. */
static inline __attribute__((always_inline)) struct rl_hash
rl_hash_rest(struct rl_sip prefix, const void *data, size_t len)
{
	return rl_sip_finish(prefix, data, len, 8, 1, 3);
}

/* SipHash-1-3-128 of the 8 bytes of `prefix` followed by `data`. */
static inline __attribute__((always_inline)) struct rl_hash
rl_hash_with(struct rl_hash_key key, uint64_t prefix, const void *data, size_t len)
{
	return rl_hash_rest(rl_hash_prefix(key, prefix), data, len);
}

/* The end of a result of 64 bits, whose words are in the state: those that are its hash. */
static inline __attribute__((always_inline)) struct rl_sip
rl_sip_end64(struct rl_sip s)
{
	s.v2 ^= 0xff;
	rl_sip_rounds(&s, 3);
	return s;
}

/* The state whose words, one over the other, are the hash of a key. From rl_sip_start64(). */
static inline __attribute__((always_inline)) struct rl_sip
rl_sip_of_key(struct rl_sip start, const void *key, size_t len)
{
	return rl_sip_end64(rl_sip_message(start, key, len, 0, 1));
}

static inline uint64_t
rl_sip_fold(const struct rl_sip *s)
{
	return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

/* The hash of a key whose words but the last went into `s`; that has the whole length above it. */
static inline __attribute__((always_inline)) uint64_t
rl_hash_of_last(struct rl_sip s, uint64_t last)
{
	rl_sip_word(&s, last, 1);
	s = rl_sip_end64(s);
	return rl_sip_fold(&s);
}

/* SipHash-1-3-64 of a key. Part of every decision. */
static inline __attribute__((always_inline)) uint64_t
rl_hash_of_key(struct rl_sip start, const void *key, size_t len)
{
	const struct rl_sip s = rl_sip_of_key(start, key, len);

	return rl_sip_fold(&s);
}

/*
 * Both words of a key: the second goes on from the state of the first, as that of a result of 128
 * bits does.
 */
static inline struct rl_hash
rl_hash_both(struct rl_sip of_key)
{
	struct rl_hash hash = {.a = rl_sip_fold(&of_key)};

	of_key.v1 ^= 0xdd;
	rl_sip_rounds(&of_key, 3);
	hash.b = rl_sip_fold(&of_key);
	return hash;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_KRU_H
#define BENCH_KRU_H

/*
 * A table like that of Knot Resolver's rate limiter, written from the idea that is published. No
 * key has memory of its own: a line of 64 bytes has loads of 16 bits, each beside 16 bits of a
 * hash, and all of them decay with time. A key may be in one of two lines; where it is in none, it
 * takes the smallest load there over, with what that counts. There is no lock and no exact count:
 * heavy keys are known, light ones are lost. Like the original, it looks at all loads of a line at
 * once and hashes with AES where the CPU can, and else at one after the other.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KRU_LOADS 15
#define KRU_FULL 65000 /* the limit; a request is 1 */
#define KRU_DECAY 1024 /* milliseconds until nothing is left */

struct kru_line {
	uint16_t name[KRU_LOADS];
	uint16_t ms; /* of the last decay */
	uint16_t load[KRU_LOADS];
	uint16_t unused;
} __attribute__((aligned(64)));

_Static_assert(sizeof(struct kru_line) == 64, "a line of the cache");

struct kru {
	struct kru_line *line;
	uint64_t lines; /* a power of two */
};

/* How a line is looked through. */
struct kru_ways {
	int (*find)(const struct kru_line *l, uint16_t name); /* which is that name's; -1: none */
	int (*smallest)(const struct kru_line *l);            /* load */
};

static inline int
kru_find(const struct kru_line *l, uint16_t name)
{
	for (int i = 0; i < KRU_LOADS; i++)
		if (l->name[i] == name)
			return i;
	return -1;
}

static inline int
kru_smallest(const struct kru_line *l)
{
	int least = 0;

	for (int i = 1; i < KRU_LOADS; i++)
		if (l->load[i] < l->load[least])
			least = i;
	return least;
}

static inline void
kru_decay(struct kru_line *l, uint16_t ms)
{
	uint16_t passed = (uint16_t)(ms - l->ms);
	uint32_t left = passed < KRU_DECAY ? KRU_DECAY - (uint32_t)passed : 0;

	l->ms = ms;
	for (int i = 0; i < KRU_LOADS; i++)
		l->load[i] = (uint16_t)(l->load[i] * left / KRU_DECAY);
}

static inline __attribute__((always_inline)) uint16_t *
kru_load_of(struct kru_line *a, struct kru_line *b, uint16_t name, struct kru_ways ways)
{
	struct kru_line *l = a;
	int in_a, in_b, i = ways.find(a, name);

	if (i < 0) {
		l = b;
		i = ways.find(b, name);
	}
	if (i < 0) {
		in_a = ways.smallest(a);
		in_b = ways.smallest(b);
		l = a->load[in_a] <= b->load[in_b] ? a : b;
		i = l == a ? in_a : in_b;
		l->name[i] = name;
	}
	return &l->load[i];
}

/* With constant ways, which are inlined: a function for each pair of them. */
static inline __attribute__((always_inline)) bool
kru_check(const struct kru *k, uint64_t hash, uint16_t ms, struct kru_ways ways)
{
	struct kru_line *a = &k->line[hash & (k->lines - 1)];
	struct kru_line *b = &k->line[hash >> 24 & (k->lines - 1)];
	uint16_t *load;

	if (a->ms != ms)
		kru_decay(a, ms);
	if (b->ms != ms)
		kru_decay(b, ms);
	load = kru_load_of(a, b, (uint16_t)(hash >> 48), ways);
	if (*load >= KRU_FULL)
		return false;
	__atomic_fetch_add(load, 1, __ATOMIC_RELAXED);
	return true;
}

#ifdef __x86_64__
#include <immintrin.h>

#define KRU_HAS_FAST 1
#define KRU_TARGET __attribute__((target("avx2,aes")))

static inline bool
kru_can_be_fast(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("aes");
}

static inline KRU_TARGET int
kru_find_fast(const struct kru_line *l, uint16_t name)
{
	__m256i names = _mm256_load_si256((const void *)l);
	__m256i equal = _mm256_cmpeq_epi16(names, _mm256_set1_epi16((short)name));
	uint32_t bytes = (uint32_t)_mm256_movemask_epi8(equal) & ((1U << 2 * KRU_LOADS) - 1);

	return bytes > 0 ? __builtin_ctz(bytes) / 2 : -1;
}

static inline KRU_TARGET int
kru_smallest_fast(const struct kru_line *l)
{
	__m128i first = _mm_minpos_epu16(_mm_loadu_si128((const void *)l->load));
	__m128i last = _mm_minpos_epu16(_mm_loadu_si128((const void *)(l->load + 7)));
	int a = _mm_extract_epi16(first, 1), b = _mm_extract_epi16(last, 1);

	return _mm_extract_epi16(first, 0) <= _mm_extract_epi16(last, 0) ? a : b + 7;
}

/* Of 16 bytes, by four rounds of AES: cheap where the CPU has them, and proven by nobody. */
static inline KRU_TARGET uint64_t
kru_hash_fast(const uint64_t key[2])
{
	__m128i x = _mm_set_epi64x((int64_t)key[1], (int64_t)key[0]);

	for (int i = 0; i < 4; i++)
		x = _mm_aesenc_si128(x, _mm_set_epi64x(0x243f6a8885a308d3 + i, 0x13198a2e03707344));
	return (uint64_t)_mm_cvtsi128_si64(x) + (uint64_t)_mm_extract_epi64(x, 1);
}
#else
#define KRU_HAS_FAST 0
#endif
#endif

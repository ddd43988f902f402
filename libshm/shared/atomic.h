/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_ATOMIC_H
#define RL_ATOMIC_H

/*
 * Every atomic instruction of rl. No other file names one.
 *
 * Two backends with the same contract, chosen at build time:
 *   ck   Concurrency Kit's inline ck_pr (default)
 *   c11  the compiler's own builtins, which ThreadSanitizer understands, and which a test
 *        can schedule
 *
 * The contract: a load is an acquire, a store is a release, a compare-and-swap that
 * succeeds is both. An add promises to lose nothing, and the `_relaxed` pair only that a
 * word is not torn.
 *
 * The 16-byte load is two 8-byte loads: the only atomic 16-byte load of x86-64 below
 * AVX is a locked write, which faults on a read-only mapping. It therefore needs a
 * word whose `lo` half changes whenever `hi` does and does not come back while `hi`
 * differs; layout_slot.h says why the state word is one.
 */

#include <stdbool.h>
#include <stdint.h>

struct rl_u128 {
	uint64_t lo;
	uint64_t hi;
} __attribute__((aligned(16)));

#ifdef RL_ATOMIC_C11

/* With RL_ATOMIC_HOOK, a test decides before each access which worker goes on. */
#ifdef RL_ATOMIC_HOOK
void rl_atomic_hook(void);
#else
#define rl_atomic_hook() ((void)0)
#endif

static inline uint64_t
rl_atomic_load(const uint64_t *word)
{
	rl_atomic_hook();
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline uint64_t
rl_atomic_load_relaxed(const uint64_t *word)
{
	rl_atomic_hook();
	return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static inline void
rl_atomic_store(uint64_t *word, uint64_t value)
{
	rl_atomic_hook();
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static inline void
rl_atomic_store_relaxed(uint64_t *word, uint64_t value)
{
	rl_atomic_hook();
	__atomic_store_n(word, value, __ATOMIC_RELAXED);
}

static inline bool
rl_atomic_cas(uint64_t *word, uint64_t expected, uint64_t desired)
{
	rl_atomic_hook();
	return __atomic_compare_exchange_n(word, &expected, desired, false, __ATOMIC_SEQ_CST,
	                                   __ATOMIC_SEQ_CST);
}

static inline void
rl_atomic_add(uint64_t *word, uint64_t value)
{
	rl_atomic_hook();
	__atomic_fetch_add(word, value, __ATOMIC_SEQ_CST);
}

/* The same, and what it was before. */
static inline uint64_t
rl_atomic_take(uint64_t *word, uint64_t value)
{
	rl_atomic_hook();
	return __atomic_fetch_add(word, value, __ATOMIC_SEQ_CST);
}

/* __sync, not __atomic: the latter may go to libatomic, whose locks are per process. */
static inline bool
rl_atomic_cas16(struct rl_u128 *word, struct rl_u128 expected, struct rl_u128 desired)
{
	unsigned __int128 old = (unsigned __int128)expected.hi << 64 | expected.lo;
	unsigned __int128 new = (unsigned __int128)desired.hi << 64 | desired.lo;

	rl_atomic_hook();
	return __sync_bool_compare_and_swap((unsigned __int128 *)(void *)word, old, new);
}

/* Between having seen or set one word and reading another that must not be older. */
static inline void
rl_atomic_fence(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

static inline void
rl_atomic_pause(void)
{
	__asm__ __volatile__("" ::: "memory");
}

#else

#include <ck_pr.h>

#if defined(__aarch64__) && defined(CK_MD_LSE_ENABLE)
#error "libck's 16-byte CAS for LSE answers the inverse: build with ATOMIC=c11"
#endif

/* ck_pr's plain operations order nothing; on x86-64 these fences are compiler barriers. */

static inline uint64_t
rl_atomic_load(const uint64_t *word)
{
	uint64_t value = ck_pr_load_64(word);

	ck_pr_fence_acquire();
	return value;
}

static inline uint64_t
rl_atomic_load_relaxed(const uint64_t *word)
{
	return ck_pr_load_64(word);
}

static inline void
rl_atomic_store(uint64_t *word, uint64_t value)
{
	ck_pr_fence_release();
	ck_pr_store_64(word, value);
}

static inline void
rl_atomic_store_relaxed(uint64_t *word, uint64_t value)
{
	ck_pr_store_64(word, value);
}

/* Between having seen or set one word and reading another that must not be older. */
static inline void
rl_atomic_fence(void)
{
	ck_pr_fence_atomic_load();
}

static inline bool
rl_atomic_cas(uint64_t *word, uint64_t expected, uint64_t desired)
{
	bool done;

	ck_pr_fence_release();
	done = ck_pr_cas_64(word, expected, desired);
	ck_pr_fence_acquire();
	return done;
}

static inline void
rl_atomic_add(uint64_t *word, uint64_t value)
{
	ck_pr_add_64(word, value);
}

static inline uint64_t
rl_atomic_take(uint64_t *word, uint64_t value)
{
	return ck_pr_faa_64(word, value);
}

#ifdef __x86_64__

/* libck's takes both words from memory, which they are stored to just before. */
static inline __attribute__((always_inline)) bool
rl_atomic_cas16(struct rl_u128 *word, struct rl_u128 expected, struct rl_u128 desired)
{
	bool done;

	__asm__ __volatile__("lock cmpxchg16b %0"
	                     : "+m"(*word), "=@ccz"(done), "+a"(expected.lo), "+d"(expected.hi)
	                     : "b"(desired.lo), "c"(desired.hi)
	                     : "memory");
	return done;
}

#else

static inline bool
rl_atomic_cas16(struct rl_u128 *word, struct rl_u128 expected, struct rl_u128 desired)
{
	uint64_t old[2] = {expected.lo, expected.hi};
	uint64_t new[2] = {desired.lo, desired.hi};
	bool done;

	ck_pr_fence_release();
	done = ck_pr_cas_64_2((uint64_t *)(void *)word, old, new);
	ck_pr_fence_acquire();
	return done;
}

#endif

static inline void
rl_atomic_pause(void)
{
	ck_pr_stall();
}

#endif

/*
 * Words of this process's own memory, of any scalar type, that its threads share. Not from the
 * segment: no other process can change them.
 */
#define rl_atomic_own_load(word) __atomic_load_n(word, __ATOMIC_ACQUIRE)
#define rl_atomic_own_store(word, value) __atomic_store_n(word, value, __ATOMIC_RELEASE)
#define rl_atomic_own_fence() __atomic_thread_fence(__ATOMIC_ACQ_REL)

/* A struct of such words, a multiple of 8 bytes long. */
static inline void
rl_atomic_own_copy(void *to, const void *from, size_t bytes)
{
	typedef uint64_t any __attribute__((may_alias));
	const any *source = from;
	any *target = to;

#pragma GCC unroll 8
	for (size_t i = 0; i < bytes / sizeof *target; i++)
		rl_atomic_own_store(&target[i], rl_atomic_own_load(&source[i]));
}

static inline bool
rl_atomic_own_cas(uint64_t *word, uint64_t expected, uint64_t desired)
{
	return __atomic_compare_exchange_n(word, &expected, desired, false, __ATOMIC_ACQ_REL,
	                                   __ATOMIC_ACQUIRE);
}

/* A pointer in this process's own memory, published to its other threads. */
static inline void *
rl_atomic_load_pointer(void *const *pointer)
{
	return (void *)(uintptr_t)rl_atomic_load((const uint64_t *)(const void *)pointer);
}

static inline bool
rl_atomic_publish_pointer(void **pointer, void *before, void *value)
{
	return rl_atomic_cas((uint64_t *)(void *)pointer, (uintptr_t)before, (uintptr_t)value);
}

_Static_assert(sizeof(void *) == sizeof(uint64_t), "64-bit targets only");

/* Make it `(word & keep) | set`. False when others changed it under each of so many tries. */
static inline bool
rl_atomic_set_bits(uint64_t *word, uint64_t keep, uint64_t set)
{
	for (int tries = 0; tries < 1000; tries++) {
		uint64_t old = rl_atomic_load(word), next = (old & keep) | set;
		if (old == next || rl_atomic_cas(word, old, next))
			return true;
		rl_atomic_pause();
	}
	return false;
}

/* False when the word changed under every one of a bounded number of tries. */
static inline __attribute__((always_inline)) bool
rl_atomic_load16(const struct rl_u128 *word, struct rl_u128 *value)
{
	for (int tries = 0; tries < 16; tries++) {
		value->lo = rl_atomic_load(&word->lo);
		value->hi = rl_atomic_load(&word->hi);
		if (rl_atomic_load(&word->lo) == value->lo)
			return true;
		rl_atomic_pause();
	}
	return false;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_RELACY_BACKEND_HPP
#define RL_RELACY_BACKEND_HPP

/*
 * atomic.h for Relacy: the library's own source, compiled as C++, runs on simulated memory that
 * reorders and delays whatever C11 permits. A shared word is still named by its address; what
 * it holds is in a cell beside it. Orders are those that atomic.h promises: a load acquires, a
 * store releases, a compare-and-swap does both, a fence is sequentially consistent. The 16-byte
 * load, two loads there, is one here: that it cannot be torn is shown in layout_slot.h.
 */

#define RL_ATOMIC_H /* in place of libshm/shared/atomic.h */
#define _Static_assert static_assert

/* How many of a word's last values a load may still see: with Relacy's 3, too few mistakes show. */
#define atomic_history_size relacys_history_size
#include <relacy/base.hpp>
#undef atomic_history_size
namespace rl
{
size_t const atomic_history_size = 10;
}
#include <relacy/relacy.hpp>

#include <stdint.h>
#include <string.h>

struct rl_u128 {
	uint64_t lo;
	uint64_t hi;
};

static inline bool
operator==(const rl_u128 &a, const rl_u128 &b)
{
	return a.lo == b.lo && a.hi == b.hi;
}

static inline bool
operator!=(const rl_u128 &a, const rl_u128 &b)
{
	return !(a == b);
}

static inline std::ostream &
operator<<(std::ostream &out, const rl_u128 &w)
{
	return out << std::hex << w.hi << ':' << w.lo << std::dec;
}

/* A process's own words: each simulated thread is a process. */
#define rl_atomic_own_load(word) (*(word))
#define rl_atomic_own_fence() ((void)0)

#define TABLE_WORDS 48 /* two buckets */
#ifndef WORDS
#define WORDS 64
#endif

/* What is left out of what a test says it needs: it must fail then. "" for nothing. */
static const char *broken = "";

static inline bool
is_broken(const char *form)
{
	return strcmp(broken, form) == 0;
}

/* Addresses, and what stands there. */
static uint64_t words[WORDS] __attribute__((aligned(64)));

struct cells {
	rl::atomic<uint64_t> word[WORDS];
	rl::atomic<rl_u128> word16[WORDS / 2];
	rl::atomic<uint64_t> unwritten; /* but in before() */

	rl::atomic<uint64_t> &
	of(const uint64_t *address)
	{
		return word[address - words];
	}

	rl::atomic<rl_u128> &
	of(const rl_u128 *address)
	{
		return word16[address - (const rl_u128 *)words];
	}
};

static cells *memory;

#define STOP_MAX 150 /* accesses */

/* Random schedules seldom leave one process behind while the others do all they have to. */
static inline void
stop_for_a_while(void)
{
	for (unsigned n = rl::rand(STOP_MAX); n > 0; n--)
		memory->unwritten.load(rl::mo_relaxed, $);
}

/* A test may end a process before any of its accesses. */
static void (*before_access)(void);

static inline void
access(void)
{
	if (before_access)
		before_access();
}

/* What a load or a compare-and-swap is, unless broken in that form. */
static inline rl::memory_order
order(rl::memory_order whole, const char *form)
{
	return is_broken(form) ? rl::mo_relaxed : whole;
}

static inline uint64_t
rl_atomic_load(const uint64_t *word)
{
	access();
	return memory->of(word).load(order(rl::mo_acquire, "relaxed-load"), $);
}

static inline uint64_t
rl_atomic_load_relaxed(const uint64_t *word)
{
	access();
	return memory->of(word).load(rl::mo_relaxed, $);
}

/* Private to a process: nothing to simulate. */
static inline void *
rl_atomic_load_pointer(void *const *pointer)
{
	return *pointer;
}

static inline void
rl_atomic_store(uint64_t *word, uint64_t value)
{
	access();
	memory->of(word).store(value, rl::mo_release, $);
}

static inline void
rl_atomic_store_relaxed(uint64_t *word, uint64_t value)
{
	access();
	memory->of(word).store(value, rl::mo_relaxed, $);
}

static inline bool
rl_atomic_cas(uint64_t *word, uint64_t expected, uint64_t desired)
{
	access();
	return memory->of(word).compare_exchange_strong(expected, desired,
	                                                order(rl::mo_acq_rel, "relaxed-cas"), $);
}

static inline bool
rl_atomic_load16(const struct rl_u128 *word, struct rl_u128 *value)
{
	access();
	*value = memory->of(word).load(order(rl::mo_acquire, "relaxed-load16"), $);
	return true;
}

static inline bool
rl_atomic_cas16(struct rl_u128 *word, struct rl_u128 expected, struct rl_u128 desired)
{
	access();
	return memory->of(word).compare_exchange_strong(expected, desired,
	                                                order(rl::mo_acq_rel, "relaxed-cas16"), $);
}

static inline void
rl_atomic_fence(void)
{
	if (!is_broken("no-fence"))
		rl::atomic_thread_fence(rl::mo_seq_cst, $);
}

static inline void
rl_atomic_pause(void)
{
}

/* PROGRAM RUNS [FORM]: 0 if no run of T has failed, whole or broken in that form. */
template <typename T>
static int
simulate(int argc, char **argv)
{
	rl::test_params p;

	if (argc < 2)
		return 2;
	p.iteration_count = strtoul(argv[1], NULL, 10);
	p.execution_depth_limit = 20000;
	p.progress_output_period = 1000000;
	if (argc > 2)
		broken = argv[2];
	return rl::simulate<T>(p) ? 0 : 1;
}

#endif

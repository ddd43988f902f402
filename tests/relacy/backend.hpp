/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_RELACY_BACKEND_HPP
#define RL_RELACY_BACKEND_HPP

/*
 * atomic.h for Relacy: the library's own source, compiled as C++, runs on simulated memory that
 * reorders and delays whatever C11 permits. A shared word is still named by its address; what
 * it holds is in a cell beside it. Orders are those that atomic.h promises: a load acquires, a
 * store releases, a compare-and-swap does both, a fence is sequentially consistent. The 16-byte
 * load, two loads there, is one here: that it cannot be torn is shown in layout.h.
 */

#define RL_ATOMIC_H /* in place of libshm/atomic.h */
#define _Static_assert static_assert
#include <relacy/relacy.hpp>

#include <stdint.h>

struct rl_word16 {
	uint64_t lo;
	uint64_t hi;
};

static inline bool
operator==(const rl_word16 &a, const rl_word16 &b)
{
	return a.lo == b.lo && a.hi == b.hi;
}

static inline bool
operator!=(const rl_word16 &a, const rl_word16 &b)
{
	return !(a == b);
}

static inline std::ostream &
operator<<(std::ostream &out, const rl_word16 &w)
{
	return out << std::hex << w.hi << ':' << w.lo << std::dec;
}

#define WORDS 48 /* two buckets of the table */

/* Leave out what a test says it needs: it must fail then. No fence is there at all. */
static bool is_broken;

/* Addresses, and what stands there. */
static uint64_t words[WORDS] __attribute__((aligned(64)));

struct cells {
	rl::atomic<uint64_t> word[WORDS];
	rl::atomic<rl_word16> word16[WORDS / 2];

	rl::atomic<uint64_t> &
	of(const uint64_t *address)
	{
		return word[address - words];
	}

	rl::atomic<rl_word16> &
	of(const rl_word16 *address)
	{
		return word16[address - (const rl_word16 *)words];
	}
};

static cells *memory;

static inline uint64_t
rl_atomic_load(const uint64_t *word)
{
	return memory->of(word).load(rl::mo_acquire, $);
}

static inline void
rl_atomic_store(uint64_t *word, uint64_t value)
{
	memory->of(word).store(value, rl::mo_release, $);
}

static inline bool
rl_atomic_cas(uint64_t *word, uint64_t expected, uint64_t desired)
{
	return memory->of(word).compare_exchange_strong(expected, desired, rl::mo_acq_rel, $);
}

static inline bool
rl_atomic_load16(const struct rl_word16 *word, struct rl_word16 *value)
{
	*value = memory->of(word).load(rl::mo_acquire, $);
	return true;
}

static inline bool
rl_atomic_cas16(struct rl_word16 *word, struct rl_word16 expected, struct rl_word16 desired)
{
	return memory->of(word).compare_exchange_strong(expected, desired, rl::mo_acq_rel, $);
}

static inline void
rl_atomic_fence(void)
{
	if (!is_broken)
		rl::atomic_thread_fence(rl::mo_seq_cst, $);
}

static inline void
rl_atomic_pause(void)
{
}

/* PROGRAM RUNS [broken]: 0 if no run of T has failed. */
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
	is_broken = argc > 2;
	return rl::simulate<T>(p) ? 0 : 1;
}

#endif

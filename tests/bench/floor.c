/* SPDX-License-Identifier: BSD-2-Clause */
#include "floor.h"

#include <sched.h>

#include "shared/atomic.h"
#include "shared/hash.h"

static struct rl_u128 word __attribute__((aligned(64)));

void
floor_clock(void *rl, unsigned worker, uint64_t n)
{
	(void)worker;
	for (uint64_t i = 0; i < n; i++)
		bench_sink = rl_now(rl);
}

/* As librl hashes a key, each of them made of the hash before. */
static inline uint64_t
hash_next(struct rl_sip start, uint64_t last)
{
	const uint64_t key[2] = {last, 2};

	return rl_hash_of_key(start, key, sizeof key);
}

static inline struct rl_sip
hash_start(void)
{
	return rl_sip_start64((struct rl_hash_key){.k0 = bench_zero + 1, .k1 = 2});
}

void
floor_hash(void *unused, unsigned worker, uint64_t n)
{
	struct rl_sip start = hash_start();
	uint64_t last = 1;

	(void)unused;
	(void)worker;
	for (uint64_t i = 0; i < n; i++)
		last = hash_next(start, last);
	bench_sink = last;
}

static inline void
count_on(uint64_t by)
{
	struct rl_u128 seen = {rl_atomic_load(&word.lo), rl_atomic_load(&word.hi)};

	rl_atomic_cas16(&word, seen, (struct rl_u128){.lo = seen.lo + by, .hi = seen.hi});
}

void
floor_cas16(void *unused, unsigned worker, uint64_t n)
{
	(void)unused;
	(void)worker;
	for (uint64_t i = 0; i < n; i++)
		count_on(1);
}

void
floor_decision(void *unused, unsigned worker, uint64_t n)
{
	struct rl_sip start = hash_start();
	uint64_t last = 1;

	(void)unused;
	(void)worker;
	for (uint64_t i = 0; i < n; i++) {
		last = hash_next(start, last);
		count_on(1 + (last >> 63)); /* the one waits for the other, as in a decision */
	}
}

void
floor_count(void *unused, unsigned worker, uint64_t n)
{
	static uint64_t line[64 * 8] __attribute__((aligned(64)));

	(void)unused;
	(void)worker;
	for (uint64_t i = 0; i < n; i++)
		rl_atomic_add(&line[(unsigned)sched_getcpu() % 64 * 8], 1);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "floor.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

#include "shared/hash.h"

#define HUGE_PAGE ((size_t)1 << 21)

struct floor_words
floor_words_make(uint64_t count, enum bench_pages pages)
{
	struct floor_words w = {.count = count};
	int advice = pages == BENCH_PAGES_HUGE ? MADV_HUGEPAGE : MADV_NOHUGEPAGE;

	w.bytes = (count * sizeof *w.word + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	w.word = mmap(NULL, w.bytes, PROT_READ | PROT_WRITE,
	              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (w.word == MAP_FAILED)
		bench_die("%zu bytes of memory: %s", w.bytes, strerror(errno));
	madvise(w.word, w.bytes, advice); /* a kernel without huge pages refuses, and has none */
	for (uint64_t i = 0; i < count; i++)
		w.word[i] = (struct rl_u128){.lo = i};
	return w;
}

void
floor_words_free(struct floor_words *w)
{
	munmap(w->word, w->bytes);
	w->word = NULL;
}

void
floor_clock(void *rl, unsigned worker, uint64_t n)
{
	(void)worker;
	for (uint64_t i = 0; i < n; i++)
		bench_sink = rl_now(rl);
}

void
floor_hash(void *unused, unsigned worker, uint64_t n)
{
	struct rl_hash_key secret = {.k0 = bench_zero + 1, .k1 = 2};
	uint64_t key[2] = {1, 2};

	(void)unused;
	(void)worker;
	for (uint64_t i = 0; i < n; i++)
		key[0] = rl_hash_with(secret, 1, key, sizeof key).a;
	bench_sink = key[0];
}

void
floor_cas16(void *words, unsigned worker, uint64_t n)
{
	struct rl_u128 *word = ((struct floor_words *)words)->word;
	struct rl_u128 seen = *word;

	(void)worker;
	for (uint64_t i = 0; i < n; i++) {
		struct rl_u128 next = {.lo = seen.lo + 1, .hi = seen.hi};
		rl_atomic_cas16(word, seen, next);
		seen = next;
	}
}

void
floor_random_cas16(void *words, unsigned worker, uint64_t n)
{
	struct floor_words *w = words;
	uint64_t zero = bench_zero, last = worker;

	for (uint64_t i = 0; i < n; i++) {
		struct rl_u128 *word = &w->word[bench_pick(w->at++ + (last & zero), w->count)];
		struct rl_u128 seen = *word, next = {.lo = seen.lo + 1, .hi = seen.hi};
		rl_atomic_cas16(word, seen, next);
		last = seen.lo;
	}
}

void
floor_count(void *counter, unsigned worker, uint64_t n)
{
	uint64_t *line = counter;

	(void)worker;
	for (uint64_t i = 0; i < n; i++)
		rl_atomic_add(&line[(unsigned)sched_getcpu() % 64 * 8], 1);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_FLOOR_H
#define BENCH_FLOOR_H

/* What the hardware asks for the parts of a decision: lanes to compare with. */

#include "bench.h"
#include "open.h"
#include "shared/atomic.h"

/* 16-byte words of this process, as many as a table has states. */
struct floor_words {
	struct rl_u128 *word;
	uint64_t count;
	uint64_t at; /* how many were visited: no two rounds visit the same */
	size_t bytes;
};

/* On 4 KiB pages or huge ones, as the table has them; every page mapped. */
struct floor_words floor_words_make(uint64_t count, enum bench_pages pages);
void floor_words_free(struct floor_words *words);

void floor_clock(void *rl, unsigned worker, uint64_t n);
void floor_hash(void *unused, unsigned worker, uint64_t n);        /* of a 16-byte key */
void floor_cas16(void *words, unsigned worker, uint64_t n);        /* on one word */
void floor_random_cas16(void *words, unsigned worker, uint64_t n); /* each waits for the last */
void floor_count(void *counter, unsigned worker, uint64_t n);      /* add to a CPU's own line */

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_WALK_H
#define BENCH_WALK_H

/* Requests all over a table that is larger than the caches: lanes over it. */

#include "histogram.h"
#include "open.h"

#define WALK_BATCH 32

struct walk {
	struct rl *rl;
	int rule;
	uint64_t keys; /* numbered from 0, that are in the table */
	uint64_t next; /* the first that is not */
	uint64_t at;   /* requests so far: no two rounds ask about the same keys */
};

#define WALK_SALT 3 /* second word of every key; the first is its number */

/*
 * A table for `capacity` keys that holds nine in ten of them; NULL with a reason if that cannot be
 * had.
 */
struct walk *walk_open(uint32_t capacity, enum bench_pages pages, const char **reason);
void walk_close(struct walk *walk);

void walk_one(void *walk, unsigned worker, uint64_t n);    /* each request waits for the last */
void walk_batch(void *walk, unsigned worker, uint64_t n);  /* WALK_BATCH at a time */
void walk_insert(void *walk, unsigned worker, uint64_t n); /* keys not seen before, as walk_one */
void walk_floor(void *walk, unsigned worker,
                uint64_t n); /* CAS16 alone, on the table's own states */

/* walk_one(), none waiting for the last, each timed. */
void walk_timed(struct walk *walk, uint64_t n, struct histogram *h);

#endif

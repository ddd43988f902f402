/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_PEER_TABLE_H
#define BENCH_PEER_TABLE_H

/*
 * The hash table of two-counter windows that one writes by hand, for one user at a time: open
 * addressing, a line of the cache for each key, a hash of a few multiplications. It trusts its
 * memory, never forgets a key, and an attacker who knows its hash can make it slow.
 */

#include "peer.h"

#define PEER_TABLE_KEY 24

struct peer_entry {
	char key[PEER_TABLE_KEY];
	uint64_t hash; /* 0: an empty entry */
	uint64_t epoch;
	uint64_t end_ns; /* of the window `epoch` */
	uint32_t current;
	uint32_t previous;
	uint32_t limit;
} __attribute__((aligned(64)));

struct peer_table {
	struct peer_entry *entry;
	uint64_t slots; /* a power of two */
};

/* `count` tables that together have `slots`, one behind the other; dies without memory. */
void peer_tables_map(struct peer_table *tables, unsigned count, uint64_t slots, int flags);

/* Map each of their pages into this process, as bench_populate() does for segments. */
void peer_tables_populate(const struct peer_table *first, uint64_t slots);

/* Not 0. */
uint64_t peer_hash(enum peer_limit_name limit, const char *key, size_t len);

bool peer_table_check(struct peer_table *table, enum peer_limit_name limit, const char *key,
                      size_t len, uint64_t hash, uint64_t now_ns);

#endif

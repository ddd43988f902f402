/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_PEER_TABLE_H
#define BENCH_PEER_TABLE_H

/*
 * The hash table of two-counter windows that one writes by hand, for one user at a time: open
 * addressing, a line of the cache for each key, a hash of a few multiplications. It trusts its
 * memory, never forgets a key, and an attacker who knows its hash can make it slow.
 */

#include <string.h>

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

static inline struct peer_entry *
peer_table_find(const struct peer_table *t, enum peer_limit_name limit, const char *key, size_t len,
                uint64_t hash)
{
	if (len >= PEER_TABLE_KEY)
		bench_die("a key is too long for the peers' table");
	for (uint64_t i = 0; i < t->slots; i++) {
		struct peer_entry *e = &t->entry[(hash + i) & (t->slots - 1)];
		if (e->hash == 0) {
			memcpy(e->key, key, len);
			e->hash = hash;
			e->limit = (uint32_t)limit;
			return e;
		}
		if (e->hash == hash && e->limit == (uint32_t)limit &&
		    memcmp(e->key, key, len) == 0 && e->key[len] == '\0')
			return e;
	}
	bench_die("the peers' hash table is full");
}

static inline void
peer_entry_roll(struct peer_entry *e, uint64_t window_ns, uint64_t now_ns)
{
	uint64_t epoch = now_ns / window_ns;

	e->previous = e->epoch + 1 == epoch ? e->current : 0;
	e->current = 0;
	e->epoch = epoch;
	e->end_ns = (epoch + 1) * window_ns;
}

/* Inline, as librl is where it is linked: nobody is to win by a call. */
static inline bool
peer_table_check(const struct peer_table *table, enum peer_limit_name limit, const char *key,
                 size_t len, uint64_t hash, uint64_t now_ns)
{
	const struct peer_limit *l = &peer_limits[limit];
	struct peer_entry *e = peer_table_find(table, limit, key, len, hash);
	uint64_t used;

	if (now_ns >= e->end_ns)
		peer_entry_roll(e, l->window_ns, now_ns);
	used = e->current;
	if (e->previous > 0)
		used = peer_used(e->current, e->previous, now_ns, l->window_ns);
	if (used >= l->capacity)
		return false;
	e->current++;
	return true;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#include "peer_table.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

uint64_t
peer_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * RL_SECOND + (uint64_t)t.tv_nsec;
}

/* FNV-1a. */
static uint32_t
hash_of(enum peer_limit_name limit, const char *key)
{
	uint32_t hash = UINT32_C(2166136261) ^ (uint32_t)limit;

	for (; *key; key++)
		hash = (hash ^ (unsigned char)*key) * UINT32_C(16777619);
	return hash;
}

static struct peer_entry *
find(struct peer_table *table, enum peer_limit_name limit, const char *key)
{
	uint32_t at = hash_of(limit, key);

	for (uint32_t tries = 0; tries < PEER_TABLE_SLOTS; tries++, at++) {
		struct peer_entry *e = &table->entry[at % PEER_TABLE_SLOTS];
		if (e->limit == 0) {
			snprintf(e->key, sizeof e->key, "%s", key);
			e->limit = (uint32_t)limit + 1;
			return e;
		}
		if (e->limit == (uint32_t)limit + 1 && strcmp(e->key, key) == 0)
			return e;
	}
	bench_die("the peers' hash table is full");
}

bool
peer_table_check(struct peer_table *table, enum peer_limit_name limit, const char *key,
                 uint64_t now_ns)
{
	const struct peer_limit *l = &peer_limits[limit];
	struct peer_entry *e = find(table, limit, key);
	uint64_t epoch = now_ns / l->window_ns;

	if (e->epoch != epoch) {
		e->previous = e->epoch + 1 == epoch ? e->current : 0;
		e->current = 0;
		e->epoch = epoch;
	}
	if (peer_used(e->current, e->previous, now_ns, l->window_ns) >= l->capacity)
		return false;
	e->current++;
	return true;
}

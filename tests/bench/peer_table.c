/* SPDX-License-Identifier: BSD-2-Clause */
#include "peer_table.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

uint64_t
peer_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * RL_SECOND + (uint64_t)t.tv_nsec;
}

uint64_t
peer_slots(void)
{
	uint64_t slots = 1024;

	while (slots < 2 * peer_keys)
		slots *= 2;
	return slots;
}

void
peer_tables_map(struct peer_table *tables, unsigned count, uint64_t slots, int flags)
{
	size_t bytes = slots * sizeof(struct peer_entry);
	struct peer_entry *entries = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
	                                  flags | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (entries == MAP_FAILED)
		bench_die("no memory for the peers' tables");
	for (unsigned i = 0; i < count; i++)
		tables[i] = (struct peer_table){.entry = entries + i * (slots / count),
		                                .slots = slots / count};
}

void
peer_tables_populate(const struct peer_table *first, uint64_t slots)
{
	if (madvise(first->entry, slots * sizeof(struct peer_entry), MADV_POPULATE_WRITE) < 0)
		bench_die("the peers' tables: %s", strerror(errno));
}

static uint64_t
mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t
peer_hash(enum peer_limit_name limit, const char *key, size_t len)
{
	uint64_t hash = UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)limit, word;

	for (; len >= 8; key += 8, len -= 8) {
		memcpy(&word, key, 8);
		hash = mix(hash ^ word, UINT64_C(0xa0761d6478bd642f));
	}
	for (word = 0; len > 0; len--)
		word = word << 8 | (unsigned char)key[len - 1];
	return mix(hash ^ word, UINT64_C(0xe7037ed1a0b428db)) | 1;
}

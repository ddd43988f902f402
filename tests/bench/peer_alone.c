/* SPDX-License-Identifier: BSD-2-Clause */
/* Each process counts for itself: nothing is shared, and nothing is limited together. */
#include <string.h>
#include <sys/mman.h>

#include "peer_table.h"

static struct peer_table table;

static const char *
start(void)
{
	return NULL;
}

static void
check(enum peer_limit_name limit, const char *const *keys, size_t count, bool *admitted)
{
	if (!table.entry)
		peer_tables_map(&table, 1, peer_slots(), MAP_PRIVATE);
	for (size_t i = 0; i < count; i++) {
		size_t len = strlen(keys[i]);
		admitted[i] = peer_table_check(&table, limit, keys[i], len,
		                               peer_hash(limit, keys[i], len), peer_now_ns());
	}
}

const struct peer peer_alone = {"alone", "own table in each process", start, check, 1, 100000,
                                true};

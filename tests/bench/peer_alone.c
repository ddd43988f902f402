/* SPDX-License-Identifier: BSD-2-Clause */
/* Each process counts for itself: nothing is shared, and nothing is limited together. */
#include <sys/mman.h>

#include "peer_table.h"

static struct peer_table *table;

static const char *
start(void)
{
	return NULL;
}

static void
check(enum peer_limit_name limit, const char *const *keys, size_t count, bool *admitted)
{
	if (!table)
		table = mmap(NULL, sizeof *table, PROT_READ | PROT_WRITE,
		             MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (table == MAP_FAILED)
		bench_die("no memory");
	for (size_t i = 0; i < count; i++)
		admitted[i] = peer_table_check(table, limit, keys[i], peer_now_ns());
}

const struct peer peer_alone = {"alone", "own table in each process", start, check, 1, 100000};

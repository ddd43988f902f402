/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_PEER_TABLE_H
#define BENCH_PEER_TABLE_H

/* The hash table of two-counter windows that one writes by hand, for one user at a time. */

#include "peer.h"

#define PEER_TABLE_SLOTS (UINT32_C(1) << 18)
#define PEER_TABLE_KEY 40

struct peer_table {
	struct peer_entry {
		char key[PEER_TABLE_KEY];
		uint32_t limit; /* and 1: 0 is an empty entry */
		uint32_t current;
		uint32_t previous;
		uint64_t epoch;
	} entry[PEER_TABLE_SLOTS];
};

bool peer_table_check(struct peer_table *table, enum peer_limit_name limit, const char *key,
                      uint64_t now_ns);

#endif

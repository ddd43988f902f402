/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_STORE_MAP_H
#define RLD_STORE_MAP_H

/* Which node has which slot, as CLUSTER SLOTS tells it. Nodes are numbers of the caller's. */

#include "address.h"
#include "slot.h"
#include "value.h"

#define MAP_NODES_MAX 1024
#define MAP_NOBODY UINT16_MAX

struct map {
	uint16_t owner[STORE_SLOTS]; /* or MAP_NOBODY */
	uint16_t replicas[MAP_NODES_MAX];
};

/*
 * The number of the node at an address, given one if it has none; MAP_NOBODY where there are too
 * many.
 */
typedef uint16_t map_number(void *arg, const struct store_address *a);

void map_clear(struct map *m);

/* All slots are one node's. */
void map_single(struct map *m, uint16_t node);

/*
 * As an answer to CLUSTER SLOTS says. Nodes that do not know their own address have that of `from`,
 * who answered. False where it is no such answer: `m` is then as it was.
 */
bool map_read(struct map *m, const struct store_value *v, const struct store_address *from,
              map_number *number, void *arg);

/* How many slots a node has; of MAP_NOBODY, how many nobody has. */
unsigned map_slots(const struct map *m, uint16_t node);

/* "MOVED 3999 127.0.0.1:6381" and ASK alike; without a host, that of `from`. */
bool map_redirect(const char *text, const struct store_address *from, unsigned *slot,
                  struct store_address *to);

#endif

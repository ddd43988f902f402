/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_TABLE_MAP_H
#define RL_TABLE_MAP_H

/* A process's view of a table that has taken another's place. */

#include "segment/segment.h"

/*
 * The segment `first` with another table: of that number, mapped anew. `name` is the segment's,
 * `mapped` the segment with the table that was mapped last, *next_map where its neighbour is to be
 * mapped: rl_addresses_take(). 0; -EAGAIN, RL_EDAMAGED as rl_tables_look() says, also if the file
 * does not reach as far or the tables overlap; -ENOMEM.
 */
int rl_tables_map(const struct rl_segment *first, const char *name, uint64_t number,
                  const struct rl_segment *mapped, uint64_t *next_map, struct rl_segment *s);

/*
 * Have zeros in the place of its own table, and give up the view of the file: the table has been
 * left, all of its keys have come to another, and this process knows two that are newer. Threads
 * may be in it still. What they read is what they read once its memory is given back; what they
 * write is memory of this process, and nobody looks there. True: it was done now.
 */
bool rl_tables_leave(struct rl_segment *s);

/* Undo rl_tables_map(). */
void rl_tables_unmap(struct rl_segment *s);

#endif

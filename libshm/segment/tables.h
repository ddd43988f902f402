/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_TABLES_H
#define RL_TABLES_H

/*
 * The tables of a segment. Number 0 lies among the other areas. Each further one takes the place of the one before it,
 * with other sizes: rl_resize(). It lies behind all else in the file, which grows for it. What is not of slots stays where it
 * is: rules, limits, configuration, bans, statistics, history, events, seats and the reserve.
 *
 * rl_tables.now says which is in force. Where table n lies was written before `now` says n, and is written again for
 * n + 2 only when `now` says n + 1 and that no key is left in n. A process maps a table when it first finds
 * it in force. The memory of the one before is given back as soon as nothing is in it any more, whoever has it mapped: what is read
 * there then is zeros. Threads may still be in it, so its addresses are kept, and are no other table's ever: rl_tables_leave().
 */

#include "segment/segment.h"

/* The number of the table in force. */
static inline uint64_t
rl_tables_now(const struct rl_segment *s)
{
	return rl_atomic_load(&s->header->tables.now) >> 1;
}

/* The check of a place. Its key is in the header: it tells damage, and not who wrote it. */
uint64_t rl_tables_check(const struct rl_segment *s, uint64_t number,
                         const struct rl_table_place *p);

/*
 * Does the segment say where that table is? Of a table that is in use, or was. 0; -EAGAIN: not any more; RL_EDAMAGED: its place
 * is none, for it was not written by who makes tables, or lies among other areas, beyond 2^48, or where no table begins.
 */
int rl_tables_look(const struct rl_segment *s, uint64_t number);

/*
 * The segment `first` with another table: of that number, mapped anew. `name` is the segment's, `mapped` the segment with
 * the table that was mapped last, *next_map where its neighbour is to be mapped: rl_addresses_take(). 0; -EAGAIN, RL_EDAMAGED as above, also if the file does not reach as far or the tables overlap; -ENOMEM.
 */
int rl_tables_map(const struct rl_segment *first, const char *name, uint64_t number,
                  const struct rl_segment *mapped, uint64_t *next_map, struct rl_segment *s);

/*
 * Have zeros in the place of its own table, and give up the view of the file: the table has been left, all of its keys have come
 * to another, and this process knows two that are newer. Threads may be in it still. What they read is what they read once its
 * memory is given back; what they write is memory of this process, and nobody looks there.
 * True: it was done now.
 */
bool rl_tables_leave(struct rl_segment *s);

/* Undo that. */
void rl_tables_unmap(struct rl_segment *s);

/* Do the tables that are in use lie within the segment's file? 0, RL_EDAMAGED, RL_ETRUNCATED. */
int rl_tables_fit(const struct rl_segment *s, int fd);

/* The bytes that a table of so many buckets and entries a slot takes. */
uint64_t rl_tables_bytes(const struct rl_segment *s, uint32_t buckets, uint32_t ring);

/*
 * Make the next table behind the one in force, of which `s` is, and put it into force. Whoever calls has the lock of who
 * configures. 0; RL_EMEMORY, -ENOSPC, -EFBIG, RL_EDAMAGED nobody could follow, -ENOENT the name is gone, or another -errno: nothing has
 * changed.
 */
int rl_tables_make(const struct rl_segment *s, const char *name, uint32_t buckets, uint32_t ring);

/* All keys have come to the table in force from the one before. */
void rl_tables_settle(const struct rl_segment *s);

/* Give back the memory of the table before the one in force, `older`, if that was not done. */
void rl_tables_give_back(const struct rl_segment *older);

#endif

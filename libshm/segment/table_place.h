/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_TABLE_PLACE_H
#define RL_TABLE_PLACE_H

/*
 * Where a table that has taken another's place lies in the segment's file, and where in it its
 * parts are. All that is computed of a place is computed of the copy of it that was judged.
 */

#include "segment/segment.h"

#define RL_TABLES_END (UINT64_C(1) << 48) /* of places: further than any file or address reaches */

/* Where the parts of a table lie, from its start. */
struct rl_table_parts {
	uint64_t rings, wishes, records, bytes;
};

struct rl_table_parts rl_tables_parts_of(const struct rl_geometry *g);

/* Up to where the next one may begin. Behind its end in the file nobody looks. */
uint64_t rl_tables_room(const struct rl_geometry *g);

/*
 * The segment's geometry with a table of so many buckets and entries a slot, and the bytes that
 * this takes.
 */
struct rl_geometry rl_tables_resized(const struct rl_segment *s, uint32_t buckets, uint32_t ring);
uint64_t rl_tables_bytes(const struct rl_segment *s, uint32_t buckets, uint32_t ring);

/* The check of a place. Its key is in the header: it tells damage, and not who wrote it. */
uint64_t rl_tables_check(const struct rl_segment *s, uint64_t number,
                         const struct rl_table_place *p);

/* Say where that table is. The check is computed. */
void rl_tables_write_place(const struct rl_segment *s, uint64_t number, struct rl_table_place p);

/*
 * Does the segment say where that table is? Of a table that is in use, or was. 0; -EAGAIN: not any
 * more; RL_EDAMAGED: its place is none, for it was not written by who makes tables, or lies among
 * other areas, beyond 2^48, or where no table begins.
 */
int rl_tables_look(const struct rl_segment *s, uint64_t number);

/* The same of a table other than the first, and where it is. */
int rl_tables_find(const struct rl_segment *s, uint64_t number, struct rl_table_place *p,
                   struct rl_geometry *g);

/* Do the tables that are in use lie within the segment's file? 0, RL_EDAMAGED, RL_ETRUNCATED. */
int rl_tables_fit(const struct rl_segment *s, int fd);

#endif

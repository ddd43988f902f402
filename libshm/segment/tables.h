/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_TABLES_H
#define RL_TABLES_H

/*
 * The tables of a segment. Number 0 lies among the other areas. Each further one takes the place of
 * the one before it, with other sizes: rl_resize(). It lies behind all else in the file, which
 * grows for it. What is not of slots stays where it is: rules, limits, configuration, bans,
 * statistics, history, events, seats and the overflow area.
 *
 * rl_tables.now says which is in force. Where table n lies was written before `now` says n, and is
 * written again for n + 2 only when `now` says n + 1 and that no key is left in n. A process maps a
 * table when it first finds it in force. The memory of the one before is given back as soon as
 * nothing is in it any more, whoever has it mapped: what is read there then is zeros. Threads may
 * still be in it, so its addresses are kept, and are no other table's ever: rl_tables_leave().
 */

#include "segment/segment.h"

/* The number of the table in force. */
static inline uint64_t
rl_tables_now(const struct rl_segment *s)
{
	return rl_atomic_load(&s->header->tables.now) >> 1;
}

/*
 * Make the next table behind the one in force, of which `s` is, and put it into force. Whoever
 * calls has the lock of who configures. 0; RL_EMEMORY, -ENOSPC, -EFBIG, RL_EDAMAGED nobody could
 * follow, -ENOENT the name is gone, or another -errno: nothing has changed.
 */
int rl_tables_make(const struct rl_segment *s, const char *name, uint32_t buckets, uint32_t ring);

/* All keys have come to the table in force from the one before. */
void rl_tables_settle(const struct rl_segment *s);

/* Give back the memory of the table before the one in force, `older`, if that was not done. */
void rl_tables_give_back(const struct rl_segment *older);

#endif

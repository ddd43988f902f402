/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_MIGRATE_H
#define RL_MIGRATE_H

/* Where a key is to be looked for, while tables change and keys move. */

#include "move/follow.h"

struct rl_sought {
	struct rl *rl;                   /* of the table to look in; and of that: */
	const struct rl_compiled *limit; /* the limit, */
	struct rl_candidates candidates; /* and the key's slots */
	uint64_t key_hash;               /* of the key, whatever the limit */
	uint64_t now_ns;
	struct rl_slot unnamed; /* a slot that the key has got, and whose name is to be written; tag
	                           0: none */
};

/* Is there more to do than to look? Of every decision that is not plain. */
static inline bool
rl_must_migrate(const struct rl *rl)
{
	const struct rl_table *t = &rl->segment.table;

	return t->now && rl_atomic_load(t->now) != t->number << 1;
}

/*
 * If the table is left, go on with the one in force; and see to it that the key is there, if it was
 * in the one before. On a handle that may not write, or if there is no room for it, it is looked
 * for where it is. 0; -EAGAIN others were quicker; -ENOSPC it was on its way, and there is no room
 * for it any more; -ENOMEM, RL_EDAMAGED the table cannot be mapped.
 */
int rl_migrate(struct rl_sought *sought);

#endif

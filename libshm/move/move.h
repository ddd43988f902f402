/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_MOVE_H
#define RL_MOVE_H

/*
 * Keys move from a table to the one that has taken its place: each when it is next asked for, or
 * when a mover comes to its slot. move.c has how, and why no count is lost on the way, nor made
 * twice.
 */

#include "move/follow.h"
#include "rl_admin.h"

enum rl_moved_key {
	RL_MOVED_NOTHING, /* the table before has nothing of it, and never will */
	RL_MOVED_KEY,     /* it has come, by whose doing ever: look for it again */
	RL_MOVED_STAYS,   /* there is no slot for it here: it is counted where it was */
	RL_MOVED_STUCK,   /* nor is it counted there any more: whoever was to move it has died */
	RL_MOVED_AGAIN,   /* others are changing it, or this table is left, too */
};

/* A key under a limit, to be moved to the table of `rl`. */
struct rl_coming {
	struct rl *rl;
	struct rl *before;
	const struct rl_compiled *limit; /* as `rl` has compiled it */
	uint64_t hash;                   /* of the key, under the limit */
	uint64_t now_ns;
};

/* Move it. If it got a new slot whose name is not known, *unnamed is that, else its tag is 0. */
enum rl_moved_key rl_move_key(const struct rl_coming *key, struct rl_slot *unnamed);

/* Is anything of it in the table before? Writes nothing. */
bool rl_move_is_needed(const struct rl_coming *key);

/*
 * Is the state of that slot sealed? Then its key is moved. True: it was, and nothing is left to do
 * in the slot.
 */
bool rl_move_is_on_its_way(struct rl *rl, struct rl *before, uint64_t index);

/*
 * Move the key of a slot of `before`, the table before that of `rl`. True: nothing is left in the
 * slot.
 */
bool rl_move_slot(struct rl *rl, struct rl *before, uint64_t index, uint64_t now_ns);

#endif

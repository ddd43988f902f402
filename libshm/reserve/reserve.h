/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_RESERVE_H
#define RL_RESERVE_H

#include "reserve/sets.h"
#include "segment/view.h"

/* The cell of a key, as it was loaded. */
struct rl_cell {
	const struct rl_segment *segment;
	const struct rl_compiled *limit;
	struct rl_set set;
	struct rl_u128 *at;
	struct rl_u128 word;  /* what a CAS has to expect */
	struct rl_u128 count; /* a word of limit->cell: what it counts */
};

/*
 * Which of its limit's cells is a key's: of a limit with prefixes by `network`, rl_network_key()'s bytes;
 * else by its tag's bits.
 */
uint32_t rl_reserve_index(const struct rl_segment *s, const struct rl_compiled *limit, uint64_t tag,
                          const unsigned char *network);

/* The same of a key that has a slot. False: its name is not known. */
bool rl_reserve_index_of(const struct rl_segment *s, const struct rl_compiled *limit,
                         struct rl_slot slot, uint32_t *index);

/* Load a cell of the limit. False: the limit has no cells now, or it changes too fast to be read. */
bool rl_reserve_load(const struct rl_segment *s, const struct rl_compiled *limit, uint32_t index,
                     struct rl_cell *cell);

/* The same, and cells are taken if need be. 0; -ENOSPC there are none for it; -EAGAIN. */
int rl_reserve_take(const struct rl_segment *s, const struct rl_compiled *limit, uint32_t index,
                    uint64_t now_ns, struct rl_cell *cell);

/* It as a limiter sees it. */
struct rl_view rl_reserve_view(const struct rl_cell *cell);

/* Store what a charge has made of the count. False: others were quicker. */
bool rl_reserve_charge(const struct rl_cell *cell, struct rl_u128 count);

/*
 * Was the key given a slot since the cell was loaded and charged? Then the charge does not stand for its
 * request. To be asked after rl_reserve_charge().
 */
bool rl_reserve_was_left(const struct rl_cell *cell, const struct rl_candidates *candidates);

/*
 * Fold a slot's count into its cell, so that the slot can be freed if its state still is view->word. The
 * limit has cells, and the view is not zero. False: its name or a set is not to be had, or it changed.
 */
bool rl_reserve_fold(const struct rl_segment *s, const struct rl_compiled *limit,
                     struct rl_slot slot, const struct rl_view *view, uint64_t now_ns);

enum rl_carry {
	RL_CARRY_NOTHING, /* its first charge may be made */
	RL_CARRY_DONE,    /* the slot is to be looked at again */
};

/*
 * A LIVE slot that was never charged, whose tag was seen before: bring what its key has in the cell.
 */
enum rl_carry rl_reserve_carry(const struct rl_segment *s, const struct rl_compiled *limit,
                               uint32_t index, struct rl_slot slot, const struct rl_view *view,
                               uint64_t now_ns);

#endif

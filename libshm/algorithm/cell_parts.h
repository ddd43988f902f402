/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_CELL_PARTS_H
#define RL_CELL_PARTS_H

/* What a slot counts, as its key's cell counts it, and the other way round: what algorithms' rows say of cells. See cell.h. */

#include "algorithm/limiter.h"

/* Epochs of a cell, and what was counted in the newest and in the one before. */
struct rl_cell_parts {
	uint64_t epoch;
	uint32_t cur;
	uint32_t sum;
};

static inline uint32_t
rl_cell_limited(uint64_t count)
{
	return count < RL_CAPACITY_MAX ? (uint32_t)count : RL_CAPACITY_MAX;
}

/* Add what a slot was charged in an epoch to its parts, of which the newest is the first. */
static inline void
rl_cell_add(struct rl_cell_parts *p, uint64_t epoch, uint32_t count)
{
	if (epoch == p->epoch)
		p->cur = rl_cell_limited((uint64_t)p->cur + count);
	else if (epoch + 1 == p->epoch)
		p->sum = rl_cell_limited((uint64_t)p->sum + count);
}

/*
 * A slot that was brought on within an epoch, and counts nothing there, has forgotten what counted before that:
 * nothing may be counted there as if it were earlier. So its cell is open in that epoch.
 */
static inline void
rl_cell_open_epoch(struct rl_cell_parts *p, bool is_within)
{
	if (is_within && p->cur == 0)
		p->cur = 1;
}

#endif

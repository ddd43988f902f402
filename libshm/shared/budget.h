/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_BUDGET_H
#define RL_BUDGET_H

/*
 * What a request may cost at most, whatever the segment's bytes say and however fast others
 * change them. Loops over shared words, and all tries of them, draw on one budget, in steps of
 * about one read of a word; where it ends, the request is undecided.
 *
 * A lookup of what is configured and banned can be made long by bytes alone: all lengths of
 * patterns there are, and no empty slot to end at. Of real tables, half empty, a key of all 193
 * lengths needs less than half of RL_LOOKUP_STEPS.
 *
 * Deciding takes another try only if somebody has changed the key's slot meanwhile. So what it
 * costs beyond some 100 steps is paid for by the others' writes. RL_DECIDE_STEPS are tries enough
 * that of 100 processes which do nothing but charge one key, none meets its end.
 */

#include <stdbool.h>
#include <stdint.h>

#define RL_LOOKUP_STEPS 8192  /* for an item */
#define RL_DECIDE_STEPS 65536 /* for all limits of a call; storing a ring's entry is one, too */
#define RL_RING_TRIES 8       /* and for each limit so often its whole ring */

struct rl_budget {
	uint32_t left; /* 0: it has ended */
};

static inline bool
rl_budget_take(struct rl_budget *b, uint32_t steps)
{
	b->left = b->left > steps ? b->left - steps : 0;
	return b->left > 0;
}

#endif

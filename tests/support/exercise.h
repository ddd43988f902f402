/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_EXERCISE_H
#define RL_EXERCISE_H

#include <stdint.h>

#include "rl.h"

#define EXERCISE_RULES 7
#define EXERCISE_NOW (UINT64_C(1700000000) * RL_SECOND)

/* A small segment with a rule of each algorithm, of networks and of two limits. */
extern const struct rl_options exercise_options;

/* Define them, charge keys, ban some, configure one. Aborts if that fails. */
void exercise_fill(struct rl *rl);

/*
 * Make every call there is, with arguments by `seed`, on a segment that may hold anything. Reads
 * all that is told, and aborts where an answer cannot be. Repeatable.
 */
void exercise_calls(struct rl *rl, uint64_t *seed);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_RESET_H
#define RL_RESET_H

/* To forget what keys have used: one by its name (reset.c), or many (matching.c). */

#include "rule/handle.h"
#include "table/table.h"

#define RL_RESET_TRIES 1000 /* at a slot that other processes keep changing */

/* One try to forget what a LIVE slot counts: 1 forgotten, 0 it counts nothing, -1 look again. */
int rl_reset_slot(struct rl *rl, struct rl_slot slot);

/* Add to *forgotten under how many limits of the rule the key was. 0, or what rl_reset() says. */
int rl_reset_key(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t *forgotten);

#endif

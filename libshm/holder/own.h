/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_HOLDER_OWN_H
#define RL_HOLDER_OWN_H

/*
 * The seats that handles of this program have taken, in whatever segment. A seat of this process that is not among
 * them is of another program that the process was before it called exec(2). A child of fork(2) has its
 * parent's list, and another pid. Any thread, at any time.
 */

#include <stdbool.h>
#include <stdint.h>

#include "shared/layout_slot.h"

void rl_own_add(uint32_t index, struct rl_u128 seat);
void rl_own_remove(uint32_t index, struct rl_u128 seat);

/* True, too, if there were so many that not all are known. */
bool rl_own_has(uint32_t index, struct rl_u128 seat);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_RING_H
#define RL_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/layout.h"

/*
 * Make *entry `value`, on behalf of the frozen state `seen`. True once it is; false when
 * the state is no longer `seen`, so that someone else has done it.
 */
bool rl_ring_store(uint64_t *entry, uint64_t value, const struct rl_u128 *state,
                   struct rl_u128 seen);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#include "algorithm/ring.h"

#define TRIES 64

bool
rl_ring_store(uint64_t *entry, uint64_t value, const struct rl_u128 *state, struct rl_u128 seen)
{
	for (int tries = 0; tries < TRIES; tries++) {
		uint64_t old = rl_atomic_load(entry);
		struct rl_u128 again;
		if (!rl_atomic_load16(state, &again) || !rl_u128_equal(again, seen))
			return false;
		if (old == value || rl_atomic_cas(entry, old, value))
			return true;
	}
	return false;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "holder/own.h"

#include "shared/atomic.h"

#define OWN_MAX 64
#define INDEX_BITS 12

static uint64_t own[OWN_MAX]; /* a fingerprint each; 0: empty */
static uint64_t is_overfull;

/* Two of one process have another pid, gen or number. */
static uint64_t
fingerprint_of(uint32_t index, struct rl_u128 seat)
{
	return (seat.lo ^ seat.hi) << INDEX_BITS | index | UINT64_C(1) << 63;
}

static bool
replace(uint64_t fingerprint, uint64_t by)
{
	for (int i = 0; i < OWN_MAX; i++)
		if (rl_atomic_own_load(&own[i]) == fingerprint &&
		    rl_atomic_own_cas(&own[i], fingerprint, by))
			return true;
	return false;
}

void
rl_own_add(uint32_t index, struct rl_u128 seat)
{
	if (!replace(0, fingerprint_of(index, seat)))
		rl_atomic_own_store(&is_overfull, 1);
}

void
rl_own_remove(uint32_t index, struct rl_u128 seat)
{
	replace(fingerprint_of(index, seat), 0);
}

bool
rl_own_has(uint32_t index, struct rl_u128 seat)
{
	for (int i = 0; i < OWN_MAX; i++)
		if (rl_atomic_own_load(&own[i]) == fingerprint_of(index, seat))
			return true;
	return rl_atomic_own_load(&is_overfull) != 0;
}

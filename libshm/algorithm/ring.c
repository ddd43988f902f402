/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How a state word and its ring of closed sub-buckets move on together, with one CAS at a
 * time and nobody to wait for.
 *
 * A state is open (jump = 0) or frozen (jump = j). Write n for the granularity, e for the
 * epoch; ring[x] is the entry at x mod n. Steps, each by anyone:
 *
 *	charge  open, time in e         CAS16 cur += cost
 *	freeze  open, time in e+k, k<=n CAS16 jump = k
 *	store   frozen                  ring[e] = cur, ring[e+1 .. e+j-1] = 0, each a CAS from
 *	                                a value read while the state was frozen as it is
 *	close   frozen, all stored      CAS16 epoch = e+j, open, sum = cur + entries that stay
 *	restart time past e+n           CAS16 epoch = that, sum = span = 0
 *
 * Invariant: for each x from e-span to e-1, ring[x] holds exactly what was charged in
 * sub-bucket x - in a frozen state for each x >= e+j-n of them, the older ones being about to
 * be replaced - and what was charged before e-span lies outside the window.
 *
 * 1. cur is final once frozen: a charge is a CAS16 from an open word. So all who store
 *    store the same values: e, cur and j are all in the frozen word.
 * 2. Entries that are needed are not overwritten. While frozen, e .. e+j-1 replace
 *    e-n .. e+j-1-n; whoever decides at e+j or later needs e+j-n .. e-1 only. Whoever decides
 *    at e from an open word looks at that word again after reading the ring: if the epoch and
 *    jump are the same (cur may have grown, it is not in the ring), nothing was replaced.
 * 3. A store that slept does no harm. It expects v, read while its frozen state stood.
 *    Either someone closed that state: then the entry already holds the value, which is not
 *    v, so the CAS fails. Or time restarted, or the slot was retired: then span was
 *    zero, and before an entry counts again a closer of the new time replaces whatever it
 *    finds, v or the sleeper's value; after that the entry is not v, and the CAS fails. An
 *    entry's gen and epoch bits keep v from coming back, unless the sleeper sleeps for a
 *    multiple of 2^28 sub-buckets or 256 incarnations between two of its instructions.
 * 4. A killed process leaves an open word, or a frozen one that anyone can close.
 *
 * A sub-bucket without charges is stored as 0, not left out: otherwise an entry of 2^28
 * sub-buckets ago could pass for it.
 *
 * Cost: at most two CAS16 and k ring stores when a key's time moves by k sub-buckets, none
 * with granularity 1 (sum = cur needs no ring) or after a whole window without charges.
 */
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

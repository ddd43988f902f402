/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_RING_H
#define RL_RING_H

#include <stdbool.h>
#include <stdint.h>

#include "shared/layout.h"

/*
 * How a state word and its ring of closed sub-buckets move on together, with one CAS at a
 * time and nobody to wait for.
 *
 * A state is open (jump = 0) or frozen (jump = j). Write n for the granularity, e for the epoch;
 * ring[x] is the entry at x mod n. What counts of the closed sub-buckets is e-n .. e-1 of an open
 * state, and e+j-n .. e-1 of a frozen one: those that *stay*, while e-n .. e+j-1-n leave. Steps,
 * each by anyone:
 *
 *	charge  open, time in e         CAS16 cur += cost
 *	freeze  open, time in e+k, k<=n CAS16 jump = k, sum = what stays
 *	store   frozen                  ring[e] = cur, ring[e+1 .. e+j-1] = 0, each a CAS from
 *	                                a value read while the state was frozen as it is
 *	close   frozen, all stored      CAS16 epoch = e+j, open, sum += cur
 *	restart time past e+n           CAS16 epoch = that, sum = span = 0
 *	refund  of e                    CAS16 cur -= part of it
 *	refund  of x < e that stays     CAS ring[x] -= part of it; then CAS16 sum -= that part, or
 *	                                if the word is not as before, sum = what of the ring stays
 *
 * What stays is the sum less the entries that leave, which are read while the state is open; but if
 * the ring's last place is to be stored, which happens once in n sub-buckets, it is the entries
 * that stay, added up.
 *
 * Invariant:
 *
 *	ring    For each x from e-span to e-1 that counts, ring[x] holds what was charged in
 *	        sub-bucket x, less what was given back of it; and what was charged before e-span
 *	        lies outside the window.
 *	sum     It is never less than the entries that count, together, and in truth they are equal.
 *
 * The second is said in this way for the sake of refunds in a closed sub-bucket, which take two
 * steps: an entry falls, by a CAS from what was read in it, and then the sum. That is lowered by as
 * much by a CAS16 from the very word that was loaded before the entry was: within an epoch a sum
 * only falls, so nobody has summed the lower entry, and who has read the ring meanwhile has that
 * word, too. In any other word it is set to what of the ring stays, by a CAS16 from the word that
 * the ring was read under. Between the two, and after one who is killed there, the sum is too
 * large. Such an excess is no part of any entry, so it would never leave with one: that is why the
 * ring is added up once in each turn. It is gone when the first turn ends that began after the
 * entry fell: within 2n sub-buckets.
 *
 * 1. Frozen, cur only falls: a charge is a CAS16 from an open word. All who store under one word
 *    store the same values: e, cur and j are all in it; under a later one, the same or a smaller
 *    cur. So ring[e] only falls, and who closes by a word has stored what it says.
 * 2. Entries that are needed are not overwritten. While frozen, e .. e+j-1 replace e-n .. e+j-1-n;
 *    whoever decides at e+j or later needs e+j-n .. e-1 only. Whoever decides at e from an open
 *    word looks at that word again after reading the ring: if the epoch and jump are the same (cur
 *    may have grown, it is not in the ring), nothing was replaced. Whoever freezes does so by a
 *    CAS16 from the very word that it had before it read the ring.
 * 3. A frozen sum is never less than what stays. Entries only fall. So what is read of those that
 *    leave is at most what the word, which is older, has for them; and what is read of those that
 *    stay is at least what they are at the CAS16.
 * 4. A store that slept does no harm. It expects v, read while its frozen state stood. Either
 *    someone closed that state: then the entry holds the value already, or less of it. v is another
 *    epoch's or was more, so the CAS fails. Or time restarted, or the slot was retired: then span
 *    was zero, and before an entry counts again a closer of the new time replaces whatever it
 *    finds, v or the sleeper's value; after that the entry is not v, and the CAS fails. An entry's
 *    gen and epoch bits keep v from coming back, unless the sleeper sleeps for a multiple of 2^28
 *    sub-buckets or 256 incarnations between two of its instructions.
 * 5. A killed process leaves an open word, or a frozen one that anyone can close.
 *
 * A sub-bucket without charges is stored as 0, not left out: otherwise an entry of 2^28
 * sub-buckets ago could pass for it.
 *
 * Cost: at most two CAS16, k loads of the ring (n, once in n sub-buckets) and k stores when a key's
 * time moves by k sub-buckets, none with granularity 1 (sum = cur needs no ring) or after a whole
 * window without charges.
 */

/*
 * Make *entry `value`, on behalf of the frozen state `seen`. True once it is; false when
 * the state is no longer `seen`, so that someone else has done it.
 */
bool rl_ring_store(uint64_t *entry, uint64_t value, const struct rl_u128 *state,
                   struct rl_u128 seen);

#endif

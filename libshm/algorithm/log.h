/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_LOG_H
#define RL_LOG_H

/*
 * The exact sliding log: the times of the last admitted units of cost, in the slot's ring. No
 * clock; of memory only the ring is read.
 *
 * Units are numbered as they are admitted: the newest has number `units`, and number u is kept
 * at u mod ring. A request of cost c at t is admitted iff unit number units - (capacity - c) is
 * not there yet or has left the window (its time <= t - window): one look, whatever the
 * capacity, which must not exceed half the ring.
 *
 * The newest `pending` units, all of one time, are in the state word only: the next request of
 * a later time stores them, by CAS from what it read while the state stood, before the CAS16
 * that adds its own. Whoever is killed in between has stored what the next one stores again.
 *
 * Why half. Storing unit u overwrites u - ring. Between that and the CAS16 a refund may take
 * pending units back, and the CAS16 fails; what was overwritten stays so. Let C be the largest
 * capacity (tiers and overrides included), n the units older than the newest time, p the most that
 * were pending at it: p <= C, for each was admitted beside the others. Stores reach n + p, so what
 * is overwritten is n + p - ring or older. Refunds never take `units` below n, and n never falls,
 * so a decision asks for n - (C - 1) or newer. That is whole iff ring >= C + p, and for every p
 * iff ring >= 2C. A smaller ring does show: with 2C - 1, C charged, stored by a clock that is a
 * window ahead, and refunded, unit n - (C - 1) has the time of a charge that was given back, and
 * denies a request that nothing stands against.
 *
 *	           asked for, after a refund of p = C
 *	          n-C+1 .. n
 *	----------+--------+--------+---- numbers
 *	           overwritten      n+p
 *	   .. n+p-ring              what a storer that slept has stored
 *
 * What was stored at n + 1 .. n + p and given back is of no unit: whoever charges these numbers
 * anew stores them before they are looked at in the ring.
 *
 * A store that slept expects a time that is gone, for times in a ring's place only grow: each is
 * put in the place of one that was not later, and a place whose time is the newest is not written.
 * A slot's next key may have older times, where its requests' clocks are behind: it may then meet
 * one of the old key's, later than its own, at a unit that the old one's place has. It is denied
 * longer, and not admitted more.
 *
 * State word: lo is the time of the newest unit, or of one that was newest and given back; hi is
 * units:14 | pending:13 above 37 bits of which the slot has the lowest 12. `units` is kept below
 * 2 * ring: at least ring of them, and the same place in the ring, are all that matters of a larger
 * number. Refunds of at most half a ring leave the other half, and so no unit that counts is
 * "not there yet".
 */

#include <stdbool.h>
#include <stdint.h>

#include "rl.h"
#include "shared/layout.h"

_Static_assert(2 * RL_RING_MAX <= 1 << 14, "units fit");
_Static_assert(RL_LOG_MAX < 1 << 13 && RL_LOG_MAX == RL_RING_MAX / 2, "pending fits");

/* The largest capacity a ring is enough for. */
static inline uint32_t
rl_log_capacity(uint32_t ring_entries)
{
	return ring_entries / 2;
}

struct rl_log {
	uint64_t newest_ns;
	uint32_t units;
	uint32_t pending;
};

/* Made sane for a ring of that many entries. */
struct rl_log rl_log_unpack(struct rl_u128 word, uint32_t ring_entries);
struct rl_u128 rl_log_pack(struct rl_log log, uint64_t slot_bits);

/*
 * The time of the unit that is `back` before the newest; back < units, and < half the ring, which
 * may be read: the caller checks that the state still stands.
 */
uint64_t rl_log_time(const struct rl_log *log, const uint64_t *ring, uint32_t ring_entries,
                     uint32_t back);
/* The same, of one that is not pending. */
uint64_t rl_log_stored(const struct rl_log *log, const uint64_t *ring, uint32_t ring_entries,
                       uint32_t back);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_ALGORITHM_IN_FLIGHT_H
#define RL_ALGORITHM_IN_FLIGHT_H

/*
 * How many units of a key are held, and by whom: a total, and a tally for each process that holds
 * some. No clock; of memory only the ring is read.
 *
 *	lo   63        56 55         44 43                    24 23                       0
 *	    +------------+-------------+------------------------+-------------------------+
 *	    |   gen:8    |  holder:12  |        units:20        |      seq, low 24        |
 *	    +------------+-------------+------------------------+-------------------------+
 *	hi   63                 44 43       31 30        19 18        13    12   11       0
 *	    +---------------------+-----------+------------+------------+-------+---------+
 *	    |      total:20       |  used:13  |  place:12  |seq, high 6 |swept:1|  slot   |
 *	    +---------------------+-----------+------------+------------+-------+---------+
 *
 *	holder, gen  the seat of the process whose tally changed last, and which process of the
 *	             seat's: together its label, see holder/holder.h
 *	units        what that process holds
 *	total        what all processes hold
 *	used         how many places of the ring have a tally of this incarnation of the slot
 *	place        which of them is the newest tally's: 0 .. used - 1
 *	swept        a sweep has met a total of 0 here, and nobody has taken a unit since
 *	seq          one more with each change
 *
 * A place of the ring holds a tally as it stood in `lo`. The newest tally stands in `lo` alone:
 *
 *	ring'[i] = i == place ? lo : ring[i]       i < used
 *
 * Invariants, between any two steps of any process:
 *
 *	1. For each label, what ring' has for it is what its process has taken and nobody given
 *	   back.
 *	2. total is the sum of ring', and was at most the capacity when it last grew.
 *	3. A place keeps its label while it has units, and no label with units has two places.
 *
 * So a request is decided by the state word alone, exactly, at the load of it. To take units is one
 * CAS16 where the newest tally is the process's own: one process alone never reads the ring. Else
 * the newest tally is stored first, by a CAS from what was read there while the state stood, and
 * the CAS16 makes another tally the newest. Whoever is killed in between has stored what the next
 * one stores again: the same as a sliding log's time, see ring.h. To give back is the same step
 * downwards. It needs no search, for a hold remembers its place.
 *
 * A store that slept expects a word that was at its place before the tally it wanted to store.
 * Whoever moved the state on from that place has stored a newer one there, and its sequence is
 * another. While the state has not moved from the place, what the ring has there counts for
 * nothing. `used` says which words are of this incarnation, so that there is nothing to clear when
 * a slot is used again.
 *
 * `seq` begins each incarnation of the slot at the slot's gen, shifted by 16 bits, plus one. So a
 * word does not come back within 2^30 changes of a slot's incarnation, nor `lo` within 2^24, nor
 * that of one incarnation in the next: equal `lo` around a load of `hi` means that both belong
 * together. (From 0 on it could, and so it could from whatever another algorithm has left there:
 * see "What wraps" in PROTOCOL.md.)
 *
 * Cost: acquiring reads up to `used` words of the ring where another process was the last.
 */

#include <stdbool.h>
#include <stdint.h>

#include "shared/layout.h"

#define RL_IN_FLIGHT_PLACES_MAX 4096u

#define RL_TALLY_LABEL_SHIFT 44
#define RL_TALLY_UNITS_SHIFT 24
#define RL_TALLY_UNITS_MASK UINT32_C(0xfffff)
#define RL_TALLY_SEQ_LOW_BITS 24
#define RL_TALLY_SEQ_LOW_MASK ((UINT32_C(1) << RL_TALLY_SEQ_LOW_BITS) - 1)
#define RL_IN_FLIGHT_TOTAL_SHIFT 44
#define RL_IN_FLIGHT_PLACE_SHIFT 19
#define RL_IN_FLIGHT_PLACE_MASK UINT32_C(0xfff)
#define RL_IN_FLIGHT_SWEPT (UINT64_C(1) << 12)

/* The units that one process holds of a key. */
struct rl_tally {
	uint32_t label;
	uint32_t units;
};

/*
 * A state word, made sane for its ring. All zero but `seq`: nothing is held, and nothing was since
 * it began.
 */
struct rl_in_flight {
	uint32_t total;
	uint32_t used;
	uint32_t place;
	uint32_t seq;
	bool is_swept;
	struct rl_tally newest;
};

/* A step from one state to the next. */
struct rl_in_flight_move {
	bool stores; /* the newest tally, before anything else: */
	uint32_t place;
	uint64_t entry;
	struct rl_u128 next;
	uint32_t at; /* the place of the tally that has changed */
};

/* How many processes may hold units of one key. */
static inline uint32_t
rl_in_flight_places(uint32_t ring_entries)
{
	return ring_entries < RL_IN_FLIGHT_PLACES_MAX ? ring_entries : RL_IN_FLIGHT_PLACES_MAX;
}

/*
 * Of a word that counts; `is_zero`: of one that is an older incarnation's, where `gen` is to begin.
 */
struct rl_in_flight rl_in_flight_unpack(struct rl_u128 word, bool is_zero, uint8_t gen,
                                        uint32_t ring_entries);

/* ring'[i] for i < used, no more of it than the total. */
struct rl_tally rl_in_flight_tally(const struct rl_in_flight *f, const uint64_t *ring, uint32_t i);

/*
 * Take `cost` more for a process: cost <= capacity - total. False: the ring has no place left for
 * its tally, and *move is not set.
 */
bool rl_in_flight_take(const struct rl_in_flight *f, struct rl_u128 word, const uint64_t *ring,
                       uint32_t ring_entries, uint32_t label, uint32_t cost, uint64_t slot_bits,
                       struct rl_in_flight_move *move);

/*
 * Give back `cost` of the tally at a place; 0: all of it. How much, and *move is set; 0: it is not
 * that process's any more, or does not have as much.
 */
uint32_t rl_in_flight_give(const struct rl_in_flight *f, struct rl_u128 word, const uint64_t *ring,
                           uint32_t place, uint32_t label, uint32_t cost, uint64_t slot_bits,
                           struct rl_in_flight_move *move);

/* The same state with the mark that a sweep has met it. */
struct rl_u128 rl_in_flight_swept(const struct rl_in_flight *f, uint64_t slot_bits);

/*
 * The same as rl_in_flight_take() where the newest tally is the process's own, which the word alone
 * says: the usual case. Not for a zero view. False: nothing was set, ask that.
 */
static inline bool
rl_in_flight_adds(struct rl_u128 word, uint32_t label, uint32_t cost, uint32_t most,
                  struct rl_u128 *next)
{
	uint64_t total = (word.hi >> RL_IN_FLIGHT_TOTAL_SHIFT) + cost;
	uint64_t units = (word.lo >> RL_TALLY_UNITS_SHIFT & RL_TALLY_UNITS_MASK) + cost;

	if (word.lo >> RL_TALLY_LABEL_SHIFT != label || total > most ||
	    units > RL_TALLY_UNITS_MASK ||
	    (word.lo & RL_TALLY_SEQ_LOW_MASK) == RL_TALLY_SEQ_LOW_MASK)
		return false;
	next->lo = word.lo + ((uint64_t)cost << RL_TALLY_UNITS_SHIFT) + 1;
	next->hi = (word.hi + ((uint64_t)cost << RL_IN_FLIGHT_TOTAL_SHIFT)) & ~RL_IN_FLIGHT_SWEPT;
	return true;
}

/* The same of rl_in_flight_give(). */
static inline bool
rl_in_flight_lowers(struct rl_u128 word, uint32_t place, uint32_t label, uint32_t cost,
                    struct rl_u128 *next)
{
	uint64_t total = word.hi >> RL_IN_FLIGHT_TOTAL_SHIFT;
	uint64_t units = word.lo >> RL_TALLY_UNITS_SHIFT & RL_TALLY_UNITS_MASK;

	if (word.lo >> RL_TALLY_LABEL_SHIFT != label ||
	    (word.hi >> RL_IN_FLIGHT_PLACE_SHIFT & RL_IN_FLIGHT_PLACE_MASK) != place || cost == 0 ||
	    units < cost || total < cost ||
	    (word.lo & RL_TALLY_SEQ_LOW_MASK) == RL_TALLY_SEQ_LOW_MASK)
		return false;
	next->lo = word.lo - ((uint64_t)cost << RL_TALLY_UNITS_SHIFT) + 1;
	next->hi = word.hi -
	           ((uint64_t)cost << RL_IN_FLIGHT_TOTAL_SHIFT); /* a sweep marks a total of 0 */
	return true;
}

/* How a charge remembers whose units they are, and where their tally is. */
#define RL_CHARGE_PLACE_BITS 12

static inline uint64_t
rl_in_flight_charge_id(uint32_t label, uint32_t place)
{
	return (uint64_t)label << RL_CHARGE_PLACE_BITS | place;
}

/* The newest tally's place in a word that is sane. */
static inline uint32_t
rl_in_flight_place(struct rl_u128 word)
{
	return (uint32_t)(word.hi >> RL_IN_FLIGHT_PLACE_SHIFT) & RL_IN_FLIGHT_PLACE_MASK;
}

/* The units that are held, by the word alone. */
static inline uint32_t
rl_in_flight_total(struct rl_u128 word)
{
	return (uint32_t)(word.hi >> RL_IN_FLIGHT_TOTAL_SHIFT);
}

#endif

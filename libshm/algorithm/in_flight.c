/* SPDX-License-Identifier: BSD-2-Clause */
#include "algorithm/in_flight.h"

#include "algorithm/adds.h"
#include "algorithm/ops.h"

#define USED_SHIFT 31
#define USED_MASK UINT32_C(0x1fff)
#define SEQ_HIGH_SHIFT 13
#define SEQ_HIGH_MASK UINT32_C(0x3f)
#define GEN_SHIFT 16              /* of the slot's, where the sequence begins */
#define SEAT_MASK UINT32_C(0xfff) /* of a label */

static struct rl_tally
tally_of(uint64_t entry)
{
	return (struct rl_tally){
		.label = (uint32_t)(entry >> RL_TALLY_LABEL_SHIFT),
		.units = (uint32_t)(entry >> RL_TALLY_UNITS_SHIFT) & RL_TALLY_UNITS_MASK,
	};
}

static uint64_t
entry_of(struct rl_tally t, uint32_t seq)
{
	return (uint64_t)t.label << RL_TALLY_LABEL_SHIFT |
	       (uint64_t)t.units << RL_TALLY_UNITS_SHIFT | (seq & RL_TALLY_SEQ_LOW_MASK);
}

static uint32_t
seq_of(struct rl_u128 word)
{
	return ((uint32_t)word.lo & RL_TALLY_SEQ_LOW_MASK) |
	       ((uint32_t)(word.hi >> SEQ_HIGH_SHIFT) & SEQ_HIGH_MASK) << RL_TALLY_SEQ_LOW_BITS;
}

/* Of a state that counts, used is at least 1 and place below it; damage may say otherwise. */
struct rl_in_flight
rl_in_flight_unpack(struct rl_u128 word, bool is_zero, uint8_t gen, uint32_t ring_entries)
{
	uint32_t places = rl_in_flight_places(ring_entries);
	struct rl_in_flight f = {.seq = (uint32_t)gen << GEN_SHIFT};

	if (is_zero)
		return f;
	f.seq = seq_of(word);
	f.total = (uint32_t)(word.hi >> RL_IN_FLIGHT_TOTAL_SHIFT);
	f.used = rl_lesser((uint32_t)(word.hi >> USED_SHIFT) & USED_MASK, places);
	f.used = f.used > 0 ? f.used : 1;
	f.place =
		rl_lesser((uint32_t)(word.hi >> RL_IN_FLIGHT_PLACE_SHIFT) & RL_IN_FLIGHT_PLACE_MASK,
	                  f.used - 1);
	f.is_swept = (word.hi & RL_IN_FLIGHT_SWEPT) != 0;
	f.newest = tally_of(word.lo);
	f.newest.units = rl_lesser(f.newest.units, f.total);
	return f;
}

static struct rl_u128
pack(const struct rl_in_flight *f, uint64_t slot_bits)
{
	return (struct rl_u128){
		.lo = entry_of(f->newest, f->seq),
		.hi = (uint64_t)f->total << RL_IN_FLIGHT_TOTAL_SHIFT |
	              (uint64_t)f->used << USED_SHIFT |
	              (uint64_t)f->place << RL_IN_FLIGHT_PLACE_SHIFT |
	              (uint64_t)(f->seq >> RL_TALLY_SEQ_LOW_BITS & SEQ_HIGH_MASK)
	                      << SEQ_HIGH_SHIFT |
	              (f->is_swept ? RL_IN_FLIGHT_SWEPT : 0) | slot_bits,
	};
}

struct rl_tally
rl_in_flight_tally(const struct rl_in_flight *f, const uint64_t *ring, uint32_t i)
{
	struct rl_tally t;

	if (i == f->place)
		return f->newest;
	t = tally_of(rl_atomic_load(&ring[i]));
	t.units = rl_lesser(t.units, f->total);
	return t;
}

/* Make `tally`, of `place`, the newest, with that total. The one that was is to be stored first. */
static void
move_to(const struct rl_in_flight *f, struct rl_u128 word, uint32_t place, struct rl_tally tally,
        uint32_t total, uint64_t slot_bits, struct rl_in_flight_move *move)
{
	struct rl_in_flight next = *f;

	next.total = total;
	next.used = place < f->used ? f->used : place + 1;
	next.place = place;
	next.newest = tally;
	next.seq = f->seq + 1;
	next.is_swept = false;
	move->stores = f->used > 0 && place != f->place;
	move->place = f->place;
	move->entry = word.lo;
	move->next = pack(&next, slot_bits);
	move->at = place;
}

/* A process's own place; else one that is empty; else the next. `places`: there is none. */
static uint32_t
find_place(const struct rl_in_flight *f, const uint64_t *ring, uint32_t places, uint32_t label,
           struct rl_tally *tally)
{
	uint32_t empty = f->used;

	*tally = f->newest;
	if (f->used > 0 && tally->label == label)
		return f->place;
	for (uint32_t i = 0; i < f->used; i++) {
		*tally = rl_in_flight_tally(f, ring, i);
		if (tally->label == label)
			return i;
		if (tally->units == 0 && empty == f->used)
			empty = i;
	}
	*tally = (struct rl_tally){.label = label};
	return rl_lesser(empty, places);
}

bool
rl_in_flight_take(const struct rl_in_flight *f, struct rl_u128 word, const uint64_t *ring,
                  uint32_t ring_entries, uint32_t label, uint32_t cost, uint64_t slot_bits,
                  struct rl_in_flight_move *move)
{
	uint32_t places = rl_in_flight_places(ring_entries);
	struct rl_tally tally;
	uint32_t place = find_place(f, ring, places, label, &tally);

	if (place == places)
		return false;
	tally.units += cost; /* at most the total, which is below 2^20 */
	move_to(f, word, place, tally, f->total + cost, slot_bits, move);
	return true;
}

uint32_t
rl_in_flight_give(const struct rl_in_flight *f, struct rl_u128 word, const uint64_t *ring,
                  uint32_t place, uint32_t label, uint32_t cost, uint64_t slot_bits,
                  struct rl_in_flight_move *move)
{
	struct rl_tally tally;

	if (place >= f->used)
		return 0;
	tally = rl_in_flight_tally(f, ring, place);
	if (tally.label != label || tally.units < cost || tally.units == 0)
		return 0;
	cost = cost > 0 ? cost : tally.units;
	tally.units -= cost;
	move_to(f, word, place, tally, f->total - cost, slot_bits, move);
	return cost;
}

struct rl_u128
rl_in_flight_swept(const struct rl_in_flight *f, uint64_t slot_bits)
{
	struct rl_in_flight next = *f;

	next.is_swept = true;
	next.seq++;
	return pack(&next, slot_bits);
}

/* As it stands there, whatever the total. */
static struct rl_tally
raw_tally(struct rl_u128 word, uint32_t place, const uint64_t *ring, uint32_t i)
{
	return tally_of(i == place ? word.lo : rl_atomic_load(&ring[i]));
}

/* Has the label of the tally at `i` units at an earlier place? */
static bool
is_twice(struct rl_u128 word, uint32_t place, const uint64_t *ring, uint32_t i, uint32_t label)
{
	for (uint32_t j = 0; j < i; j++) {
		struct rl_tally t = raw_tally(word, place, ring, j);
		if (t.units > 0 && t.label == label)
			return true;
	}
	return false;
}

/* What of units in flight the word alone says. Whose they are is holder/units.c's. */

/*
 * The units that are held; nobody knows until when. They are more than the limit where that was
 * lowered.
 */
static void
peek_in_flight(const struct rl_ask *a, struct rl_decision *d)
{
	uint32_t total = a->v->is_zero ? 0 : rl_in_flight_total(a->v->word);

	d->remaining = total < d->limit ? d->limit - total : 0;
	d->beyond = total > d->limit ? total - d->limit : 0;
	d->admits = a->cost <= d->remaining;
}

/*
 * The usual case: the newest tally is of who takes them. Else whether they are to be had is said by
 * who knows whose they are, and takes them: holder/units.c.
 */
static void
decide_in_flight(const struct rl_ask *a, struct rl_plan *p)
{
	uint32_t most = rl_lesser(a->q->capacity, RL_IN_FLIGHT_MAX), label = a->q->label;

	p->step = RL_STEP_HOLD;
	p->charges = false;
	if (label != 0 && !a->v->is_zero &&
	    rl_in_flight_adds(a->v->word, label, a->cost, most, &p->next))
		rl_adds_plan(rl_in_flight_charge_id(label, rl_in_flight_place(p->next)), most,
		             most - rl_in_flight_total(p->next), 0, p);
}

static uint64_t
idle_at_of_in_flight(const struct rl_limiter *l, struct rl_u128 word)
{
	(void)l;
	return rl_in_flight_total(word) > 0 ? UINT64_MAX : 0;
}

static uint32_t
used_most_of_in_flight(const struct rl_ask *a, const struct rl_window_now *now)
{
	(void)now;
	return rl_in_flight_total(a->v->word);
}

/* Is the total what the tallies hold, each of a seat that there is, each process's at one place? */
static enum rl_fault
judge_in_flight(const struct rl_limiter *l, const struct rl_view *v, uint32_t holders)
{
	uint32_t used = (uint32_t)(v->word.hi >> USED_SHIFT) & USED_MASK;
	uint32_t place = rl_in_flight_place(v->word);
	uint64_t sum = 0;

	if (used > rl_in_flight_places(l->ring_entries) || place >= used)
		return RL_FAULT_TALLY;
	for (uint32_t i = 0; i < used; i++) {
		struct rl_tally t = raw_tally(v->word, place, v->ring, i);
		if (t.units == 0)
			continue;
		if ((t.label & SEAT_MASK) >= holders ||
		    is_twice(v->word, place, v->ring, i, t.label))
			return RL_FAULT_TALLY;
		sum += t.units;
	}
	return sum == rl_in_flight_total(v->word) ? RL_UNDAMAGED : RL_FAULT_TALLY;
}

/*
 * To give back is by the tally, or nobody can tell whose. What is held counts, whenever it was
 * taken.
 */
const struct rl_algorithm_ops rl_in_flight_ops = {
	.decide = decide_in_flight,
	.peek = peek_in_flight,
	.idle_at = idle_at_of_in_flight,
	.used_most = used_most_of_in_flight,
	.nothing = rl_nothing_but_one,
	.entries = rl_entries_of_used,
	.judge = judge_in_flight,
	.is_held = true,
	.limit_is_capacity = true,
};

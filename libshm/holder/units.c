/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether too many are held is decided by the state word alone. Before that is told, the key's
 * tallies are looked through for processes that have ended; what they hold is given back, and the
 * key is decided again. So without any sweep no unit is lost to requests for its key.
 *
 * What is said of a label is final: a process that has ended does not come back, and the next one
 * of its seat has another label. So it may be judged before the state is loaded, and the CAS16 that
 * lowers its tally is right whenever it succeeds. Others that give back the units of the dead at
 * the same time lower the same tally by the same step: each unit comes back once. Nobody is denied
 * for what the dead held, whoever was the quickest to give it back.
 */
#include "holder/units.h"

#include <errno.h>

#include "algorithm/ring.h"
#include "holder/holder.h"
#include "segment/stats.h"

#define LOOK_STEPS 4 /* at a tally, and whose it is */
#define TRY_STEPS 32 /* to change one; a try that fails has met another's success */

/* A slot, and its state as it was seen. */
struct held {
	const struct rl_segment *s;
	const struct rl_limiter *limiter;
	struct rl_slot slot;
	struct rl_view view;
	struct rl_in_flight state;
};

/*
 * Store the tally that was the newest, then replace the state: the partners are all other calls of
 * this function, and rl_table_retire(). False: somebody was quicker.
 */
static bool
make(const struct held *h, const struct rl_in_flight_move *move)
{
	struct rl_u128 *state = rl_table_state(&h->s->table, h->slot.index);

	if (move->stores && !rl_ring_store(&rl_segment_ring(h->s, h->slot.index)[move->place],
	                                   move->entry, state, h->view.word))
		return false;
	return rl_atomic_cas16(state, h->view.word, move->next);
}

/*
 * Load the state of a slot. 1; 0: it has been retired; -EAGAIN. A tag that is LEAVING may come
 * back, where somebody took up a retirement that was over long ago: see table.c.
 */
static int
load(struct held *h)
{
	const struct rl_table *t = &h->s->table;
	uint64_t tag = rl_atomic_load(rl_table_tag(t, h->slot.index));

	if (rl_tag_is_leaving(tag) && rl_tag_gen(tag) == rl_tag_gen(h->slot.tag)) {
		rl_table_free(t, (struct rl_slot){.index = h->slot.index, .tag = tag});
		return -EAGAIN;
	}
	if (tag != h->slot.tag)
		return 0;
	switch (rl_view_load(h->s, h->slot, &h->view)) {
	case RL_SEEN_DEAD:
		return 0;
	case RL_SEEN_GONE: /* sealed, if it is left */
		return rl_table_is_left(t) ? 0 : -EAGAIN;
	case RL_SEEN:
		break;
	}
	h->state = rl_in_flight_unpack(h->view.word, h->view.is_zero, h->view.gen,
	                               h->limiter->ring_entries);
	return 1;
}

/* Give back `cost` of the tally at a place, or with 0 all of it. How much; 0: nothing; -EBUSY. */
static int
give(struct held *h, uint32_t place, uint32_t label, uint32_t cost, struct rl_budget *budget)
{
	struct rl_in_flight_move move;

	for (; rl_budget_take(budget, TRY_STEPS); rl_atomic_pause()) {
		int loaded = load(h);
		uint32_t given;

		if (loaded == -EAGAIN)
			continue;
		if (loaded == 0)
			return 0;
		given = rl_in_flight_give(&h->state, h->view.word, h->view.ring, place, label, cost,
		                          h->view.slot_bits, &move);
		if (given == 0 && rl_view_holds(h->s, h->limiter, h->slot, &h->view))
			return 0;
		if (given > 0 && make(h, &move))
			return (int)given;
	}
	return -EBUSY;
}

/* The usual case: of the newest tally. False: it is not that, or somebody was quicker. */
static bool
give_newest(const struct rl_segment *s, struct rl_slot slot, uint32_t label, uint32_t place,
            uint32_t cost)
{
	struct rl_u128 next;
	struct rl_view v;

	return rl_atomic_load(rl_table_tag(&s->table, slot.index)) == slot.tag &&
	       rl_view_load(s, slot, &v) == RL_SEEN && !v.is_zero &&
	       rl_in_flight_lowers(v.word, place, label, cost, &next) &&
	       rl_atomic_cas16(rl_table_state(&s->table, slot.index), v.word, next);
}

static int
give_any(const struct rl_segment *s, const struct rl_limiter *l, struct rl_slot slot,
         uint32_t label, uint32_t place, uint32_t cost)
{
	struct rl_budget budget = {RL_DECIDE_STEPS};
	struct held h = {.s = s, .limiter = l, .slot = slot};
	int given = give(&h, place, label, cost, &budget);

	return given > 0 ? 1 : given;
}

int
rl_units_give(const struct rl_segment *s, const struct rl_limiter *l, struct rl_slot slot,
              uint32_t label, uint32_t place, uint32_t cost)
{
	if (give_newest(s, slot, label, place, cost))
		return 1;
	return give_any(s, l, slot, label, place, cost);
}

/*
 * Give back what the dead hold of a state. False: it is another one by now, by this or by anybody
 * else, so what it said may not be so, and not all that was read of the ring may have been its own:
 * give() looks again.
 */
static bool
reclaim(struct rl *rl, const struct rl_compiled *limit, struct held *h, struct rl_budget *budget)
{
	const struct rl_view seen = h->view; /* give() loads others */
	uint32_t first =
		h->state.used > RL_HOLDERS_LOOKS ? rl_holders_turn(rl->handle->holders) : 0;
	uint64_t reclaimed = 0;

	for (uint32_t n = 0; n < h->state.used && h->state.total > 0; n++) {
		uint32_t i = (first + n) % h->state.used;
		struct rl_tally tally = rl_in_flight_tally(&h->state, h->view.ring, i);
		int given;

		if (!rl_budget_take(budget, LOOK_STEPS))
			break;
		if (tally.units == 0 || !rl_holders_is_dead(rl->handle->holders, tally.label))
			continue;
		given = give(h, i, tally.label, 0, budget);
		reclaimed += given > 0 ? (uint32_t)given : 0;
	}
	if (reclaimed > 0)
		rl_stats_add_many(&rl->segment, limit->rule, RL_COUNT_reclaimed, reclaimed);
	return rl_view_holds(h->s, h->limiter, h->slot, &seen);
}

void
rl_units_reclaim(struct rl *rl, const struct rl_compiled *limit, struct rl_slot slot,
                 struct rl_budget *budget)
{
	struct held h = {.s = &rl->segment, .limiter = &limit->limiter, .slot = slot};

	if (load(&h) == 1)
		reclaim(rl, limit, &h, budget);
}

/* At a state that has room for them. */
static int
take(struct rl *rl, const struct rl_compiled *limit, struct held *h, uint32_t cost,
     struct rl_budget *budget, struct rl_units_taken *taken)
{
	struct rl_in_flight_move move;
	int error = rl_holders_mine(rl->handle->holders, &taken->label);

	if (error < 0)
		return error;
	if (h->state.newest.label != taken->label) /* the ring is looked through */
		rl_budget_take(budget, h->state.used);
	if (!rl_in_flight_take(&h->state, h->view.word, h->view.ring, h->limiter->ring_entries,
	                       taken->label, cost, h->view.slot_bits, &move))
		return reclaim(rl, limit, h, budget) ? -ENOSPC : -EAGAIN;
	if (!make(h, &move))
		return -EAGAIN;
	taken->total += cost;
	taken->place = move.at;
	return 1;
}

int
rl_units_take(struct rl *rl, const struct rl_compiled *limit, struct rl_slot slot, uint32_t cost,
              uint32_t most, struct rl_budget *budget, struct rl_units_taken *taken)
{
	struct held h = {.s = &rl->segment, .limiter = &limit->limiter, .slot = slot};

	rl_budget_take(budget, LOOK_STEPS);
	switch (rl_view_load(h.s, slot, &h.view)) {
	case RL_SEEN_DEAD:
		rl_table_free(&h.s->table, slot);
		return -EAGAIN;
	case RL_SEEN_GONE:
		return -EAGAIN;
	case RL_SEEN:
		break;
	}
	if (rl_view_is_unused(&h.view)) {
		rl_view_use(h.s, slot, &h.view);
		return -EAGAIN;
	}
	h.state = rl_in_flight_unpack(h.view.word, h.view.is_zero, h.view.gen,
	                              h.limiter->ring_entries);
	taken->total = h.state.total;
	if ((uint64_t)h.state.total + cost > most)
		return reclaim(rl, limit, &h, budget) ? 0 : -EAGAIN;
	return take(rl, limit, &h, cost, budget, taken);
}

int
rl_units_list(const struct rl_segment *s, const struct rl_limiter *l, struct rl_slot slot,
              struct rl_tally tallies[static RL_IN_FLIGHT_PLACES_MAX])
{
	struct held h = {.s = s, .limiter = l, .slot = slot};
	int count = 0, loaded = load(&h);

	if (loaded < 1)
		return loaded;
	for (uint32_t i = 0; i < h.state.used; i++) {
		tallies[count] = rl_in_flight_tally(&h.state, h.view.ring, i);
		count += tallies[count].units > 0;
	}
	return rl_view_holds(s, l, slot, &h.view) ? count : -EAGAIN;
}

bool
rl_units_were_swept(const struct rl_segment *s, const struct rl_limiter *l, struct rl_slot slot,
                    const struct rl_view *view)
{
	struct rl_in_flight state =
		rl_in_flight_unpack(view->word, view->is_zero, view->gen, l->ring_entries);

	if (state.is_swept)
		return true;
	rl_atomic_cas16(rl_table_state(&s->table, slot.index), view->word,
	                rl_in_flight_swept(&state, view->slot_bits));
	return false;
}

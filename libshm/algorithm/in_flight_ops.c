/* SPDX-License-Identifier: BSD-2-Clause */
/* Units in flight: what of them the word alone says. Whose they are is holder/units.c's. */
#include "algorithm/adds.h"
#include "algorithm/in_flight.h"
#include "algorithm/ops.h"

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

static enum rl_fault
judge_in_flight(const struct rl_limiter *l, const struct rl_view *v, uint32_t holders)
{
	return rl_in_flight_is_whole(v->word, v->ring, l->ring_entries, holders) ? RL_UNDAMAGED
	                                                                         : RL_FAULT_TALLY;
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

/* SPDX-License-Identifier: BSD-2-Clause */
#include "decide/release.h"

#include <errno.h>

#include "move/migrate.h"
#include "segment/stats.h"

#define TRIES 1000

static int
give_at(const struct rl_segment *s, const struct rl_compiled *limit, struct rl_slot slot,
        const struct rl_charge *charge)
{
	const uint64_t places = (UINT64_C(1) << RL_CHARGE_PLACE_BITS) - 1;

	return rl_units_give(s, &limit->limiter, slot,
	                     (uint32_t)(charge->epoch >> RL_CHARGE_PLACE_BITS),
	                     (uint32_t)(charge->epoch & places), charge->cost);
}

/*
 * The key has another slot by now, in a table that took the place of the charge's: its tally is at
 * the same place.
 */
static int
give_where_it_is(struct rl *rl, const struct rl_compiled *limit, const struct rl_charge *charge)
{
	struct rl_sought k = {
		.rl = rl, .limit = limit, .key_hash = charge->key ^ limit->salt, .now_ns = 0};
	struct rl_slot slot;
	int done;

	for (int tries = 0; tries < TRIES; tries++, rl_atomic_pause()) {
		k.candidates =
			rl_table_candidates(&k.rl->segment.table, k.limit->owner, charge->key);
		done = rl_migrate(&k);
		if (done < 0 && done != -EAGAIN)
			return done == -ENOSPC ? -EBUSY : done;
		if (done == 0 && rl_table_find(&k.rl->segment.table, &k.candidates, &slot))
			done = give_at(&k.rl->segment, k.limit, slot, charge);
		if (done != 0 && done != -EAGAIN)
			return done;
		if (done == 0 && !rl_table_is_left(&k.rl->segment.table))
			return 0; /* else it may have moved by now */
	}
	return -EBUSY;
}

/* The limit may be another by now, that has the row. */
static int
give(struct rl *rl, const struct rl_compiled *limit, const struct rl_charge *charge)
{
	int done = 0;

	if (!limit->limiter.is_held)
		return 0;
	if (rl_charge_is_of(rl, charge))
		done = give_at(&rl->segment, limit, rl_charge_slot(&rl->segment, limit, charge),
		               charge);
	if (done != 0 ||
	    (rl_charge_is_surely_of(rl, charge) && !rl_table_is_left(&rl->segment.table)))
		return done;
	return give_where_it_is(rl, limit, charge);
}

int
rl_release_charge(struct rl *rl, struct rl_charge *charge, enum rl_counter given, bool counts_void)
{
	const struct rl_charge held = *charge;
	const struct rl_compiled *limit;
	int done;

	charge->cost = 0;
	limit = held.cost > 0 ? rl_handle_limit(rl, rl_charge_row(&held)) : NULL;
	if (!limit && held.cost > 0 && rl_handle_no_limit(rl, rl_charge_row(&held)) == -ENOMEM) {
		charge->cost = held.cost;
		return -ENOMEM;
	}
	if (!limit)
		return 0;
	done = give(rl, limit, &held);
	if (done < 0)
		charge->cost = held.cost;
	else if (done > 0 || counts_void)
		rl_stats_add(&rl->segment, limit->rule, done > 0 ? given : RL_COUNT_release_void);
	return done;
}

size_t
rl_holds(struct rl_charges *charges, struct rl_hold *holds, size_t max)
{
	unsigned count = charges->count < RL_LIMITS_MAX ? charges->count : RL_LIMITS_MAX, left = 0;
	size_t moved = 0;

	for (unsigned i = 0; i < count; i++) {
		if (rl_charge_is_held(&charges->charge[i]) && moved < max)
			holds[moved++].charge = charges->charge[i];
		else
			charges->charge[left++] = charges->charge[i];
	}
	charges->count = left;
	return moved;
}

int
rl_release(struct rl *rl, struct rl_hold *holds, size_t count)
{
	int most = 0, error = 0;

	rl = rl_here(rl);
	if (!rl->segment.is_writable)
		return -EROFS;
	for (size_t i = 0; i < count; i++) {
		struct rl_charge *charge = &holds[i].charge;
		int done = 0;

		if (rl_charge_is_held(charge))
			done = rl_release_charge(rl, charge, RL_COUNT_released, true);
		most = done > most ? done : most;
		error = done < 0 ? done : error;
	}
	return error < 0 ? error : most;
}

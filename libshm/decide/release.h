/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_RELEASE_H
#define RL_RELEASE_H

/* Units in flight given back by what a request was charged. */

#include "decide/part.h"
#include "holder/units.h"

static inline bool
rl_charge_is_held(const struct rl_charge *charge)
{
	return (charge->place & RL_CHARGE_HELD) != 0;
}

/* Was it charged to an overflow counter? Then only a debt comes of it. */
static inline bool
rl_charge_is_of_overflow(const struct rl_charge *charge)
{
	return (charge->place & RL_CHARGE_CELL) != 0;
}

/* Is it one of a rate, whatever its bytes? */
static inline bool
rl_charge_is_sound(const struct rl_charge *charge)
{
	return charge->cost > 0 && charge->capacity > 0 && charge->capacity <= RL_CAPACITY_MAX &&
	       !rl_charge_is_held(charge);
}

/* The limit's row. */
static inline int
rl_charge_row(const struct rl_charge *charge)
{
	return charge->limit & ((1 << RL_CHARGE_LIMIT_BITS) - 1);
}

/* Was it charged in the table of `rl`? Of RL_CHARGE_TABLES one is taken for another, */
static inline bool
rl_charge_is_of(const struct rl *rl, const struct rl_charge *charge)
{
	return charge->limit >> RL_CHARGE_LIMIT_BITS ==
	       (int)(rl->segment.table.number % RL_CHARGE_TABLES);
}

/* but not of the first ones. */
static inline bool
rl_charge_is_surely_of(const struct rl *rl, const struct rl_charge *charge)
{
	return rl->segment.table.number < RL_CHARGE_TABLES && rl_charge_is_of(rl, charge);
}

/* The slot that a charge is of, if the key still has it. */
static inline struct rl_slot
rl_charge_slot(const struct rl_segment *s, const struct rl_compiled *limit,
               const struct rl_charge *charge)
{
	struct rl_candidates candidates = rl_table_candidates(&s->table, limit->owner, charge->key);

	return (struct rl_slot){
		.index = rl_table_candidate(&candidates, charge->place % RL_CANDIDATES),
		.tag = rl_tag_make(RL_TAG_LIVE, charge->gen, candidates.key),
	};
}

/*
 * Give back a charge that is held; it is none then. 1, counted as `given`; 0: there was nothing to
 * give back, counted as release_void if `counts_void`; -EBUSY, -ENOMEM, RL_EDAMAGED: it is held
 * still, and stays as it is.
 */
int rl_release_charge(struct rl *rl, struct rl_charge *charge, enum rl_counter given,
                      bool counts_void);

#endif

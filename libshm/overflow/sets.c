/* SPDX-License-Identifier: BSD-2-Clause */
#include "overflow/sets.h"

#include <errno.h>

#define TRIES 16
#define LIMIT_MASK UINT64_C(0x3ff)
#define SERIAL_MASK UINT64_C(0xffffff)
#define INCARNATION_SHIFT 10
#define ROW_SERIAL_SHIFT 16
#define ROW_INDEX_MASK UINT64_C(0xffff)

_Static_assert(RL_RESERVES_MAX < ROW_INDEX_MASK, "a row says which");

/* The owner of a set of that serial: a limit of that identity. */
static uint64_t
owner_of(int limit, uint64_t identity, uint64_t serial)
{
	uint64_t incarnation = rl_identity_incarnation((struct rl_u128){.lo = identity});

	return (uint64_t)limit | incarnation << INCARNATION_SHIFT |
	       (serial & SERIAL_MASK) << RL_SET_SERIAL_SHIFT | RL_SET_OWNED;
}

/* The set that a row's word names, if that is the limit's. */
static bool
find(const struct rl_segment *s, const struct rl_compiled *limit, uint64_t word, struct rl_set *set)
{
	uint64_t index = word & ROW_INDEX_MASK;

	if (index == 0 || index > s->geometry.reserves)
		return false;
	set->at = &s->overflow_sets[index - 1];
	set->counters = &s->overflow_counters[(index - 1) * s->geometry.cells];
	set->owner = owner_of(limit->id, limit->identity, word >> ROW_SERIAL_SHIFT);
	return rl_atomic_load(&set->at->hi) == set->owner;
}

bool
rl_sets_find(const struct rl_segment *s, const struct rl_compiled *limit, struct rl_set *set)
{
	return s->geometry.cells > 0 &&
	       find(s, limit, rl_atomic_load(&limit->row->overflow_set), set);
}

static bool
is_vacant(const struct rl_segment *s, struct rl_u128 set, uint64_t now_ns)
{
	uint64_t id = set.hi & LIMIT_MASK, until;
	struct rl_u128 owner = {0};

	if (!(set.hi & RL_SET_OWNED) || id >= s->geometry.limits)
		return true;
	owner.lo = rl_atomic_load(&s->limits[id].identity.lo);
	if ((set.hi >> INCARNATION_SHIFT & RL_IDENTITY_INCARNATION_MASK) !=
	    rl_identity_incarnation(owner))
		return true;
	return !__builtin_add_overflow(set.lo, s->geometry.buffer_ns, &until) && until <= now_ns;
}

/* Take a vacant one. What the row's word is to say of it, or 0. */
static uint64_t
take(const struct rl_segment *s, const struct rl_compiled *limit, uint64_t now_ns)
{
	for (uint32_t i = 0; i < s->geometry.reserves; i++) {
		uint32_t index = ((uint32_t)limit->id + i) % s->geometry.reserves;
		struct rl_u128 *at = &s->overflow_sets[index], seen, next = {.lo = now_ns};
		uint64_t serial;

		if (!rl_atomic_load16(at, &seen) || !is_vacant(s, seen, now_ns))
			continue;
		serial = ((seen.hi >> RL_SET_SERIAL_SHIFT) + 1) & SERIAL_MASK;
		next.hi = owner_of(limit->id, limit->identity, serial);
		if (rl_atomic_cas16(at, seen, next))
			return (index + UINT64_C(1)) | serial << ROW_SERIAL_SHIFT;
	}
	return 0;
}

int
rl_sets_take(const struct rl_segment *s, const struct rl_compiled *limit, uint64_t now_ns,
             struct rl_set *set)
{
	for (int tries = 0; tries < TRIES; tries++) {
		uint64_t word = rl_atomic_load(&limit->row->overflow_set), mine;

		if (find(s, limit, word, set))
			return 0;
		/* A process that lags behind a limit that started anew takes nothing from it. */
		if (s->geometry.cells == 0 || !rl_compiled_holds(limit))
			return -ENOSPC;
		mine = take(s, limit, now_ns);
		if (mine == 0)
			return -ENOSPC;
		rl_atomic_cas(&limit->row->overflow_set, word,
		              mine); /* partner: the same of others */
	}
	return -EAGAIN;
}

bool
rl_sets_could_take(const struct rl_segment *s, const struct rl_compiled *limit, uint64_t now_ns)
{
	struct rl_set set;

	if (rl_sets_find(s, limit, &set))
		return true;
	for (uint32_t i = 0; i < s->geometry.reserves; i++) {
		struct rl_u128 seen;

		if (rl_atomic_load16(&s->overflow_sets[i], &seen) && is_vacant(s, seen, now_ns))
			return true;
	}
	return false;
}

static bool
raise_all(const struct rl_segment *s, uint64_t until_ns)
{
	for (int tries = 0; tries < TRIES; tries++) {
		uint64_t until = rl_atomic_load(s->overflow_until);

		if (until >= until_ns || rl_atomic_cas(s->overflow_until, until, until_ns))
			return true;
	}
	return false;
}

bool
rl_sets_raise(const struct rl_segment *s, const struct rl_set *set, uint64_t until_ns)
{
	if (!raise_all(s, until_ns))
		return false;
	for (int tries = 0; tries < TRIES; tries++) {
		struct rl_u128 seen;

		if (!rl_atomic_load16(set->at, &seen) || seen.hi != set->owner)
			return false;
		if (seen.lo >= until_ns ||
		    rl_atomic_cas16(set->at, seen, (struct rl_u128){.lo = until_ns, .hi = seen.hi}))
			return true;
	}
	return false;
}

uint64_t
rl_sets_until(const struct rl_set *set)
{
	struct rl_u128 seen;

	return rl_atomic_load16(set->at, &seen) && seen.hi == set->owner ? seen.lo : 0;
}

int
rl_sets_forget(const struct rl_segment *s, int limit)
{
	for (int tries = 0; tries < TRIES && s->geometry.cells > 0; tries++) {
		uint64_t index = rl_atomic_load(&s->limits[limit].overflow_set) & ROW_INDEX_MASK;
		struct rl_u128 seen;

		if (index == 0 || index > s->geometry.reserves)
			return 0;
		if (!rl_atomic_load16(&s->overflow_sets[index - 1], &seen))
			continue;
		if ((seen.hi & LIMIT_MASK) != (uint64_t)limit || !(seen.hi & RL_SET_OWNED))
			return 0;
		/* Nobody's: the serial stays, for the next one to go on from. */
		if (rl_atomic_cas16(&s->overflow_sets[index - 1], seen,
		                    (struct rl_u128){.hi = seen.hi & ~RL_SET_OWNED}))
			return 0;
	}
	return s->geometry.cells > 0 ? -EBUSY : 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "overflow/sets.h"

#include <errno.h>

#define TRIES 16
#define LIMIT_MASK UINT64_C(0x3ff)
#define SERIAL_MASK UINT64_C(0xffffff)
#define INCARNATION_SHIFT 10
#define ROW_INDEX_MASK UINT64_C(0xffff)
#define ROW_COUNT_SHIFT 16
#define ROW_COUNT_MASK 0xf
#define ROW_SERIAL_SHIFT 20
#define OWNER_WORDS 16 /* a bit for each limit */

/* Sets side by side that a limit has taken, 1 << n of them. */
struct run {
	uint32_t first;
	uint32_t count;
	uint64_t serial;
};

_Static_assert(RL_RESERVES_MAX < ROW_INDEX_MASK, "a row says which");

/* The owner of a set of that serial: a limit of that identity. */
static uint64_t
owner_of(int limit, uint64_t identity, uint64_t serial)
{
	uint64_t incarnation = rl_identity_incarnation((struct rl_u128){.lo = identity});

	return (uint64_t)limit | incarnation << INCARNATION_SHIFT |
	       (serial & SERIAL_MASK) << RL_SET_SERIAL_SHIFT | RL_SET_OWNED;
}

/* The run that a row's word names, in bounds; false: none. */
static bool
run_of(const struct rl_segment *s, uint64_t word, struct run *run)
{
	uint64_t index = word & ROW_INDEX_MASK;

	run->first = (uint32_t)index - 1;
	run->count = UINT32_C(1) << (word >> ROW_COUNT_SHIFT & ROW_COUNT_MASK);
	run->serial = word >> ROW_SERIAL_SHIFT & SERIAL_MASK;
	return index > 0 && run->count <= s->geometry.reserves &&
	       run->first <= s->geometry.reserves - run->count;
}

/* Is the run's set of that number the limit's? */
static bool
is_own(const struct rl_segment *s, const struct rl_compiled *limit, const struct run *run,
       uint32_t number, struct rl_set *set)
{
	uint32_t index = run->first + number;

	set->at = &s->overflow_sets[index];
	set->counters = &s->overflow_counters[(uint64_t)index * s->geometry.cells];
	set->owner = owner_of(limit->id, limit->identity, run->serial);
	return rl_atomic_load(&set->at->hi) == set->owner;
}

/* The first of the run's sets, from the key's on, that is the limit's. */
static bool
find(const struct rl_segment *s, const struct rl_compiled *limit, uint64_t word, uint32_t index,
     struct rl_set *set)
{
	struct run run;
	uint32_t first;

	if (!run_of(s, word, &run))
		return false;
	first = index / s->geometry.cells & (run.count - 1);
	for (uint32_t i = 0; i < run.count; i++)
		if (is_own(s, limit, &run, first ^ i, set))
			return true;
	return false;
}

bool
rl_sets_find(const struct rl_segment *s, const struct rl_compiled *limit, uint32_t index,
             struct rl_set *set)
{
	return s->geometry.cells > 0 &&
	       find(s, limit, rl_atomic_load(&limit->row->overflow_set), index, set);
}

uint32_t
rl_sets_count(const struct rl_segment *s, const struct rl_compiled *limit)
{
	struct run run;

	if (s->geometry.cells == 0 || !run_of(s, rl_atomic_load(&limit->row->overflow_set), &run))
		return 0;
	return run.count;
}

bool
rl_sets_nth(const struct rl_segment *s, const struct rl_compiled *limit, uint32_t number,
            struct rl_set *set)
{
	struct run run;

	return s->geometry.cells > 0 &&
	       run_of(s, rl_atomic_load(&limit->row->overflow_set), &run) && number < run.count &&
	       is_own(s, limit, &run, number, set);
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

/* Can keys of it be counted in overflow counters at all? */
static bool
may_come(const struct rl_segment *s, uint32_t id)
{
	struct rl_u128 identity = {.lo = rl_atomic_load(&s->limits[id].identity.lo),
	                           .hi = rl_atomic_load(&s->limits[id].identity.hi)};
	unsigned algorithm = rl_identity_algorithm(identity);

	return (identity.lo & RL_IDENTITY_USED) && algorithm != RL_COUNTER &&
	       algorithm != RL_IN_FLIGHT;
}

/* Limits that have none and may come: as many as have a promise, and a newcomer in any case. */
static uint32_t
others(const struct rl_segment *s, const uint64_t owners[OWNER_WORDS])
{
	uint32_t all = 0, own = 0;

	for (uint32_t id = 0; id < s->geometry.limits; id++) {
		all += may_come(s, id);
		own += (uint32_t)(owners[id / 64] >> id % 64 & 1);
	}
	if (all > s->geometry.reserves)
		all = s->geometry.reserves;
	return all > own + 2 ? all - own - 1 : 1;
}

/* The longest run of `vacant` sets that leaves so many. */
static uint32_t
longest(const struct rl_segment *s, uint32_t vacant, uint32_t leaves)
{
	uint32_t count = 1;

	while (2 * count + leaves <= vacant &&
	       2 * (uint64_t)count * s->geometry.cells <= RL_SETS_COUNTERS_MAX)
		count *= 2;
	return count;
}

/* How many sets a limit is to take, if there are as many side by side; 0: none is vacant. */
static uint32_t
share(const struct rl_segment *s, uint64_t now_ns)
{
	uint64_t owners[OWNER_WORDS] = {0};
	uint32_t vacant = 0, leaves, count;
	struct rl_u128 seen;

	for (uint32_t i = 0; i < s->geometry.reserves; i++) {
		if (!rl_atomic_load16(&s->overflow_sets[i], &seen))
			continue;
		if (is_vacant(s, seen, now_ns))
			vacant++;
		else
			owners[(seen.hi & LIMIT_MASK) / 64] |= UINT64_C(1) << (seen.hi & 63);
	}
	if (vacant == 0)
		return 0;
	leaves = others(s, owners);
	count = longest(s, vacant, 2 * leaves);
	return count > 1 ? count : longest(s, vacant, leaves);
}

/* The serial after all that the run's sets have had. False: they are not all vacant. */
static bool
next_serial(const struct rl_segment *s, const struct run *run, uint64_t now_ns, uint64_t *serial)
{
	struct rl_u128 seen;

	*serial = 0;
	for (uint32_t i = 0; i < run->count; i++) {
		uint64_t had;

		if (!rl_atomic_load16(&s->overflow_sets[run->first + i], &seen) ||
		    !is_vacant(s, seen, now_ns))
			return false;
		had = seen.hi >> RL_SET_SERIAL_SHIFT & SERIAL_MASK;
		*serial = had > *serial ? had : *serial;
	}
	*serial = (*serial + 1) & SERIAL_MASK;
	return true;
}

/* Nobody's: the serial stays, for the next one to go on from. False: others are quicker. */
static bool
release(struct rl_u128 *at, uint64_t owner)
{
	struct rl_u128 seen;

	return rl_atomic_load16(at, &seen) &&
	       (seen.hi != owner ||
	        rl_atomic_cas16(at, seen, (struct rl_u128){.hi = owner & ~RL_SET_OWNED}));
}

/* Of a run that no row names, from that number on. */
static void
give_back(const struct rl_segment *s, const struct rl_compiled *limit, const struct run *run,
          uint32_t from)
{
	for (uint32_t i = from; i < run->count; i++)
		release(&s->overflow_sets[run->first + i],
		        owner_of(limit->id, limit->identity, run->serial));
}

/* The overflow area's, before a set's: no set's is later. */
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

/* Take a run of that place and length, the last one first. */
static bool
take_run(const struct rl_segment *s, const struct rl_compiled *limit, uint64_t now_ns,
         struct run *run)
{
	struct rl_u128 seen, mine = {.lo = now_ns};

	if (!next_serial(s, run, now_ns, &run->serial) || !raise_all(s, now_ns))
		return false;
	mine.hi = owner_of(limit->id, limit->identity, run->serial);
	for (uint32_t i = run->count; i-- > 0;) {
		struct rl_u128 *at = &s->overflow_sets[run->first + i];

		if (!rl_atomic_load16(at, &seen) || !is_vacant(s, seen, now_ns) ||
		    (seen.hi >> RL_SET_SERIAL_SHIFT & SERIAL_MASK) == run->serial ||
		    !rl_atomic_cas16(at, seen, mine)) {
			give_back(s, limit, run, i + 1);
			return false;
		}
	}
	return true;
}

/* Take as many as are the limit's to take, or as there are side by side. */
static bool
take(const struct rl_segment *s, const struct rl_compiled *limit, uint64_t now_ns, struct run *run)
{
	for (run->count = share(s, now_ns); run->count > 0; run->count /= 2) {
		uint32_t places = s->geometry.reserves / run->count;

		for (uint32_t i = 0; i < places; i++) {
			run->first = ((uint32_t)limit->id + i) % places * run->count;
			if (take_run(s, limit, now_ns, run))
				return true;
		}
	}
	return false;
}

static uint64_t
row_word(const struct run *run)
{
	return (run->first + UINT64_C(1)) | run->serial << ROW_SERIAL_SHIFT |
	       (uint64_t)__builtin_ctz(run->count) << ROW_COUNT_SHIFT;
}

int
rl_sets_take(const struct rl_segment *s, const struct rl_compiled *limit, uint32_t index,
             uint64_t now_ns, struct rl_set *set)
{
	for (int tries = 0; tries < TRIES; tries++) {
		uint64_t word = rl_atomic_load(&limit->row->overflow_set);
		struct run run;

		if (s->geometry.cells > 0 && find(s, limit, word, index, set))
			return 0;
		/* A process that lags behind a limit that started anew takes nothing from it. */
		if (s->geometry.cells == 0 || !rl_compiled_holds(limit) ||
		    !take(s, limit, now_ns, &run))
			return -ENOSPC;
		/* partner: the same of others */
		if (!rl_atomic_cas(&limit->row->overflow_set, word, row_word(&run)))
			give_back(s, limit, &run, 0);
	}
	return -EAGAIN;
}

bool
rl_sets_could_take(const struct rl_segment *s, const struct rl_compiled *limit, uint64_t now_ns)
{
	struct rl_set set;

	if (rl_sets_find(s, limit, 0, &set))
		return true;
	for (uint32_t i = 0; i < s->geometry.reserves; i++) {
		struct rl_u128 seen;

		if (rl_atomic_load16(&s->overflow_sets[i], &seen) && is_vacant(s, seen, now_ns))
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
	struct run run;
	int tries = 0;

	if (s->geometry.cells == 0 ||
	    !run_of(s, rl_atomic_load(&s->limits[limit].overflow_set), &run))
		return 0;
	for (uint32_t i = 0; i < run.count && tries < TRIES;) {
		struct rl_u128 *at = &s->overflow_sets[run.first + i];
		uint64_t owner = rl_atomic_load(&at->hi);
		bool is_its = (owner & LIMIT_MASK) == (uint64_t)limit && (owner & RL_SET_OWNED);

		if (is_its && !release(at, owner))
			tries++;
		else
			i++;
	}
	return tries < TRIES ? 0 : -EBUSY;
}

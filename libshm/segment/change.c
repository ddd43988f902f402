/* SPDX-License-Identifier: BSD-2-Clause */
#include "segment/change.h"

#define TRIES 100000
#define OVER_MASK ((UINT64_C(1) << 48) - 1)
#define GIVEN_UP_SHIFT 48

static bool
is_quiet(struct rl_u128 word)
{
	return ((word.lo ^ word.hi) & OVER_MASK) == 0;
}

static uint64_t
given_up(struct rl_u128 word)
{
	return word.hi >> GIVEN_UP_SHIFT;
}

static struct rl_u128
with_over(struct rl_u128 word, uint64_t over)
{
	word.hi = given_up(word) << GIVEN_UP_SHIFT | (over & OVER_MASK);
	return word;
}

/* `over` never overtakes `begun`, so one that was loaded first and equals it was equal then. */
bool
rl_change_is_quiet(const struct rl_segment *s, uint64_t *version)
{
	uint64_t over = rl_atomic_load(&s->header->changes.hi);

	*version = rl_change_version(s);
	return is_quiet((struct rl_u128){.lo = *version, .hi = over});
}

bool
rl_change_begin(const struct rl_segment *s, struct rl_change *c)
{
	struct rl_u128 *word = &s->header->changes, held, next;

	c->segment = s;
	for (int tries = 0; tries < TRIES; tries++, rl_atomic_pause()) {
		if (!rl_atomic_load16(word, &held))
			continue;
		next = held;
		next.lo++;
		c->given_up = given_up(held);
		if (rl_atomic_cas16(word, held, next))
			return true;
	}
	return false;
}

void
rl_change_end(const struct rl_change *c)
{
	struct rl_u128 *word = &c->segment->header->changes, held, next;

	for (int tries = 0; tries < TRIES; tries++, rl_atomic_pause()) {
		if (!rl_atomic_load16(word, &held))
			continue;
		next = with_over(held, held.hi + 1);
		if (given_up(held) != c->given_up)
			next.lo++;
		if (rl_atomic_cas16(word, held, next))
			return;
	}
}

bool
rl_change_give_up(const struct rl_segment *s, struct rl_u128 *seen)
{
	struct rl_u128 before = *seen, next;

	if (!rl_atomic_load16(&s->header->changes, seen) || is_quiet(*seen) ||
	    !rl_u128_equal(before, *seen))
		return false;
	next = with_over(*seen, seen->lo);
	next.hi += UINT64_C(1) << GIVEN_UP_SHIFT;
	return rl_atomic_cas16(&s->header->changes, *seen, next);
}

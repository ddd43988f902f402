/* SPDX-License-Identifier: BSD-2-Clause */
#include "gcra.h"

#define FRACTION_SHIFT 24 /* in hi, above the slot's bits */
#define FRACTION_MASK ((UINT64_C(1) << RL_GCRA_FRACTION) - 1)

static rl_wide
widen(uint64_t ns)
{
	return (rl_wide)ns << RL_GCRA_FRACTION;
}

/* Up to whole nanoseconds. */
static uint64_t
narrow_up(rl_wide time)
{
	rl_wide ns = (time + FRACTION_MASK) >> RL_GCRA_FRACTION;

	return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

uint32_t
rl_gcra_burst(uint64_t window_ns, uint32_t capacity, uint32_t burst)
{
	rl_wide century = (rl_wide)RL_GCRA_FILL_MAX * capacity;

	if ((rl_wide)burst * window_ns <= century)
		return burst;
	return (uint32_t)(century / window_ns);
}

struct rl_gcra
rl_gcra_make(uint64_t window_ns, uint32_t capacity, uint32_t burst)
{
	rl_wide interval = (widen(window_ns) + capacity - 1) / capacity;

	return (struct rl_gcra){
		.interval = interval,
		.burst = burst,
		.bound = interval * burst,
	};
}

static rl_wide
bounded_patience(uint64_t patience_ns)
{
	return widen(patience_ns < RL_GCRA_FILL_MAX ? patience_ns : RL_GCRA_FILL_MAX);
}

void
rl_gcra_book_tokens(struct rl_gcra *g, uint64_t patience_ns)
{
	g->bound += bounded_patience(patience_ns);
}

/* It waits for the queue ahead of it, but for those that need not wait, and for room. */
void
rl_gcra_book_queue(struct rl_gcra *g, uint64_t patience_ns, uint32_t undelayed, uint32_t cost)
{
	rl_wide at_once = g->interval * ((uint64_t)undelayed + cost);

	g->bound = bounded_patience(patience_ns) + (at_once < g->bound ? at_once : g->bound);
}

rl_wide
rl_gcra_unpack(struct rl_word16 word)
{
	return widen(word.lo) | (word.hi >> FRACTION_SHIFT & FRACTION_MASK);
}

struct rl_word16
rl_gcra_pack(rl_wide tat, uint64_t slot_bits)
{
	return (struct rl_word16){
		.lo = (uint64_t)(tat >> RL_GCRA_FRACTION),
		.hi = ((uint64_t)tat & FRACTION_MASK) << FRACTION_SHIFT | slot_bits,
	};
}

static rl_wide
shortage(rl_wide tat, uint64_t now_ns)
{
	rl_wide now = widen(now_ns);

	return tat > now ? tat - now : 0;
}

bool
rl_gcra_take(const struct rl_gcra *g, rl_wide tat, uint64_t now_ns, uint32_t cost, rl_wide *next)
{
	rl_wide after = shortage(tat, now_ns) + g->interval * cost;

	*next = widen(now_ns) + after;
	return after <= g->bound;
}

uint64_t
rl_gcra_delay(const struct rl_gcra *g, rl_wide tat, uint64_t now_ns, uint32_t undelayed)
{
	rl_wide queue = shortage(tat, now_ns), skipped = g->interval * undelayed;

	return queue > skipped ? narrow_up(queue - skipped) : 0;
}

/*
 * time / interval, for a quotient below 2^28, by one division of 64 bits: of both as many low bits
 * are left out as leave the interval 36. That raises the quotient by less than one.
 */
static uint32_t
intervals_in(const struct rl_gcra *g, rl_wide time)
{
	uint64_t high = (uint64_t)(g->interval >> 36);
	int spare = high > 0 ? 64 - __builtin_clzll(high) : 0;
	uint64_t most = (uint64_t)(time >> spare) / (uint64_t)(g->interval >> spare);

	return (uint32_t)(g->interval * most > time ? most - 1 : most);
}

uint32_t
rl_gcra_remaining(const struct rl_gcra *g, rl_wide tat, uint64_t now_ns)
{
	rl_wide full = g->interval * g->burst, lacks = shortage(tat, now_ns);

	return lacks < full ? intervals_in(g, full - lacks) : 0;
}

/* T is window / capacity or a little more, so no more tokens than that lack. */
uint32_t
rl_gcra_used_most(uint64_t window_ns, uint32_t capacity, struct rl_word16 word, uint64_t now_ns)
{
	uint64_t scaled;

	if (word.lo < now_ns)
		return 0;
	if (__builtin_mul_overflow(word.lo - now_ns + 1, capacity, &scaled) ||
	    scaled / window_ns >= UINT32_MAX)
		return UINT32_MAX;
	return (uint32_t)(scaled / window_ns) + 1;
}

uint64_t
rl_gcra_wait(const struct rl_gcra *g, rl_wide tat, uint64_t now_ns)
{
	rl_wide lacks = shortage(tat, now_ns), full = g->interval * g->burst;

	return lacks > full ? narrow_up(lacks - full) : 0;
}

uint64_t
rl_gcra_retry_at(const struct rl_gcra *g, rl_wide tat, uint32_t cost)
{
	rl_wide after = tat + g->interval * cost;

	return after > g->bound ? narrow_up(after - g->bound) : 0;
}

uint64_t
rl_gcra_full_at(rl_wide tat)
{
	return narrow_up(tat);
}

bool
rl_gcra_give(const struct rl_gcra *g, rl_wide tat, uint64_t charged_tat_ns, uint64_t now_ns,
             uint32_t cost, rl_wide *next)
{
	rl_wide back = g->interval * cost, lacks;

	if (now_ns >= charged_tat_ns)
		return false;
	lacks = widen(charged_tat_ns + 1 - now_ns); /* the whole nanosecond is rounded down */
	if (back > lacks)
		back = lacks;
	*next = tat - back;
	return tat >= back;
}

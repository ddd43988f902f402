/* SPDX-License-Identifier: BSD-2-Clause */
#include "algorithm/gcra.h"

#define TICKS_BITS 28
#define TICKS_SHIFT 36
#define RETURNED_SHIFT 22
#define RETURNED_MASK UINT64_C(0x3fff)
#define AHEAD_SHIFT 13
#define AHEAD_MASK UINT64_C(0x1ff)
#define WAITS (UINT64_C(1) << 12)

#define OWN_NUMBERS 23169u /* the last capacity c for which c * (c + 1) / 2 <= 2^28 */

/* A charge's memory: returned:14 | ticks | before, `returned` lowest. */
#define MEMORY_SHIFT 14
#define MEMORY_BITS (32 - MEMORY_SHIFT)

uint32_t
rl_gcra_burst(uint64_t window_ns, uint32_t capacity, uint32_t burst)
{
	rl_wide century = (rl_wide)RL_GCRA_FILL_MAX * capacity;

	if ((rl_wide)burst * window_ns <= century)
		return burst;
	return (uint32_t)(century / window_ns);
}

struct rl_gcra_divisor
rl_gcra_divisor(uint64_t window_ns)
{
	uint64_t above = window_ns >> 36;
	unsigned spare = above > 0 ? 64 - (unsigned)__builtin_clzll(above) : 0;

	return (struct rl_gcra_divisor){
		.spare = spare,
		.high = window_ns >> spare,
		.inverse = UINT64_MAX / (window_ns >> spare),
	};
}

struct rl_gcra_rate
rl_gcra_rate(uint64_t window_ns, uint32_t capacity, uint32_t burst)
{
	return (struct rl_gcra_rate){
		.capacity = capacity,
		.burst = burst,
		.size = rl_gcra_burst(window_ns, capacity, burst),
		.step_ticks = (uint32_t)(window_ns % capacity),
		.step_ns = window_ns / capacity,
	};
}

struct rl_gcra
rl_gcra_make(uint64_t window_ns, uint32_t capacity, uint32_t burst)
{
	struct rl_gcra_divisor divisor = rl_gcra_divisor(window_ns);
	struct rl_gcra_rate rate = rl_gcra_rate(window_ns, capacity, burst);

	return rl_gcra_of(window_ns, &divisor, &rate);
}

static rl_wide
bounded_wait(const struct rl_gcra *g, uint64_t max_wait_ns)
{
	uint64_t ns = max_wait_ns < RL_GCRA_FILL_MAX ? max_wait_ns : RL_GCRA_FILL_MAX;

	return (rl_wide)ns * g->capacity;
}

void
rl_gcra_book_tokens(struct rl_gcra *g, uint64_t max_wait_ns)
{
	g->bound += bounded_wait(g, max_wait_ns);
}

/* It waits for the queue ahead of it, but for those that need not wait, and for room. */
void
rl_gcra_book_queue(struct rl_gcra *g, uint64_t max_wait_ns, uint32_t undelayed, uint32_t cost)
{
	rl_wide at_once = (rl_wide)g->window_ns * ((uint64_t)undelayed + cost);

	g->bound = bounded_wait(g, max_wait_ns) + (at_once < g->bound ? at_once : g->bound);
}

/* The first of the numbers that stand for the ticks of a capacity; the last fits 28 bits. */
static uint32_t
first_number(uint32_t capacity)
{
	uint64_t room = (UINT64_C(1) << TICKS_BITS) - capacity;

	if (capacity <= OWN_NUMBERS)
		return (uint32_t)((uint64_t)capacity * (capacity - 1) / 2);
	return (uint32_t)((uint64_t)(capacity * UINT32_C(0x9e3779b1)) * room >> 32);
}

struct rl_level
rl_gcra_unpack(const struct rl_gcra *g, struct rl_u128 word)
{
	struct rl_level level = {
		.ns = word.lo,
		.ticks = (uint32_t)(word.hi >> TICKS_SHIFT) - first_number(g->capacity),
		.ahead = (uint32_t)(word.hi >> AHEAD_SHIFT & AHEAD_MASK),
		.returned = (uint32_t)(word.hi >> RETURNED_SHIFT & RETURNED_MASK),
		.waits = (word.hi & WAITS) != 0,
	};

	if (level.ticks < g->capacity)
		return level;
	/* Another capacity's: the next nanosecond, and its tokens are no measure. */
	level.ns += level.ns < UINT64_MAX;
	level.ticks = level.ahead = 0;
	return level;
}

struct rl_u128
rl_gcra_pack(const struct rl_gcra *g, const struct rl_level *level, uint64_t slot_bits)
{
	uint64_t number = first_number(g->capacity) + (uint64_t)level->ticks;

	return (struct rl_u128){
		.lo = level->ns,
		.hi = number << TICKS_SHIFT | (uint64_t)level->returned << RETURNED_SHIFT |
	              (uint64_t)level->ahead << AHEAD_SHIFT | (level->waits ? WAITS : 0) |
	              slot_bits,
	};
}

/* Ticks as whole nanoseconds, and what is left of them; a division of 128 bits by hand. */
static uint64_t
whole_ns(const struct rl_gcra *g, rl_wide ticks, uint32_t *rest)
{
	uint64_t high = (uint64_t)(ticks >> 32), low;

	low = high % g->capacity << 32 | (uint32_t)ticks;
	*rest = (uint32_t)(low % g->capacity);
	high /= g->capacity;
	return high > UINT32_MAX ? UINT64_MAX : (high << 32) + low / g->capacity;
}

static uint64_t
narrow_up(const struct rl_gcra *g, rl_wide ticks)
{
	uint32_t rest;
	uint64_t ns = whole_ns(g, ticks, &rest);

	return ns + (rest > 0 && ns < UINT64_MAX);
}

static rl_wide
ticks_of(const struct rl_gcra *g, const struct rl_level *level)
{
	return (rl_wide)level->ns * g->capacity + level->ticks;
}

static rl_wide
shortage(const struct rl_gcra *g, const struct rl_level *level, uint64_t now_ns)
{
	return level->ns < now_ns ? 0 : (rl_wide)(level->ns - now_ns) * g->capacity + level->ticks;
}

/* x / by as rl_quotient() of window.h has it: the product is the quotient or one less. */
static uint64_t
divided(uint64_t x, const struct rl_gcra_divisor *d)
{
	uint64_t q = (uint64_t)(((rl_wide)x * d->inverse) >> 64);

	return x - q * d->high >= d->high ? q + 1 : q;
}

/*
 * time / T, up to 2^28, on 64 bits: of both as many low bits are left out as leave T 36. That raises
 * the quotient by less than one.
 */
static uint32_t
tokens_in(const struct rl_gcra *g, rl_wide time, bool *has_rest)
{
	uint64_t most;

	*has_rest = time > 0;
	if (time < g->window_ns)
		return 0;
	if (time >> TICKS_BITS >= g->window_ns)
		return UINT32_C(1) << TICKS_BITS;
	most = divided((uint64_t)(time >> g->divisor.spare), &g->divisor);
	most -= (rl_wide)g->window_ns * most > time;
	*has_rest = (rl_wide)g->window_ns * most != time;
	return (uint32_t)most;
}

/* Let the bucket be full `cost` tokens later: the most costs are 1, and most T whole ns. */
static void
add_tokens(const struct rl_gcra *g, uint32_t cost, struct rl_level *level)
{
	uint64_t ticks = level->ticks + (uint64_t)g->step_ticks * cost;

	level->ns += g->step_ns * cost;
	if (ticks >= g->capacity) {
		level->ns += ticks / g->capacity;
		ticks %= g->capacity;
	}
	level->ticks = (uint32_t)ticks;
}

/* Is T whole nanoseconds? Then so is every tat, under this capacity. */
static bool
has_no_ticks(const struct rl_gcra *g)
{
	return g->step_ticks == 0;
}

/* How many bits of a charge's memory tell its ticks: all or none. */
static int
memory_ticks_bits(const struct rl_gcra *g)
{
	int bits = has_no_ticks(g) ? 0 : 32 - __builtin_clz(g->capacity - 1);

	return bits <= MEMORY_BITS ? bits : 0;
}

/* `before`: tokens that were lacking before it. As many as have no room are all ones. */
static uint32_t
remember(const struct rl_gcra *g, const struct rl_level *after, uint32_t before)
{
	int bits = memory_ticks_bits(g);
	uint32_t most = (UINT32_C(1) << (MEMORY_BITS - bits)) - 1;
	uint32_t ticks = bits > 0 ? after->ticks : 0;

	before = before < most ? before : most;
	return (before << bits | ticks) << MEMORY_SHIFT | after->returned;
}

bool
rl_gcra_take(const struct rl_gcra *g, const struct rl_level *level, uint64_t now_ns, uint32_t cost,
             struct rl_gcra_charge *charge)
{
	rl_wide lacks = shortage(g, level, now_ns), after = lacks + (rl_wide)g->window_ns * cost;
	uint32_t behind, before, ahead;
	bool has_rest;

	if (after > g->bound)
		return false;
	charge->after = *level;
	if (lacks == 0) {
		charge->after.ns = now_ns;
		charge->after.ticks = 0;
	}
	add_tokens(g, cost, &charge->after);

	behind = tokens_in(g, lacks, &has_rest);
	before = behind + has_rest;
	ahead = cost + (level->ahead < behind ? level->ahead : behind);
	charge->after.ahead = ahead < AHEAD_MASK ? ahead : (uint32_t)AHEAD_MASK;
	charge->after.waits = after > (rl_wide)g->window_ns * g->burst;
	charge->remaining = before + cost < g->burst ? g->burst - before - cost : 0;
	charge->memory = remember(g, &charge->after, before);
	return true;
}

uint64_t
rl_gcra_delay(const struct rl_gcra *g, const struct rl_level *level, uint64_t now_ns,
              uint32_t undelayed)
{
	rl_wide queue = shortage(g, level, now_ns), skipped = (rl_wide)g->window_ns * undelayed;

	return queue > skipped ? narrow_up(g, queue - skipped) : 0;
}

uint32_t
rl_gcra_remaining(const struct rl_gcra *g, const struct rl_level *level, uint64_t now_ns)
{
	rl_wide lacks = shortage(g, level, now_ns);
	bool has_rest;
	uint32_t tokens;

	if (lacks >= (rl_wide)g->window_ns * g->burst)
		return 0;
	tokens = tokens_in(g, lacks, &has_rest);
	return g->burst - tokens - has_rest;
}

/* tat is less than lo + 1. */
uint32_t
rl_gcra_used_most(uint64_t window_ns, uint32_t capacity, struct rl_u128 word, uint64_t now_ns)
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
rl_gcra_wait(const struct rl_gcra *g, const struct rl_level *level, uint64_t now_ns)
{
	rl_wide lacks = shortage(g, level, now_ns), full = (rl_wide)g->window_ns * g->burst;

	return lacks > full ? narrow_up(g, lacks - full) : 0;
}

/* The first nanosecond of tat less so many tokens; no less than there are. */
static uint64_t
earlier(const struct rl_gcra *g, const struct rl_level *level, uint32_t tokens)
{
	uint64_t ns = g->step_ns * tokens, ticks = (uint64_t)g->step_ticks * tokens;

	if (ticks <= level->ticks)
		return level->ns - ns + (level->ticks > ticks);
	return level->ns - ns - (ticks - level->ticks) / g->capacity;
}

/* Who does not book ahead has a bound of whole tokens, which takes no division of 128 bits. */
uint64_t
rl_gcra_retry_at(const struct rl_gcra *g, const struct rl_level *level, uint32_t cost)
{
	rl_wide after = ticks_of(g, level) + (rl_wide)g->window_ns * cost;

	if (after <= g->bound)
		return 0;
	if (g->bound == (rl_wide)g->window_ns * g->burst)
		return earlier(g, level, g->burst - cost);
	return narrow_up(g, after - g->bound);
}

uint64_t
rl_gcra_full_at(const struct rl_level *level)
{
	return level->ns + (level->ticks > 0 && level->ns < UINT64_MAX);
}

/* The memory of a charge. */
struct past {
	struct rl_level after; /* `ahead` and `waits` are not remembered */
	bool has_ticks;
	uint32_t before;
};

static struct past
recall(const struct rl_gcra *g, uint64_t charged_ns, uint32_t memory)
{
	int bits = memory_ticks_bits(g);
	uint32_t most = (UINT32_C(1) << (MEMORY_BITS - bits)) - 1;
	uint32_t rest = memory >> MEMORY_SHIFT;
	struct past past = {.has_ticks = bits > 0 || has_no_ticks(g), .before = rest >> bits};

	past.after.ns = charged_ns;
	past.after.returned = memory & (uint32_t)RETURNED_MASK;
	past.after.ticks = rest & ((UINT32_C(1) << bits) - 1);
	if (past.before == most)
		past.before = UINT32_MAX;
	return past;
}

/* Is tat what the charge left? Where ticks are not remembered, a token must take 1 ns. */
static bool
is_newest(const struct rl_gcra *g, const struct rl_level *level, const struct past *past)
{
	return level->ns == past->after.ns && level->returned == past->after.returned &&
	       (past->has_ticks ? level->ticks == past->after.ticks : g->window_ns >= g->capacity);
}

/* How much of a charge that is not the newest may be given back. */
static rl_wide
room_for(const struct rl_gcra *g, const struct rl_level *level, const struct past *past)
{
	uint32_t lowered = (level->returned - past->after.returned) & (uint32_t)RETURNED_MASK;
	rl_wide room = (rl_wide)g->window_ns * level->ahead, was = ticks_of(g, &past->after);
	rl_wide is = ticks_of(g, level), gone;

	lowered = lowered < past->before ? lowered : past->before;
	gone = (rl_wide)g->window_ns * lowered;
	if (is + gone >= was) /* tat[j] - d - n, and n is tat - room */
		return room + was > is + gone ? room + was - is - gone : 0;
	return room;
}

/* The level with so much time given back, which is that many tokens, rounded up. */
static struct rl_level
lowered(const struct rl_gcra *g, const struct rl_level *level, rl_wide back, uint32_t tokens)
{
	struct rl_level next = *level;

	next.ns = whole_ns(g, ticks_of(g, level) - back, &next.ticks);
	next.ahead -= tokens < level->ahead ? tokens : level->ahead;
	return next;
}

bool
rl_gcra_give(const struct rl_gcra *g, const struct rl_level *level, uint64_t charged_ns,
             uint32_t memory, uint64_t now_ns, uint32_t cost, struct rl_level *next)
{
	struct past past = recall(g, charged_ns, memory);
	rl_wide back = (rl_wide)g->window_ns * cost, room = back;
	bool is_last = is_newest(g, level, &past), has_rest;
	uint32_t tokens;

	if (!is_last)
		room = level->waits ? 0 : room_for(g, level, &past);
	back = back < room ? back : room;
	if (back == 0 || back > ticks_of(g, level) || rl_gcra_full_at(level) <= now_ns)
		return false;
	tokens = tokens_in(g, back, &has_rest) + has_rest;
	*next = lowered(g, level, back, tokens);
	if (!is_last)
		next->returned = (level->returned + tokens) & (uint32_t)RETURNED_MASK;
	return true;
}

uint32_t
rl_gcra_give_newest(const struct rl_gcra *g, const struct rl_level *level, uint64_t now_ns,
                    uint32_t cost, struct rl_level *next)
{
	uint32_t tokens = cost < level->ahead ? cost : level->ahead;
	rl_wide back = (rl_wide)g->window_ns * tokens;

	if (level->waits || back > ticks_of(g, level) || rl_gcra_full_at(level) <= now_ns)
		return 0;
	*next = lowered(g, level, back, tokens);
	next->returned = (level->returned + tokens) & (uint32_t)RETURNED_MASK;
	return tokens;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "algorithm/gcra.h"

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

static rl_wide
ticks_of(const struct rl_gcra *g, const struct rl_level *level)
{
	return (rl_wide)level->ns * g->capacity + level->ticks;
}

uint32_t
rl_gcra_debt(const struct rl_gcra *g, rl_wide time)
{
	bool has_rest;
	uint32_t tokens;

	if (time >> RL_GCRA_TICKS_BITS >= g->window_ns)
		return RL_CAPACITY_MAX;
	tokens = rl_gcra_tokens(g, time, &has_rest);
	tokens += has_rest;
	return tokens < RL_CAPACITY_MAX ? tokens : RL_CAPACITY_MAX;
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

/* The memory of a charge. */
struct past {
	struct rl_level after; /* `ahead` and `waits` are not remembered */
	bool has_ticks;
	uint32_t before; /* steps of `returned` */
};

static struct past
recall(const struct rl_gcra *g, uint64_t charged_ns, uint32_t memory)
{
	int bits = rl_gcra_memory_ticks_bits(g);
	uint32_t most = (UINT32_C(1) << (RL_GCRA_MEMORY_BITS - bits)) - 1;
	uint32_t rest = memory >> RL_GCRA_MEMORY_SHIFT;
	struct past past = {.has_ticks = bits > 0 || rl_gcra_has_no_ticks(g),
	                    .before = rest >> bits};

	past.after.ns = charged_ns;
	past.after.returned = memory & (uint32_t)RL_GCRA_RETURNED_MASK;
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
	uint32_t lowered =
		(level->returned - past->after.returned) & (uint32_t)RL_GCRA_RETURNED_MASK;
	rl_wide room = rl_gcra_time(g, rl_gcra_ahead_of(g->capacity, level->ahead)),
		was = ticks_of(g, &past->after);
	rl_wide is = ticks_of(g, level), gone;

	lowered = lowered < past->before ? lowered : past->before;
	gone = rl_gcra_time(g, (uint64_t)lowered << rl_gcra_returned_step(g->capacity));
	if (is + gone >= was) /* tat[j] - d - n, and n is tat - room */
		return room + was > is + gone ? room + was - is - gone : 0;
	return room;
}

/* The level with so much time given back, which is that many tokens, rounded up. */
static struct rl_level
lowered(const struct rl_gcra *g, const struct rl_level *level, rl_wide back, uint32_t tokens)
{
	uint32_t ahead = rl_gcra_ahead_of(g->capacity, level->ahead);
	struct rl_level next = *level;

	next.ns = whole_ns(g, ticks_of(g, level) - back, &next.ticks);
	next.ahead = rl_gcra_ahead_code(g->capacity, ahead > tokens ? ahead - tokens : 0);
	return next;
}

/* And it tells those that were charged before. */
static uint32_t
returned_after(const struct rl_gcra *g, const struct rl_level *level, uint32_t tokens)
{
	return (level->returned + rl_gcra_returned_of(g->capacity, tokens)) &
	       (uint32_t)RL_GCRA_RETURNED_MASK;
}

uint32_t
rl_gcra_give(const struct rl_gcra *g, const struct rl_level *level, uint64_t charged_ns,
             uint32_t memory, uint64_t now_ns, uint32_t cost, struct rl_level *next)
{
	struct past past = recall(g, charged_ns, memory);
	rl_wide back = rl_gcra_time(g, cost), room = back;
	bool is_last = is_newest(g, level, &past), has_rest;
	uint32_t tokens;

	if (!is_last)
		room = level->waits ? 0 : room_for(g, level, &past);
	back = back < room ? back : room;
	if (back == 0 || back > ticks_of(g, level) || rl_gcra_full_at(level) <= now_ns)
		return 0;
	tokens = rl_gcra_tokens(g, back, &has_rest) + has_rest;
	*next = lowered(g, level, back, tokens);
	if (!is_last)
		next->returned = returned_after(g, level, tokens);
	return tokens;
}

uint32_t
rl_gcra_give_newest(const struct rl_gcra *g, const struct rl_level *level, uint64_t now_ns,
                    uint32_t cost, struct rl_level *next)
{
	uint32_t ahead = rl_gcra_ahead_of(g->capacity, level->ahead);
	uint32_t tokens = cost < ahead ? cost : ahead;
	rl_wide back = rl_gcra_time(g, tokens);

	if (level->waits || back > ticks_of(g, level) || rl_gcra_full_at(level) <= now_ns)
		return 0;
	*next = lowered(g, level, back, tokens);
	next->returned = returned_after(g, level, tokens);
	return tokens;
}

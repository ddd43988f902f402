/* SPDX-License-Identifier: BSD-2-Clause */
#include "algorithm/share_bucket.h"

#include "algorithm/share.h"

#define SCALE_SHIFT 36
#define PART_SHIFT 28
#define PART_BITS 8
#define PART_MASK UINT64_C(0xff)
#define BEHIND_MAX (UINT64_C(1) << 60) /* twice what a bucket can owe, and more is damage */

typedef unsigned __int128 wide;

/* A quotient, rounded up; and one that takes no division of 128 bits. */
static uint64_t
up(wide a, uint64_t b)
{
	return (uint64_t)((a + b - 1) / b);
}

static uint64_t
up_short(uint64_t a, uint64_t b)
{
	return (a + b - 1) / b;
}

/* Of parts of 1/256 ns, the nanoseconds. */
static uint64_t
up_ns(wide parts)
{
	return (uint64_t)((parts + PART_MASK) >> PART_BITS);
}

uint32_t
rl_share_bucket_size(uint64_t window_ns, uint32_t capacity, uint32_t size)
{
	wide most = (wide)RL_SHARE_FILL_MAX * capacity;

	if ((wide)size * window_ns > most)
		size = (uint32_t)(most / window_ns);
	return size > 0 ? size : 1; /* of a bucket of hardly any rate, and of damage */
}

struct rl_share_bucket
rl_share_bucket_of(uint64_t window_ns, uint32_t capacity, uint32_t size)
{
	size = rl_share_bucket_size(window_ns, capacity, size);
	return (struct rl_share_bucket){
		.fill = up((wide)window_ns * size << PART_BITS, capacity),
		.size = size,
	};
}

static uint64_t
step_of(const struct rl_share_bucket *b, uint32_t tokens)
{
	return up_short(b->fill, tokens);
}

static uint64_t
behind_of(struct rl_u128 word, uint64_t now_ns)
{
	uint64_t part = word.hi >> PART_SHIFT & PART_MASK;

	if (word.lo < now_ns)
		return 0;
	if (word.lo - now_ns >= BEHIND_MAX >> PART_BITS)
		return BEHIND_MAX;
	return (word.lo - now_ns) << PART_BITS | part;
}

uint32_t
rl_share_bucket_scale(struct rl_u128 word)
{
	uint32_t scale = (uint32_t)(word.hi >> SCALE_SHIFT);

	return scale > 0 ? scale : 1;
}

struct rl_share_level
rl_share_level_of(const struct rl_share_bucket *b, struct rl_u128 word, uint32_t tokens,
                  uint64_t now_ns)
{
	struct rl_share_level level = {.tokens = tokens > 0 ? tokens : 1};
	uint64_t behind = behind_of(word, now_ns), scaled;

	level.step = step_of(b, level.tokens);
	level.behind = behind;
	if (behind == 0 || rl_share_bucket_scale(word) == level.tokens)
		return level;
	scaled = up((wide)behind * level.step, step_of(b, rl_share_bucket_scale(word)));
	level.behind = scaled < BEHIND_MAX ? scaled : BEHIND_MAX;
	return level;
}

struct rl_u128
rl_share_level_word(const struct rl_share_level *level, uint64_t now_ns, uint64_t bits)
{
	return (struct rl_u128){
		.lo = now_ns + (level->behind >> PART_BITS),
		.hi = (uint64_t)level->tokens << SCALE_SHIFT |
	              (level->behind & PART_MASK) << PART_SHIFT | bits,
	};
}

uint32_t
rl_share_level_load(const struct rl_share_level *level)
{
	uint64_t load = up_short(level->behind, level->step);

	return load < UINT32_MAX ? (uint32_t)load : UINT32_MAX;
}

uint32_t
rl_share_level_left(const struct rl_share_level *level)
{
	uint32_t load = rl_share_level_load(level);

	return load < level->tokens ? level->tokens - load : 0;
}

bool
rl_share_level_take(struct rl_share_level *level, uint32_t cost)
{
	if ((wide)level->step * cost + level->behind > (wide)level->step * level->tokens)
		return false;
	level->behind += level->step * cost;
	return true;
}

uint64_t
rl_share_level_wait(const struct rl_share_level *level, uint32_t cost)
{
	wide after = (wide)level->step * cost + level->behind,
	     bound = (wide)level->step * level->tokens;

	return after > bound ? up_ns(after - bound) : 0;
}

uint64_t
rl_share_level_full_in(const struct rl_share_level *level)
{
	return up_ns(level->behind);
}

uint64_t
rl_share_level_delay(const struct rl_share_level *level, uint32_t undelayed)
{
	wide skipped = (wide)level->step * undelayed;

	return level->behind > skipped ? up_ns(level->behind - skipped) : 0;
}

uint32_t
rl_share_bucket_memory(struct rl_u128 word)
{
	return (uint32_t)(word.hi >> PART_SHIFT);
}

bool
rl_share_level_give(struct rl_share_level *level, uint32_t cost)
{
	if ((wide)level->step * cost > level->behind)
		return false;
	level->behind -= level->step * cost;
	return true;
}

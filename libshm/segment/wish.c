/* SPDX-License-Identifier: BSD-2-Clause */
#include "segment/wish.h"

#include "algorithm/share.h"
#include "segment/geometry.h"

#define LARGEST_MASK 0xffffu
#define WAITS (1u << 16)
#define SUM_SHIFT 17
#define SUM_CODE_MAX 0x7fffu
#define LOW (1u << SUM_SHIFT)

static uint64_t *
summary_of(const struct rl_segment *s)
{
	return s->wishes + rl_wish_words(&s->geometry);
}

static uint64_t *
dry_of(const struct rl_segment *s, uint64_t slot)
{
	uint64_t words = rl_wish_words(&s->geometry);

	return &s->wishes[words + rl_wish_summary_words(words) + slot / 64];
}

static unsigned
shift_of(uint64_t slot)
{
	return 32 * (unsigned)(slot % 2);
}

static uint32_t
wish_at(const struct rl_segment *s, uint64_t slot)
{
	return (uint32_t)(rl_atomic_load(&s->wishes[slot / 2]) >> shift_of(slot));
}

/* False: another one was quicker. The fence is take_group()'s partner: see wish.h. */
static bool
change(const struct rl_segment *s, uint64_t slot, uint32_t seen, uint32_t next)
{
	uint64_t *word = &s->wishes[slot / 2], held = rl_atomic_load(word);
	uint64_t mask = (uint64_t)UINT32_MAX << shift_of(slot);

	if ((uint32_t)(held >> shift_of(slot)) != seen ||
	    !rl_atomic_cas(word, held, (held & ~mask) | (uint64_t)next << shift_of(slot)))
		return false;
	rl_atomic_fence();
	return true;
}

static void
sum_up(const struct rl_segment *s, uint64_t slot)
{
	uint64_t *word = &summary_of(s)[slot / RL_WISH_SUMMARY];
	uint64_t bit = UINT64_C(1) << slot / RL_WISH_SLOTS % 64;

	for (;;) {
		uint64_t held = rl_atomic_load(word);

		if ((held & bit) != 0 || rl_atomic_cas(word, held, held | bit))
			return;
		rl_atomic_pause();
	}
}

bool
rl_wish_low(const struct rl_segment *s, uint64_t slot)
{
	bool is_new = false;

	while (wish_at(s, slot) == 0 && !(is_new = change(s, slot, 0, LOW)))
		rl_atomic_pause();
	sum_up(s, slot);
	return is_new;
}

static uint32_t
sum_of(uint32_t wish)
{
	return (wish & LARGEST_MASK) == 0 ? 0 : rl_share_tokens(wish >> SUM_SHIFT);
}

/* Rounded down, and the largest is rounded up: more of it is harmless, less helps nobody. */
static uint32_t
with_denied(uint32_t wish, uint32_t cost, uint32_t most)
{
	uint32_t largest = rl_share_code_up(cost), sum = sum_of(wish);

	largest = largest > (wish & LARGEST_MASK) ? largest : wish & LARGEST_MASK;
	sum = rl_share_code(sum < most ? sum + cost : sum);
	return (sum < SUM_CODE_MAX ? sum : SUM_CODE_MAX) << SUM_SHIFT | (wish & WAITS) | largest;
}

bool
rl_wish_denied(const struct rl_segment *s, uint64_t slot, uint32_t cost, uint32_t most)
{
	uint32_t held, next;

	for (;;) {
		held = wish_at(s, slot);
		next = with_denied(held, cost, most);
		if (next == held || change(s, slot, held, next))
			break;
		rl_atomic_pause();
	}
	sum_up(s, slot);
	return held == 0;
}

void
rl_wish_waits(const struct rl_segment *s, uint64_t slot)
{
	uint32_t held = wish_at(s, slot);

	while (held != 0 && (held & WAITS) == 0 && !change(s, slot, held, held | WAITS)) {
		rl_atomic_pause();
		held = wish_at(s, slot);
	}
}

bool
rl_wish_is_dry(const struct rl_segment *s, uint64_t slot)
{
	return (rl_atomic_load_relaxed(dry_of(s, slot)) >> slot % 64 & 1) != 0;
}

void
rl_wish_dry(const struct rl_segment *s, uint64_t slot, bool is_dry)
{
	uint64_t *word = dry_of(s, slot), bit = UINT64_C(1) << slot % 64;

	for (;;) {
		uint64_t held = rl_atomic_load(word), next = is_dry ? held | bit : held & ~bit;

		if (held == next || rl_atomic_cas(word, held, next))
			return;
		rl_atomic_pause();
	}
}

void
rl_wish_carry(const struct rl_segment *from, uint64_t old, const struct rl_segment *to,
              uint64_t slot)
{
	uint32_t wish = wish_at(from, old);

	if (wish == 0)
		return;
	if (wish_at(to, slot) == 0)
		change(to, slot, 0, wish);
	sum_up(to, slot);
}

static uint64_t
take_all(uint64_t *word)
{
	for (;;) {
		uint64_t held = rl_atomic_load(word);

		if (held == 0 || rl_atomic_cas(word, held, 0))
			return held;
		rl_atomic_pause();
	}
}

/*
 * The first of the groups of 64 slots from `group` on whose bit of the summary is set, which is
 * cleared; or `groups`.
 */
static uint64_t
next_group(const struct rl_segment *s, uint64_t group, uint64_t groups)
{
	while (group < groups) {
		uint64_t *summary = &summary_of(s)[group / 64], held = rl_atomic_load(summary);
		uint64_t left = held >> group % 64;

		if (left == 0) {
			group = (group / 64 + 1) * 64;
			continue;
		}
		group += (unsigned)__builtin_ctzll(left);
		if (rl_atomic_cas(summary, held, held & ~(UINT64_C(1) << group % 64)))
			return group < groups ? group : groups;
		group -= (unsigned)__builtin_ctzll(left);
	}
	return groups;
}

static struct rl_wish
read_wish(uint32_t wish)
{
	return (struct rl_wish){
		.denied = sum_of(wish),
		.largest = rl_share_tokens(wish & LARGEST_MASK),
		.waits = (wish & WAITS) != 0,
	};
}

static uint64_t
take_group(const struct rl_segment *s, uint64_t group, struct rl_wish of[RL_WISH_SLOTS])
{
	uint64_t first = group * RL_WISH_SLOTS, bits = 0, held = 0;

	rl_atomic_fence();
	for (unsigned i = 0; i < RL_WISH_SLOTS; i++) {
		if (i % 2 == 0)
			held = take_all(&s->wishes[(first + i) / 2]);
		if ((uint32_t)(held >> shift_of(i)) == 0)
			continue;
		of[i] = read_wish((uint32_t)(held >> shift_of(i)));
		bits |= UINT64_C(1) << i;
	}
	return bits;
}

uint64_t
rl_wish_take(const struct rl_segment *s, uint64_t *at, uint64_t *first,
             struct rl_wish of[RL_WISH_SLOTS])
{
	uint64_t groups = rl_wish_words(&s->geometry) * 2 / RL_WISH_SLOTS;
	uint64_t group = *at / RL_WISH_SLOTS, bits = 0;

	while (bits == 0 && (group = next_group(s, group, groups)) < groups) {
		bits = take_group(s, group, of);
		*first = group++ * RL_WISH_SLOTS;
	}
	*at = group * RL_WISH_SLOTS;
	return bits;
}

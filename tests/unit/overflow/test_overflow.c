/* SPDX-License-Identifier: BSD-2-Clause */
/* What keys without a slot are told, under each algorithm, in a table that other keys fill. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "algorithm/overflow_count.h"
#include "algorithm/overflow_word.h"
#include "at.h"
#include "decide/request.h"
#include "overflow/overflow.h"
#include "rule/handle.h"
#include "testing.h"

#define SLOTS 16
#define FILLER 0x40000000U /* first key of those with slots: no search for others comes so far */
#define T0 (UINT64_C(1700000000) * RL_SECOND + 100 * RL_MILLISECOND)
#define WINDOW (60 * RL_SECOND)
#define HOUR (3600 * RL_SECOND)
#define BUFFER (10 * RL_SECOND)
#define CAPACITY 10

/* Limits that have overflow counters, each of 10 a minute. */
static const struct rl_limit limits[] = {
	{.algorithm = RL_SLIDING_WINDOW,
         .capacity = CAPACITY,
         .window_ns = WINDOW,
         .granularity = 6,
         .hard = 1},
	{.algorithm = RL_SLIDING_WINDOW,
         .capacity = CAPACITY,
         .window_ns = WINDOW,
         .granularity = 1},
	{.algorithm = RL_FIXED_WINDOW, .capacity = CAPACITY, .window_ns = WINDOW},
	{.algorithm = RL_SLIDING_LOG, .capacity = CAPACITY, .window_ns = WINDOW},
	{.algorithm = RL_TOKEN_BUCKET, .capacity = CAPACITY, .window_ns = WINDOW},
	{.algorithm = RL_LEAKY_BUCKET,
         .capacity = CAPACITY,
         .window_ns = WINDOW,
         .burst = CAPACITY - 1,
         .undelayed = CAPACITY - 1},
	{.algorithm = RL_ANCHORED_WINDOW, .capacity = CAPACITY, .window_ns = WINDOW},
};
#define LIMITS (sizeof limits / sizeof limits[0])

static struct rl *
open_sets(uint32_t cells, uint32_t reserves)
{
	const struct rl_options o = {
		.keys = 1, .ring = 64, .cells = cells, .reserves = reserves, .buffer_ns = BUFFER};
	struct rl *rl;

	assert_int_equal(rl_open_private(&o, &rl), 0);
	return rl;
}

/* So few sets that a limit takes one. */
static struct rl *
open_tiny(uint32_t cells)
{
	return open_sets(cells, 2);
}

static int
define(struct rl *rl, const char *name, const struct rl_limit *limit)
{
	int rule = rl_define(rl, &(struct rl_rule){.name = name, .limit = *limit});

	assert_true(rule >= 0);
	return rule;
}

static enum rl_verdict
ask(struct rl *rl, int rule, uint32_t key, uint64_t cost, uint64_t now_ns, struct rl_result *r)
{
	return at_check(rl, rule, &key, sizeof key, cost, now_ns, r);
}

static void
candidates_of(struct rl *rl, int rule, uint32_t key, struct rl_candidates *to)
{
	rl_part_candidates(&rl->segment.table, rl_handle_limit(rl, rule),
	                   rl_hash_of_key(rl->segment.key_start, &key, sizeof key), to);
}

/* The first key from `key` on that has both lanes of another. */
static uint32_t
beside(struct rl *rl, int rule, uint32_t other, uint32_t key)
{
	struct rl_candidates of_key, of_other;

	candidates_of(rl, rule, other, &of_other);
	for (;; key++) {
		candidates_of(rl, rule, key, &of_key);
		if (rl_overflow_lanes(of_key.key) == rl_overflow_lanes(of_other.key))
			return key;
	}
}

static bool
is_bucket(const struct rl_limit *l)
{
	return l->algorithm == RL_TOKEN_BUCKET || l->algorithm == RL_LEAKY_BUCKET;
}

/* Sixteen keys of a rule that has no window's end before the others': they take all slots. */
static void
fill(struct rl *rl, int rule, uint64_t now_ns)
{
	struct rl_info info;

	for (uint32_t key = FILLER; key < FILLER + SLOTS; key++)
		assert_int_equal(ask(rl, rule, key, 1, now_ns, NULL), RL_ALLOWED);
	rl_info(rl, &info);
	assert_int_equal(rl_fill(rl), info.slots);
}

/* Keys of the same lanes of one overflow counter: what they have is the sum. */
static void
test_keys_without_a_slot_share_an_overflow_counter(void **state)
{
	(void)state;
	for (size_t i = 0; i < LIMITS; i++) {
		struct rl *rl = open_tiny(1);
		int rule = define(rl, "r", &limits[i]);
		uint32_t keys[5];
		struct rl_result r;

		fill(rl, rule, T0);
		for (uint32_t n = 0, key = 0; n < 5; n++, key++)
			keys[n] = key = beside(rl, rule, 0, key);
		for (uint32_t n = 0; n < CAPACITY; n++) {
			assert_int_equal(ask(rl, rule, keys[n % 3], 1, T0, &r), RL_ALLOWED);
			assert_int_equal(r.error, 0);
			assert_int_equal(r.reason, RL_BY_RESERVE);
			assert_int_equal(r.limit, CAPACITY);
			assert_int_equal(r.used, n + 1);
			assert_int_equal(r.remaining, CAPACITY - n - 1);
		}
		for (uint32_t n = 0; n < 5; n++) {
			assert_int_equal(ask(rl, rule, keys[n], 0, T0, &r), RL_DENIED);
			assert_int_equal(r.reason, RL_BY_RESERVE);
			assert_int_equal(ask(rl, rule, keys[n], 1, T0, &r), RL_DENIED);
			assert_int_equal(r.reason, RL_BY_RESERVE);
			assert_int_equal(r.remaining, 0);
			assert_true(r.retry_after_ns > 0 && r.retry_after_ns <= 2 * WINDOW);
		}
		/* who has a slot does not notice */
		assert_int_equal(ask(rl, rule, FILLER, CAPACITY - 1, T0, &r), RL_ALLOWED);
		assert_int_equal(r.reason, RL_BY_LIMIT);
		assert_int_equal(test_counter(rl, rule, RL_COUNT_reserved), CAPACITY + 5);
		assert_int_equal(test_counter(rl, rule, RL_COUNT_reserve_denied), 5);
		assert_int_equal(test_counter(rl, rule, RL_COUNT_folded), 0);
		rl_close(rl);
	}
}

/* Of keys without a common lane each has the whole limit, in one overflow counter. */
static void
test_other_lanes_are_counted_apart(void **state)
{
	(void)state;
	for (size_t i = 0; i < LIMITS; i++) {
		struct rl *rl = open_tiny(1);
		int rule = define(rl, "r", &limits[i]);
		uint32_t keys[4], pairs = 0;
		struct rl_result r;

		fill(rl, rule, T0);
		for (uint32_t key = 0, lanes = 0; pairs < 4 && !is_bucket(&limits[i]); key++) {
			struct rl_candidates c;
			uint32_t own;

			candidates_of(rl, rule, key, &c);
			own = rl_overflow_lanes(c.key);
			own = 1U << (own & 7) | 1U << (own >> 3);
			if (lanes & own)
				continue;
			lanes |= own;
			keys[pairs++] = key;
		}
		for (uint32_t n = 0; n < pairs * CAPACITY; n++) {
			assert_int_equal(ask(rl, rule, keys[n % pairs], 1, T0, &r), RL_ALLOWED);
			assert_int_equal(r.reason, RL_BY_RESERVE);
			assert_int_equal(r.used, n / pairs + 1);
		}
		for (uint32_t n = 0; n < pairs; n++)
			assert_int_equal(ask(rl, rule, keys[n], 1, T0, &r), RL_DENIED);
		rl_close(rl);
	}
}

/*
 * retry_after_ns is an upper bound; by then the key is admitted. A nanosecond before, an overflow
 * counter still denies.
 */
static void
test_retry_after_is_kept(void **state)
{
	(void)state;
	for (size_t i = 0; i < LIMITS; i++) {
		struct rl *rl = open_tiny(1);
		int rule = define(rl, "r", &limits[i]);
		int other =
			define(rl, "other", &(struct rl_limit){.capacity = 1, .window_ns = HOUR});
		struct rl_result r;
		uint64_t then;

		fill(rl, other, T0);
		for (uint32_t key = FILLER; key < FILLER + SLOTS; key++)
			ask(rl, rule, key, 1, T0, NULL); /* gets half of the slots */
		assert_int_equal(test_counter(rl, other, RL_COUNT_folded), SLOTS / 2);
		while (ask(rl, rule, 7, 1, T0, &r) == RL_ALLOWED)
			assert_int_equal(r.reason, RL_BY_RESERVE);
		then = T0 + r.retry_after_ns;
		assert_int_equal(ask(rl, rule, 7, 1, then - 1, &r), RL_DENIED);
		assert_int_equal(ask(rl, rule, 7, 1, then, &r), RL_ALLOWED);
		rl_close(rl);
	}
}

/*
 * A slot that came, was charged and was folded between a charge to the overflow counter and the
 * look behind it.
 */
static void
test_a_slot_that_came_and_went_is_seen(void **state)
{
	struct rl *rl = open_tiny(1);
	int rule = define(rl, "r", &limits[0]);
	const struct rl_compiled *limit = rl_handle_limit(rl, rule);
	const struct rl_segment *s = &rl->segment;
	struct rl_candidates has_slot, has_none;
	struct rl_slot slot;
	struct rl_view view;
	struct rl_overflow overflow;

	(void)state;
	assert_int_equal(ask(rl, rule, 1, 1, T0, NULL), RL_ALLOWED);
	candidates_of(rl, rule, 1, &has_slot);
	candidates_of(rl, rule, 2, &has_none);
	assert_true(rl_table_find(&rl->segment.table, &has_slot, &slot));
	assert_int_equal(rl_view_load(s, slot, &view), RL_SEEN);
	assert_int_equal(rl_overflow_take(s, limit, 0, T0, &overflow), 0);
	assert_true(rl_overflow_was_left(&overflow, &has_slot));
	assert_false(rl_overflow_was_left(&overflow, &has_none));
	assert_true(rl_overflow_fold(s, limit, slot, &view, T0));
	assert_true(rl_overflow_was_left(&overflow, &has_none));
	rl_close(rl);
}

/* Whoever claimed it has not charged it yet: until then the key has what it had. */
static void
test_a_peek_at_a_slot_without_a_charge(void **state)
{
	(void)state;
	for (size_t i = 0; i < LIMITS; i++) {
		struct rl *rl = open_tiny(1);
		int rule = define(rl, "r", &limits[i]);
		uint32_t key = beside(rl, rule, 0, 0);
		struct rl_candidates candidates;
		struct rl_slot slot;
		struct rl_view view;
		struct rl_result r;

		fill(rl, rule, T0);
		assert_int_equal(ask(rl, rule, key, CAPACITY, T0, &r), RL_ALLOWED);
		assert_int_equal(r.reason, RL_BY_RESERVE);
		candidates_of(rl, rule, FILLER, &candidates);
		assert_true(rl_table_find(&rl->segment.table, &candidates, &slot));
		assert_int_equal(rl_view_load(&rl->segment, slot, &view), RL_SEEN);
		assert_true(rl_table_retire(&rl->segment.table, slot, view.word));
		candidates_of(rl, rule, key, &candidates);
		assert_int_equal(rl_table_claim(&rl->segment.table, &candidates, &slot),
		                 RL_CLAIM_NEW);
		assert_int_equal(at_peek(rl, rule, &key, sizeof key, T0, &r), RL_DENIED);
		assert_int_equal(r.remaining, 0);
		assert_int_equal(r.reason, RL_BY_RESERVE);
		rl_close(rl);
	}
}

/* More than a window's capacity may be less than the burst. */
static void
test_a_bucket_gives_its_burst_at_once(void **state)
{
	static const struct rl_limit bursts[] = {
		{.algorithm = RL_TOKEN_BUCKET, .capacity = 2, .window_ns = WINDOW, .burst = 5},
		{.algorithm = RL_LEAKY_BUCKET, .capacity = 2, .window_ns = WINDOW, .burst = 4},
	};

	(void)state;
	for (size_t i = 0; i < sizeof bursts / sizeof bursts[0]; i++) {
		struct rl *rl = open_tiny(1);
		int rule = define(rl, "r", &bursts[i]);
		struct rl_result r;

		fill(rl, rule, T0);
		assert_int_equal(ask(rl, rule, 7, 1, T0, &r),
		                 RL_ALLOWED); /* makes the overflow counter */
		assert_int_equal(ask(rl, rule, 7, 4, T0, &r), RL_ALLOWED);
		assert_int_equal(r.reason, RL_BY_RESERVE);
		assert_int_equal(ask(rl, rule, 7, 4, T0, &r), RL_DENIED);
		assert_int_equal(r.reason, RL_BY_RESERVE);
		assert_int_equal(ask(rl, rule, 7, 4, T0 + r.retry_after_ns, &r), RL_ALLOWED);
		rl_close(rl);
	}
}

/* Windows forget at the end of the overflow counter's next epoch, buckets as they fill. */
static void
test_an_overflow_counter_expires(void **state)
{
	(void)state;
	for (size_t i = 0; i < LIMITS; i++) {
		struct rl *rl = open_tiny(1);
		int rule = define(rl, "r", &limits[i]);
		uint64_t end = (T0 / WINDOW + 2) * WINDOW;
		struct rl_result r;

		fill(rl, rule, T0);
		assert_int_equal(ask(rl, rule, 7, CAPACITY, T0, &r), RL_ALLOWED);
		/* they hold their slots, also in the next window */
		for (uint64_t at = T0; at < end; at += WINDOW / 4)
			for (uint32_t key = FILLER; key < FILLER + SLOTS; key++)
				ask(rl, rule, key, 1, at, NULL);
		assert_int_equal(ask(rl, rule, 8, CAPACITY, end, &r), RL_ALLOWED);
		rl_close(rl);
	}
}

static uint32_t
used(struct rl *rl, int rule, uint32_t key, uint64_t now_ns)
{
	struct rl_result r;

	ask(rl, rule, key, 0, now_ns, &r);
	return r.used;
}

/* From overflow counter to slot: what was counted there goes along. */
static void
test_a_first_charge_carries(void **state)
{
	(void)state;
	for (size_t i = 0; i < LIMITS; i++) {
		struct rl *rl = open_tiny(1);
		int rule = define(rl, "r", &limits[i]);
		struct rl_result r;

		fill(rl, rule, T0);
		for (int n = 0; n < 7; n++)
			assert_int_equal(ask(rl, rule, 7, 1, T0, &r), RL_ALLOWED);
		/* room, in the same epoch: the overflow counter is open, so it goes on */
		assert_int_equal(rl_reset_matching(rl, rule,
		                                   &(struct rl_pattern){.match = RL_MATCH_KEY,
		                                                        .key = &(uint32_t){FILLER},
		                                                        .key_len = 4},
		                                   NULL),
		                 0);
		assert_int_equal(used(rl, rule, 7, T0), 7);
		assert_true(ask(rl, rule, 7, 4, T0, &r) == RL_DENIED);
		assert_int_equal(ask(rl, rule, 7, 3, T0, &r), RL_ALLOWED);
		assert_int_equal(ask(rl, rule, 7, 1, T0, &r), RL_DENIED);
		rl_close(rl);
	}
}

/*
 * A window's overflow counter that is not open in the new epoch: the key gets a slot, and the first
 * charge carries.
 */
static void
test_carry_in_the_next_epoch(void **state)
{
	(void)state;
	for (size_t i = 0; i < LIMITS; i++) {
		const struct rl_limit *l = &limits[i];
		struct rl *rl = open_tiny(1);
		int rule = define(rl, "r", l);
		int other = define(rl, "other",
		                   &(struct rl_limit){.capacity = 1, .window_ns = 10 * RL_SECOND});
		uint64_t next = (T0 / WINDOW + 1) * WINDOW;
		struct rl_result r;

		if (is_bucket(l)) {
			rl_close(rl);
			continue;
		}
		fill(rl, rule, next - 1); /* T0's slots, of others, are all of this rule */
		assert_int_equal(ask(rl, rule, 7, 7, next - 1, &r), RL_ALLOWED);
		assert_int_equal(r.reason, RL_BY_RESERVE);
		/* another rule's keys have pushed none of these out of a slot but by a fold */
		assert_int_equal(ask(rl, other, 1, 1, next, NULL), RL_ALLOWED);
		assert_int_equal(test_counter(rl, rule, RL_COUNT_folded), 1);
		rl_reset(rl, other, &(uint32_t){1}, 4);
		assert_int_equal(ask(rl, rule, 7, 1, next, &r), RL_ALLOWED);
		if (l->algorithm == RL_FIXED_WINDOW)
			assert_int_equal(r.used, 1);
		else if (l->algorithm != RL_ANCHORED_WINDOW)
			assert_true(r.used == 8);
		rl_close(rl);
	}
}

/*
 * The first key of all that gives way, when it counts nothing any more: a clock that is late by
 * less than the buffer still finds what it had.
 */
static void
test_a_late_clock_finds_the_first_fold(void **state)
{
	(void)state;
	for (size_t i = 0; i < LIMITS; i++) {
		const struct rl_options o = {
			.keys = 1, .ring = 64, .cells = 1, .reserves = 2, .buffer_ns = 4 * WINDOW};
		struct rl *rl;
		int rule, other;

		assert_int_equal(rl_open_private(&o, &rl), 0);
		rule = define(rl, "r", &limits[i]);
		other = define(rl, "other", &limits[2]);
		for (uint32_t key = 0; key < SLOTS; key++)
			assert_int_equal(ask(rl, rule, key, CAPACITY, T0, NULL), RL_ALLOWED);
		assert_int_equal(ask(rl, other, 1, 1, T0 + 3 * WINDOW, NULL), RL_ALLOWED);
		assert_int_equal(test_counter(rl, rule, RL_COUNT_folded), 1);
		assert_int_equal(rl_reset(rl, other, &(uint32_t){1}, 4), 1); /* there is room */
		for (uint32_t key = 0; key < SLOTS; key++)
			assert_int_equal(ask(rl, rule, key, 1, T0 + 1, NULL), RL_DENIED);
		rl_close(rl);
	}
}

/*
 * What a carry makes of an overflow counter that has counted 2 in its epoch, and 1 in the one
 * before; or 1 there alone.
 */
static void
test_where_a_carry_stands(void **state)
{
	struct rl_limiter slot = {
		.window_ns = WINDOW, .granularity = 4, .window = rl_window_of(WINDOW / 4, 4, true)};
	const uint64_t epoch = T0 / WINDOW, late = (epoch - 1) * WINDOW;
	struct rl_state s = {.epoch = epoch, .cur = 2, .sum = 1};
	struct rl_limiter overflow;
	struct rl_u128 word;

	(void)state;
	rl_limiter_set(&slot, RL_SLIDING_WINDOW);
	assert_true(rl_overflow_limiter(&slot, &overflow));
	for (int i = 0; i < 2; i++) { /* by a clock of its own, and by a late one */
		uint64_t now_ns = i ? late : T0;

		s.cur = 2;
		assert_true(rl_overflow_carried(&slot, &overflow, rl_state_pack(s, 0), now_ns, 5,
		                                &word));
		assert_int_equal(rl_state_unpack(word, &slot.window).epoch, 4 * epoch + 3);
		assert_int_equal(rl_state_unpack(word, &slot.window).cur, 3);
		assert_int_equal(rl_state_unpack(word, &slot.window).jump, 0);
		assert_int_equal(word.hi & RL_STATE_SLOT_MASK, 5);
		s.cur = 0;
		assert_true(rl_overflow_carried(&slot, &overflow, rl_state_pack(s, 0), now_ns, 5,
		                                &word));
		assert_int_equal(rl_state_unpack(word, &slot.window).epoch, 4 * epoch - 1);
		assert_int_equal(rl_state_unpack(word, &slot.window).cur, 1);
		assert_int_equal(rl_state_unpack(word, &slot.window).jump, 1);
	}
}

/* How often keys were folded into overflow counters, as the overflow counters count it. */
static uint64_t
folds(const struct rl *rl)
{
	const struct rl_segment *s = &rl->segment;
	uint64_t count = 0;

	for (uint64_t i = 0; i < (uint64_t)s->geometry.reserves * s->geometry.cells; i++)
		count += rl_overflow_folds(s->overflow_counters[i]);
	return count;
}

/* Of another rule that has two more, the least used gives way, and comes back with what it had. */
static void
test_a_longest_queue_gives_way(void **state)
{
	(void)state;
	for (size_t i = 0; i < LIMITS; i++) {
		struct rl *rl = open_tiny(1024);
		int rule = define(rl, "r", &limits[i]), other = define(rl, "other", &limits[i]);
		uint64_t slots = 0;
		struct rl_result r;

		for (uint32_t key = 0; key < SLOTS; key++)
			assert_int_equal(ask(rl, rule, key, 3 + key % 7, T0, NULL), RL_ALLOWED);
		for (uint32_t key = 0; key < 100; key++) {
			assert_int_equal(ask(rl, other, key, 1, T0, &r), RL_ALLOWED);
			assert_int_equal(r.error, 0);
			slots += r.reason == RL_BY_LIMIT;
		}
		/* down to one more than the newcomers */
		assert_int_equal(test_counter(rl, rule, RL_COUNT_folded), SLOTS / 2);
		assert_int_equal(folds(rl), SLOTS / 2);
		assert_int_equal(slots, SLOTS / 2);
		assert_int_equal(test_counter(rl, other, RL_COUNT_folded), 0);
		for (uint32_t key = 0; key < SLOTS; key++)
			assert_true(used(rl, rule, key, T0) >= 3 + key % 7);
		for (uint32_t key = 0; key < SLOTS; key++)
			assert_int_equal(ask(rl, rule, key, CAPACITY - (3 + key % 7) + 1, T0, &r),
			                 RL_DENIED);
		rl_close(rl);
	}
}

/* A refund of what an overflow counter was charged is void. */
static void
test_a_refund_gives_nothing_back(void **state)
{
	struct rl *rl = open_tiny(1);
	int rule = define(rl, "r", &limits[0]);
	struct rl_charges charges;
	uint32_t key = 7;

	(void)state;
	fill(rl, rule, T0);
	assert_int_equal(test_check_at(rl, rule, &key, sizeof key, 4, T0, NULL, &charges),
	                 RL_ALLOWED);
	assert_int_equal(charges.count, 1);
	assert_int_equal(at_refund(rl, &charges, T0), 0);
	assert_int_equal(used(rl, rule, 7, T0), 4);
	rl_close(rl);
}

/* What is in flight is in no overflow counter: it needs a slot. */
static void
test_in_flight_is_denied(void **state)
{
	struct rl *rl = open_tiny(1);
	int rule = define(rl, "r", &limits[0]);
	int flight = define(rl, "f", &(struct rl_limit){.algorithm = RL_IN_FLIGHT, .capacity = 5});
	struct rl_charges charges[SLOTS];
	struct rl_result r;
	uint32_t got = 0;

	(void)state;
	fill(rl, rule, T0);
	for (uint32_t key = 0; key < SLOTS; key++)
		got += test_check_at(rl, flight, &key, sizeof key, 1, T0, &r, &charges[key]) ==
		       RL_ALLOWED;
	assert_int_equal(got, SLOTS / 2);
	assert_int_equal(r.verdict, RL_DENIED);
	assert_int_equal(r.error, -ENOSPC);
	assert_int_equal(test_counter(rl, flight, RL_COUNT_full_denied), SLOTS - got);
	for (uint32_t key = 0; key < SLOTS; key++)
		if (charges[key].count > 0)
			assert_int_equal(at_refund(rl, &charges[key], T0), 1);
	rl_close(rl);
}

/* What one limit's keys have used is nothing to another's. */
static void
test_limits_have_overflow_counters_of_their_own(void **state)
{
	struct rl *rl = open_tiny(1);
	int rule[2] = {define(rl, "a", &limits[0]), define(rl, "b", &limits[0])};
	uint32_t allowed[2] = {0}, key[2] = {2000, 2000};
	struct rl_result r;

	(void)state;
	for (uint32_t n = FILLER; n < FILLER + SLOTS; n++)
		assert_int_equal(ask(rl, rule[n % 2], n, 1, T0, NULL), RL_ALLOWED);
	for (uint32_t n = 0; n < 4 * CAPACITY; n++) {
		key[n % 2] = beside(rl, rule[n % 2], 0, key[n % 2] + 1);
		allowed[n % 2] += ask(rl, rule[n % 2], key[n % 2], 1, T0, &r) == RL_ALLOWED;
		assert_int_equal(r.reason, RL_BY_RESERVE);
	}
	assert_int_equal(allowed[0], CAPACITY);
	assert_int_equal(allowed[1], CAPACITY);
	rl_close(rl);
}

/*
 * A counter by key is in no overflow counter. What lives is not pushed out, and what finds no slot
 * is told so.
 */
static void
test_a_counter_needs_a_slot(void **state)
{
	struct rl *rl = open_tiny(1);
	int rule = define(rl, "r", &limits[0]), space = rl_define_counters(rl, "c");
	struct rl_count count;
	uint32_t got = 0;

	(void)state;
	assert_true(space >= 0);
	fill(rl, rule, T0);
	for (uint32_t key = 0; key < SLOTS; key++) {
		int done = at_counter_add(rl, space, &key, sizeof key, 1, HOUR, T0, &count);

		assert_true(done == 1 || done == -ENOSPC);
		got += done == 1;
	}
	assert_int_equal(got, SLOTS / 2);
	for (uint32_t key = 2000; key < 2000 + SLOTS; key++)
		ask(rl, rule, key, 1, T0, NULL);
	for (uint32_t key = 0; key < got; key++)
		assert_int_equal(at_counter_get(rl, space, &key, sizeof key, T0, &count), 1);
	rl_close(rl);
}

/* The first of those that filled the table that has no slot any more. */
static uint32_t
who_gave_way(struct rl *rl, int rule)
{
	struct rl_candidates candidates;
	struct rl_slot slot;

	for (uint32_t key = FILLER; key < FILLER + SLOTS; key++) {
		candidates_of(rl, rule, key, &candidates);
		if (!rl_table_find(&rl->segment.table, &candidates, &slot))
			return key;
	}
	fail_msg("all of them have slots");
	return 0;
}

/* An overflow counter counts no denials, but keeps those of a key that gives way, for that key. */
static void
test_denials_are_counted_in_no_overflow_counter(void **state)
{
	const struct rl_limit l = {.algorithm = RL_FIXED_WINDOW,
	                           .capacity = CAPACITY,
	                           .window_ns = WINDOW,
	                           .count_denied = 1};
	struct rl *rl = open_tiny(1);
	int rule = define(rl, "r", &l), other = define(rl, "other", &limits[0]);
	uint32_t first = beside(rl, rule, 0, 7), second = beside(rl, rule, 0, first + 1);
	struct rl_result r;

	(void)state;
	for (uint32_t key = FILLER; key < FILLER + SLOTS; key++)
		for (int n = 0; n < 25; n++)
			ask(rl, rule, key, 1, T0, &r);
	assert_int_equal(r.used, 25);
	for (int n = 0; n < 25; n++)
		ask(rl, rule, first, 1, T0, &r);
	assert_int_equal(r.verdict, RL_DENIED);
	assert_int_equal(r.used, CAPACITY);
	ask(rl, rule, second, 1, T0, &r);
	assert_int_equal(r.verdict, RL_DENIED);
	assert_int_equal(r.used, CAPACITY);
	ask(rl, other, 1, 1, T0, NULL);
	assert_int_equal(ask(rl, rule, who_gave_way(rl, rule), 1, T0, &r), RL_DENIED);
	assert_int_equal(r.reason, RL_BY_RESERVE);
	assert_int_equal(r.used, 25);
	assert_int_equal(ask(rl, rule, second, CAPACITY, (T0 / WINDOW + 1) * WINDOW, &r),
	                 RL_ALLOWED);
	rl_close(rl);
}

/*
 * A key that gives way takes along all that its slot counts, also beyond the capacity, which may be
 * raised again. Who has its lanes is told as much: it has no more to spend by that, and is told
 * when it has.
 */
static void
test_more_than_the_capacity_gives_way(void **state)
{
	(void)state;
	for (size_t i = 0; i < LIMITS; i++) {
		struct rl_limit l = limits[i];
		struct rl *rl = open_tiny(1);
		int rule, other = define(rl, "other", &limits[0]);
		uint32_t gone, stranger;
		struct rl_result r;

		if (is_bucket(&l)) {
			rl_close(rl);
			continue;
		}
		l.capacity = 3 * CAPACITY;
		rule = define(rl, "r", &l);
		for (uint32_t key = FILLER; key < FILLER + SLOTS; key++)
			assert_int_equal(ask(rl, rule, key, 25, T0, &r), RL_ALLOWED);
		assert_int_equal(define(rl, "r", &limits[i]), rule);
		assert_int_equal(ask(rl, other, 1, 1, T0, NULL), RL_ALLOWED);
		gone = who_gave_way(rl, rule);
		stranger = beside(rl, rule, gone, 0);
		for (int n = 0; n < 2; n++) {
			uint32_t key = n == 0 ? gone : stranger;
			uint64_t then;

			assert_int_equal(ask(rl, rule, key, 1, T0, &r), RL_DENIED);
			assert_int_equal(r.reason, RL_BY_RESERVE);
			assert_int_equal(r.limit, CAPACITY);
			assert_int_equal(r.used, 25);
			assert_int_equal(r.remaining, 0);
			then = T0 + r.retry_after_ns;
			assert_int_equal(at_peek(rl, rule, &key, sizeof key, then - 1, &r),
			                 RL_DENIED);
			assert_int_equal(at_peek(rl, rule, &key, sizeof key, then, &r), RL_ALLOWED);
		}
		rl_close(rl);
	}
}

/* No units are prefetched from an overflow counter. */
static void
test_nothing_is_prefetched_from_an_overflow_counter(void **state)
{
	const struct rl_limit l = {
		.capacity = 1000, .window_ns = WINDOW, .granularity = 1, .hard = 1, .prefetch = 50};
	struct rl *rl = open_tiny(1);
	int rule = define(rl, "r", &l);
	struct rl_result r;

	(void)state;
	fill(rl, rule, T0);
	for (uint32_t n = 1; n <= 5; n++) {
		assert_int_equal(ask(rl, rule, 7, 1, T0, &r), RL_ALLOWED);
		assert_int_equal(r.reason, RL_BY_RESERVE);
		assert_int_equal(r.used, n);
	}
	rl_close(rl);
}

/* More limits at once than there are sets: the last one's keys are denied, and told why. */
static void
test_no_set_is_left(void **state)
{
	struct rl *rl = open_sets(1, 4);
	struct rl_result r;
	uint64_t then;
	int rule[6];

	(void)state;
	for (int i = 0; i < 6; i++) {
		char name[16];

		snprintf(name, sizeof name, "r%d", i);
		rule[i] = define(rl, name,
		                 &(struct rl_limit){.capacity = 100,
		                                    .window_ns = i == 5 ? 6 * WINDOW : WINDOW});
	}
	fill(rl, rule[5], T0); /* gives way to the others, and so has the first set */
	for (int i = 0; i < 3; i++) {
		for (uint32_t key = 0; key < 90; key++)
			assert_int_equal(ask(rl, rule[i], key, 1, T0, &r), RL_ALLOWED);
		assert_int_equal(r.reason, RL_BY_RESERVE);
	}
	for (uint32_t key = 0; key < 90; key++)
		ask(rl, rule[3], key, 1, T0, &r);
	assert_int_equal(r.verdict, RL_DENIED);
	assert_int_equal(r.error, -ENOSPC);
	assert_true(test_counter(rl, rule[3], RL_COUNT_full_denied) > 0);
	/* once nothing counts in the first, and for a buffer */
	then = (T0 / (6 * WINDOW) + 2) * 6 * WINDOW + BUFFER;
	for (uint32_t key = FILLER; key < FILLER + SLOTS; key++)
		ask(rl, rule[4], key, 1, then - 1, NULL);
	for (uint32_t key = 0; key < 90; key++)
		assert_int_equal(ask(rl, rule[3], key, 1, then, &r), RL_ALLOWED);
	assert_int_equal(r.error, 0);
	rl_close(rl);
}

/*
 * A reset of one key, wherever it is counted, is in force at once; a later carry brings nothing
 * back.
 */
static void
test_reset(void **state)
{
	(void)state;
	for (size_t i = 0; i < LIMITS; i++) {
		struct rl *rl = open_tiny(1);
		int rule = define(rl, "r", &limits[i]), other = define(rl, "other", &limits[i]);
		uint64_t now = rl_now(rl);
		struct rl_result r;
		uint32_t key = 7;

		fill(rl, other, now);
		for (uint32_t k = 0; k < SLOTS; k++)
			ask(rl, rule, k, 5, now, &r);
		assert_int_equal(ask(rl, rule, 1, 5, now, &r), RL_ALLOWED); /* has a slot */
		assert_int_equal(r.reason, RL_BY_LIMIT);
		key = 1;
		assert_int_equal(rl_reset(rl, rule, &key, sizeof key), 1);
		assert_int_equal(used(rl, rule, 1, now), 0);
		assert_int_equal(ask(rl, rule, 1, CAPACITY, now, &r), RL_ALLOWED);
		assert_int_equal(r.reason, RL_BY_LIMIT);
		/* has none, and no other of its rule gives way */
		for (key = 15; ask(rl, rule, key, CAPACITY, now, &r) == RL_ALLOWED;)
			assert_int_equal(r.reason, RL_BY_RESERVE);
		assert_int_equal(r.reason, RL_BY_RESERVE);
		assert_int_equal(rl_reset(rl, rule, &key, sizeof key), -ENOSPC);
		assert_int_equal(rl_reset_matching(rl, rule, NULL, NULL), 0);
		assert_int_equal(ask(rl, rule, key, CAPACITY, now, &r), RL_ALLOWED);
		rl_close(rl);
	}
}

/* What was charged before a reset is given back to nobody after it. */
static void
test_a_refund_of_before_a_reset_is_void(void **state)
{
	(void)state;
	for (size_t i = 0; i < LIMITS; i++) {
		struct rl *rl = open_tiny(1);
		int rule = define(rl, "r", &limits[i]);
		uint64_t now = rl_now(rl);
		struct rl_charges charges;
		uint32_t key = FILLER + 3;

		fill(rl, rule, now);
		ask(rl, rule, 7, 1, now, NULL); /* so the limit has overflow counters */
		assert_int_equal(test_check_at(rl, rule, &key, sizeof key, 3, now, NULL, &charges),
		                 RL_ALLOWED);
		assert_int_equal(rl_reset(rl, rule, &key, sizeof key), 1);
		assert_int_equal(ask(rl, rule, key, 4, now, NULL), RL_ALLOWED);
		assert_int_equal(at_refund(rl, &charges, now), 0);
		assert_int_equal(used(rl, rule, key, now), 4);
		rl_close(rl);
	}
}

/*
 * Of a rule with two limits, of which one can have no overflow counters: nothing is charged to the
 * other's.
 */
static void
test_denied_for_want_of_a_set_charges_nothing(void **state)
{
	const struct rl_options o = {
		.keys = 1, .ring = 64, .cells = 1, .reserves = 1, .buffer_ns = BUFFER};
	const struct rl_limit second = {.capacity = 1000, .window_ns = HOUR};
	struct rl_rule rule = {.name = "two", .limit = limits[0], .more = &second, .more_count = 1};
	struct rl_result r;
	struct rl *rl;
	int two;

	(void)state;
	assert_int_equal(rl_open_private(&o, &rl), 0);
	two = rl_define(rl, &rule);
	assert_true(two >= 0);
	for (uint32_t key = 0; key < 50; key++)
		ask(rl, two, key, 1, T0, &r);
	for (uint32_t key = 50; key < 100; key++) {
		assert_int_equal(ask(rl, two, key, 1, T0, &r), RL_DENIED);
		assert_int_equal(r.error, -ENOSPC);
	}
	/* had it been charged, the first limit's overflow counter were used up */
	assert_true(used(rl, two, 200, T0) < CAPACITY);
	rl_close(rl);
}

/* A whole rule, by a walk, forgets what its overflow counters count, too. */
static void
test_reset_by_a_walk(void **state)
{
	struct rl *rl = open_tiny(1);
	int rule = define(rl, "r", &limits[0]);
	struct rl_reset_counts counts;
	struct rl_result r;

	(void)state;
	fill(rl, rule, T0);
	assert_int_equal(ask(rl, rule, 7, CAPACITY, T0, &r), RL_ALLOWED);
	assert_int_equal(rl_reset_matching(rl, rule, NULL, &counts), 0);
	assert_int_equal(counts.forgotten, SLOTS);
	assert_int_equal(ask(rl, rule, 7, CAPACITY, T0, &r), RL_ALLOWED);
	rl_close(rl);
}

/* Networks own their overflow counters: who makes up addresses in a /48 or a /24 meets himself. */
static void
test_neighbourhoods(void **state)
{
	static const char *const of_one[] = {"2001:db8:1:%x::%x", "192.0.2.%u"};
	struct rl *rl = open_tiny(4096);
	struct rl_limit l = limits[0];
	uint32_t denied[2] = {0};
	struct rl_result r;
	char key[64];
	int rule;

	(void)state;
	l.prefix_v4 = 32;
	l.prefix_v6 = 64;
	rule = define(rl, "r", &l);
	for (uint32_t i = 0; i < SLOTS; i++) {
		int len = snprintf(key, sizeof key, "10.%u.0.1", i);
		assert_int_equal(at_check(rl, rule, key, (size_t)len, 1, T0, NULL), RL_ALLOWED);
	}
	for (uint32_t i = 0; i < 200; i++) {
		int len = snprintf(key, sizeof key, of_one[0], i, i);
		denied[0] += at_check(rl, rule, key, (size_t)len, 1, T0, &r) == RL_DENIED;
		len = snprintf(key, sizeof key, of_one[1], i);
		denied[1] += at_check(rl, rule, key, (size_t)len, 1, T0, &r) == RL_DENIED;
	}
	/* eight lanes each, and a key has two */
	for (int i = 0; i < 2; i++) {
		assert_true(denied[i] >= 200 - RL_OVERFLOW_LANES * CAPACITY);
		assert_true(denied[i] <= 200 - 3 * CAPACITY);
	}
	/* another network's user is admitted, but for one in 64 */
	assert_int_equal(at_check(rl, rule, "198.51.100.1", 12, 1, T0, &r), RL_ALLOWED);
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys_without_a_slot_share_an_overflow_counter),
		cmocka_unit_test(test_other_lanes_are_counted_apart),
		cmocka_unit_test(test_retry_after_is_kept),
		cmocka_unit_test(test_a_slot_that_came_and_went_is_seen),
		cmocka_unit_test(test_a_peek_at_a_slot_without_a_charge),
		cmocka_unit_test(test_a_bucket_gives_its_burst_at_once),
		cmocka_unit_test(test_an_overflow_counter_expires),
		cmocka_unit_test(test_a_first_charge_carries),
		cmocka_unit_test(test_carry_in_the_next_epoch),
		cmocka_unit_test(test_a_late_clock_finds_the_first_fold),
		cmocka_unit_test(test_where_a_carry_stands),
		cmocka_unit_test(test_a_longest_queue_gives_way),
		cmocka_unit_test(test_a_refund_gives_nothing_back),
		cmocka_unit_test(test_in_flight_is_denied),
		cmocka_unit_test(test_limits_have_overflow_counters_of_their_own),
		cmocka_unit_test(test_a_counter_needs_a_slot),
		cmocka_unit_test(test_denials_are_counted_in_no_overflow_counter),
		cmocka_unit_test(test_more_than_the_capacity_gives_way),
		cmocka_unit_test(test_nothing_is_prefetched_from_an_overflow_counter),
		cmocka_unit_test(test_no_set_is_left),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_a_refund_of_before_a_reset_is_void),
		cmocka_unit_test(test_denied_for_want_of_a_set_charges_nothing),
		cmocka_unit_test(test_reset_by_a_walk),
		cmocka_unit_test(test_neighbourhoods),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What tools are told of the overflow area: by limit, how many of its overflow counters count
 * something, how many are full, and how many keys are denied by that.
 */
#include <string.h>

#include "at.h"
#include "testing.h"

#define SLOTS 16
#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define WINDOW (60 * RL_SECOND)
#define CAPACITY 10
#define CELLS 64
#define FULL 200 /* keys, of all lanes of an overflow counter */

struct seen {
	struct rl_overflow_info info[4];
	unsigned count;
	int answer;
};

static int
see(const struct rl_overflow_info *info, void *arg)
{
	struct seen *seen = arg;

	assert_true(seen->count < 4);
	seen->info[seen->count++] = *info;
	return seen->answer;
}

static struct seen
walk(struct rl *rl, uint64_t now_ns)
{
	struct seen seen = {0};

	assert_int_equal(rl_overflow_walk(rl, now_ns, see, &seen), 0);
	return seen;
}

static struct rl *
open_tiny(uint32_t cells)
{
	const struct rl_options o = {.keys = 1, .ring = 64, .cells = cells, .reserves = 2};
	struct rl *rl;

	assert_int_equal(rl_open_private(&o, &rl), 0);
	return rl;
}

static int
define(struct rl *rl, const char *name, enum rl_algorithm algorithm)
{
	const struct rl_limit limit = {
		.algorithm = algorithm, .capacity = CAPACITY, .window_ns = WINDOW};
	int rule = rl_define(rl, &(struct rl_rule){.name = name, .limit = limit});

	assert_true(rule >= 0);
	return rule;
}

static void
charge(struct rl *rl, int rule, uint32_t key, uint64_t cost)
{
	assert_int_equal(at_check(rl, rule, &key, sizeof key, cost, T0, NULL), RL_ALLOWED);
}

static void
use_up(struct rl *rl, int rule, uint32_t key)
{
	while (at_check(rl, rule, &key, sizeof key, 1, T0, NULL) == RL_ALLOWED)
		;
}

static void
fill(struct rl *rl, int rule)
{
	for (uint32_t key = 1000; key < 1000 + SLOTS; key++)
		charge(rl, rule, key, 1);
}

static void
test_nothing_is_told_while_every_key_has_a_slot(void **state)
{
	struct rl *rl = open_tiny(CELLS);
	int rule = define(rl, "r", RL_FIXED_WINDOW);

	(void)state;
	assert_int_equal(walk(rl, T0).count, 0);
	fill(rl, rule);
	assert_int_equal(walk(rl, T0).count, 0);
	rl_close(rl);
}

/* One overflow counter, so that what it counts is known. */
static void
test_an_overflow_counter_is_told_until_it_counts_nothing(void **state)
{
	static const enum rl_algorithm all[] = {RL_SLIDING_WINDOW, RL_FIXED_WINDOW, RL_SLIDING_LOG,
	                                        RL_TOKEN_BUCKET, RL_ANCHORED_WINDOW};

	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
		struct rl *rl = open_tiny(1);
		int rule = define(rl, "r", all[i]);
		struct seen seen;

		fill(rl, rule);
		charge(rl, rule, 1, 3);
		charge(rl, rule, 1, 4);
		seen = walk(rl, T0);
		assert_int_equal(seen.count, 1);
		assert_int_equal(seen.info[0].rule, rule);
		assert_int_equal(seen.info[0].limit, 0);
		assert_int_equal(seen.info[0].capacity, CAPACITY);
		assert_int_equal(seen.info[0].cells_used, 1);
		assert_int_equal(seen.info[0].cells_full, 0);
		assert_int_equal(seen.info[0].denied_ppm, 0);
		assert_int_equal(seen.info[0].used_most, 7);
		assert_true(seen.info[0].until_ns > T0 && seen.info[0].until_ns <= T0 + 3 * WINDOW);
		for (uint32_t key = 2; key < 2 + FULL; key++)
			at_check(rl, rule, &key, sizeof key, CAPACITY, T0, NULL);
		use_up(rl, rule, 1);
		seen = walk(rl, T0);
		assert_int_equal(seen.info[0].cells_full, 1);
		assert_int_equal(seen.info[0].denied_ppm, 1000000);
		assert_int_equal(seen.info[0].used_most, CAPACITY);
		assert_int_equal(walk(rl, seen.info[0].until_ns).count, 0);
		rl_close(rl);
	}
}

#define STRANGERS 20000

/* Of a million keys that have used nothing, so many are denied a request. */
static uint32_t
denied_of_strangers(struct rl *rl, int rule)
{
	struct rl_result result;
	uint32_t denied = 0;

	for (uint32_t i = 0; i < STRANGERS; i++) {
		const uint32_t key = 1000000 + i;

		at_peek(rl, rule, &key, sizeof key, T0, &result);
		denied += result.remaining == 0;
	}
	return denied * (UINT64_C(1000000) / STRANGERS);
}

/*
 * A key is denied for what others have used if both of its lanes are full: in the end by all
 * overflow counters, and long before by many.
 */
static void
test_how_many_keys_others_keep_out_is_told(void **state)
{
	static const enum rl_algorithm all[] = {RL_SLIDING_WINDOW, RL_SLIDING_LOG, RL_TOKEN_BUCKET};

	(void)state;
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
		struct rl *rl = open_tiny(CELLS);
		int rule = define(rl, "r", all[i]);
		bool is_partly_full = false;

		fill(rl, rule);
		for (uint32_t part = 0; part < 12; part++) {
			struct rl_overflow_info told;
			int64_t apart;

			for (uint32_t key = part * 40; key < (part + 1) * 40; key++)
				at_check(rl, rule, &key, sizeof key, CAPACITY, T0, NULL);
			told = walk(rl, T0).info[0];
			apart = (int64_t)told.denied_ppm - denied_of_strangers(rl, rule);
			assert_true(apart > -20000 && apart < 20000);
			is_partly_full = is_partly_full ||
			                 (told.denied_ppm > 300000 && told.denied_ppm < 700000);
		}
		assert_true(is_partly_full);
		rl_close(rl);
	}
}

/*
 * Keys of many overflow counters: as many as differ count, and those that are full are told apart.
 */
static void
test_overflow_counters_are_counted_by_limit(void **state)
{
	struct rl *rl = open_tiny(CELLS);
	int first = define(rl, "first", RL_FIXED_WINDOW), other;
	struct seen seen;

	(void)state;
	fill(rl, first);
	other = define(rl, "other", RL_FIXED_WINDOW);
	for (uint32_t key = 0; key < 200; key++)
		at_check(rl, first, &key, sizeof key, CAPACITY, T0, NULL);
	seen = walk(rl, T0);
	assert_int_equal(seen.count, 1);
	assert_true(seen.info[0].cells_used > CELLS / 2 && seen.info[0].cells_used <= CELLS);
	assert_true(seen.info[0].cells_full < seen.info[0].cells_used);
	for (uint32_t key = 200; key < CELLS * FULL; key++)
		at_check(rl, first, &key, sizeof key, CAPACITY, T0, NULL);
	seen = walk(rl, T0);
	assert_int_equal(seen.info[0].cells_full, CELLS);
	assert_int_equal(seen.info[0].cells_used, CELLS);
	/*
	 * of another rule, each gets a slot until there are half as many: then they are counted
	 * apart
	 */
	for (uint32_t key = 0; key < 100; key++)
		at_check(rl, other, &key, sizeof key, 1, T0, NULL);
	seen = walk(rl, T0);
	assert_int_equal(seen.count, 2);
	assert_int_equal(seen.info[0].rule, first);
	assert_int_equal(seen.info[1].rule, other);
	assert_true(seen.info[1].cells_used > 0);
	assert_true(seen.info[1].used_most < CAPACITY || seen.info[1].cells_full > 0);
	seen = (struct seen){.answer = 7};
	assert_int_equal(rl_overflow_walk(rl, T0, see, &seen), 7);
	assert_int_equal(seen.count, 1);
	rl_close(rl);
}

/* With every name, and by a handle that may not write. */
static void
test_a_walk_writes_nothing(void **state)
{
	const struct rl_options o = {
		.keys = 1, .ring = 64, .cells = 1, .reserves = 2, .mode = 0600};
	const struct rl_options only = {.flags = RL_OPEN_READONLY | RL_OPEN_EXISTING};
	const char *name = test_segment_name();
	struct rl *rl, *reader;
	int rule;

	(void)state;
	assert_int_equal(rl_open(name, &o, &rl), 0);
	rule = define(rl, "r", RL_FIXED_WINDOW);
	fill(rl, rule);
	charge(rl, rule, 1, 3);
	assert_int_equal(rl_open(name, &only, &reader), 0);
	assert_int_equal(walk(reader, T0).info[0].used_most, 3);
	rl_close(reader);
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_told_while_every_key_has_a_slot),
		cmocka_unit_test(test_an_overflow_counter_is_told_until_it_counts_nothing),
		cmocka_unit_test(test_how_many_keys_others_keep_out_is_told),
		cmocka_unit_test(test_overflow_counters_are_counted_by_limit),
		cmocka_unit_test_teardown(test_a_walk_writes_nothing, test_unlink),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

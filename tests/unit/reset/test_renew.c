/* SPDX-License-Identifier: BSD-2-Clause */
/* A whole rule that is reset at once, beside a naive one: what each name has counted since. */
#include <stdio.h>
#include <string.h>

#include "at.h"
#include "audit.h"
#include "rule/handle.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define KEYS 12
#define STEPS 4000
#define CAPACITY 5

enum {
	HARD,
	TWO,
	LOG,
	TOKEN,
	OTHER,
	RULES,
	SPACE = RULES,
	TARGETS
};

static const struct rl_limit second = {.capacity = CAPACITY, .window_ns = 100000 * RL_SECOND};

static const struct rl_rule defined[RULES] = {
	[HARD] = {.name = "hard",
                  .limit = {.capacity = CAPACITY,
                            .window_ns = 86400 * RL_SECOND,
                            .granularity = 4,
                            .hard = 1}},
	[TWO] = {.name = "two",
                 .limit = {.algorithm = RL_FIXED_WINDOW,
                           .capacity = CAPACITY,
                           .window_ns = 86400 * RL_SECOND},
                 .more = &second,
                 .more_count = 1},
	[LOG] = {.name = "log",
                 .limit = {.algorithm = RL_SLIDING_LOG,
                           .capacity = CAPACITY,
                           .window_ns = 86400 * RL_SECOND}},
	[TOKEN] = {.name = "token",
                   .limit = {.algorithm = RL_TOKEN_BUCKET,
                             .capacity = CAPACITY,
                             .window_ns = 86400 * RL_SECOND}},
	[OTHER] = {.name = "other",
                   .limit = {.algorithm = RL_ANCHORED_WINDOW,
                             .capacity = CAPACITY,
                             .window_ns = 86400 * RL_SECOND}},
};

static struct rl *rl;
static int ids[TARGETS];
static unsigned used[TARGETS][KEYS]; /* by definition */

static const void *
key_of(unsigned k)
{
	static const char names[] = "abcdefghijkl";

	return &names[k];
}

static void
open_with(const struct rl_options *options)
{
	assert_int_equal(rl_open_private(options, &rl), 0);
	for (int i = 0; i < RULES; i++)
		ids[i] = rl_define(rl, &defined[i]);
	ids[SPACE] = rl_define_counters(rl, "space");
	assert_true(ids[SPACE] > ids[OTHER]);
	memset(used, 0, sizeof used);
}

static void
spend(int target, unsigned k)
{
	if (target == SPACE) {
		struct rl_count count;

		assert_int_equal(
			at_counter_add(rl, ids[SPACE], key_of(k), 1, 1, RL_NEVER_NS, T0, &count),
			1);
		assert_int_equal(count.value, ++used[SPACE][k]);
		return;
	}
	assert_int_equal(at_check(rl, ids[target], key_of(k), 1, 1, T0, NULL),
	                 used[target][k] < CAPACITY ? RL_ALLOWED : RL_DENIED);
	used[target][k] += used[target][k] < CAPACITY;
}

static void
forget(int target)
{
	memset(used[target], 0, sizeof used[target]);
}

static void
reset(int target, bool is_counted)
{
	struct rl_reset_counts counts;
	uint64_t keys = 0;

	for (unsigned k = 0; k < KEYS; k++)
		keys += used[target][k] > 0 ? (target == TWO ? 2 : 1) : 0;
	assert_int_equal(rl_reset_matching(rl, ids[target], NULL, is_counted ? &counts : NULL), 0);
	if (is_counted) {
		assert_int_equal(counts.forgotten, keys);
		assert_int_equal(counts.unknown, 0);
	}
	forget(target);
}

static void
reset_all(void)
{
	assert_int_equal(rl_reset_matching(rl, RL_ANY_RULE, NULL, NULL), 0);
	for (int target = 0; target < TARGETS; target++)
		forget(target);
}

static int
compare_entry(const struct rl_entry *e, void *arg)
{
	unsigned *seen = arg;

	for (int target = 0; target < TARGETS; target++)
		if (e->rule == ids[target] && e->key_kept == 1 && !e->is_stale) {
			unsigned k = (unsigned)(*(const char *)e->key - 'a');
			assert_int_equal(e->used, used[target][k]);
			++*seen;
		}
	return 0;
}

/* What is listed is what has been counted since the last reset, and nothing else. */
static void
assert_listed(void)
{
	unsigned seen = 0, expected = 0;

	for (int target = 0; target < TARGETS; target++)
		for (unsigned k = 0; k < KEYS; k++)
			expected += used[target][k] > 0 ? (target == TWO ? 2 : 1) : 0;
	assert_int_equal(rl_walk(rl, T0, NULL, compare_entry, &seen), 0);
	assert_int_equal(seen, expected);
}

static void
test_any_order(void **state)
{
	uint64_t seed = 1;

	(void)state;
	open_with(&(struct rl_options){.keys = 600, .ring = 64});
	for (uint64_t step = 0; step < test_scaled(STEPS); step++) {
		int target = (int)test_below(&seed, TARGETS);

		switch (test_below(&seed, 12)) {
		case 0:
			reset(target, false);
			break;
		case 1:
			reset(target, true);
			break;
		case 2:
			if (test_below(&seed, 8) == 0)
				reset_all();
			else
				rl_sweep_at(rl, T0);
			break;
		default:
			spend(target, (unsigned)test_below(&seed, KEYS));
		}
		if (step % 16 == 0)
			assert_listed();
	}
	assert_listed();
	audit_assert_whole(rl);
	rl_close(rl);
}

/* However often: tags tell sixteen incarnations apart, and a seventeenth is not the first. */
static void
test_again_and_again(void **state)
{
	(void)state;
	open_with(&(struct rl_options){.keys = 600, .ring = 64});
	for (unsigned round = 0; round < 100; round++) {
		spend(HARD, round % KEYS);
		spend(TWO, round % KEYS);
		assert_listed();
		reset(HARD, false);
		assert_listed();
		if (round % 3 == 0)
			reset(TWO, false);
	}
	audit_assert_whole(rl);
	assert_int_equal(test_counter(rl, ids[HARD], RL_COUNT_renewed), 100 - 100 / 16);
	rl_close(rl);
}

/*
 * What is left behind is freed by the next sweep, long before its window is over, and is not told
 * of.
 */
static void
test_a_sweep_frees_it(void **state)
{
	struct rl_swept swept = {0};

	(void)state;
	open_with(&(struct rl_options){.keys = 600, .ring = 64});
	for (unsigned k = 0; k < KEYS; k++)
		spend(TWO, k);
	spend(OTHER, 0);
	reset(TWO, false);
	assert_int_equal(rl_fill(rl), 2 * KEYS + 1);
	assert_int_equal(rl_sweep_slots_at(rl, 0, rl_segment_slots(&rl->segment), T0, &swept), 0);
	assert_int_equal(swept.retired, 2 * KEYS);
	assert_int_equal(rl_fill(rl), 1);
	assert_int_equal(test_counter(rl, ids[TWO], RL_COUNT_retired), 0);
	assert_int_equal(test_counter(rl, ids[TWO], RL_COUNT_reset), 0);
	assert_int_equal(test_counter(rl, ids[TWO], RL_COUNT_renewed), 1);
	assert_listed();
	rl_close(rl);
}

/* A table that is full of it has room. */
static void
test_it_gives_way(void **state)
{
	struct rl_result r;
	int denied = 0;

	(void)state;
	open_with(&(struct rl_options){.keys = 8, .ring = 64, .on_full = RL_FULL_DENY});
	for (int round = 0; round < 40; round++) {
		for (uint64_t key = 0; key < 100; key++) {
			at_check(rl, ids[HARD], &key, sizeof key, 1, T0, &r);
			denied += r.error != 0;
		}
		assert_true(denied > 0);
		denied = 0;
		assert_int_equal(rl_reset_matching(rl, ids[HARD], NULL, NULL), 0);
		for (uint64_t key = 1000; key < 1004; key++)
			assert_int_equal(at_check(rl, ids[HARD], &key, sizeof key, 1, T0, NULL),
			                 RL_ALLOWED);
	}
	rl_close(rl);
}

/* A charge of before is not given back to what counts now. */
static void
test_a_refund_of_before(void **state)
{
	struct rl_charges charges, later;

	(void)state;
	open_with(&(struct rl_options){.keys = 600, .ring = 64});
	for (int target = 0; target < RULES; target++) {
		assert_int_equal(test_check_at(rl, ids[target], "a", 1, 1, T0, NULL, &charges),
		                 RL_ALLOWED);
		assert_int_equal(rl_reset_matching(rl, ids[target], NULL, NULL), 0);
		assert_int_equal(test_check_at(rl, ids[target], "a", 1, 1, T0, NULL, &later),
		                 RL_ALLOWED);
		assert_int_equal(at_refund(rl, &charges, T0), 0);
		assert_int_equal(at_refund(rl, &later, T0), 1);
	}
	rl_close(rl);
}

/* Who resets more often than all processes have memory for reads the slots, and resets as well. */
static void
test_too_often(void **state)
{
	struct rl_header *header;

	(void)state;
	open_with(&(struct rl_options){.keys = 600, .ring = 64});
	header = rl->segment.header;
	spend(HARD, 0);
	reset(HARD, false);
	assert_int_equal(test_counter(rl, ids[HARD], RL_COUNT_renewed), 1);
	assert_true(header->renewals_ns > rl_now(rl) + RL_RENEWALS_EACH / 2);
	header->renewals_ns = rl_now(rl) + RL_RENEWALS_AT_ONCE * RL_RENEWALS_EACH;
	spend(HARD, 0);
	reset(HARD, false);
	spend(HARD, 0);
	assert_listed();
	assert_int_equal(test_counter(rl, ids[HARD], RL_COUNT_renewed), 1);
	assert_int_equal(test_counter(rl, ids[HARD], RL_COUNT_reset), 1);
	header->renewals_ns = UINT64_MAX; /* damage */
	reset(HARD, false);
	spend(HARD, 0);
	assert_listed();
	rl_close(rl);
}

/* A row whose note of its oldest incarnation is damaged costs a walk, and nothing else. */
static void
test_a_damaged_note(void **state)
{
	(void)state;
	open_with(&(struct rl_options){.keys = 600, .ring = 64});
	for (unsigned round = 0; round < 40; round++) {
		for (uint32_t row = 0; row < rl->segment.geometry.limits; row++)
			rl->segment.limits[row].oldest = UINT64_MAX / (round + 1);
		spend(HARD, round % KEYS);
		spend(HARD, 0);
		reset(HARD, false);
		reset(TWO, true);
		spend(TWO, 1);
	}
	rl_close(rl);
}

/*
 * The same by definitions that return to an earlier shape: nothing is read, and nothing comes back.
 */
static void
test_shapes_that_return(void **state)
{
	(void)state;
	open_with(&(struct rl_options){.keys = 600, .ring = 64});
	for (unsigned round = 0; round < 60; round++) {
		struct rl_rule other = defined[HARD];

		spend(HARD, 0);
		spend(HARD, round % KEYS);
		assert_listed();
		other.limit.granularity = 2 + round % 2;
		assert_int_equal(rl_define(rl, &other), ids[HARD]);
		forget(HARD);
		spend(HARD, 1);
		assert_int_equal(rl_define(rl, &defined[HARD]), ids[HARD]);
		forget(HARD);
		assert_true(round > 0 || rl_fill(rl) > 1);
	}
	audit_assert_whole(rl);
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_any_order),
		cmocka_unit_test(test_again_and_again),
		cmocka_unit_test(test_a_sweep_frees_it),
		cmocka_unit_test(test_it_gives_way),
		cmocka_unit_test(test_a_refund_of_before),
		cmocka_unit_test(test_too_often),
		cmocka_unit_test(test_a_damaged_note),
		cmocka_unit_test(test_shapes_that_return),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

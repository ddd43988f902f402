/* SPDX-License-Identifier: BSD-2-Clause */
/* A limit's shape, in the words of its row. */
#include <limits.h>
#include <string.h>

#include "rule/shape.h"
#include "testing.h"

static struct rl_limit
of_algorithm(unsigned number)
{
	return (struct rl_limit){.algorithm = (enum rl_algorithm)number,
	                         .capacity = 1,
	                         .window_ns = number == RL_IN_FLIGHT ? 0 : RL_SECOND};
}

/* Also beside ones and zeros in all other bits. */
static void
test_an_algorithm_keeps_each_bit_of_its_number(void **state)
{
	struct rl_limit zeros = {.granularity = 1};
	struct rl_limit ones = {.granularity = RL_GRANULARITY_MAX,
	                        .window_ns = RL_NEVER_NS,
	                        .hard = 1,
	                        .scope = RL_SCOPE_CLUSTER,
	                        .prefix_v4 = RL_IDENTITY_V4_MASK,
	                        .prefix_v6 = RL_IDENTITY_V6_MASK};

	(void)state;
	for (unsigned number = 0; number <= RL_ALGORITHM_MASK; number++) {
		zeros.algorithm = ones.algorithm = (enum rl_algorithm)number;
		struct rl_u128 empty = rl_shape_pack(&zeros), full = rl_shape_pack(&ones);
		assert_int_equal(rl_identity_algorithm(empty), number);
		assert_int_equal(rl_identity_algorithm(full), number);
		zeros.algorithm = ones.algorithm = RL_SLIDING_WINDOW;
		struct rl_u128 none = rl_shape_pack(&zeros), rest = rl_shape_pack(&ones);
		assert_true((empty.lo ^ none.lo) ==
		            (full.lo ^ rest.lo)); /* bits of its own alone */
		assert_true((empty.hi ^ none.hi) == (full.hi ^ rest.hi));
	}
}

/* What only a step of a decision or a cluster's share sets is not set by what lay there before. */
static void
test_a_quota_has_nothing_of_what_lay_there(void **state)
{
	struct rl_quota quota;

	(void)state;
	memset(&quota, 0xff, sizeof quota);
	rl_quota_unpack((struct rl_u128){0}, &quota);
	assert_int_equal(quota.capacity, 1);
	assert_false(quota.is_shadow || quota.counts_denied || quota.is_booking || quota.is_debt);
	assert_false(quota.has_lease || quota.is_auto || quota.away || quota.wait);
	assert_true(quota.burst == 0 && quota.undelayed == 0 && quota.prefetch == 0);
	assert_true(quota.max_wait_ns == 0 && quota.rate.capacity == 0);
}

/* Whatever the bytes of a row say. */
static void
test_nobody_waits_for_longer_than_may_be(void **state)
{
	const uint64_t waits[] = {0, RL_MILLISECOND, RL_WAIT_MAX, RL_WAIT_NONE};
	struct rl_quota quota;

	(void)state;
	for (size_t i = 0; i < sizeof waits / sizeof waits[0]; i++) {
		rl_quota_share((struct rl_u128){0}, rl_wait_pack(waits[i]), &quota);
		assert_true(rl_wait_unpack(quota.wait) == waits[i]);
	}
	rl_quota_share((struct rl_u128){0}, 1001, &quota);
	assert_true(rl_wait_unpack(quota.wait) == RL_WAIT_MAX);
	rl_quota_share((struct rl_u128){0}, RL_ROW_WAIT_NONE - 1, &quota);
	assert_true(rl_wait_unpack(quota.wait) == RL_WAIT_MAX);
}

/* Whoever asks for it: a definition, or a row of whatever bytes. */
static void
test_a_number_beyond_the_last_is_no_algorithm(void **state)
{
	const unsigned numbers[] = {16, 17, 32, 256, 1U << 31, UINT_MAX};
	struct rl *rl = test_private(10);
	struct rl_limiter limiter;

	(void)state;
	for (unsigned n = 0; n <= RL_ALGORITHM_MASK + sizeof numbers / sizeof numbers[0]; n++) {
		bool fits = n <= RL_ALGORITHM_MASK;
		unsigned number = fits ? n : numbers[n - RL_ALGORITHM_MASK - 1];
		struct rl_rule rule = {.name = "r", .limit = of_algorithm(number)};
		struct rl_limit complete = rl_shape_complete(&rule.limit);
		bool is_one = rl_algorithm_info(rule.limit.algorithm);
		assert_int_equal(rl_define(rl, &rule) >= 0, is_one);
		assert_true(
			!fits || number == RL_COUNTER ||
			rl_shape_unpack(rl_shape_pack(&complete), 1, &limiter) ==
				(is_one && number != RL_SLIDING_LOG)); /* which takes two entries */
	}
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_algorithm_keeps_each_bit_of_its_number),
		cmocka_unit_test(test_a_quota_has_nothing_of_what_lay_there),
		cmocka_unit_test(test_nobody_waits_for_longer_than_may_be),
		cmocka_unit_test(test_a_number_beyond_the_last_is_no_algorithm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A request of several limits that is decided at once says what one says that keeps what it was
 * charged, which is decided limit by limit: every field of every answer, and what is counted then.
 */
#include <rl_admin.h>
#include <stdio.h>
#include <string.h>

#include "at.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define RULES 40
#define REQUESTS 2000 /* of each rule */
#define KEYS 5
#define CAPACITY_MOST 12

static struct rl *
open_ring(void)
{
	const struct rl_options o = {.keys = 4096, .ring = 16, .rules = RULES};
	struct rl *rl;

	assert_int_equal(rl_open_private(&o, &rl), 0);
	return rl;
}

static struct rl_limit
any_limit(uint64_t *seed)
{
	struct rl_limit limit = {.capacity = 1 + (uint32_t)test_below(seed, CAPACITY_MOST),
	                         .window_ns = RL_SECOND * (1 + test_below(seed, 20))};

	switch (test_below(seed, 5)) {
	case 0:
		limit.algorithm = RL_FIXED_WINDOW;
		break;
	case 1:
		limit.algorithm = RL_ANCHORED_WINDOW;
		break;
	case 2:
		limit.algorithm = RL_TOKEN_BUCKET;
		break;
	case 3:
		limit.algorithm = RL_LEAKY_BUCKET;
		limit.burst = (uint32_t)test_below(seed, CAPACITY_MOST);
		break;
	default:
		limit.algorithm = RL_SLIDING_WINDOW;
		limit.granularity = 1 + (uint32_t)test_below(seed, 4);
		limit.hard = test_below(seed, 2) == 0;
	}
	limit.shadow = test_below(seed, 12) == 0;
	return limit;
}

/* Of two to eight limits; the same in both. */
static int
define(struct rl *const rl[2], int number, uint64_t *seed)
{
	unsigned count = 1 + (unsigned)test_below(seed, RL_LIMITS_MAX - 1);
	struct rl_limit limit = any_limit(seed), more[RL_LIMITS_MAX];
	char name[16];
	int rule = -1;

	for (unsigned i = 0; i < count; i++)
		more[i] = any_limit(seed);
	snprintf(name, sizeof name, "r%d", number);
	for (int i = 0; i < 2; i++) {
		rule = rl_define(rl[i], &(struct rl_rule){.name = name,
		                                          .limit = limit,
		                                          .more = more,
		                                          .more_count = count});
		assert_true(rule >= 0);
	}
	return rule;
}

static void
assert_counted_alike(struct rl *const rl[2], int rule)
{
	uint64_t stats[2][RL_COUNTERS];

	for (int i = 0; i < 2; i++)
		assert_int_equal(rl_stats(rl[i], rule, stats[i], RL_COUNTERS), 0);
	assert_memory_equal(stats[0], stats[1], sizeof stats[0]);
	assert_true(stats[0][RL_COUNT_allowed] > 0);
}

static void
play(struct rl *const rl[2], int rule, uint64_t *seed)
{
	uint64_t now_ns = T0 + test_below(seed, RL_SECOND);

	for (int n = 0; n < REQUESTS; n++) {
		char key = (char)('a' + test_below(seed, KEYS));
		uint64_t cost = test_below(seed, 4) > 0 ? 1 : test_below(seed, CAPACITY_MOST + 2);
		struct rl_result at_once, each;
		struct rl_charges charges;

		memset(&at_once, 0xff, sizeof at_once);
		memset(&each, 0xff, sizeof each);
		now_ns += test_below(seed, 3) > 0 ? test_below(seed, RL_SECOND / 2) : 0;
		test_check_at(rl[0], rule, &key, 1, cost, now_ns, &at_once, NULL);
		test_check_at(rl[1], rule, &key, 1, cost, now_ns, &each, &charges);
		assert_memory_equal(&at_once, &each, sizeof each);
	}
	assert_counted_alike(rl, rule);
}

static void
test_the_same_answers(void **state)
{
	struct rl *rl[2] = {open_ring(), open_ring()};
	uint64_t seed = 20;

	(void)state;
	for (int i = 0; i < RULES; i++)
		play(rl, define(rl, i, &seed), &seed);
	for (int i = 0; i < 2; i++)
		rl_close(rl[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_same_answers)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

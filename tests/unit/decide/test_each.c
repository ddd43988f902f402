/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A request of several limits, of networks and of several items that is decided at once says what
 * one says that is decided limit by limit, because it keeps its charges or leaves 0 to others:
 * every field of every answer, and what is counted then.
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
#define ITEMS 3 /* of a request, at most */

static struct rl *
open_ring(void)
{
	const struct rl_options o = {.keys = 4096, .ring = 16, .rules = RULES};
	struct rl *rl;

	assert_int_equal(rl_open_private(&o, &rl), 0);
	return rl;
}

static void
count_networks(uint64_t *seed, struct rl_limit *limit)
{
	static const uint8_t v4[] = {32, 24, 30}, v6[] = {128, 64, 0, 127};

	limit->prefix_v4 = v4[test_below(seed, 3)];
	limit->prefix_v6 = v6[test_below(seed, 4)];
}

static struct rl_limit
any_limit(bool has_networks, uint64_t *seed)
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
	if (has_networks)
		count_networks(seed, &limit);
	return limit;
}

/* Of two to eight limits, or of one to eight of networks; the same in both. */
static int
define(struct rl *const rl[2], int number, uint64_t *seed)
{
	bool has_networks = number % 2 == 0;
	unsigned count = !has_networks + (unsigned)test_below(seed, RL_LIMITS_MAX - 1);
	struct rl_limit limit = any_limit(has_networks, seed), more[RL_LIMITS_MAX];
	char name[16];
	int rule = -1;

	for (unsigned i = 0; i < count; i++)
		more[i] = any_limit(has_networks, seed);
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

/* Some of both families are of one network. */
static size_t
any_key(uint64_t *seed, char text[static 32])
{
	int number = (int)test_below(seed, KEYS);

	return (size_t)snprintf(text, 32, number % 2 == 0 ? "192.0.2.%d" : "2001:db8::%d", number);
}

static uint64_t
any_cost(uint64_t *seed)
{
	return test_below(seed, 4) > 0 ? 1 : test_below(seed, CAPACITY_MOST + 2);
}

static void
play(struct rl *const rl[2], int rule, uint64_t *seed)
{
	uint64_t now_ns = T0 + test_below(seed, RL_SECOND);

	for (int n = 0; n < REQUESTS; n++) {
		char key[32];
		size_t len = any_key(seed, key);
		uint64_t cost = any_cost(seed);
		struct rl_result at_once, each;
		struct rl_charges charges;

		memset(&at_once, 0xff, sizeof at_once);
		memset(&each, 0xff, sizeof each);
		now_ns += test_below(seed, 3) > 0 ? test_below(seed, RL_SECOND / 2) : 0;
		test_check_at(rl[0], rule, key, len, cost, now_ns, &at_once, NULL);
		test_check_at(rl[1], rule, key, len, cost, now_ns, &each, &charges);
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

static void
assert_charged_alike(const struct rl_charges *a, const struct rl_charges *b)
{
	assert_int_equal(a->count, b->count);
	for (unsigned i = 0; i < a->count; i++) {
		assert_int_equal(a->charge[i].cost, b->charge[i].cost);
		assert_int_equal(a->charge[i].epoch, b->charge[i].epoch);
		assert_int_equal(a->charge[i].capacity, b->charge[i].capacity);
		assert_int_equal(a->charge[i].memory, b->charge[i].memory);
	}
}

/* Of some rules, each the same or another, for one key or several. */
static void
ask_all(struct rl *const rl[2], const int rules[RULES], uint64_t now_ns, uint64_t *seed)
{
	size_t count = 2 + test_below(seed, ITEMS - 1), decided[2], len;
	struct rl_result results[2][ITEMS];
	struct rl_charges charges[2][ITEMS];
	struct rl_item items[2][ITEMS] = {0};
	enum rl_verdict verdict[2];
	char key[ITEMS][32];
	const uint64_t times[8] = {0, now_ns, 0, now_ns, 0, now_ns, 0, now_ns + 1};

	memset(results, 0xff, sizeof results);
	for (size_t i = 0; i < count; i++) {
		len = any_key(seed, key[i]);
		items[0][i] =
			(struct rl_item){.rule = rules[test_below(seed, RULES)],
		                         .key = key[i],
		                         .key_len = len,
		                         .cost = any_cost(seed),
		                         .now_ns = i > 0 ? times[test_below(seed, 8)] : now_ns,
		                         .charges = &charges[0][i]};
		items[1][i] = items[0][i];
		items[1][i].charges = &charges[1][i];
		items[1][i].flags = RL_ITEM_LEAVE;
	}
	for (int i = 0; i < 2; i++)
		verdict[i] = rl_check_all(rl[i], items[i], count, results[i], &decided[i]);
	assert_int_equal(verdict[0], verdict[1]);
	assert_int_equal(decided[0], decided[1]);
	assert_memory_equal(results[0], results[1], count * sizeof results[0][0]);
	for (size_t i = 0; i < count; i++)
		assert_charged_alike(&charges[0][i], &charges[1][i]);
}

static void
test_the_same_answers_of_items(void **state)
{
	struct rl *rl[2] = {open_ring(), open_ring()};
	uint64_t seed = 7, now_ns = T0;
	int rules[RULES];

	(void)state;
	for (int i = 0; i < RULES; i++)
		rules[i] = define(rl, i, &seed);
	for (int n = 0; n < 20 * REQUESTS; n++) {
		now_ns += test_below(&seed, RL_SECOND);
		ask_all(rl, rules, now_ns, &seed);
	}
	for (int i = 0; i < RULES; i++)
		assert_counted_alike(rl, rules[i]);
	for (int i = 0; i < 2; i++)
		rl_close(rl[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_same_answers),
		cmocka_unit_test(test_the_same_answers_of_items),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* A rule that is checked without a segment: as rl_define() would, and in words. */
#include <errno.h>
#include <string.h>

#include "at.h"
#include "rl_admin.h"
#include "testing.h"

static const struct rl_limit good = {.capacity = 5, .window_ns = RL_SECOND};

static void
expect(const struct rl_rule *rule, const struct rl_options *options, int error,
       const char *sentence)
{
	char text[RL_RULE_TEXT_SIZE], shorter[8];

	memset(text, 'x', sizeof text);
	assert_int_equal(rl_rule_check(rule, options, text, sizeof text), error);
	assert_string_equal(text, sentence);
	assert_int_equal(rl_rule_check(rule, options, NULL, 0), error);
	assert_int_equal(rl_rule_check(rule, options, shorter, sizeof shorter), error);
	assert_int_equal(strnlen(shorter, sizeof shorter),
	                 strlen(sentence) < 7 ? strlen(sentence) : 7);
	assert_memory_equal(shorter, sentence, strlen(shorter));
}

static void
expect_limit(struct rl_limit limit, const char *sentence)
{
	const struct rl_limit more[] = {good, limit};
	char second[RL_RULE_TEXT_SIZE] = "more[1]";

	expect(&(struct rl_rule){.name = "r", .limit = limit}, NULL, -EINVAL, sentence);
	strcat(second, sentence + strlen("limit"));
	expect(&(struct rl_rule){.name = "r", .limit = good, .more = more, .more_count = 2}, NULL,
	       -EINVAL, second);
}

#define LIMIT(...) ((struct rl_limit){.capacity = 5, .window_ns = RL_SECOND, __VA_ARGS__})

static void
test_limits(void **state)
{
	(void)state;
	expect_limit(
		LIMIT(.algorithm = (enum rl_algorithm)16),
		"limit.algorithm: 16 is none that a rule can have; enum rl_algorithm lists them");
	expect_limit(
		LIMIT(.algorithm = RL_COUNTER),
		"limit.algorithm: 6 is none that a rule can have; enum rl_algorithm lists them");
	expect_limit((struct rl_limit){.capacity = 5, .window_ns = 1},
	             "limit.window_ns: 1 ns; 10 ms to 400 days is allowed");
	expect_limit((struct rl_limit){.capacity = 5, .window_ns = RL_WINDOW_MAX + 1},
	             "limit.window_ns: 34560000000000001 ns; 10 ms to 400 days is allowed");
	expect_limit((struct rl_limit){.window_ns = RL_SECOND},
	             "limit.capacity: 0; 1 to 268435455 is allowed");
	expect_limit((struct rl_limit){.capacity = RL_CAPACITY_MAX + 1, .window_ns = RL_SECOND},
	             "limit.capacity: 268435456; 1 to 268435455 is allowed");
	expect_limit(LIMIT(.granularity = 65), "limit.granularity: 65; 0 to 64 is allowed");
	expect_limit(LIMIT(.algorithm = RL_TOKEN_BUCKET, .granularity = 2),
	             "limit.granularity: 2; only sliding_window has it, 0 is allowed");
	expect_limit(LIMIT(.algorithm = RL_FIXED_WINDOW, .hard = 1),
	             "limit.hard: only sliding_window has it, 0 is allowed");
	expect_limit(LIMIT(.burst = 1),
	             "limit.burst: 1; only token_bucket and leaky_bucket have it, 0 is allowed");
	expect_limit(LIMIT(.algorithm = RL_TOKEN_BUCKET, .burst = RL_CAPACITY_MAX),
	             "limit.burst: 268435455; 0 to 268435454 is allowed");
	expect_limit((struct rl_limit){.algorithm = RL_TOKEN_BUCKET,
	                               .capacity = 1,
	                               .window_ns = RL_WINDOW_MAX,
	                               .burst = 2000},
	             "limit.burst: 2000; at most 90 is allowed, what comes in a hundred years");
	expect_limit(LIMIT(.algorithm = RL_TOKEN_BUCKET, .undelayed = 1),
	             "limit.undelayed: 1; only leaky_bucket has it, 0 is allowed");
	expect_limit(LIMIT(.algorithm = RL_LEAKY_BUCKET, .burst = 2, .undelayed = 3),
	             "limit.undelayed: 3; at most the burst is allowed, 2");
	expect_limit(LIMIT(.prefix_v4 = 33), "limit.prefix_v4: 33; 0 to 32 is allowed");
	expect_limit(LIMIT(.prefix_v6 = 129), "limit.prefix_v6: 129; 0 to 128 is allowed");
	expect_limit(
		LIMIT(.algorithm = RL_LEAKY_BUCKET, .prefetch = 3),
		"limit.prefetch: 3; only sliding_window and fixed_window have it, 0 is allowed");
	expect_limit(LIMIT(.shadow = 1, .prefetch = 3),
	             "limit.prefetch: 3; a shadow enforces nothing, 0 is allowed");
	expect_limit(
		(struct rl_limit){
			.capacity = 999, .window_ns = RL_SECOND, .granularity = 2, .prefetch = 32},
		"limit.prefetch: 32; at most 31 is allowed, a 16th of the capacity for each "
		"sub-bucket");
}

static void
test_what_needs_the_ring(void **state)
{
	struct rl_options o = {.ring = 8};
	struct rl_rule rule = {.name = "r", .limit = LIMIT(.granularity = 9)};

	(void)state;
	expect(&rule, NULL, RL_ERING,
	       "limit.granularity: 9; a segment with a ring of 1 has no more sub-buckets; ask for "
	       "9, or 'rlctl resize --ring 9'");
	expect(&rule, &o, RL_ERING,
	       "limit.granularity: 9; a segment with a ring of 8 has no more sub-buckets; ask for "
	       "9, or 'rlctl resize --ring 9'");
	rule.limit = LIMIT(.algorithm = RL_SLIDING_LOG);
	expect(&rule, &o, RL_ERING,
	       "limit.capacity: 5; a log in a segment with a ring of 8 has at most half of it, and "
	       "at most 4096; ask for 10, or 'rlctl resize --ring 10'");
	rule.limit.capacity = RL_LOG_MAX + 1; /* no ring is long enough */
	expect(&rule, &o, RL_ERING,
	       "limit.capacity: 4097; a log in a segment with a ring of 8 has at most half of it, "
	       "and at most 4096");
	rule.limit = (struct rl_limit){.algorithm = RL_IN_FLIGHT, .capacity = 100};
	expect(&rule, &o, 0, "");
	expect(&rule, NULL, RL_ERING,
	       "limit.capacity: 100; in a segment with a ring of 1 one process alone holds units "
	       "of a key; ask for 64, or 'rlctl resize --ring 64'");
	rule.limit.capacity = 1;
	expect(&rule, NULL, 0, "");
	o.ring = RL_RING_MAX + 1;
	expect(&rule, &o, -EINVAL, "options.ring: 8193; 1 to 8192 is allowed");
}

static uint32_t
some(uint64_t *seed, uint32_t a, uint32_t b)
{
	const uint32_t values[] = {0, 0, 0, 1, a - 1, a, a + 1, b};

	return values[test_below(seed, 8)];
}

static struct rl_limit
some_limit(uint64_t *seed)
{
	return (struct rl_limit){
		.algorithm = (enum rl_algorithm)test_below(seed, 7),
		.capacity = 1 + some(seed, 8, RL_CAPACITY_MAX - 1),
		.window_ns =
			test_below(seed, 8) ? RL_SECOND : some(seed, RL_WINDOW_MIN, UINT32_MAX),
		.granularity = some(seed, 16, RL_GRANULARITY_MAX + 1),
		.hard = test_below(seed, 8) == 0,
		.burst = some(seed, 1180, RL_CAPACITY_MAX),
		.undelayed = some(seed, 3, RL_CAPACITY_MAX),
		.prefix_v4 = (uint8_t)(test_below(seed, 4) ? 0 : some(seed, 32, 255)),
		.prefix_v6 = (uint8_t)(test_below(seed, 4) ? 0 : some(seed, 128, 255)),
		.prefetch = (uint16_t)(test_below(seed, 4) ? 0 : some(seed, 16, 4096)),
	};
}

/* What to ask for is what no definition is refused with, and none less. */
static void
test_the_ring_of_a_rule(void **state)
{
	struct rl_limit more[] = {LIMIT(.algorithm = RL_SLIDING_LOG), LIMIT(.granularity = 12)};
	struct rl_rule rule = {.name = "r", .limit = LIMIT(.granularity = 30), .more = more};
	uint64_t seed = 5;

	(void)state;
	more[0].capacity = 20;
	assert_int_equal(rl_rule_ring(&rule), 30);
	rule.more_count = 2;
	assert_int_equal(rl_rule_ring(&rule), 40);
	more[0].capacity = RL_LOG_MAX + 1;
	assert_true(rl_rule_ring(&rule) > RL_RING_MAX);
	rule.more = NULL;
	assert_true(rl_rule_ring(&rule) > RL_RING_MAX);
	rule.more_count = 0;
	for (int algorithm = 0; algorithm < test_algorithm_count(); algorithm++) {
		rule.limit = good;
		rule.limit.algorithm = (enum rl_algorithm)algorithm;
		if (algorithm != RL_SLIDING_LOG && algorithm != RL_IN_FLIGHT)
			assert_int_equal(rl_rule_ring(&rule), 1);
	}
	rule.limit = (struct rl_limit){.algorithm = RL_IN_FLIGHT, .capacity = 7};
	assert_int_equal(rl_rule_ring(&rule), 7);
	rule.limit.capacity = 1000;
	assert_int_equal(rl_rule_ring(&rule), 64);
	for (int i = 0; i < 10000; i++) {
		struct rl_options o = {0};

		rule.limit = some_limit(&seed);
		o.ring = rl_rule_ring(&rule);
		if (o.ring > RL_RING_MAX)
			continue;
		assert_int_equal(rl_rule_check(&rule, &o, NULL, 0), 0);
		if (--o.ring > 0)
			assert_int_equal(rl_rule_check(&rule, &o, NULL, 0), RL_ERING);
	}
}

static void
test_rules(void **state)
{
	struct rl_limit more[RL_LIMITS_MAX] = {good};
	struct rl_rule rule = {.limit = good};
	char longer[RL_NAME_MAX + 2];

	(void)state;
	expect(&rule, NULL, -EINVAL,
	       "name: there is none; 1 to 63 letters, digits and . _ - : / are allowed");
	rule.name = "a b";
	expect(&rule, NULL, -EINVAL,
	       "name: byte 2 is 0x20; letters, digits and . _ - : / are allowed");
	rule.name = "caf\xc3\xa9";
	expect(&rule, NULL, -EINVAL,
	       "name: byte 4 is 0xc3; letters, digits and . _ - : / are allowed");
	memset(longer, 'x', sizeof longer);
	longer[RL_NAME_MAX + 1] = '\0';
	rule.name = longer;
	expect(&rule, NULL, -EINVAL, "name: it is too long; at most 63 bytes are allowed");
	rule.name = "r";
	rule.more_count = 1;
	expect(&rule, NULL, -EINVAL, "more: NULL, and more_count is 1");
	rule.more = more;
	rule.more_count = RL_LIMITS_MAX;
	expect(&rule, NULL, -EINVAL, "more_count: 8; at most 7 further limits are allowed");
	rule.more_count = 1;
	rule.flags = RL_DEFINE_KEEP << 1 | RL_DEFINE_KEEP;
	expect(&rule, NULL, -EINVAL, "flags: 0x3; 0 or RL_DEFINE_KEEP (1) is allowed");
	rule.flags = RL_DEFINE_KEEP;
	expect(&rule, NULL, 0, "");
	more[0].prefix_v4 = 24;
	expect(&rule, NULL, -EINVAL, "more[0]: either all limits of a rule have prefixes or none");
	more[0] = (struct rl_limit){.capacity = 16, .window_ns = RL_SECOND, .prefetch = 1};
	expect(&rule, NULL, -EINVAL,
	       "more[0].prefetch: 1; a rule of several limits has none, 0 is allowed");
}

/* Whatever the rule: the error is that of a definition, and there is a sentence if there is one. */
static void
test_it_says_what_a_definition_says(void **state)
{
	struct rl_options o = {.keys = 10, .ring = 16, .rules = 8};
	struct rl_limit more[2];
	struct rl_rule rule = {.name = "r", .more = more};
	char text[RL_RULE_TEXT_SIZE];
	uint64_t seed = 3;
	int taken = 0;
	struct rl *rl;

	(void)state;
	assert_int_equal(rl_open_private(&o, &rl), 0);
	for (int i = 0; i < 100000; i++) {
		rule.limit = some_limit(&seed);
		more[0] = some_limit(&seed);
		more[1] = some_limit(&seed);
		rule.more_count = test_below(&seed, 8) ? 0 : test_below(&seed, 3);
		int error = rl_rule_check(&rule, &o, text, sizeof text),
		    defined = rl_define(rl, &rule);
		assert_int_equal(error, defined < 0 ? defined : 0);
		assert_int_equal(text[0] != '\0', error < 0);
		assert_null(strstr(text, "cannot be"));
		assert_true(strlen(text) < sizeof text - 1);
		taken += error == 0;
	}
	assert_in_range(taken, 1000, 99000);
	rl_close(rl);
}

/* Whatever an item has of its own, and whatever the rule's first limit is. */
static void
test_it_says_what_a_check_of_an_item_says(void **state)
{
	struct rl_options o = {.keys = 10, .ring = 16};
	char text[RL_RULE_TEXT_SIZE];
	uint64_t seed = 4;
	int taken = 0;
	struct rl *rl;

	(void)state;
	assert_int_equal(rl_open_private(&o, &rl), 0);
	for (int i = 0; i < 100000; i++) {
		static const enum rl_algorithm of[] = {
			RL_SLIDING_WINDOW, RL_FIXED_WINDOW,    RL_SLIDING_LOG, RL_TOKEN_BUCKET,
			RL_LEAKY_BUCKET,   RL_ANCHORED_WINDOW, RL_IN_FLIGHT};
		struct rl_limit first = {.algorithm = of[test_below(&seed, 7)], .capacity = 5};
		struct rl_charges charges;
		struct rl_item item = {.key = "k", .key_len = 1, .cost = 1, .charges = &charges};
		struct rl_result r;

		first.window_ns = first.algorithm == RL_IN_FLIGHT ? 0 : RL_SECOND;
		first.burst = first.algorithm == RL_LEAKY_BUCKET ? some(&seed, 8, 9) : 0;
		item.capacity = test_below(&seed, 2) ? 0 : some(&seed, 16, RL_CAPACITY_MAX);
		item.burst = some(&seed, 4, RL_CAPACITY_MAX);
		item.undelayed = some(&seed, 8, RL_CAPACITY_MAX);
		item.flags = (unsigned)test_below(&seed, 5);
		item.rule = rl_define(rl, &(struct rl_rule){.name = "r", .limit = first});
		at_check_item(rl, &item, rl_now(rl), &r);
		assert_int_equal(rl_item_check(&first, &item, &o, text, sizeof text),
		                 r.verdict == RL_UNDECIDED ? r.error : 0);
		assert_int_equal(text[0] != '\0', r.verdict == RL_UNDECIDED);
		taken += r.verdict != RL_UNDECIDED;
		rl_reset(rl, item.rule, "k", 1);
	}
	assert_in_range(taken, 1000, 99000);
	rl_close(rl);
}

static void
test_the_words_about_an_item(void **state)
{
	struct rl_limit leaky = {.algorithm = RL_LEAKY_BUCKET, .burst = 2};
	struct rl_item burst = {.burst = 5, .flags = RL_ITEM_BURST},
		       undelayed = {.undelayed = 3, .flags = RL_ITEM_UNDELAYED};
	char text[RL_RULE_TEXT_SIZE];

	(void)state;
	assert_int_equal(rl_item_check(&good, &burst, NULL, text, sizeof text), -EINVAL);
	assert_string_equal(
		text, "burst: 5; sliding_window has none, leaky_bucket and token_bucket have one");
	assert_int_equal(rl_item_check(&good, &undelayed, NULL, text, sizeof text), -EINVAL);
	assert_string_equal(text, "undelayed: 3; sliding_window has none, leaky_bucket has one");
	assert_int_equal(rl_item_check(&leaky, &undelayed, NULL, text, sizeof text), -EINVAL);
	assert_string_equal(text, "undelayed: 3; at most the burst is allowed, 2");
	assert_int_equal(rl_item_check(&leaky, &burst, NULL, text, sizeof text), 0);
	assert_string_equal(text, "");
	assert_int_equal(rl_item_check(&good, &burst, NULL, NULL, 0), -EINVAL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_what_needs_the_ring),
		cmocka_unit_test(test_the_ring_of_a_rule),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_it_says_what_a_definition_says),
		cmocka_unit_test(test_it_says_what_a_check_of_an_item_says),
		cmocka_unit_test(test_the_words_about_an_item),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Thousands of limit strings, such as "10/minute;100/hour" for each route and plan, by a rule for
 * each algorithm and window: the recipe of rl_define(3).
 */
#include <stdio.h>

#include "at.h"
#include "testing.h"

#define T0 (UINT64_C(19676) * 86400 * RL_SECOND) /* a midnight */
#define MINUTE (60 * RL_SECOND)
#define STRINGS 5000
#define AMOUNT_MAX 29 /* so small that no hour's token comes back in two minutes */

enum {
	MINUTES,
	HOURS,
	DAYS,
	WINDOWS
};

static const uint64_t windows_ns[WINDOWS] = {MINUTE, 60 * MINUTE, 1440 * MINUTE};

static const struct rl_limit kinds[] = {
	{.algorithm = RL_FIXED_WINDOW, .capacity = RL_CAPACITY_MAX},
	{.algorithm = RL_SLIDING_WINDOW, .capacity = RL_CAPACITY_MAX, .hard = 1},
	{.algorithm = RL_TOKEN_BUCKET, .capacity = 1000},
	{.algorithm = RL_SLIDING_LOG, .capacity = 32},
};

#define KINDS (sizeof kinds / sizeof kinds[0])

static int rules[KINDS][WINDOWS];

/* A limit string; an amount of 0: it has no such part. */
struct tier {
	size_t kind;
	uint32_t amount[WINDOWS];
	uint32_t used[WINDOWS]; /* by its one client */
};

static struct tier tiers[STRINGS];

static void
define_rules(struct rl *rl)
{
	for (size_t kind = 0; kind < KINDS; kind++) {
		for (int w = 0; w < WINDOWS; w++) {
			char name[RL_NAME_MAX + 1];
			struct rl_rule rule = {
				.name = name, .limit = kinds[kind], .flags = RL_DEFINE_KEEP};
			snprintf(name, sizeof name, "%zu/%d", kind, w);
			rule.limit.window_ns = windows_ns[w];
			rules[kind][w] = rl_define(rl, &rule);
			assert_true(rules[kind][w] >= 0);
		}
	}
}

static void
make_tiers(void)
{
	uint64_t seed = 11;

	for (size_t t = 0; t < STRINGS; t++) {
		tiers[t] = (struct tier){.kind = test_below(&seed, KINDS)};
		for (int w = 0; w < WINDOWS; w++)
			if (test_below(&seed, 2) || (w == DAYS && t % 2))
				tiers[t].amount[w] = 1 + (uint32_t)test_below(&seed, AMOUNT_MAX);
		if (!tiers[t].amount[MINUTES] && !tiers[t].amount[HOURS])
			tiers[t].amount[DAYS] = 7;
	}
}

static bool
ask(struct rl *rl, size_t t, uint64_t now_ns)
{
	struct rl_item items[WINDOWS];
	char key[32];
	size_t count = 0;
	int len = snprintf(key, sizeof key, "tier-%zu|client", t);

	for (int w = 0; w < WINDOWS; w++)
		if (tiers[t].amount[w] > 0)
			items[count++] = (struct rl_item){.rule = rules[tiers[t].kind][w],
			                                  .key = key,
			                                  .key_len = (size_t)len,
			                                  .cost = 1,
			                                  .capacity = tiers[t].amount[w]};
	return at_check_all(rl, items, count, now_ns, NULL, NULL) == RL_ALLOWED;
}

/* By the definition: what the tightest of its parts has left. */
static uint32_t
left(const struct tier *tier)
{
	uint32_t least = UINT32_MAX;

	for (int w = 0; w < WINDOWS; w++)
		if (tier->amount[w] > 0 && tier->amount[w] - tier->used[w] < least)
			least = tier->amount[w] - tier->used[w];
	return least;
}

/* Each is admitted exactly what it has left, whoever asks in between. */
static void
ask_all(struct rl *rl, uint64_t now_ns)
{
	uint32_t admitted[STRINGS] = {0};
	size_t asking = STRINGS;

	while (asking > 0) {
		asking = 0;
		for (size_t t = 0; t < STRINGS; t++) {
			bool is_admitted = ask(rl, t, now_ns);
			admitted[t] += is_admitted;
			asking += is_admitted;
		}
	}
	for (size_t t = 0; t < STRINGS; t++) {
		if (admitted[t] != left(&tiers[t]))
			fail_msg("tier %zu: %u were admitted, not %u", t, admitted[t],
			         left(&tiers[t]));
		for (int w = 0; w < WINDOWS; w++)
			tiers[t].used[w] += tiers[t].amount[w] > 0 ? admitted[t] : 0;
	}
}

static void
test_thousands_of_limit_strings(void **state)
{
	struct rl_info info;
	struct rl *rl;

	(void)state;
	assert_int_equal(rl_open_private(&(struct rl_options){.ring = 64}, &rl), 0);
	define_rules(rl);
	make_tiers();
	ask_all(rl, T0);
	for (size_t t = 0; t < STRINGS; t++)
		tiers[t].used[MINUTES] = 0; /* the minute is over, the hour and the day are not */
	ask_all(rl, T0 + 2 * MINUTE);
	rl_info(rl, &info);
	assert_int_equal(info.rules, RL_RULES_DEFAULT);
	assert_int_equal(info.rules_used, KINDS * WINDOWS);
	assert_int_equal(test_counter(rl, rules[0][0], RL_COUNT_reserved), 0);
	rl_close(rl);
}

/* As many rules as there are limit strings find no room, and the error says what is full. */
static void
test_a_rule_for_each_string_finds_no_room(void **state)
{
	const struct rl_options most = {.keys = 1, .ring = 64, .rules = RL_RULES_MAX};
	struct rl *rl;
	int defined = 0;

	(void)state;
	assert_int_equal(rl_open_private(&most, &rl), 0);
	for (;; defined++) {
		char name[RL_NAME_MAX + 1];
		struct rl_rule rule = {.name = name, .limit = {.capacity = 1, .window_ns = MINUTE}};
		snprintf(name, sizeof name, "r%d", defined);
		if (rl_define(rl, &rule) < 0) {
			assert_int_equal(rl_define(rl, &rule), RL_ERULES);
			break;
		}
	}
	assert_int_equal(defined, RL_RULES_MAX);
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_thousands_of_limit_strings),
		cmocka_unit_test(test_a_rule_for_each_string_finds_no_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* evict: what becomes of a new key when all slots are used. Every key here shares the same 16. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "at.h"
#include "rule/handle.h"
#include "shared/layout_people.h"
#include "testing.h"

#define SLOTS 16
#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define WINDOW (10 * RL_SECOND)
#define BUFFER (5 * RL_SECOND)

static struct rl *
open_tiny(enum rl_on_full on_full)
{
	const struct rl_options o = {
		.keys = 1, .ring = 64, .on_full = on_full, .buffer_ns = BUFFER};
	struct rl_info info;
	struct rl *rl;

	assert_int_equal(rl_open_private(&o, &rl), 0);
	rl_info(rl, &info);
	assert_int_equal(info.slots, SLOTS);
	return rl;
}

static enum rl_verdict
check(struct rl *rl, int rule, uint32_t key, uint64_t cost, uint64_t now, struct rl_result *r)
{
	return at_check(rl, rule, &key, sizeof key, cost, now, r);
}

/* Key i of 16 uses cost(i) at T0 + i ms, so that key 0 is the oldest. */
static void
fill(struct rl *rl, int rule, uint32_t cost, uint32_t cost_of_key_9)
{
	for (uint32_t i = 0; i < SLOTS; i++)
		assert_int_equal(check(rl, rule, i, i == 9 ? cost_of_key_9 : cost,
		                       T0 + i * RL_MILLISECOND, NULL),
		                 RL_ALLOWED);
	assert_int_equal(rl_fill(rl), SLOTS);
}

static void
test_deny(void **state)
{
	struct rl *rl = open_tiny(RL_FULL_DENY);
	int rule = test_rule(rl, "r", 5, WINDOW, 1, true);
	struct rl_result r;

	(void)state;
	fill(rl, rule, 1, 1);
	assert_int_equal(check(rl, rule, 100, 1, T0, &r), RL_DENIED);
	assert_int_equal(r.error, -ENOSPC);
	/* the first slot is free two windows (hard, one sub-bucket) and the buffer later */
	assert_int_equal(r.retry_after_ns, 2 * WINDOW + BUFFER);
	assert_int_equal(check(rl, rule, 100, 1, T0 + r.retry_after_ns - 1, &r), RL_DENIED);
	assert_int_equal(check(rl, rule, 100, 1, T0 + 2 * WINDOW + BUFFER, &r), RL_ALLOWED);
	assert_int_equal(r.error, 0);
	/* keys that have a slot are not concerned */
	assert_int_equal(test_counter(rl, rule, RL_COUNT_full_denied), 2);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_denied), 2);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_retired), 1);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_evicted), 0);
	rl_close(rl);
}

static void
test_known_keys_are_served_while_full(void **state)
{
	struct rl *rl = open_tiny(RL_FULL_DENY);
	int rule = test_rule(rl, "r", 2, WINDOW, 1, true);

	(void)state;
	fill(rl, rule, 1, 1);
	for (uint32_t i = 0; i < SLOTS; i++)
		assert_int_equal(check(rl, rule, i, 1, T0, NULL), RL_ALLOWED);
	for (uint32_t i = 0; i < SLOTS; i++)
		assert_int_equal(check(rl, rule, i, 1, T0, NULL), RL_DENIED);
	rl_close(rl);
}

static void
test_allow(void **state)
{
	struct rl *rl = open_tiny(RL_FULL_ALLOW);
	int rule = test_rule(rl, "r", 5, WINDOW, 1, true);
	struct rl_charges c;
	struct rl_result r;

	(void)state;
	fill(rl, rule, 1, 1);
	for (int i = 0; i < 20; i++) {
		c.count = 1;
		assert_int_equal(test_check_at(rl, rule, "new", 3, 1, T0, &r, &c), RL_ALLOWED);
		assert_int_equal(r.error, -ENOSPC);
		assert_int_equal(c.count, 0);
		assert_int_equal(rl_refund(rl, &c), 0);
	}
	assert_int_equal(test_counter(rl, rule, RL_COUNT_full_allowed), 20);
	rl_close(rl);
}

static void
test_evict_the_least_used(void **state)
{
	struct rl *rl = open_tiny(RL_FULL_EVICT);
	int rule = test_rule(rl, "r", 5, WINDOW, 1, true);
	struct rl_result r;

	(void)state;
	fill(rl, rule, 4, 2);
	assert_int_equal(check(rl, rule, 100, 5, T0, &r), RL_ALLOWED);
	assert_int_equal(r.error, 0);
	assert_int_equal(rl_fill(rl), SLOTS);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_evicted), 1);
	for (uint32_t i = 0; i < SLOTS; i++) {
		at_peek(rl, rule, &i, sizeof i, T0, &r);
		assert_int_equal(r.remaining, i == 9 ? 5 : 1);
	}
	rl_close(rl);
}

/* Shares, not counts: 3 of 4 is more than 10 of 1000. */
static void
test_evict_by_share(void **state)
{
	struct rl *rl = open_tiny(RL_FULL_EVICT);
	int low = test_rule(rl, "low", 4, WINDOW, 1, true);
	int high = test_rule(rl, "high", 1000, WINDOW, 1, true);
	uint32_t big = 7;
	struct rl_result r;

	(void)state;
	for (uint32_t i = 0; i < SLOTS; i++)
		for (int n = 0; n < (i == big ? 10 : 3); n++)
			check(rl, i == big ? high : low, i, 1, T0, NULL);
	assert_int_equal(check(rl, low, 100, 1, T0, NULL), RL_ALLOWED);
	assert_int_equal(test_counter(rl, high, RL_COUNT_evicted), 1);
	at_peek(rl, high, &big, sizeof big, T0, &r);
	assert_int_equal(r.remaining, 1000);
	rl_close(rl);
}

/* All at their limit: none may start anew, so the newcomer is undecided, the caller's choice. */
static void
test_never_evict_a_key_at_its_limit(void **state)
{
	struct rl *rl = open_tiny(RL_FULL_EVICT);
	int rule = test_rule(rl, "r", 5, WINDOW, 1, true);
	struct rl_result r;

	(void)state;
	fill(rl, rule, 5, 5);
	assert_int_equal(check(rl, rule, 100, 1, T0, &r), RL_UNDECIDED);
	assert_int_equal(r.error, -ENOSPC);
	for (uint32_t i = 0; i < SLOTS; i++)
		assert_int_equal(check(rl, rule, i, 1, T0, NULL), RL_DENIED);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_full_undecided), 1);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_undecided), 1);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_evicted), 0);
	rl_close(rl);
}

/* However many keys come, a key at its limit keeps its slot, so its limit holds. */
static void
test_flood_of_keys_does_not_reset_a_limited_one(void **state)
{
	struct rl *rl = open_tiny(RL_FULL_EVICT);
	int rule = test_rule(rl, "r", 3, WINDOW, 4, true);
	int admitted = 0;

	(void)state;
	for (uint32_t i = 0; i < 20000; i++) {
		check(rl, rule, 1000 + i, 1, T0, NULL);
		if (i % 10 == 0)
			admitted += check(rl, rule, 1, 3, T0, NULL) == RL_ALLOWED;
	}
	assert_int_equal(admitted, 1);
	rl_close(rl);
}

/* Without any daemon: ten thousand keys, each used once, pass through 16 slots. */
static void
test_cleans_up_after_itself(void **state)
{
	struct rl *rl = open_tiny(RL_FULL_DENY);
	int rule = test_rule(rl, "r", 5, WINDOW, 1, false);

	(void)state;
	for (uint32_t i = 0; i < 10000; i++)
		assert_int_equal(check(rl, rule, i, 5, T0 + i * 2 * RL_SECOND, NULL), RL_ALLOWED);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_retired), 10000 - SLOTS);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_full_denied), 0);
	rl_close(rl);
}

static void
test_sweep_after_window_and_buffer(void **state)
{
	struct rl *rl = open_tiny(RL_FULL_DENY);
	int rule = test_rule(rl, "r", 5, WINDOW, 1, true);
	uint64_t stale = T0 + 2 * WINDOW + BUFFER;
	struct rl_result r;

	(void)state;
	fill(rl, rule, 5, 5);
	assert_int_equal(rl_sweep_at(rl, stale - 1), 0);
	assert_int_equal(rl_fill(rl), SLOTS);
	assert_int_equal(check(rl, rule, 3, 1, T0, &r), RL_DENIED);
	assert_int_equal(rl_sweep_at(rl, stale), SLOTS);
	assert_int_equal(rl_fill(rl), 0);
	assert_int_equal(rl_sweep_at(rl, stale), 0);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_retired), SLOTS);
	rl_close(rl);
}

/* Of several limits, it is the one without a slot that decides, or is told of. */
static void
test_which_limit_is_full(void **state)
{
	const struct rl_limit more = {.capacity = 5, .window_ns = 2 * WINDOW};
	const struct rl_rule rule = {.name = "two",
	                             .limit = {.capacity = 1, .window_ns = WINDOW},
	                             .more = &more,
	                             .more_count = 1};

	(void)state;
	for (int on_full = RL_FULL_DENY; on_full <= RL_FULL_ALLOW; on_full++) {
		struct rl *rl = open_tiny((enum rl_on_full)on_full);
		int one = test_rule(rl, "one", 5, WINDOW, 1, true), two = rl_define(rl, &rule);
		struct rl_result r;

		for (uint32_t i = 0; i < SLOTS - 1; i++)
			assert_int_equal(check(rl, one, i, 1, T0, NULL), RL_ALLOWED);
		assert_int_equal(check(rl, two, 0, 1, T0, &r),
		                 on_full == RL_FULL_DENY ? RL_DENIED : RL_ALLOWED);
		assert_int_equal(r.error, -ENOSPC);
		if (on_full == RL_FULL_DENY)
			assert_int_equal(r.index, 1);
		rl_close(rl);
	}
}

/* Nor one at the limit that its override sets it, however little that is of the rule's. */
static void
test_never_evict_a_key_at_its_override(void **state)
{
	const struct rl_override tight = {
		.pattern = {.match = RL_MATCH_KEY, .key = "tight", .key_len = 5}, .capacity = {2}};
	const struct rl_config_rule rule = {
		.rule = {.name = "r", .limit = {.capacity = 100, .window_ns = 60 * RL_SECOND}},
		.overrides = &tight,
		.override_count = 1};
	struct rl *rl = open_tiny(RL_FULL_EVICT); /* 16 slots, the same for all keys */
	char key[16];

	(void)state;
	assert_int_equal(rl_configure(rl, &rule, 1, 0, NULL, NULL), 0);
	assert_int_equal(at_check(rl, 0, "tight", 5, 2, T0, NULL), RL_ALLOWED);
	for (int i = 0; i < 40; i++) {
		snprintf(key, sizeof key, "k%d", i);
		assert_int_equal(at_check(rl, 0, key, strlen(key), 50, T0, NULL), RL_ALLOWED);
		assert_int_equal(at_check(rl, 0, "tight", 5, 1, T0, NULL), RL_DENIED);
	}
	rl_close(rl);
}

static enum rl_verdict
ask(struct rl *rl, int rule, uint32_t key, uint64_t cost, uint32_t tier)
{
	const struct rl_item item = {
		.rule = rule, .key = &key, .key_len = sizeof key, .cost = cost, .capacity = tier};

	return at_check_item(rl, &item, T0, NULL);
}

#define TIGHT 7 /* a key */

/* Whatever comes, a key that its tier allows no more stays denied. */
static void
is_kept_at_its_tier(const struct rl_limit *limit, uint32_t tier, uint32_t key_bytes)
{
	const struct rl_options o = {.keys = 1,
	                             .ring = 64,
	                             .key_bytes = key_bytes,
	                             .on_full = RL_FULL_EVICT,
	                             .buffer_ns = BUFFER};
	struct rl *rl;
	int rule;

	assert_int_equal(rl_open_private(&o, &rl), 0);
	rule = rl_define(rl, &(struct rl_rule){.name = "r", .limit = *limit});
	assert_true(rule >= 0);
	while (ask(rl, rule, TIGHT, 1, tier) == RL_ALLOWED)
		;
	for (uint32_t key = 100; key < 140; key++) {
		assert_int_not_equal(ask(rl, rule, key, 1, 0), RL_DENIED);
		assert_int_equal(ask(rl, rule, TIGHT, 1, tier), RL_DENIED);
	}
	assert_true(test_counter(rl, rule, RL_COUNT_evicted) > 10);
	rl_close(rl);
}

/*
 * Below the rule's capacity and above it: a leaky bucket holds as many, and lets go of them slower
 * or faster.
 */
static void
test_never_evict_a_key_at_its_tier(void **state)
{
	(void)state;
	for (int algorithm = 0; algorithm < test_algorithm_count(); algorithm++) {
		const struct rl_limit limit = {.algorithm = (enum rl_algorithm)algorithm,
		                               .capacity = 12,
		                               .window_ns = 60 * RL_SECOND,
		                               .burst = algorithm == RL_LEAKY_BUCKET ? 5 : 0};

		is_kept_at_its_tier(&limit, 1, 0);
		is_kept_at_its_tier(&limit, 30, 0);
		is_kept_at_its_tier(&limit, 1, RL_KEY_BYTES_NONE);
	}
}

/* The share of a capacity of 100 or of a tier that is used, in 2^-32, whichever is larger. */
static uint64_t
larger_share(uint32_t used, uint32_t tier)
{
	uint32_t capacity = tier > 0 && tier < 100 ? tier : 100;

	return used < capacity ? ((uint64_t)used << 32) / capacity : UINT64_MAX;
}

/* Of the keys that were evicted, one or none, the share; UINT64_MAX: none. */
static uint64_t
evicted_share(struct rl *rl, int rule, const uint64_t shares[SLOTS])
{
	uint64_t found = UINT64_MAX;
	unsigned evicted = 0;
	struct rl_result r;

	for (uint32_t i = 0; i < SLOTS; i++) {
		at_peek(rl, rule, &i, sizeof i, T0, &r);
		if (r.used == 0) {
			evicted++;
			found = shares[i];
		}
	}
	assert_true(evicted <= 1);
	return found;
}

/*
 * A key whose next request would be denied, if it costs as much as its last one, stays: here 7 of
 * 10.
 */
static void
test_never_evict_what_would_be_denied_by_its_cost(void **state)
{
	(void)state;
	for (int algorithm = 0; algorithm < test_algorithm_count(); algorithm++) {
		const struct rl_limit limit = {.algorithm = (enum rl_algorithm)algorithm,
		                               .capacity = 10,
		                               .window_ns = WINDOW,
		                               .burst = algorithm == RL_LEAKY_BUCKET ? 9 : 0,
		                               .undelayed = algorithm == RL_LEAKY_BUCKET ? 9 : 0};
		struct rl *rl;
		int rule;

		if (algorithm == RL_IN_FLIGHT || algorithm == RL_COUNTER)
			continue;
		rl = open_tiny(RL_FULL_EVICT);
		rule = rl_define(rl, &(struct rl_rule){.name = "r", .limit = limit});
		assert_true(rule >= 0);
		assert_int_equal(ask(rl, rule, TIGHT, 7, 0), RL_ALLOWED);
		for (uint32_t key = 100; key < 200; key++)
			for (int n = 0; n < 8; n++)
				assert_int_equal(ask(rl, rule, key, 1, 0), RL_ALLOWED);
		assert_true(test_counter(rl, rule, RL_COUNT_evicted) > 50);
		assert_int_equal(ask(rl, rule, TIGHT, 7, 0), RL_DENIED);
		rl_close(rl);
	}
}

/* The least used share goes, of the tighter limit, whichever that is. */
static void
test_evict_by_share_of_tiers(void **state)
{
	uint64_t seed = 31;

	(void)state;
	for (int round = 0; round < 400; round++) {
		struct rl *rl = open_tiny(RL_FULL_EVICT);
		int rule = test_rule(rl, "r", 100, WINDOW, 0, false);
		uint64_t shares[SLOTS], least = UINT64_MAX;

		for (uint32_t i = 0; i < SLOTS; i++) {
			uint32_t used = 60 + (uint32_t)test_below(&seed, 50);
			uint32_t tier = used + (uint32_t)test_below(&seed, 3);

			if (used <= 100 && round % 3 == 0 && test_below(&seed, 2))
				tier = 0;
			for (uint32_t n = 0; n < used; n++)
				assert_int_equal(ask(rl, rule, i, 1, tier), RL_ALLOWED);
			shares[i] = larger_share(used, tier);
			least = shares[i] < least ? shares[i] : least;
		}
		assert_int_equal(ask(rl, rule, 100, 1, 0),
		                 least < UINT64_MAX ? RL_ALLOWED : RL_UNDECIDED);
		assert_true(evicted_share(rl, rule, shares) == least);
		rl_close(rl);
	}
}

/*
 * A word that says the wrong thing keeps a key, and delivers none: not at the rule's limit, nor at
 * its override's.
 */
static void
test_a_wrong_tier_evicts_no_other(void **state)
{
	static const uint64_t words[] = {0, 1, 1000, RL_CAPACITY_MAX, UINT64_MAX};
	uint32_t tight = TIGHT;
	const struct rl_override own = {
		.pattern = {.match = RL_MATCH_KEY, .key = &tight, .key_len = sizeof tight},
		.capacity = {2}};
	struct rl_config_rule rule = test_config_rule("r", 12, WINDOW);

	(void)state;
	rule.overrides = &own;
	for (size_t i = 0; i < 2 * sizeof words / sizeof words[0]; i++) {
		struct rl *rl = open_tiny(RL_FULL_EVICT);

		rule.override_count = i % 2;
		assert_int_equal(rl_configure(rl, &rule, 1, 0, NULL, NULL), 0);
		assert_int_equal(ask(rl, 0, TIGHT, i % 2 ? 2 : 12, 0), RL_ALLOWED);
		for (uint32_t key = 100; key < 140; key++) {
			for (uint64_t slot = 0; slot < SLOTS; slot++)
				rl_segment_record(&rl->segment, slot)->last = words[i / 2];
			ask(rl, 0, key, 4, 0);
			assert_int_equal(ask(rl, 0, TIGHT, 1, 0), RL_DENIED);
		}
		rl_close(rl);
	}
}

/* As many keys as were asked for, with names of their own and another secret each time. */
static void
fill_up(uint32_t keys)
{
	const struct rl_options o = {
		.keys = keys, .ring = 1, .key_bytes = 1, .on_full = RL_FULL_DENY};
	struct rl_info info;
	struct rl *rl;
	int rule;

	assert_int_equal(rl_open_private(&o, &rl), 0);
	rl_info(rl, &info);
	assert_true(info.keys >= keys);
	rule = test_rule(rl, "r", 5, WINDOW, 1, true);
	for (uint32_t key = 0; key < keys; key++)
		assert_int_equal(check(rl, rule, key, 1, T0, NULL), RL_ALLOWED);
	assert_int_equal(rl_fill(rl), keys);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_inserted), keys);
	rl_close(rl);
}

static void
test_holds_the_keys_it_was_made_for(void **state)
{
	(void)state;
	for (uint32_t keys = 1; keys < 400; keys++)
		fill_up(keys);
	for (int secret = 0; secret < 20; secret++) {
		fill_up(1000);
		fill_up(0x6000); /* the default */
	}
	fill_up(400000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_holds_the_keys_it_was_made_for),
		cmocka_unit_test(test_deny),
		cmocka_unit_test(test_known_keys_are_served_while_full),
		cmocka_unit_test(test_allow),
		cmocka_unit_test(test_evict_the_least_used),
		cmocka_unit_test(test_evict_by_share),
		cmocka_unit_test(test_never_evict_a_key_at_its_limit),
		cmocka_unit_test(test_never_evict_a_key_at_its_override),
		cmocka_unit_test(test_never_evict_a_key_at_its_tier),
		cmocka_unit_test(test_never_evict_what_would_be_denied_by_its_cost),
		cmocka_unit_test(test_evict_by_share_of_tiers),
		cmocka_unit_test(test_a_wrong_tier_evicts_no_other),
		cmocka_unit_test(test_which_limit_is_full),
		cmocka_unit_test(test_flood_of_keys_does_not_reset_a_limited_one),
		cmocka_unit_test(test_cleans_up_after_itself),
		cmocka_unit_test(test_sweep_after_window_and_buffer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

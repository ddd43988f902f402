/* SPDX-License-Identifier: BSD-2-Clause */
/* What a host of a cluster wishes for: who was denied, how much, and that a lender hears of it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "shares.h"

/* Who waits for his share is not swept, though nothing was ever counted of him. */
static void
test_a_wish_outlives_a_sweep(void **state)
{
	struct rl *rl = clustered_segment(64, RL_FULL_RESERVE);
	int rule = define(rl, "r", window(10, 0));
	struct rl_share share;

	(void)state;
	assert_int_equal(rl_share_advance(rl, FOREVER), 0);
	assert_int_equal(check(rl, rule, T0, NULL), RL_DENIED);
	share = wishes(rl, T0).share;
	assert_int_equal(rl_sweep_at(rl, T0), 0);
	set(rl, &share, 4, T0);
	assert_int_equal(rl_sweep_at(rl, T0), 0);
	assert_int_equal(admitted(rl, rule, 9, T0), 4);
	assert_int_equal(rl_sweep_at(rl, T0 + 60 * RL_SECOND), 1);
	rl_close(rl);
}

static void
deny(struct rl *rl, int rule, uint64_t cost)
{
	assert_int_equal(at_check(rl, rule, "k", 1, cost, T0, NULL), RL_DENIED);
}

/* A wish says what was denied since the last one: all of it, and the largest. */
static void
test_what_was_denied(void **state)
{
	struct rl *rl = clustered_segment(64, RL_FULL_RESERVE);
	int rule = define(rl, "r", window(100000, 8));
	struct rl_share share;

	(void)state;
	assert_int_equal(admitted(rl, rule, 7, T0), 7);
	share = wishes(rl, T0).share;
	assert_int_equal(share.denied, 0); /* it runs low */
	assert_int_equal(share.largest, 0);
	deny(rl, rule, 2);
	deny(rl, rule, 300);
	deny(rl, rule, 20);
	share = wishes(rl, T0).share;
	assert_int_equal(share.denied, 322);
	assert_int_equal(share.largest, 300);
	assert_int_equal(share.waits, 0);
	deny(rl, rule, 2);
	share = wishes(rl, T0).share;
	assert_int_equal(share.denied, 2);
	assert_int_equal(share.largest, 2);
	assert_int_equal(rl_share_read(rl, &share.of, T0, &share), 0);
	assert_int_equal(share.denied, 0);
	deny(rl, rule, 8193); /* what cannot be said exactly is rounded up */
	assert_int_equal(wishes(rl, T0).share.largest, 8194);
	assert_int_equal(admitted(rl, rule, 1, T0), 1);
	deny(rl, rule, 5);
	assert_int_equal(wishes(rl, T0).share.denied,
	                 5); /* and what ran low before is none of it */
	rl_close(rl);
}

/* More than a limit gives at all is not added up, so that a flood does not write. */
static void
test_a_flood_is_not_added_up(void **state)
{
	struct rl *rl = clustered_segment(64, RL_FULL_RESERVE);
	int rule = define(rl, "r", window(100, 0)), large = define(rl, "s", window(1 << 20, 0));

	(void)state;
	for (int i = 0; i < 1000; i++)
		deny(rl, rule, 1);
	assert_int_equal(wishes(rl, T0).share.denied, 100);
	for (int i = 0; i < 100; i++)
		deny(rl, large, 1 << 20);
	assert_in_range(wishes(rl, T0).share.denied, 1 << 18, 1 << 20);
	rl_close(rl);
}

/* Nothing is written by a denial whose wish is there, nor where all is lent that there is. */
static void
test_wishes_are_few(void **state)
{
	struct rl *rl = clustered_segment(64, RL_FULL_RESERVE);
	int rule = define(rl, "r", window(16, 8));
	struct rl_share share;

	(void)state;
	assert_int_equal(rl_share_advance(rl, FOREVER), 0);
	assert_int_equal(admitted(rl, rule, 6, T0), 6);
	assert_int_equal(wishes(rl, T0).count, 0); /* a quarter is left */
	assert_int_equal(admitted(rl, rule, 1, T0), 1);
	share = wishes(rl, T0).share;
	assert_int_equal(share.load, 7);
	assert_int_equal(share.blind, 8);
	set(rl, &share, 8, T0);
	assert_int_equal(admitted(rl, rule, 20, T0), 9);
	assert_int_equal(wishes(rl, T0).count, 0);
	assert_int_equal(rl_share_lower(rl, &share.of, 3, T0, &share), 0);
	assert_int_equal(share.share, 8); /* 16 count, by which it may not fall */
	assert_int_equal(share.load, 16);
	assert_int_equal(rl_share_end(rl, &share.of, T0, &share), 0);
	assert_int_equal(share.share, 0);
	assert_int_equal(check(rl, rule, T0, NULL), RL_DENIED);
	assert_int_equal(wishes(rl, T0).count, 1);
	rl_close(rl);
}

static void
test_wishes_of_many(void **state)
{
	struct rl *rl = clustered_segment(5000, RL_FULL_RESERVE);
	int rule = define(rl, "r", window(10, 0));
	struct found found = {0};
	uint64_t from = 0;
	int taken, rounds = 0;

	(void)state;
	for (int i = 0; i < 3000; i++) {
		char key[16];

		snprintf(key, sizeof key, "%d", i);
		assert_int_equal(at_check(rl, rule, key, strlen(key), 1, T0, NULL), RL_DENIED);
	}
	do {
		taken = rl_share_wishes(rl, &from, 100, T0, note, &found);
		assert_in_range(taken, 0, 163);
		rounds++;
	} while (from != 0);
	assert_int_equal(found.count, 3000);
	assert_true(rounds >= 19);
	assert_int_equal(wishes(rl, T0).count, 0);
	rl_close(rl);
}

static void
test_a_scan_finds_shares(void **state)
{
	struct rl *rl = clustered_segment(64, RL_FULL_RESERVE);
	int rule = define(rl, "r", window(10, 0));
	struct rl_info info;
	struct found found = {0};
	uint64_t from = 0;
	uint32_t sum = 0;

	(void)state;
	for (int i = 0; i < 20; i++) {
		char key = (char)('a' + i);

		at_check(rl, rule, &key, 1, 1, T0, NULL);
		found.count = 0;
		assert_int_equal(rl_share_wishes(rl, &from, UINT32_MAX, T0, note, &found), 1);
		if (i % 2 == 0)
			set(rl, &found.share, (uint32_t)i / 2 + 1, T0);
	}
	rl_info(rl, &info);
	assert_int_equal(rl_share_scan(rl, 0, UINT64_MAX, T0, collect, &sum), 0);
	assert_int_equal(sum, 55);
	assert_int_equal(rl_share_scan(rl, info.slots, 1, T0, collect, &sum), -EINVAL);
	rl_close(rl);
}

/* Who is banned or exempt asks the store for nothing, and uses nothing of a share. */
static void
test_bans_and_exemptions_wish_for_nothing(void **state)
{
	struct rl *rl = clustered_segment(64, RL_FULL_RESERVE);
	int rule = define(rl, "r", window(10, 0));
	const struct rl_pattern k = rl_pattern_of("k", 1);
	struct rl_share share;
	struct rl_result r;

	(void)state;
	assert_int_equal(rl_ban(rl, rule, &k, RL_NEVER_NS), 0);
	assert_int_equal(check(rl, rule, T0, &r), RL_DENIED);
	assert_int_equal(r.reason, RL_BY_BAN);
	assert_int_equal(wishes(rl, T0).count, 0);
	assert_int_equal(rl_unban(rl, rule, &k), 1);

	assert_int_equal(rl_allow(rl, rule, &k, RL_NEVER_NS), 0);
	assert_int_equal(check(rl, rule, T0, &r), RL_ALLOWED);
	assert_int_equal(r.reason, RL_BY_EXEMPTION);
	assert_int_equal(wishes(rl, T0).count, 0);
	assert_int_equal(rl_unban(rl, rule, &k), 1);

	assert_int_equal(check(rl, rule, T0, &r), RL_DENIED);
	assert_int_equal(r.reason, RL_BY_LIMIT);
	share = wishes(rl, T0).share;
	set(rl, &share, 3, T0);
	assert_int_equal(rl_share_advance(rl, FOREVER), 0);
	assert_int_equal(admitted(rl, rule, 1, T0), 1);
	assert_int_equal(rl_allow(rl, rule, &k, RL_NEVER_NS), 0);
	assert_int_equal(admitted(rl, rule, 20, T0), 20);
	assert_int_equal(rl_share_read(rl, &share.of, T0, &share), 0);
	assert_int_equal(share.load, 1);
	assert_int_equal(share.share, 3);
	rl_close(rl);
}

/* What the cluster never admits is told so, and asks for nothing. */
static void
test_a_cost_above_the_capacity(void **state)
{
	struct rl *rl = clustered_segment(64, RL_FULL_RESERVE);
	int rule = define(rl, "r", window(10, 0));
	struct rl_share share;

	(void)state;
	assert_int_equal(at_check(rl, rule, "k", 1, 11, T0, NULL), RL_NEVER);
	assert_int_equal(wishes(rl, T0).count, 0);
	assert_int_equal(at_check(rl, rule, "k", 1, 10, T0, NULL), RL_DENIED);
	share = wishes(rl, T0).share;
	set(rl, &share, 10, T0);
	assert_int_equal(rl_share_advance(rl, FOREVER), 0);
	assert_int_equal(at_check(rl, rule, "k", 1, 11, T0, NULL), RL_NEVER);
	assert_int_equal(at_check(rl, rule, "k", 1, 10, T0, NULL), RL_ALLOWED);
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_wish_outlives_a_sweep),
		cmocka_unit_test(test_what_was_denied),
		cmocka_unit_test(test_a_flood_is_not_added_up),
		cmocka_unit_test(test_wishes_are_few),
		cmocka_unit_test(test_wishes_of_many),
		cmocka_unit_test(test_a_scan_finds_shares),
		cmocka_unit_test(test_bans_and_exemptions_wish_for_nothing),
		cmocka_unit_test(test_a_cost_above_the_capacity),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

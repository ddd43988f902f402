/* SPDX-License-Identifier: BSD-2-Clause */
/* Clocks that step, lag, stop and jump, under every algorithm. */
#include <string.h>

#include "at.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define HOUR (3600 * RL_SECOND)

static enum rl_verdict
check(struct rl *rl, uint64_t cost, uint64_t now, struct rl_result *r)
{
	return at_check(rl, 0, "k", 1, cost, now, r);
}

static struct rl_limit
random_limit(enum rl_algorithm algorithm, uint64_t *seed)
{
	struct rl_limit l = {.algorithm = algorithm,
	                     .capacity = (uint32_t)(1 + test_below(seed, 15)),
	                     .window_ns = RL_SECOND + test_below(seed, 10 * RL_SECOND)};

	if (algorithm == RL_SLIDING_WINDOW) {
		l.granularity = (uint32_t)(1 + test_below(seed, 10));
		l.hard = (int)test_below(seed, 2);
	}
	if (algorithm == RL_LEAKY_BUCKET)
		l.burst = (uint32_t)test_below(seed, 10);
	return l;
}

static struct rl *
open_with(const struct rl_limit *limit)
{
	struct rl *rl = test_private(10);

	assert_int_equal(rl_define(rl, &(struct rl_rule){.name = "r", .limit = *limit}), 0);
	return rl;
}

/* For every algorithm, some rules each. */
#define RULES_OF_EACH 60
#define FOR_EACH_RULE(limit, seed)                                                             \
	for (int each = RL_SLIDING_WINDOW; rl_algorithm_info((enum rl_algorithm)each); each++) \
		for (int n = 0; n < RULES_OF_EACH; n++)                                        \
			if (limit = random_limit((enum rl_algorithm)each, seed), true)

/*
 * Clocks that lag by up to an hour, as of a process that was stopped, or whose clock stepped
 * back: what is admitted, the same rule admits at the newest time that was admitted before.
 */
static void
test_a_lagging_clock_admits_no_more(void **state)
{
	uint64_t seed = 31, admitted = 0;
	struct rl_limit limit;

	(void)state;
	FOR_EACH_RULE(limit, &seed)
	{
		struct rl *lagging = open_with(&limit), *newest = open_with(&limit);
		uint64_t now = T0, newest_admitted = 0;
		for (int i = 0; i < 150; i++) {
			now += test_below(&seed, limit.window_ns / 4);
			uint64_t lag = test_below(&seed, 3) ? 0 : test_below(&seed, HOUR);
			uint64_t cost = 1 + test_below(&seed, 2);
			if (check(lagging, cost, now - lag, NULL) != RL_ALLOWED)
				continue;
			if (now - lag > newest_admitted)
				newest_admitted = now - lag;
			assert_int_equal(check(newest, cost, newest_admitted, NULL), RL_ALLOWED);
			admitted++;
		}
		rl_close(lagging);
		rl_close(newest);
	}
	assert_true(admitted > 10000);
}

/* Nor does it take anything back: others find the counter as if it had never asked. */
static void
test_a_lagging_denial_changes_nothing(void **state)
{
	uint64_t seed = 32;
	struct rl_limit limit;

	(void)state;
	FOR_EACH_RULE(limit, &seed)
	{
		struct rl *one = open_with(&limit), *two = open_with(&limit);
		struct rl_result a, b;
		uint64_t now = T0;
		for (int i = 0; i < 100; i++) {
			now += test_below(&seed, limit.window_ns / 4);
			struct rl_result late;
			at_peek(one, 0, "k", 1, now - HOUR, &late);
			if (late.verdict == RL_DENIED)
				assert_int_equal(check(one, 1, now - HOUR, NULL), RL_DENIED);
			assert_int_equal(check(one, 1, now, &a), check(two, 1, now, &b));
			assert_int_equal(a.remaining, b.remaining);
			assert_true(a.retry_after_ns == b.retry_after_ns);
		}
		rl_close(one);
		rl_close(two);
	}
}

/* Of one time, whatever it is, never more than the limit: a clock that stands still. */
static void
test_a_clock_that_stops(void **state)
{
	uint64_t seed = 33;
	struct rl_limit limit;
	struct rl_result r;

	(void)state;
	FOR_EACH_RULE(limit, &seed)
	{
		struct rl *rl = open_with(&limit);
		uint32_t admitted = 0;
		for (int i = 0; i < 100; i++)
			admitted += check(rl, 1, T0, &r) == RL_ALLOWED;
		assert_int_equal(admitted, r.limit);
		rl_close(rl);
	}
}

/* A suspended machine, or a clock set ahead: the hour counts as passed, and as once only. */
static void
test_a_jump_ahead(void **state)
{
	const uint64_t jumps[] = {HOUR, 365 * 24 * HOUR, UINT64_C(100) * 365 * 24 * HOUR};
	uint64_t seed = 34;
	struct rl_limit limit;
	struct rl_result r;

	(void)state;
	FOR_EACH_RULE(limit, &seed)
	{
		struct rl *rl = open_with(&limit);
		uint64_t now = T0;
		for (int j = 0; j < 3; j++) {
			now += jumps[j];
			for (int i = 0; i < 50; i++)
				check(rl, 1, now, &r);
			assert_int_equal(check(rl, 1, now, &r), RL_DENIED);
			assert_int_equal(r.remaining, 0);
			assert_int_equal(check(rl, 1, now + r.retry_after_ns - 1, NULL), RL_DENIED);
		}
		rl_close(rl);
	}
}

/* The ends of the clock, and a step from one to the other. */
static void
test_the_ends_of_the_clock(void **state)
{
	const uint64_t ends[] = {0, 1, UINT64_MAX / 2, UINT64_MAX / 2 + 1, UINT64_MAX};
	uint64_t seed = 35;
	struct rl_limit limit;
	struct rl_result r;

	(void)state;
	FOR_EACH_RULE(limit, &seed)
	{
		struct rl *rl = open_with(&limit);
		bool is_bucket = rl_algorithm_info(limit.algorithm)->flags & RL_IS_BUCKET;
		for (int e = 0; e < 15; e++) {
			struct rl_charges c;
			const struct rl_item item = {.rule = 0,
			                             .key = "k",
			                             .key_len = 1,
			                             .cost = 1 + (uint64_t)e % 2,
			                             .charges = &c};
			uint64_t now = ends[test_below(&seed, 5)];
			uint32_t admitted = 0;
			for (int i = 0; i < 40; i++)
				admitted += check(rl, 1, now, &r) == RL_ALLOWED;
			assert_true(admitted <= r.limit);
			at_check_item(rl, &item, now, &r);
			enum rl_verdict booked = at_reserve_item(rl, &item, UINT64_MAX, now, &r);
			assert_true(is_bucket || booked == RL_UNDECIDED);
			at_reserve_item(rl, &item, 0, now, &r);
			at_refund(rl, &c, now);
			rl_sweep_at(rl, now);
		}
		rl_close(rl);
	}
}

/* The largest of everything at once: quotas, costs, waits. */
static void
test_the_largest_of_everything(void **state)
{
	const uint32_t capacities[] = {1, 2, RL_CAPACITY_MAX - 1, RL_CAPACITY_MAX};
	const uint64_t windows[] = {RL_WINDOW_MIN, RL_SECOND, RL_WINDOW_MAX};
	const uint64_t costs[] = {1,          2,         RL_CAPACITY_MAX - 1, RL_CAPACITY_MAX,
	                          UINT32_MAX, UINT64_MAX};

	(void)state;
	for (int n = 0; n < 5 * 4 * 3 * 4; n++) {
		struct rl_limit l = {.algorithm = (enum rl_algorithm)(n % 5),
		                     .capacity = capacities[n / 5 % 4],
		                     .window_ns = windows[n / 20 % 3]};
		uint32_t burst = capacities[n / 60];
		if (rl_algorithm_info(l.algorithm)->flags & RL_HAS_BURST)
			l.burst = burst < RL_CAPACITY_MAX ? burst : RL_CAPACITY_MAX - 1;
		struct rl *rl = test_private(10);
		struct rl_result r;
		uint64_t admitted = 0;
		if (rl_define(rl, &(struct rl_rule){.name = "r", .limit = l}) < 0) {
			rl_close(rl);
			continue; /* a log beyond the ring, a bucket that a century does not fill */
		}
		for (int i = 0; i < 12; i++) {
			struct rl_charges c;
			const struct rl_item item = {.rule = 0,
			                             .key = "k",
			                             .key_len = 1,
			                             .cost = costs[i % 6],
			                             .charges = &c};
			if (check(rl, item.cost, T0, &r) == RL_ALLOWED)
				admitted += item.cost;
			else if (r.verdict == RL_NEVER)
				assert_true(item.cost > r.limit);
			assert_true(admitted <= r.limit);
			if (r.verdict == RL_DENIED && r.retry_after_ns > 0) {
				at_peek(rl, 0, "k", 1, T0 + r.retry_after_ns - 1, &r);
				at_reserve_item(rl, &item, UINT64_MAX - 1, T0, &r);
				at_refund(rl, &c, T0);
			}
		}
		rl_close(rl);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_lagging_clock_admits_no_more),
		cmocka_unit_test(test_a_lagging_denial_changes_nothing),
		cmocka_unit_test(test_a_clock_that_stops),
		cmocka_unit_test(test_a_jump_ahead),
		cmocka_unit_test(test_the_ends_of_the_clock),
		cmocka_unit_test(test_the_largest_of_everything),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * sliding_log, token_bucket and leaky_bucket through the whole library, against their
 * definitions; and retry_after, which is exact in every algorithm.
 */
#include <string.h>

#include "algorithm/gcra.h"
#include "algorithm/ops.h"
#include "at.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)

static int
define(struct rl *rl, enum rl_algorithm algorithm, uint32_t capacity, uint64_t window_ns,
       uint32_t burst, uint32_t undelayed)
{
	int rule = rl_define(rl, &(struct rl_rule){.name = "r",
	                                           .limit.algorithm = algorithm,
	                                           .limit.capacity = capacity,
	                                           .limit.window_ns = window_ns,
	                                           .limit.burst = burst,
	                                           .limit.undelayed = undelayed});

	assert_true(rule >= 0);
	return rule;
}

static enum rl_verdict
check(struct rl *rl, int rule, uint64_t cost, uint64_t now, struct rl_result *r)
{
	return at_check(rl, rule, "k", 1, cost, now, r);
}

static enum rl_verdict
charge(struct rl *rl, int rule, uint64_t cost, uint64_t now, struct rl_result *r,
       struct rl_charges *charges)
{
	return test_check_at(rl, rule, "k", 1, cost, now, r, charges);
}

/* Denied just before retry_after, allowed at it; the charge is given back. */
static void
expect_exact_retry(struct rl *rl, int rule, uint64_t cost, uint64_t now, const struct rl_result *r)
{
	struct rl_result again;
	uint64_t at = now + r->retry_after_ns;

	assert_true(r->retry_after_ns > 0);
	assert_int_equal(check(rl, rule, cost, at - 1, &again), RL_DENIED);
	assert_int_equal(check(rl, rule, cost, at, &again), RL_ALLOWED);
}

/* Every algorithm, random rules and histories: each denial's retry_after is exact. */
static void
test_retry_after_is_exact(void **state)
{
	uint64_t seed = 21;

	(void)state;
	for (int run = 0; run < 4000; run++) {
		struct rl *rl = test_with_ring(128);
		enum rl_algorithm algorithm = (enum rl_algorithm)(run % test_algorithm_count());
		uint32_t capacity = 1 + (uint32_t)test_below(&seed, 60);
		uint32_t burst = (uint32_t)test_below(&seed, 20);
		uint64_t window = RL_WINDOW_MIN + test_below(&seed, 50 * RL_SECOND), now = T0;
		if (capacity >= 20 && run % 3 == 0) /* else its time would end */
			window = RL_WINDOW_MAX;
		struct rl_rule rule = {.name = "r",
		                       .limit.algorithm = algorithm,
		                       .limit.capacity = capacity,
		                       .limit.window_ns = window};
		if (rl_algorithm_info(algorithm)->flags & RL_HAS_GRANULARITY) {
			rule.limit.granularity = 1 + (uint32_t)test_below(&seed, 64);
			rule.limit.hard = (int)test_below(&seed, 2);
		}
		if (rl_algorithm_info(algorithm)->flags & RL_HAS_BURST)
			rule.limit.burst = burst;
		int id = rl_define(rl, &rule);
		assert_true(id >= 0);
		for (int i = 0; i < 100; i++) {
			struct rl_result r;
			uint64_t cost = 1 + test_below(&seed, 3);
			now += test_below(&seed, 1 + 3 * window / capacity);
			uint64_t at = test_below(&seed, 8) ? now : now - test_below(&seed, window);
			if (check(rl, id, cost, at, &r) != RL_DENIED)
				continue;
			assert_true(cost > r.remaining && r.remaining <= r.limit);
			expect_exact_retry(rl, id, cost, at, &r);
			now = at + r.retry_after_ns > now ? at + r.retry_after_ns : now;
		}
		rl_close(rl);
	}
}

/* The log by definition: every admitted unit's time. */
static uint64_t log_time[100000];
static uint32_t log_units;

static uint32_t
log_used(uint64_t window, uint64_t now)
{
	uint32_t used = 0;

	for (uint32_t i = log_units; i > 0 && log_time[i - 1] + window > now; i--)
		used++;
	return used;
}

static void
test_log_is_exact(void **state)
{
	uint64_t seed = 22;

	(void)state;
	for (int run = 0; run < 300; run++) {
		uint32_t ring = 2 + (uint32_t)test_below(&seed, 139);
		uint32_t capacity = 1 + (uint32_t)test_below(&seed, ring / 2);
		uint64_t window = RL_WINDOW_MIN + test_below(&seed, 10 * RL_SECOND), now = T0;
		if (capacity >= 20 && run % 3 == 0)
			window = RL_WINDOW_MAX;
		struct rl *rl = test_with_ring(ring);
		int rule = define(rl, RL_SLIDING_LOG, capacity, window, 0, 0);
		uint64_t newest = 0; /* admission, given back or not */
		log_units = 0;
		for (int i = 0; i < 400; i++) {
			struct rl_charges c;
			struct rl_result r;
			uint64_t cost = 1 + test_below(&seed, 1 + capacity / 3);
			if (test_below(&seed, 3)) /* else at the same nanosecond */
				now += test_below(&seed, 1 + 3 * window / capacity);
			uint64_t late = test_below(&seed, 9) ? 0 : test_below(&seed, window);

			uint64_t at = now - late < newest ? newest : now - late;
			bool allows = log_used(window, at) + cost <= capacity;
			assert_int_equal(charge(rl, rule, cost, now - late, &r, &c),
			                 cost > capacity ? RL_NEVER
			                 : allows        ? RL_ALLOWED
			                                 : RL_DENIED);
			if (!allows)
				continue;
			newest = at;
			if (test_below(&seed, 6) == 0) {
				assert_int_equal(at_refund(rl, &c, now), 1);
				continue;
			}
			for (uint64_t u = 0; u < cost; u++)
				log_time[log_units++] = at;
			assert_int_equal(r.remaining, capacity - log_used(window, at));
			assert_true(r.reset_after_ns == at + window - (now - late));
		}
		rl_close(rl);
	}
}

static void
test_log_needs_its_ring(void **state)
{
	struct rl *rl = test_with_ring(11);
	const struct rl_rule rule = {.name = "r",
	                             .limit.algorithm = RL_SLIDING_LOG,
	                             .limit.capacity = 6,
	                             .limit.window_ns = RL_SECOND};

	(void)state;
	assert_int_equal(rl_define(rl, &rule), RL_ERING);
	rl_close(rl);
}

/* Windows that capacity divides: T is whole nanoseconds, and so is the definition. */
static void
test_token_bucket(void **state)
{
	uint64_t seed = 23;

	(void)state;
	for (int run = 0; run < 300; run++) {
		uint32_t capacity = 1 + (uint32_t)test_below(&seed, 1000);
		uint32_t burst = 1 + (uint32_t)test_below(&seed, 100);
		uint64_t interval = 10 * RL_MILLISECOND + test_below(&seed, RL_SECOND);
		struct rl *rl = test_with_ring(1);
		int rule = define(rl, RL_TOKEN_BUCKET, capacity, capacity * interval, burst, 0);
		uint64_t now = T0, tat = 0;
		for (int i = 0; i < 500; i++) {
			struct rl_result r;
			uint64_t cost = 1 + test_below(&seed, 1 + burst / 4);
			now += test_below(&seed, 4 * interval);
			uint64_t short_by = tat > now ? tat - now : 0;
			bool allows = short_by + cost * interval <= burst * interval;
			assert_int_equal(check(rl, rule, cost, now, &r), cost > burst ? RL_NEVER
			                                                 : allows     ? RL_ALLOWED
			                                                              : RL_DENIED);
			assert_int_equal(r.limit, burst);
			assert_int_equal(r.delay_ns, 0);
			if (allows) {
				tat = now + short_by + cost * interval;
				short_by = tat - now;
			}
			assert_int_equal(r.remaining, (burst * interval - short_by) / interval);
			assert_true(r.reset_after_ns == short_by);
		}
		rl_close(rl);
	}
}

/* nginx: rate=10r/s burst=5: one at once, five wait 100 ms more each, the seventh is refused. */
static void
test_leaky_bucket_like_nginx(void **state)
{
	static const uint32_t undelayed[] = {0, 2,
	                                     5}; /* burst=5, burst=5 delay=2, burst=5 nodelay */

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct rl *rl = test_with_ring(1);
		int rule = define(rl, RL_LEAKY_BUCKET, 10, RL_SECOND, 5, undelayed[i]);
		struct rl_result r;
		for (uint32_t n = 0; n <= 5; n++) {
			uint32_t waits = n > undelayed[i] ? n - undelayed[i] : 0;
			assert_int_equal(check(rl, rule, 1, T0, &r), RL_ALLOWED);
			assert_true(r.delay_ns == waits * 100 * RL_MILLISECOND);
			assert_int_equal(r.remaining, 5 - n);
		}
		assert_int_equal(check(rl, rule, 1, T0, &r), RL_DENIED);
		assert_true(r.retry_after_ns == 100 * RL_MILLISECOND);
		assert_int_equal(r.delay_ns, 0);
		assert_int_equal(check(rl, rule, 1, T0 + 100 * RL_MILLISECOND, &r), RL_ALLOWED);
		rl_close(rl);
	}
}

/* 100,000 a second on one key: the clock's resolution is no ceiling. */
static void
test_a_hundred_thousand_a_second(void **state)
{
	const enum rl_algorithm algorithms[] = {RL_TOKEN_BUCKET, RL_LEAKY_BUCKET, RL_SLIDING_WINDOW,
	                                        RL_FIXED_WINDOW};

	(void)state;
	for (int a = 0; a < 4; a++) {
		struct rl *rl = test_with_ring(1);
		bool is_bucket = a < 2;
		int rule = define(rl, algorithms[a], 100000, RL_SECOND, is_bucket ? 10 : 0, 0);
		uint32_t admitted = 0;
		for (uint64_t i = 0; i < 100000; i++)
			admitted += check(rl, rule, 1, T0 + i * 10000, NULL) == RL_ALLOWED;
		assert_int_equal(admitted, 100000);
		rl_close(rl);
	}
}

/* A rate that divides nothing: never ahead of it, and behind by less than one request. */
static void
test_rates_that_do_not_divide(void **state)
{
	uint64_t seed = 24;

	(void)state;
	for (int run = 0; run < 60; run++) {
		uint32_t capacity = 1 + (uint32_t)test_below(&seed, run % 2 ? 100 : 1000000);
		uint64_t window = RL_WINDOW_MIN + test_below(&seed, 10 * RL_SECOND), now = T0;
		struct rl *rl = test_with_ring(1);
		int rule = define(rl, RL_TOKEN_BUCKET, capacity, window, 3, 0);
		uint64_t admitted = 0;
		struct rl_result r;
		for (int i = 0; i < 5000; i++) { /* each as soon as it may */
			if (check(rl, rule, 1, now, &r) == RL_ALLOWED)
				admitted++;
			else
				now += r.retry_after_ns;
		}
		rl_wide due = (rl_wide)(now - T0) * capacity / window + 3;
		assert_true(admitted <= due);
		assert_true(admitted + 1 >= due - (rl_wide)(now - T0) * capacity / window / 100000);
		rl_close(rl);
	}
}

static void
test_refund_of_tokens(void **state)
{
	struct rl *rl = test_with_ring(1);
	int rule = define(rl, RL_TOKEN_BUCKET, 10, 10 * RL_SECOND, 10, 0);
	struct rl_charges late;
	struct rl_result r;

	(void)state;
	assert_int_equal(charge(rl, rule, 4, T0, &r, &late), RL_ALLOWED);
	assert_int_equal(at_refund(rl, &late, T0 + RL_SECOND), 1);
	at_peek(rl, rule, "k", 1, T0 + RL_SECOND, &r);
	assert_int_equal(r.remaining, 10);
	/* tokens that have come back by themselves are not given back again */
	rl_reset(rl, rule, "k", 1);
	assert_int_equal(charge(rl, rule, 4, T0, NULL, &late), RL_ALLOWED);
	assert_int_equal(check(rl, rule, 10, T0 + 4 * RL_SECOND, &r), RL_ALLOWED);
	assert_int_equal(at_refund(rl, &late, T0 + 4 * RL_SECOND), 0);
	assert_int_equal(check(rl, rule, 1, T0 + 4 * RL_SECOND, NULL), RL_DENIED);
	/* nor is the part of them that has */
	rl_reset(rl, rule, "k", 1);
	assert_int_equal(charge(rl, rule, 4, T0, NULL, &late), RL_ALLOWED);
	assert_int_equal(check(rl, rule, 9, T0 + 3 * RL_SECOND, &r), RL_ALLOWED);
	assert_int_equal(at_refund(rl, &late, T0 + 3 * RL_SECOND), 1);
	assert_int_equal(check(rl, rule, 2, T0 + 3 * RL_SECOND, NULL), RL_DENIED);
	assert_int_equal(check(rl, rule, 1, T0 + 3 * RL_SECOND, NULL), RL_ALLOWED);
	rl_close(rl);
}

/* Burst and rate change for a live key, at once. */
static void
test_quota_can_change(void **state)
{
	struct rl *rl = test_with_ring(1);
	int rule = define(rl, RL_TOKEN_BUCKET, 10, 10 * RL_SECOND, 10, 0);
	struct rl_rule_info info;
	struct rl_result r;

	(void)state;
	check(rl, rule, 8, T0, NULL);
	assert_int_equal(define(rl, RL_TOKEN_BUCKET, 10, 10 * RL_SECOND, 20, 0), rule);
	at_peek(rl, rule, "k", 1, T0, &r);
	assert_int_equal(r.remaining, 12);
	rl_rule_info(rl, rule, &info);
	assert_int_equal(info.limits[0].burst, 20);
	rl_close(rl);
}

static void
test_extremes(void **state)
{
	const uint64_t nows[] = {0, 1, T0, UINT64_MAX >> 1, UINT64_MAX};
	const uint64_t windows[] = {RL_WINDOW_MIN, RL_WINDOW_MAX};

	(void)state;
	for (int w = 0; w < 2; w++) {
		for (int a = 0; a < 3; a++) {
			struct rl *rl = test_with_ring(RL_RING_MAX);
			enum rl_algorithm algorithm = (enum rl_algorithm)(RL_SLIDING_LOG + a);
			uint32_t most =
				algorithm == RL_SLIDING_LOG ? RL_LOG_MAX : RL_CAPACITY_MAX - 1;
			int rule = define(rl, algorithm, most, windows[w], a > 0 ? most : 0, 0);
			for (int i = 0; i < 5; i++) {
				struct rl_result r;
				char key = (char)i;
				assert_int_equal(at_check(rl, rule, &key, 1, most, nows[i], &r),
				                 RL_ALLOWED);
				at_check(rl, rule, &key, 1, most, nows[i], &r);
				assert_int_equal(r.verdict, RL_DENIED);
				assert_true(r.retry_after_ns <= windows[w] + 1 &&
				            r.retry_after_ns > 0);
			}
			rl_close(rl);
		}
	}
}

/* A bucket's tokens are a quotient, at each edge and at random. */
static void
test_tokens_are_a_quotient(void **state)
{
	uint64_t seed = 11;

	(void)state;
	for (int run = 0; run < 300000; run++) {
		uint64_t window =
			RL_WINDOW_MIN + test_random(&seed) % (UINT64_C(1) << test_below(&seed, 56));
		uint32_t capacity =
			1 + (uint32_t)test_below(&seed, UINT64_C(1) << test_below(&seed, 28));
		uint32_t burst =
			1 + (uint32_t)test_below(&seed, UINT64_C(1) << test_below(&seed, 28));
		struct rl_limiter l = {.window_ns = window, .divisor = rl_gcra_divisor(window)};
		struct rl_gcra g =
			rl_gcra_make(window, capacity, rl_gcra_burst(window, capacity, burst));
		const struct rl_quota quota = {.capacity = capacity, .burst = burst};
		struct rl_view v = {.is_zero = false};
		struct rl_decision d;
		rl_wide full = (rl_wide)window * g.burst;
		rl_wide lacks = (rl_wide)window * test_below(&seed, g.burst) + test_below(&seed, 3);

		lacks -= lacks > 0; /* on both sides of a whole number */
		lacks = lacks < full ? lacks : full;
		struct rl_level level = {.ns = T0 + (uint64_t)(lacks / capacity),
		                         .ticks = (uint32_t)(lacks % capacity)};
		v.word = rl_gcra_pack(&g, &level, 0);
		rl_limiter_set(&l, RL_TOKEN_BUCKET);
		const struct rl_ask ask = {.l = &l, .q = &quota, .v = &v, .cost = 1, .now_ns = T0};
		rl_limiter_peek(&ask, &d);
		assert_int_equal(d.remaining, (full - lacks) / window);
	}
}

/*
 * A bucket by definition. Times are fractions of 1 / capacity ns since T0, and nothing is rounded.
 */
struct fraction_bucket {
	uint64_t window_ns;
	uint32_t capacity, burst;
	rl_wide tat;
};

static rl_wide
fraction_short(const struct fraction_bucket *b, uint64_t now_ns)
{
	rl_wide now = (rl_wide)(now_ns - T0) * b->capacity;

	return b->tat > now ? b->tat - now : 0;
}

/* One request, of the library and of the definition: the same in every number. */
static void
expect_same(struct rl *rl, int rule, struct fraction_bucket *b, uint64_t now, uint32_t cost)
{
	rl_wide at = (rl_wide)(now - T0) * b->capacity, lacks = fraction_short(b, now);
	rl_wide full = (rl_wide)b->window_ns * b->burst,
		after = lacks + (rl_wide)b->window_ns * cost;
	struct rl_result r;

	check(rl, rule, cost, now, &r);
	assert_int_equal(r.verdict, after <= full ? RL_ALLOWED : RL_DENIED);
	assert_true(r.retry_after_ns ==
	            (after <= full ? 0 : (after - full + b->capacity - 1) / b->capacity));
	if (after <= full) {
		b->tat = at + after;
		lacks = after;
	}
	assert_int_equal(r.remaining, (full - lacks) / b->window_ns);
	assert_true(r.reset_after_ns == (lacks + b->capacity - 1) / b->capacity);
}

/* By clocks of whole seconds or finer, for long, at rates that divide nothing. */
static void
test_ties_are_exact(void **state)
{
	static const struct {
		uint32_t capacity, seconds;
	} rates[] = {{3, 10},  {7, 60}, {3, 1},       {7, 1},        {30, 1},
	             {3, 128}, {3, 7},  {1000003, 1}, {16777215, 7}, {RL_CAPACITY_MAX - 1, 3}};
	uint64_t seed = 31;

	(void)state;
	for (uint32_t run = 0; run < 60; run++) {
		struct fraction_bucket b = {.window_ns = RL_WINDOW_MIN +
		                                         test_below(&seed, 10 * RL_SECOND),
		                            .capacity = 1 + (uint32_t)test_below(&seed, 1000)};
		if (run % 2) {
			b.capacity = rates[run / 2 % 10].capacity;
			b.window_ns = rates[run / 2 % 10].seconds * RL_SECOND;
		}
		b.burst = run % 3 ? 1 + (uint32_t)test_below(&seed, 20) : b.capacity;
		struct rl *rl = test_with_ring(1);
		int rule = define(rl, RL_TOKEN_BUCKET, b.capacity, b.window_ns, b.burst, 0);
		uint64_t grain = run % 4 < 2 ? RL_SECOND : 1 + test_below(&seed, b.window_ns);
		uint32_t most = 1 + b.burst / 2;
		for (uint64_t i = 0, now = T0; i < 20000; i++) {
			expect_same(rl, rule, &b, now, 1 + (uint32_t)test_below(&seed, most));
			now += test_below(&seed, 3) * grain;
		}
		rl_close(rl);
	}
}

/* Buckets of the longest window, as large as a century fills them. */
static void
test_buckets_of_the_longest_window(void **state)
{
	static const uint32_t capacities[] = {
		1, 2, 3, 1000, 23169, 1000003, RL_CAPACITY_MAX / 91, RL_CAPACITY_MAX};
	const uint64_t grains[] = {1000, RL_SECOND, RL_WINDOW_MAX / 4};
	uint64_t seed = 35;

	(void)state;
	for (uint32_t run = 0; run < 8 * 3; run++) {
		struct fraction_bucket b = {.window_ns = RL_WINDOW_MAX - run / 12,
		                            .capacity = capacities[run % 8]};
		b.burst = rl_gcra_burst(b.window_ns, b.capacity, RL_CAPACITY_MAX) - 1;
		struct rl *rl = test_with_ring(1);
		int rule = define(rl, RL_TOKEN_BUCKET, b.capacity, b.window_ns, b.burst, 0);
		for (uint64_t i = 0, now = T0; i < 500; i++) {
			uint32_t part = 1 + (uint32_t)test_below(&seed, 200);
			expect_same(rl, rule, &b, now,
			            1 + (uint32_t)test_below(&seed, 1 + b.burst / part));
			now += test_below(&seed, grains[run / 8]);
		}
		rl_close(rl);
	}
}

/* Three in ten seconds: all three, and the next three ten seconds later, always. */
static void
test_the_last_token_comes_in_time(void **state)
{
	struct rl *rl = test_with_ring(1);
	int rule = define(rl, RL_TOKEN_BUCKET, 3, 10 * RL_SECOND, 0, 0);
	int queue = rl_define(rl, &(struct rl_rule){.name = "q",
	                                            .limit = {.algorithm = RL_LEAKY_BUCKET,
	                                                      .capacity = 3,
	                                                      .window_ns = 7 * RL_SECOND,
	                                                      .burst = 2}});
	struct rl_result r;

	(void)state;
	for (uint64_t now = T0; now < T0 + 100000 * RL_SECOND; now += 10 * RL_SECOND) {
		for (int i = 0; i < 3; i++)
			assert_int_equal(check(rl, rule, 1, now, NULL), RL_ALLOWED);
		assert_int_equal(check(rl, rule, 3, now, &r), RL_DENIED);
		assert_true(r.retry_after_ns == 10 * RL_SECOND);
	}
	for (uint64_t now = T0; now < T0 + 70000 * RL_SECOND; now += 7 * RL_SECOND) {
		assert_int_equal(check(rl, queue, 3, now, NULL), RL_ALLOWED);
		assert_int_equal(check(rl, queue, 1, now, NULL), RL_DENIED);
	}
	rl_close(rl);
}

/* What one capacity leaves, another finds later by at most a nanosecond, and never earlier. */
static void
test_a_change_of_capacity(void **state)
{
	uint64_t seed = 32;

	(void)state;
	for (int run = 0; run < 300000; run++) {
		uint64_t window = RL_WINDOW_MIN + test_below(&seed, 50 * RL_SECOND);
		uint32_t one = 1 + (uint32_t)test_below(&seed, 23169);
		uint32_t other = run % 2 ? one % 23169 + 1 : 1 + (uint32_t)test_below(&seed, 23169);
		struct rl_gcra from = rl_gcra_make(window, one, one);
		struct rl_gcra to = rl_gcra_make(window, other, other);
		uint32_t ticks = run % 4 < 2 ? one - 1 : (uint32_t)test_below(&seed, one);
		struct rl_level was = {.ns = T0, .ticks = ticks, .ahead = 7, .returned = 5}, is;

		is = rl_gcra_unpack(&to, rl_gcra_pack(&from, &was, 0));
		if (other == one) {
			assert_memory_equal(&is, &was, sizeof is);
			continue;
		}
		assert_true(is.ns == T0 + 1 && is.ticks == 0);
		assert_true(is.ahead == 0 && is.returned == 5);
	}
}

/* The same through the library, for one key of two tiers. */
static void
test_tiers_of_one_key(void **state)
{
	uint64_t seed = 33;

	(void)state;
	for (int run = 0; run < 2000; run++) {
		struct rl *rl = test_with_ring(1);
		uint32_t tiers[] = {1 + (uint32_t)test_below(&seed, 50), 51};
		uint64_t window = RL_SECOND + test_below(&seed, RL_SECOND), now = T0;
		int rule = define(rl, RL_TOKEN_BUCKET, 100, window, 0, 0);
		rl_wide unit = (rl_wide)tiers[0] * tiers[1], tat = 0;
		for (uint64_t i = 1; i <= 100; i++) {
			uint32_t tier = tiers[test_below(&seed, 2)];
			struct rl_item item = {.rule = rule,
			                       .key = "k",
			                       .key_len = 1,
			                       .cost = 1,
			                       .capacity = tier};
			struct rl_result r;
			now += test_below(&seed, window / 40);
			rl_wide at = (rl_wide)(now - T0) * unit;
			if (at_check_item(rl, &item, now, &r) != RL_ALLOWED)
				continue;
			tat = (tat > at ? tat : at) + unit / tier * window;
			rl_wide told = (rl_wide)r.reset_after_ns * unit + at;
			assert_true(told >= tat && told <= tat + (i + 1) * unit);
		}
		rl_close(rl);
	}
}

/*
 * A third of a second is no whole number of nanoseconds: who waits is told to wait until it is
 * over.
 */
static void
test_a_delay_is_rounded_up(void **state)
{
	static const struct rl_limit third = {
		.algorithm = RL_LEAKY_BUCKET, .capacity = 3, .window_ns = RL_SECOND, .burst = 5};
	struct rl_result r;
	struct rl *rl;
	int rule;

	(void)state;
	assert_int_equal(rl_open_private(NULL, &rl), 0);
	rule = rl_define(rl, &(struct rl_rule){.name = "third", .limit = third});
	assert_int_equal(at_check(rl, rule, "k", 1, 1, T0, &r), RL_ALLOWED);
	assert_int_equal(r.delay_ns, 0);
	assert_int_equal(at_check(rl, rule, "k", 1, 1, T0, &r), RL_ALLOWED);
	assert_int_equal(r.delay_ns, 333333334);
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_retry_after_is_exact),
		cmocka_unit_test(test_log_is_exact),
		cmocka_unit_test(test_log_needs_its_ring),
		cmocka_unit_test(test_token_bucket),
		cmocka_unit_test(test_tokens_are_a_quotient),
		cmocka_unit_test(test_ties_are_exact),
		cmocka_unit_test(test_buckets_of_the_longest_window),
		cmocka_unit_test(test_the_last_token_comes_in_time),
		cmocka_unit_test(test_a_change_of_capacity),
		cmocka_unit_test(test_tiers_of_one_key),
		cmocka_unit_test(test_leaky_bucket_like_nginx),
		cmocka_unit_test(test_a_hundred_thousand_a_second),
		cmocka_unit_test(test_rates_that_do_not_divide),
		cmocka_unit_test(test_refund_of_tokens),
		cmocka_unit_test(test_quota_can_change),
		cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_a_delay_is_rounded_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

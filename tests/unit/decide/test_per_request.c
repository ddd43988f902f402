/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a request brings along: a burst of its own; bookings under several rules; giving back by
 * key.
 */
#include <string.h>

#include "at.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define STEP (100 * RL_MILLISECOND)

static int
define(struct rl *rl, const char *name, struct rl_limit limit)
{
	int rule = rl_define(rl, &(struct rl_rule){.name = name, .limit = limit});

	assert_true(rule >= 0);
	return rule;
}

static struct rl_limit
bucket(enum rl_algorithm algorithm, uint32_t burst)
{
	return (struct rl_limit){
		.algorithm = algorithm, .capacity = 10, .window_ns = RL_SECOND, .burst = burst};
}

static struct rl_item
item(int rule, uint64_t cost)
{
	return (struct rl_item){.rule = rule, .key = "k", .key_len = 1, .cost = cost};
}

static struct rl_item
with_burst(int rule, uint32_t burst, uint32_t undelayed)
{
	struct rl_item i = item(rule, 1);

	i.burst = burst;
	i.undelayed = undelayed;
	i.flags = RL_ITEM_BURST | RL_ITEM_UNDELAYED;
	return i;
}

static uint32_t
used_at(struct rl *rl, const struct rl_item *as, uint64_t now)
{
	struct rl_item peek = *as;
	struct rl_result r;

	peek.cost = 0;
	at_check_item(rl, &peek, now, &r);
	return r.used;
}

/* One rate, and each place that asks has a burst of its own: the queue is one for all of them. */
static void
test_one_rate_many_bursts(void **state)
{
	struct rl *rl = test_private(20);
	int rule = define(rl, "zone", bucket(RL_LEAKY_BUCKET, 3));
	uint64_t seed = 3, now = T0, tat = 0;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		uint32_t burst = (uint32_t)test_below(&seed, 6);
		uint32_t undelayed = (uint32_t)test_below(&seed, burst + 1);
		struct rl_item it = with_burst(rule, burst, undelayed);
		uint64_t queue, skipped = undelayed * STEP;
		struct rl_result r;
		now += test_below(&seed, 2 * STEP);
		queue = tat > now ? tat - now : 0;
		at_check_item(rl, &it, now, &r);
		assert_int_equal(r.limit, burst + 1);
		if (queue > burst * STEP) {
			assert_int_equal(r.verdict, RL_DENIED);
			assert_int_equal(r.retry_after_ns, queue - burst * STEP);
			continue;
		}
		assert_int_equal(r.verdict, RL_ALLOWED);
		assert_int_equal(r.delay_ns, queue > skipped ? queue - skipped : 0);
		tat = now + queue + STEP;
	}
	rl_close(rl);
}

/* Without the flag it is the rule's, whatever the fields say; with it, 0 is 0. */
static void
test_only_what_is_flagged(void **state)
{
	struct rl *rl = test_private(20);
	int rule = define(rl, "zone", bucket(RL_LEAKY_BUCKET, 3));
	struct rl_item it = with_burst(rule, 0, 0);
	struct rl_result r;

	(void)state;
	it.cost = 0;
	at_check_item(rl, &it, T0, &r);
	assert_int_equal(r.limit, 1);
	it.flags = 0;
	at_check_item(rl, &it, T0, &r);
	assert_int_equal(r.limit, 4);
	it.flags = RL_ITEM_UNDELAYED;
	it.undelayed = 3;
	at_check_item(rl, &it, T0, &r);
	assert_int_equal(r.verdict, RL_ALLOWED);
	rl_close(rl);
}

static void
expect_invalid(struct rl *rl, struct rl_item it)
{
	struct rl_result r;

	assert_int_equal(at_check_item(rl, &it, T0, &r), RL_UNDECIDED);
	assert_int_equal(r.error, -EINVAL);
	at_check_many(rl, &it, 1, T0, &r);
	assert_int_equal(r.error, -EINVAL);
}

static void
test_what_cannot_be(void **state)
{
	struct rl *rl = test_private(20);
	int zone = define(rl, "zone", bucket(RL_LEAKY_BUCKET, 3));
	int tokens = define(rl, "tokens", bucket(RL_TOKEN_BUCKET, 3));
	int window = test_rule(rl, "window", 3, RL_SECOND, 1, true);
	struct rl_item it;

	(void)state;
	expect_invalid(rl, with_burst(window, 1, 0));
	expect_invalid(rl, with_burst(zone, 2, 3));
	expect_invalid(rl, with_burst(zone, RL_CAPACITY_MAX, 0));
	expect_invalid(rl, with_burst(tokens, 2, 1)); /* it has no queue */
	it = item(zone, 1);
	it.flags = 2 * RL_ITEM_SLEEPS; /* no flag */
	expect_invalid(rl, it);
	assert_int_equal(rl_fill(rl), 0);
	rl_close(rl);
}

/* Of tokens it is what the bucket holds; the administrator's word for a key stands. */
static void
test_tokens(void **state)
{
	struct rl *rl = test_private(20);
	struct rl_limit limit = bucket(RL_TOKEN_BUCKET, 3);
	struct rl_override vip = {.pattern = {.key = "vip", .key_len = 3}, .capacity = {7}};
	struct rl_config_rule config = {
		.rule = {.name = "tokens", .limit = limit}, .overrides = &vip, .override_count = 1};
	struct rl_config_outcome outcome;
	struct rl_item it = item(define(rl, "tokens", limit), 0);
	struct rl_result r;

	(void)state;
	it.flags = RL_ITEM_BURST;
	it.burst = 5;
	at_check_item(rl, &it, T0, &r);
	assert_int_equal(r.limit, 5);
	it.burst = 0;
	at_check_item(rl, &it, T0, &r);
	assert_int_equal(r.limit, 10);
	it.capacity = 20;
	at_check_item(rl, &it, T0, &r);
	assert_int_equal(r.limit, 20);
	assert_int_equal(rl_configure(rl, &config, 1, 0, NULL, &outcome), 0);
	it.key = "vip";
	it.key_len = 3;
	it.burst = 5;
	at_check_item(rl, &it, T0, &r);
	assert_int_equal(r.limit, 7);
	rl_close(rl);
}

/* All or nothing, each with its own time; what one cannot book is booked nowhere. */
static void
test_bookings_of_several_rules(void **state)
{
	struct rl *rl = test_private(20);
	const struct rl_item items[] = {item(define(rl, "a", bucket(RL_TOKEN_BUCKET, 5)), 4),
	                                item(define(rl, "b", bucket(RL_LEAKY_BUCKET, 9)), 1)};
	struct rl_result r[2];
	size_t decided;

	(void)state;
	assert_int_equal(at_reserve_all(rl, items, 2, 3 * STEP, T0, r, &decided), RL_ALLOWED);
	assert_int_equal(r[0].delay_ns, 0);
	assert_int_equal(at_reserve_all(rl, items, 2, 3 * STEP, T0, r, &decided), RL_ALLOWED);
	assert_int_equal(decided, 2);
	assert_int_equal(r[0].delay_ns, 3 * STEP);
	assert_int_equal(r[1].delay_ns, STEP);
	assert_int_equal(at_reserve_all(rl, items, 2, 3 * STEP, T0, r, &decided), RL_DENIED);
	assert_int_equal(decided, 0);
	assert_int_equal(r[0].retry_after_ns, 4 * STEP);
	assert_int_equal(used_at(rl, &items[1], T0), 2);
	rl_close(rl);
}

static void
test_several_rules_with_bursts(void **state)
{
	struct rl *rl = test_private(20);
	struct rl_item items[] = {with_burst(define(rl, "a", bucket(RL_LEAKY_BUCKET, 0)), 5, 0),
	                          with_burst(define(rl, "b", bucket(RL_LEAKY_BUCKET, 0)), 2, 0)};
	size_t decided;

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(at_check_all(rl, items, 2, T0, NULL, NULL), RL_ALLOWED);
	assert_int_equal(at_check_all(rl, items, 2, T0, NULL, &decided), RL_DENIED);
	assert_int_equal(decided, 1);
	assert_int_equal(used_at(rl, &items[0], T0), 3);
	rl_close(rl);
}

/* Never below what is there: what is given back and what is used are what was charged. */
static void
test_given_back_by_key(void **state)
{
	uint64_t seed = 11;

	(void)state;
	for (int run = 0; run < 600; run++) {
		struct rl *rl = test_with_ring(128);
		enum rl_algorithm algorithm = (enum rl_algorithm)(run % test_algorithm_count());
		struct rl_limit limit = bucket(algorithm, 0);
		limit.capacity = 60;
		limit.window_ns = 60 * RL_SECOND;
		if (rl_algorithm_info(algorithm)->flags & RL_HAS_UNDELAYED)
			limit.burst = 59;
		int rule = define(rl, "r", limit);
		uint32_t used = 0;
		for (int i = 0; i < 40; i++) { /* all at one time */
			struct rl_item it = item(rule, 1 + test_below(&seed, 9));
			if (test_below(&seed, 2) == 0) {
				used += at_check_item(rl, &it, T0, NULL) == RL_ALLOWED
				                ? (uint32_t)it.cost
				                : 0;
			} else {
				int given = at_refund_key(rl, &it, T0);
				assert_int_equal(given, it.cost < used ? it.cost : used);
				used -= (uint32_t)given;
			}
			assert_int_equal(
				used_at(rl,
			                &(struct rl_item){.rule = rule, .key = "k", .key_len = 1},
			                T0),
				used);
		}
		rl_close(rl);
	}
}

/* A sub-bucket that is over keeps what it holds; so does a log's earlier time. */
static void
test_what_is_over_stays(void **state)
{
	struct rl *rl = test_private(20);
	struct rl_item window = item(test_rule(rl, "window", 9, 10 * RL_SECOND, 10, true), 5);
	struct rl_item log = item(define(rl, "log",
	                                 (struct rl_limit){.algorithm = RL_SLIDING_LOG,
	                                                   .capacity = 9,
	                                                   .window_ns = 10 * RL_SECOND}),
	                          2);

	(void)state;
	at_check_item(rl, &window, T0, NULL);
	assert_int_equal(at_refund_key(rl, &window, T0 + RL_SECOND), 0);
	assert_int_equal(used_at(rl, &window, T0 + RL_SECOND), 5);
	at_check_item(rl, &log, T0, NULL);
	at_check_item(rl, &log, T0 + 1, NULL);
	log.cost = 9;
	assert_int_equal(at_refund_key(rl, &log, T0 + 2), 2);
	assert_int_equal(at_refund_key(rl, &log, T0 + 2), 0);
	assert_int_equal(used_at(rl, &log, T0 + 2), 2);
	rl_close(rl);
}

static void
test_errors_by_key(void **state)
{
	struct rl *rl = test_private(20);
	struct rl_item it = item(test_rule(rl, "r", 9, RL_SECOND, 1, true), 1);

	(void)state;
	assert_int_equal(rl_refund_key(rl, &(struct rl_item){.rule = it.rule,
	                                                     .key = "nobody",
	                                                     .key_len = 6,
	                                                     .cost = 1}),
	                 0);
	assert_int_equal(
		rl_refund_key(
			rl, &(struct rl_item){.rule = it.rule, .key = "", .key_len = 0, .cost = 1}),
		RL_EEMPTY);
	assert_int_equal(
		rl_refund_key(rl,
	                      &(struct rl_item){.rule = 77, .key = "k", .key_len = 1, .cost = 1}),
		-EINVAL);
	assert_int_equal(
		rl_refund_key(rl, &(struct rl_item){.rule = rl_define_counters(rl, "space"),
	                                            .key = "k",
	                                            .key_len = 1,
	                                            .cost = 1}),
		-EINVAL);
	it.cost = (uint64_t)RL_CAPACITY_MAX + 1;
	assert_int_equal(at_refund_key(rl, &it, T0), -EINVAL);
	assert_int_equal(test_counter(rl, it.rule, RL_COUNT_refunded), 0);
	rl_check(rl, it.rule, "k", 1, 3, NULL);
	assert_int_equal(
		rl_refund_key(
			rl,
			&(struct rl_item){.rule = it.rule, .key = "k", .key_len = 1, .cost = 0}),
		0);
	rl_close(rl);
}

/* Whoever waits keeps his time, which cannot be given to another as well. */
static void
test_a_booked_time_stays(void **state)
{
	struct rl *rl = test_private(20);
	struct rl_item it = item(define(rl, "tokens", bucket(RL_TOKEN_BUCKET, 2)), 2);
	struct rl_charges c;

	(void)state;
	it.charges = &c;
	at_check_item(rl, &it, T0, NULL);
	assert_int_equal(at_reserve_item(rl, &it, RL_SECOND, T0, NULL), RL_ALLOWED);
	assert_int_equal(at_refund_key(rl, &it, T0), 0);
	assert_int_equal(at_refund(rl, &c, T0), 1);
	rl_close(rl);
}

/* A tier's bucket takes back at the tier's price alone. */
static void
test_a_tier_gives_back_as_one(void **state)
{
	struct rl *rl = test_private(20);
	struct rl_item gold = item(define(rl, "tokens", bucket(RL_TOKEN_BUCKET, 10)), 7);

	(void)state;
	gold.capacity = 100;
	at_check_item(rl, &gold, T0, NULL);
	assert_int_equal(
		rl_refund_key(
			rl,
			&(struct rl_item){.rule = gold.rule, .key = "k", .key_len = 1, .cost = 7}),
		0);
	assert_int_equal(at_refund_key(rl, &gold, T0), 7);
	assert_int_equal(used_at(rl, &gold, T0), 0);
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_rate_many_bursts),
		cmocka_unit_test(test_only_what_is_flagged),
		cmocka_unit_test(test_what_cannot_be),
		cmocka_unit_test(test_tokens),
		cmocka_unit_test(test_bookings_of_several_rules),
		cmocka_unit_test(test_several_rules_with_bursts),
		cmocka_unit_test(test_given_back_by_key),
		cmocka_unit_test(test_what_is_over_stays),
		cmocka_unit_test(test_errors_by_key),
		cmocka_unit_test(test_a_booked_time_stays),
		cmocka_unit_test(test_a_tier_gives_back_as_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

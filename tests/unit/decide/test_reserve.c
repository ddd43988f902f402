/* SPDX-License-Identifier: BSD-2-Clause */
/* Booking ahead, and counting again what was dumped. */
#include <errno.h>
#include <string.h>

#include "at.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)

static int
bucket(struct rl *rl, enum rl_algorithm algorithm, uint32_t per_second, uint32_t burst)
{
	int rule = rl_define(rl, &(struct rl_rule){.name = "b",
	                                           .limit = {.algorithm = algorithm,
	                                                     .capacity = per_second,
	                                                     .window_ns = RL_SECOND,
	                                                     .burst = burst}});

	assert_true(rule >= 0);
	return rule;
}

static enum rl_verdict
reserve(struct rl *rl, int rule, uint64_t cost, uint64_t max_wait_ns, uint64_t now,
        struct rl_result *r)
{
	return at_reserve(rl, rule, "k", 1, cost, max_wait_ns, now, r);
}

static void
test_tokens_ahead(void **state)
{
	struct rl *rl = test_private(10);
	int rule = bucket(rl, RL_TOKEN_BUCKET, 10, 5);
	struct rl_result r;

	(void)state;
	assert_int_equal(reserve(rl, rule, 4, 0, T0, &r), RL_ALLOWED); /* there already */
	assert_true(r.delay_ns == 0);
	assert_int_equal(r.remaining, 1);
	assert_int_equal(reserve(rl, rule, 3, RL_SECOND, T0, &r), RL_ALLOWED); /* lacks two */
	assert_true(r.delay_ns == 200 * RL_MILLISECOND);
	assert_int_equal(r.remaining, 0);
	assert_int_equal(reserve(rl, rule, 5, RL_SECOND, T0, &r), RL_ALLOWED); /* in the queue */
	assert_true(r.delay_ns == 700 * RL_MILLISECOND);
	/* too long to wait: nothing is booked, and retry_after says when it is short enough */
	assert_int_equal(reserve(rl, rule, 5, RL_SECOND, T0, &r), RL_DENIED);
	assert_true(r.retry_after_ns == 200 * RL_MILLISECOND);
	assert_int_equal(reserve(rl, rule, 5, RL_SECOND, T0 + r.retry_after_ns - 1, &r), RL_DENIED);
	assert_int_equal(reserve(rl, rule, 5, RL_SECOND, T0 + 200 * RL_MILLISECOND, &r),
	                 RL_ALLOWED);
	assert_true(r.delay_ns == RL_SECOND);
	/* others find it spent: 1.2 s of tokens are booked */
	assert_int_equal(at_check(rl, rule, "k", 1, 1, T0 + 1299 * RL_MILLISECOND, &r), RL_DENIED);
	assert_int_equal(at_check(rl, rule, "k", 1, 1, T0 + 1300 * RL_MILLISECOND, &r), RL_ALLOWED);
	assert_int_equal(reserve(rl, rule, 6, RL_NEVER_NS, T0, &r), RL_NEVER);
	rl_close(rl);
}

static void
test_a_booking_given_back(void **state)
{
	struct rl *rl = test_private(10);
	int rule = bucket(rl, RL_TOKEN_BUCKET, 10, 5);
	struct rl_charges booked;
	const struct rl_item item = {
		.rule = rule, .key = "k", .key_len = 1, .cost = 5, .charges = &booked};
	struct rl_result r;

	(void)state;
	assert_int_equal(reserve(rl, rule, 5, 0, T0, &r), RL_ALLOWED);
	assert_int_equal(at_reserve_item(rl, &item, RL_SECOND, T0, &r), RL_ALLOWED);
	assert_true(r.delay_ns == 500 * RL_MILLISECOND);
	assert_int_equal(at_refund(rl, &booked, T0), 1);
	assert_int_equal(reserve(rl, rule, 5, RL_SECOND, T0, &r), RL_ALLOWED);
	assert_true(r.delay_ns == 500 * RL_MILLISECOND);
	rl_close(rl);
}

/* A queue: its place in it is what a booking waits for, whatever `burst` lets others wait. */
static void
test_the_queue_ahead(void **state)
{
	struct rl *rl = test_private(10);
	int rule = bucket(rl, RL_LEAKY_BUCKET, 10, 2);
	struct rl_result r;

	(void)state;
	for (uint64_t i = 0; i < 10; i++) {
		assert_int_equal(reserve(rl, rule, 1, RL_SECOND, T0, &r), RL_ALLOWED);
		assert_true(r.delay_ns == i * 100 * RL_MILLISECOND);
	}
	assert_int_equal(reserve(rl, rule, 1, RL_SECOND, T0, &r), RL_ALLOWED);
	assert_true(r.delay_ns == RL_SECOND);
	assert_int_equal(reserve(rl, rule, 1, RL_SECOND, T0, &r), RL_DENIED);
	assert_true(r.retry_after_ns == 100 * RL_MILLISECOND);
	assert_int_equal(at_check(rl, rule, "k", 1, 1, T0, &r), RL_DENIED);
	rl_close(rl);
}

/* A queue of which some need not wait: who would not wait at all books what a check allows. */
static void
test_a_booking_without_a_wait(void **state)
{
	struct rl *rl = test_private(10);
	int rule = rl_define(rl, &(struct rl_rule){.name = "b",
	                                           .limit = {.algorithm = RL_LEAKY_BUCKET,
	                                                     .capacity = 10,
	                                                     .window_ns = RL_SECOND,
	                                                     .burst = 10,
	                                                     .undelayed = 10}});
	struct rl_result r;

	(void)state;
	assert_int_equal(reserve(rl, rule, 10, 0, T0, &r), RL_ALLOWED);
	assert_true(r.delay_ns == 0);
	assert_int_equal(reserve(rl, rule, 11, 0, T0, &r), RL_DENIED);
	assert_true(r.retry_after_ns == RL_SECOND);
	assert_int_equal(at_check(rl, rule, "k", 1, 11, T0, &r), RL_DENIED);
	/* it goes when a check would have let it go */
	assert_int_equal(reserve(rl, rule, 5, RL_SECOND, T0, &r), RL_ALLOWED);
	assert_true(r.delay_ns == 400 * RL_MILLISECOND);
	rl_close(rl);
}

/* However slow a tier makes a long queue, what is booked stays booked. */
static void
test_a_booking_far_ahead(void **state)
{
	struct rl *rl = test_private(10);
	int rule = rl_define(rl, &(struct rl_rule){.name = "b",
	                                           .limit = {.algorithm = RL_LEAKY_BUCKET,
	                                                     .capacity = RL_CAPACITY_MAX,
	                                                     .window_ns = RL_WINDOW_MAX,
	                                                     .burst = RL_CAPACITY_MAX - 2,
	                                                     .undelayed = RL_CAPACITY_MAX - 2}});
	const struct rl_item item = {
		.rule = rule, .key = "k", .key_len = 1, .cost = 80, .capacity = 1};
	struct rl_result r;

	(void)state;
	assert_int_equal(at_reserve_item(rl, &item, 0, T0, &r), RL_ALLOWED);
	for (int i = 0; i < 20; i++)
		assert_int_equal(at_reserve_item(rl, &item, 0, T0, &r), RL_DENIED);
	rl_close(rl);
}

/* Whatever was booked, no more is let through by any time than the rate and the burst allow. */
static void
test_bookings_keep_the_rate(void **state)
{
	uint64_t seed = 11;

	(void)state;
	for (int round = 0; round < 100; round++) {
		struct rl *rl = test_private(10);
		bool is_leaky = test_below(&seed, 2);
		uint32_t rate = (uint32_t)(1 + test_below(&seed, 50));
		uint32_t burst = (uint32_t)(1 + test_below(&seed, 10));
		int rule = bucket(rl, is_leaky ? RL_LEAKY_BUCKET : RL_TOKEN_BUCKET, rate, burst);
		uint64_t now = T0, through = 0, last = 0;
		struct rl_result r;

		for (int i = 0; i < 200; i++) {
			now += test_below(&seed, RL_SECOND / 20);
			uint64_t wait = test_below(&seed, 3 * RL_SECOND);
			uint64_t cost = 1 + test_below(&seed, burst);
			if (reserve(rl, rule, cost, wait, now, &r) != RL_ALLOWED) {
				assert_int_equal(r.verdict, RL_DENIED);
				assert_int_equal(reserve(rl, rule, cost, wait,
				                         now + r.retry_after_ns - 1, &r),
				                 RL_DENIED);
				continue;
			}
			assert_true(r.delay_ns <= wait);
			assert_true(now + r.delay_ns >= last); /* first come, first served */
			last = now + r.delay_ns;
			/* a leaky bucket lets a request go when those before it are through */
			uint64_t had = is_leaky ? through : through + cost;
			through += cost;
			assert_true((unsigned __int128)had * RL_SECOND <=
			            (unsigned __int128)(last - T0) * rate +
			                    (is_leaky ? 0 : (uint64_t)burst * RL_SECOND));
		}
		rl_close(rl);
	}
}

static void
test_what_cannot_be_booked(void **state)
{
	struct rl *rl = test_private(10);
	int rule = test_rule(rl, "w", 5, RL_SECOND, 4, false);
	const struct rl_limit more = {.capacity = 5, .window_ns = RL_SECOND};
	struct rl_result r;

	(void)state;
	assert_int_equal(reserve(rl, rule, 1, RL_SECOND, T0, &r), RL_UNDECIDED);
	assert_int_equal(r.error, -EINVAL);
	rule = rl_define(rl, &(struct rl_rule){.name = "mixed",
	                                       .limit = {.algorithm = RL_TOKEN_BUCKET,
	                                                 .capacity = 5,
	                                                 .window_ns = RL_SECOND},
	                                       .more = &more,
	                                       .more_count = 1});
	assert_int_equal(reserve(rl, rule, 1, RL_SECOND, T0, &r), RL_UNDECIDED);
	assert_int_equal(rl_fill(rl), 0);
	rl_close(rl);
}

/* The slower of two buckets says how long to wait; what either denies is booked in neither. */
static void
test_booking_two_buckets(void **state)
{
	struct rl *rl = test_private(10);
	const struct rl_limit slow = {.algorithm = RL_TOKEN_BUCKET,
	                              .capacity = 60,
	                              .window_ns = 60 * RL_SECOND,
	                              .burst = 4};
	int rule = rl_define(rl, &(struct rl_rule){.name = "two",
	                                           .limit = {.algorithm = RL_TOKEN_BUCKET,
	                                                     .capacity = 10,
	                                                     .window_ns = RL_SECOND,
	                                                     .burst = 2},
	                                           .more = &slow,
	                                           .more_count = 1});
	struct rl_result r;

	(void)state;
	assert_int_equal(reserve(rl, rule, 2, RL_SECOND, T0, &r), RL_ALLOWED);
	assert_int_equal(reserve(rl, rule, 2, RL_SECOND, T0, &r), RL_ALLOWED);
	assert_true(r.delay_ns == 200 * RL_MILLISECOND);
	assert_int_equal(reserve(rl, rule, 1, RL_SECOND, T0, &r), RL_ALLOWED);
	assert_true(r.delay_ns == RL_SECOND);
	assert_int_equal(reserve(rl, rule, 1, RL_SECOND, T0, &r), RL_DENIED);
	assert_int_equal(r.index, 1);
	assert_true(r.retry_after_ns == RL_SECOND);
	assert_int_equal(reserve(rl, rule, 1, RL_SECOND, T0 + RL_SECOND, &r), RL_ALLOWED);
	rl_close(rl);
}

/* What one segment tells of a key. */
struct dump {
	size_t charge_entries;
	struct rl_charge_entry charge_entry[RL_LOG_MAX + 1];
	uint32_t used;
};

static int
dump(const struct rl_entry *e, void *arg)
{
	struct dump *d = arg;

	d->charge_entries = e->charge_entries;
	memcpy(d->charge_entry, e->charge_entry, e->charge_entries * sizeof d->charge_entry[0]);
	d->used = e->used;
	return 0;
}

/* Spend, of a bucket also ahead, and give back. */
static void
spend(struct rl *rl, const struct rl_limit *l, uint64_t now, uint64_t *seed)
{
	bool is_bucket = l->algorithm == RL_TOKEN_BUCKET || l->algorithm == RL_LEAKY_BUCKET;
	uint64_t cost = 1 + test_below(seed, 3);
	struct rl_result r;

	if (is_bucket && test_below(seed, 3) == 0)
		at_reserve(rl, 0, "k", 1, cost, 2 * RL_SECOND, now, &r);
	else
		at_check(rl, 0, "k", 1, cost, now, &r);
	if (r.verdict == RL_ALLOWED && test_below(seed, 4) == 0)
		at_refund_key(rl, &(struct rl_item){.rule = 0, .key = "k", .key_len = 1, .cost = 1},
		              now);
}

/* Dumped here and counted again there, at once or later, a key is as it was; never freer. */
static void
test_dump_and_restore(void **state)
{
	uint64_t seed = 5;

	(void)state;
	for (int round = 0; round < 500; round++) {
		struct rl *one = test_private(10), *two = test_private(10);
		struct rl_limit l = {.algorithm = (enum rl_algorithm)test_below(&seed, 6),
		                     .capacity = (uint32_t)(1 + test_below(&seed, 32)),
		                     .window_ns = RL_SECOND + test_below(&seed, 10 * RL_SECOND)};
		if (l.algorithm == RL_SLIDING_WINDOW) {
			l.granularity = (uint32_t)(1 + test_below(&seed, 12));
			l.hard = (int)test_below(&seed, 2);
		}
		if (l.algorithm == RL_LEAKY_BUCKET)
			l.burst = (uint32_t)test_below(&seed, 30);
		const struct rl_rule rule = {.name = "r", .limit = l};
		assert_int_equal(rl_define(one, &rule), 0);
		assert_int_equal(rl_define(two, &rule), 0);
		uint64_t now = T0;
		for (int i = 0; i < 60; i++) {
			now += test_below(&seed, RL_SECOND);
			spend(one, &l, now, &seed);
		}
		static struct dump d, again;
		memset(&d, 0, sizeof d);
		memset(&again, 0, sizeof again);
		int there = rl_lookup(one, 0, "k", 1, now, dump, &d);
		for (size_t i = 0; i < d.charge_entries; i++)
			assert_int_equal(rl_restore_at(two, 0, 0, "k", 1, d.charge_entry[i].cost,
			                               d.charge_entry[i].at_ns),
			                 0);
		if (there == 0 && d.charge_entries > 0) {
			assert_int_equal(rl_lookup(two, 0, "k", 1, now, dump, &again), 0);
			assert_int_equal(again.used, d.used);
			assert_int_equal(again.charge_entries, d.charge_entries);
			assert_memory_equal(again.charge_entry, d.charge_entry,
			                    d.charge_entries * sizeof d.charge_entry[0]);
		}
		for (int i = 0; i < 20; i++) {
			struct rl_result a, b;
			now += test_below(&seed, RL_SECOND);
			at_peek(one, 0, "k", 1, now, &a);
			at_peek(two, 0, "k", 1, now, &b);
			assert_true(b.remaining <= a.remaining);
			assert_true(b.remaining + 1 >= a.remaining); /* part of a token */
		}
		rl_close(one);
		rl_close(two);
	}
}

/* What a bucket owes beyond all that can be counted is dumped as the most that can be restored. */
static void
test_a_debt_beyond_all_is_dumped(void **state)
{
	const struct rl_rule rule = {.name = "r",
	                             .limit = {.algorithm = RL_TOKEN_BUCKET,
	                                       .capacity = 1000000,
	                                       .window_ns = RL_SECOND}};
	struct rl *one = test_private(10), *two = test_private(10);
	struct rl_charges charges[2];
	static struct dump d;
	struct rl_result r;

	(void)state;
	assert_int_equal(rl_define(one, &rule), 0);
	assert_int_equal(rl_define(two, &rule), 0);
	for (int i = 0; i < 2; i++)
		at_check_item(one,
		              &(struct rl_item){
				      .key = "k", .key_len = 1, .cost = 1, .charges = &charges[i]},
		              T0, &r);
	assert_int_equal(at_settle(one, &charges[0], RL_CAPACITY_MAX, T0), 1);
	assert_int_equal(rl_lookup(one, 0, "k", 1, T0, dump, &d), 0);
	assert_int_equal(d.charge_entries, 1);
	assert_int_equal(d.charge_entry[0].cost, RL_CAPACITY_MAX - 1);
	assert_int_equal(rl_restore_at(two, 0, 0, "k", 1, d.charge_entry[0].cost, T0), 0);
	rl_close(one);
	rl_close(two);
}

/*
 * What finds no slot is counted in an overflow counter, and said to be; under a limit that is only
 * tried out, too.
 */
static void
test_restored_into_a_full_table(void **state)
{
	(void)state;
	for (int shadow = 0; shadow < 2; shadow++) {
		struct rl *rl = test_private(10);
		struct rl_limit l = {.capacity = 9, .window_ns = RL_SECOND, .shadow = shadow};
		struct rl_result r;
		uint64_t in_cells = 0;
		assert_int_equal(rl_define(rl, &(struct rl_rule){.name = "r", .limit = l}), 0);
		for (unsigned i = 0; i < 1000; i++) {
			int done = rl_restore_at(rl, 0, 0, &i, sizeof i, 3, T0);
			assert_true(done == 0 || done == RL_RESTORED_IN_OVERFLOW);
			in_cells += done == RL_RESTORED_IN_OVERFLOW;
			at_peek(rl, 0, &i, sizeof i, T0, &r);
			assert_true(r.remaining <= 6);
		}
		assert_in_range(in_cells, 1, 1000 - 10);
		rl_close(rl);
	}
}

static void
test_what_cannot_be_restored(void **state)
{
	struct rl *rl = test_private(10);
	int rule = test_rule(rl, "r", 5, RL_SECOND, 4, false);

	(void)state;
	assert_int_equal(rl_restore_at(rl, rule, 1, "k", 1, 1, T0), -EINVAL);
	assert_int_equal(rl_restore_at(rl, rule + 1, 0, "k", 1, 1, T0), -EINVAL);
	assert_int_equal(rl_restore_at(rl, rule, 0, "k", 1, 0, T0), -EINVAL);
	assert_int_equal(rl_restore_at(rl, rule, 0, "", 0, 1, T0), -EINVAL);
	assert_int_equal(rl_restore_at(rl, rule, 0, "k", 1, UINT64_MAX, T0), -EINVAL);
	/* nor does a shadow limit hide that it was not */
	int shadow = rl_define(
		rl,
		&(struct rl_rule){.name = "s",
	                          .limit = {.capacity = 5, .window_ns = RL_SECOND, .shadow = 1}});
	assert_int_equal(rl_restore_at(rl, shadow, 0, "k", 1, UINT64_MAX, T0), -EINVAL);
	assert_int_equal(rl_restore_at(rl, shadow, 0, "k", 1, 50, T0), 0);
	/* more than the capacity by now is counted all the same */
	assert_int_equal(rl_restore_at(rl, rule, 0, "k", 1, 50, T0), 0);
	assert_int_equal(at_check(rl, rule, "k", 1, 1, T0, NULL), RL_DENIED);
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tokens_ahead),
		cmocka_unit_test(test_a_booking_given_back),
		cmocka_unit_test(test_the_queue_ahead),
		cmocka_unit_test(test_a_booking_without_a_wait),
		cmocka_unit_test(test_a_booking_far_ahead),
		cmocka_unit_test(test_bookings_keep_the_rate),
		cmocka_unit_test(test_what_cannot_be_booked),
		cmocka_unit_test(test_booking_two_buckets),
		cmocka_unit_test(test_dump_and_restore),
		cmocka_unit_test(test_a_debt_beyond_all_is_dumped),
		cmocka_unit_test(test_restored_into_a_full_table),
		cmocka_unit_test(test_what_cannot_be_restored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is given back to a bucket. Whatever is charged, booked and given back, in whatever order
 * and by whatever clocks: what counts of any span of time is never more than the burst and what
 * the rate gave. Judged by the definition, in whole ticks.
 */
#include <stdlib.h>
#include <string.h>

#include "algorithm/gcra.h"
#include "algorithm/ops.h"
#include "at.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define CHARGES 80

/* A charge as its caller knows it. */
struct charge {
	uint64_t at;   /* when it goes */
	uint64_t cost; /* what counts of it, as the time it takes to come back */
	uint64_t now_ns;
	int tier;
	uint32_t tokens;
	uint64_t charged_ns;
	uint32_t memory;
	bool is_given;
};

/* A bucket of two tiers, and all that was charged to it. Times are in `unit`ths of 1 ns from T0. */
struct story {
	struct rl_limiter limiter;
	struct rl_gcra tier[2];
	uint64_t unit; /* a multiple of both capacities */
	struct rl_u128 word;
	struct charge charge[CHARGES];
	uint32_t charges;
	uint64_t given;
};

static struct rl_level
level_of(const struct story *y, int tier)
{
	return y->word.lo > 0 ? rl_gcra_unpack(&y->tier[tier], y->word) : (struct rl_level){0};
}

static uint64_t
tat_of(const struct story *y, int tier)
{
	struct rl_level level = level_of(y, tier);

	if (level.ns < T0)
		return 0;
	return (level.ns - T0) * y->unit + level.ticks * (y->unit / y->tier[tier].capacity);
}

static uint64_t
full_of(const struct story *y, int tier)
{
	return y->tier[tier].window_ns * (y->unit / y->tier[tier].capacity) * y->tier[tier].burst;
}

static int
by_time(const void *a, const void *b)
{
	const struct charge *p = a, *q = b;

	return p->at < q->at ? -1 : p->at > q->at;
}

/* No span over the burst and the rate. */
static void
judge(const struct story *y, uint64_t run)
{
	uint64_t full = full_of(y, 0) > full_of(y, 1) ? full_of(y, 0) : full_of(y, 1);
	struct charge c[CHARGES];

	memcpy(c, y->charge, sizeof c);
	qsort(c, y->charges, sizeof c[0], by_time);
	for (uint32_t from = 0; from < y->charges; from++) {
		uint64_t sum = 0;
		for (uint32_t to = from; to < y->charges; to++) {
			sum += c[to].cost;
			if (sum > full + (c[to].at - c[from].at))
				fail_msg("run %llu: too much from charge %u to %u",
				         (unsigned long long)run, from, to);
		}
	}
}

static void
take(struct story *y, int tier, uint64_t now_ns, uint32_t tokens, uint64_t max_wait_ns)
{
	const struct rl_quota quota = {.capacity = y->tier[tier].capacity,
	                               .burst = y->tier[tier].burst,
	                               .is_booking = true,
	                               .max_wait_ns = max_wait_ns};
	const struct rl_view v = {.word = y->word, .is_zero = y->word.lo == 0};
	struct charge *c = &y->charge[y->charges];
	uint64_t full = full_of(y, tier), tat;
	const struct rl_ask ask = {.l = &y->limiter,
	                           .q = &quota,
	                           .v = &v,
	                           .cost = tokens,
	                           .is_asked = true,
	                           .now_ns = now_ns};
	struct rl_plan plan;

	if (y->charges == CHARGES)
		return;
	rl_limiter_decide(&ask, &plan);
	if (!plan.charges)
		return;
	y->word = plan.next;
	y->charges++;
	*c = (struct charge){.at = (now_ns - T0) * y->unit,
	                     .cost = full / quota.burst * tokens,
	                     .now_ns = now_ns,
	                     .tier = tier,
	                     .tokens = tokens,
	                     .charged_ns = plan.charge_id,
	                     .memory = plan.memory};
	tat = tat_of(y, tier);
	if (tat > full + c->at)
		c->at = tat - full;
}

/* How much of charge i was given back. */
static uint64_t
give(struct story *y, uint32_t i, uint64_t now_ns)
{
	struct charge *c = &y->charge[i];
	struct rl_level level = level_of(y, c->tier), next;
	uint64_t before = tat_of(y, c->tier), back;

	if (c->is_given)
		return 0;
	c->is_given = true;
	if (!rl_gcra_give(&y->tier[c->tier], &level, c->charged_ns, c->memory, now_ns, c->tokens,
	                  &next))
		return 0;
	y->word = rl_gcra_pack(&y->tier[c->tier], &next, 0);
	back = before - tat_of(y, c->tier);
	assert_true(back > 0 && back <= c->cost);
	c->cost -= back;
	y->given += back;
	return back;
}

/* Time that was given back by the key is taken off what was charged last. */
static void
take_off_newest(struct story *y, uint64_t back)
{
	for (uint32_t i = y->charges; i > 0 && back > 0;) {
		struct charge *c = &y->charge[--i];
		uint64_t part = c->cost < back ? c->cost : back;

		c->cost -= part;
		c->is_given = true;
		back -= part;
	}
	assert_true(back == 0);
}

/* Could all of a charge be given back by itself? */
static bool
is_whole(const struct story *y, const struct charge *c, uint64_t now_ns)
{
	struct rl_level level = level_of(y, c->tier), next;
	struct story after = *y;

	if (c->is_given || !rl_gcra_give(&y->tier[c->tier], &level, c->charged_ns, c->memory,
	                                 now_ns, c->tokens, &next))
		return false;
	after.word = rl_gcra_pack(&y->tier[c->tier], &next, 0);
	return tat_of(y, c->tier) - tat_of(&after, c->tier) == c->cost;
}

/*
 * By the key: of a charge that could be given back whole, or else of whichever was charged last.
 * Nobody gives those back a second time.
 */
static void
give_by_key(struct story *y, uint32_t of, uint64_t now_ns)
{
	struct charge *c = &y->charge[of];
	struct rl_level level = level_of(y, c->tier), next;
	uint64_t before = tat_of(y, c->tier), back;
	uint32_t given = rl_gcra_give_newest(&y->tier[c->tier], &level, now_ns, c->tokens, &next);
	bool is_own = is_whole(y, c, now_ns);

	assert_true(given <= c->tokens);
	if (given == 0)
		return;
	y->word = rl_gcra_pack(&y->tier[c->tier], &next, 0);
	back = before - tat_of(y, c->tier);
	assert_true(back == full_of(y, c->tier) / y->tier[c->tier].burst * given);
	y->given += back;
	if (!is_own) {
		take_off_newest(y, back);
		return;
	}
	c->cost -= back;
	c->is_given = true;
}

static void
begin(struct story *y, uint64_t window_ns, uint32_t capacity, uint32_t other, uint32_t burst)
{
	memset(y, 0, sizeof *y);
	y->unit = (uint64_t)capacity * other;
	y->limiter.window_ns = window_ns;
	y->limiter.divisor = rl_gcra_divisor(window_ns);
	rl_limiter_set(&y->limiter, RL_TOKEN_BUCKET);
	y->tier[0] = rl_gcra_make(window_ns, capacity, burst);
	y->tier[1] = rl_gcra_make(window_ns, other, burst);
}

/* How a run goes: steps of the clock, how late clocks are, bookings, what is given back. */
struct manner {
	uint64_t step, late, patience;
	uint32_t refunds, tiers, by_key; /* of 8 */
	bool by_own_now, oldest_first;
};

static uint32_t
pick(const struct story *y, const struct manner *m, uint64_t *seed)
{
	uint32_t oldest = 0;

	if (!m->oldest_first)
		return (uint32_t)test_below(seed, y->charges);
	while (oldest + 1 < y->charges && y->charge[oldest].is_given)
		oldest++;
	return oldest;
}

static void
play(struct story *y, const struct manner *m, uint64_t *seed)
{
	uint64_t now = T0;

	for (int i = 0; i < 200; i++) {
		uint64_t late = test_below(seed, 1 + m->late);
		uint64_t at = late < now - T0 ? now - late : T0;
		if (y->charges > 0 && test_below(seed, 8) < m->refunds) {
			uint32_t of = pick(y, m, seed);
			if (test_below(seed, 8) < m->by_key)
				give_by_key(y, of, at);
			else
				give(y, of, m->by_own_now ? y->charge[of].now_ns : at);
		} else {
			uint32_t tokens = 1 + (uint32_t)test_below(seed, 1 + y->tier[0].burst / 3);
			uint64_t patience = test_below(seed, 3) ? 0 : m->patience;
			take(y, test_below(seed, 8) < m->tiers, at, tokens,
			     test_below(seed, 1 + patience));
		}
		if (test_below(seed, 3))
			now += test_below(seed, 1 + m->step);
	}
}

#define RUNS 40000

static void
test_no_span_over_the_rate(void **state)
{
	static struct story y;
	uint64_t given = 0;

	(void)state;
	for (uint64_t run = 1; run <= RUNS; run++) {
		uint64_t seed = run;
		uint32_t capacity = 1 + (uint32_t)test_below(&seed, run % 3 ? 12 : 20000);
		uint32_t other = 1 + (uint32_t)test_below(&seed, 12);
		uint64_t window = run % 2 ? 1 + test_below(&seed, 40) : 1 + test_below(&seed, 5000);
		uint64_t token = 1 + window / capacity;
		struct manner m = {
			.step = test_below(&seed, 2) ? 2 * token : 6 * token,
			.late = test_below(&seed, 2) ? test_below(&seed, 9) * token : 0,
			.patience = test_below(&seed, 2) ? test_below(&seed, 9) * token : 0,
			.refunds = 1 + (uint32_t)test_below(&seed, 6),
			.tiers = test_below(&seed, 3) ? 0 : 1 + (uint32_t)test_below(&seed, 4),
			.by_key = run % 3 ? 0 : (uint32_t)test_below(&seed, 9),
			.by_own_now = test_below(&seed, 2),
			.oldest_first = test_below(&seed, 2),
		};
		begin(&y, window, capacity, m.tiers ? other : capacity,
		      1 + (uint32_t)test_below(&seed, 9));
		play(&y, &m, &seed);
		judge(&y, run);
		given += y.given > 0;
	}
	assert_true(given > RUNS / 2);
}

static int
bucket(struct rl *rl, uint32_t per_second, uint32_t burst)
{
	int rule = rl_define(rl, &(struct rl_rule){.name = "b",
	                                           .limit = {.algorithm = RL_TOKEN_BUCKET,
	                                                     .capacity = per_second,
	                                                     .window_ns = RL_SECOND,
	                                                     .burst = burst}});

	assert_true(rule >= 0);
	return rule;
}

static uint32_t
remaining(struct rl *rl, int rule, uint64_t now)
{
	struct rl_result r;

	at_peek(rl, rule, "k", 1, now, &r);
	return r.remaining;
}

static struct rl_charges
charge(struct rl *rl, int rule, uint64_t cost, uint64_t now)
{
	struct rl_charges charges;

	assert_int_equal(test_check_at(rl, rule, "k", 1, cost, now, NULL, &charges), RL_ALLOWED);
	return charges;
}

/*
 * At one instant each can be given back, all of it, by whatever clock: of a bucket that was full in
 * any order; of one to which part of a token was still to come, oldest or newest first.
 */
static void
test_either_of_several(void **state)
{
	static const int orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
	                                {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
	static const uint32_t rates[] = {10, 3, 7, 1000};

	(void)state;
	for (int i = 0; i < 6 * 4 * 2; i++) {
		struct rl *rl = test_private(10);
		int rule = bucket(rl, rates[i / 6 % 4], 10);
		uint32_t used = i < 24 || (i % 6 > 0 && i % 6 < 5) ? 0 : 1;
		if (used > 0)
			charge(rl, rule, used, T0 - RL_MILLISECOND / 2);
		struct rl_charges r[] = {charge(rl, rule, 1, T0), charge(rl, rule, 2, T0),
		                         charge(rl, rule, 3, T0)};
		uint32_t left = 4 - used;
		assert_int_equal(remaining(rl, rule, T0), left);
		for (int k = 0; k < 3; k++) {
			int of = orders[i % 6][k];
			assert_int_equal(at_refund(rl, &r[of], T0 - RL_SECOND), 1);
			left += (uint32_t)of + 1;
			assert_int_equal(remaining(rl, rule, T0), left);
			assert_int_equal(at_refund(rl, &r[of], T0), 0);
		}
		rl_close(rl);
	}
}

/* Each with its own arrival time, for an hour: the tokens have come back long ago. */
static void
test_an_hour_of_refunds(void **state)
{
	enum {
		REQUESTS = 360000
	};
	struct rl_charges *r = calloc(REQUESTS, sizeof *r);
	struct rl *rl = test_private(10);
	int rule = bucket(rl, 100, 100);
	uint64_t end = T0 + 3600 * RL_SECOND, admitted = 0;

	(void)state;
	for (uint64_t i = 0; i < REQUESTS; i++)
		r[i] = charge(rl, rule, 1, T0 + i * RL_SECOND / 100);
	for (uint64_t i = 0; i < REQUESTS; i++) {
		admitted += at_check(rl, rule, "k", 1, 1, end, NULL) == RL_ALLOWED;
		at_refund(rl, &r[i], T0 + i * RL_SECOND / 100);
	}
	assert_int_equal(admitted, 100);
	rl_close(rl);
	free(r);
}

/* All of the burst, part of it given back at once, and the rest when it had come back. */
static void
test_some_at_once_and_some_later(void **state)
{
	(void)state;
	for (int part = 1; part < 100; part++) {
		struct rl *rl = test_private(10);
		int rule = bucket(rl, 100, 100);
		struct rl_charges r[100];
		uint64_t now = T0 + (100 - (uint64_t)part) * RL_SECOND / 100, admitted = 0;
		for (int i = 0; i < 100; i++)
			r[i] = charge(rl, rule, 1, T0);
		for (int i = 0; i < part; i++)
			assert_int_equal(at_refund(rl, &r[i], T0), 1);
		while (at_check(rl, rule, "k", 1, 1, now, NULL) == RL_ALLOWED)
			admitted++;
		for (int i = part; i < 100; i++)
			at_refund(rl, &r[i], now);
		while (at_check(rl, rule, "k", 1, 1, now, NULL) == RL_ALLOWED)
			admitted++;
		assert_int_equal(admitted, 100);
		rl_close(rl);
	}
}

/* A late clock: what is charged by then was admitted with the tokens that had come back. */
static void
test_a_refund_by_a_late_clock(void **state)
{
	struct rl *rl = test_private(10);
	int rule = bucket(rl, 100, 100);
	struct rl_charges first = charge(rl, rule, 100, T0);

	(void)state;
	charge(rl, rule, 100, T0 + RL_SECOND);
	assert_int_equal(at_refund(rl, &first, T0), 0);
	assert_int_equal(remaining(rl, rule, T0 + RL_SECOND), 0);
	rl_close(rl);
}

struct booked {
	uint64_t delay_ns;
	struct rl_charges charges;
};

static struct booked
book(struct rl *rl, int rule, uint64_t cost, uint64_t now)
{
	struct booked b;
	const struct rl_item item = {
		.rule = rule, .key = "k", .key_len = 1, .cost = cost, .charges = &b.charges};
	struct rl_result r;

	assert_int_equal(at_reserve_item(rl, &item, RL_NEVER_NS, now, &r), RL_ALLOWED);
	b.delay_ns = r.delay_ns;
	return b;
}

/*
 * Booked for the next 360 s, one by one. Those behind keep their time when those in front are
 * given back; so their seconds cannot be sold again, and the rate holds.
 */
static void
test_bookings_given_back(void **state)
{
	enum {
		BOOKED = 36000
	};
	struct booked *r = calloc(BOOKED, sizeof *r);
	struct rl *rl = test_private(10);
	int rule = bucket(rl, 100, 1);
	uint64_t later = T0 + 180 * RL_SECOND;

	(void)state;
	for (int i = 0; i < BOOKED; i++)
		r[i] = book(rl, rule, 1, T0);
	assert_true(r[BOOKED - 1].delay_ns == (BOOKED - 1) * RL_SECOND / 100);
	for (int i = 0; i < BOOKED / 2; i++)
		assert_int_equal(at_refund(rl, &r[i].charges, T0), 0);
	assert_true(book(rl, rule, 1, later).delay_ns == 180 * RL_SECOND);
	for (int i = BOOKED / 2; i < BOOKED; i++)
		assert_int_equal(at_refund(rl, &r[i].charges, later), 0);
	/* the newest is given back, and so is then the one before it */
	struct booked last = book(rl, rule, 1, later), newest = book(rl, rule, 1, later);
	assert_int_equal(at_refund(rl, &newest.charges, later), 1);
	assert_int_equal(at_refund(rl, &last.charges, later), 1);
	assert_true(book(rl, rule, 1, later).delay_ns == last.delay_ns);
	rl_close(rl);
	free(r);
}

/* A busy bucket gives back to those who come in any order, while their time has not come. */
static void
test_refunds_of_a_busy_key(void **state)
{
	struct rl *rl = test_private(10);
	int rule = bucket(rl, 100, 100);
	uint64_t seed = 7, now = T0, given = 0, charged = 0;
	struct rl_charges ring[8];

	(void)state;
	for (int i = 0; i < 8; i++)
		ring[i] = (struct rl_charges){.count = 0};
	charge(rl, rule, 90, T0);
	for (int i = 0; i < 100000; i++) {
		struct rl_charges *r = &ring[test_below(&seed, 8)]; /* an older one's is kept */
		now += test_below(&seed, RL_SECOND / 100);
		if (test_check_at(rl, rule, "k", 1, 1, now, NULL, r) != RL_ALLOWED)
			continue;
		charged++;
		if (test_below(&seed, 2))
			given += at_refund(rl, &ring[test_below(&seed, 8)], now) == 1;
	}
	assert_true(given > charged / 4);
	assert_true(charged - given <= 100 + (now - T0) / (RL_SECOND / 100));
	rl_close(rl);
}

/* However many others are given back in between, short of 16384 tokens: what is left is left. */
static void
test_many_refunds_in_between(void **state)
{
	struct rl *rl = test_private(10);
	int rule = bucket(rl, 1, 100);
	struct rl_charges before = charge(rl, rule, 50, T0), r = charge(rl, rule, 50, T0);
	uint64_t now = T0 + 40 * RL_SECOND;

	(void)state;
	assert_int_equal(at_refund(rl, &before, T0), 1);
	for (int i = 0; i < 200; i++) {
		struct rl_charges one = charge(rl, rule, 40, now), two = charge(rl, rule, 40, now);
		assert_int_equal(at_refund(rl, &one, now), 1);
		assert_int_equal(at_refund(rl, &two, now), 1);
		assert_int_equal(remaining(rl, rule, now), 90);
	}
	assert_int_equal(at_refund(rl, &r, now), 1);
	assert_int_equal(remaining(rl, rule, now), 100);
	charge(rl, rule, 100, now);
	assert_int_equal(remaining(rl, rule, now + 10 * RL_SECOND), 10);
	rl_close(rl);
}

/* What was charged under another capacity than the last is not given back. */
static void
test_a_refund_after_another_tier(void **state)
{
	struct rl *rl = test_private(10);
	int rule = bucket(rl, 100, 100);
	struct rl_item item = {.rule = rule, .key = "k", .key_len = 1, .cost = 1, .capacity = 10};
	struct rl_charges r, other;

	(void)state;
	item.charges = &r;
	assert_int_equal(at_check_item(rl, &item, T0, NULL), RL_ALLOWED);
	other = charge(rl, rule, 1, T0);
	assert_int_equal(at_refund(rl, &r, T0), 0);
	assert_int_equal(at_refund(rl, &other, T0), 1);
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_span_over_the_rate),
		cmocka_unit_test(test_either_of_several),
		cmocka_unit_test(test_an_hour_of_refunds),
		cmocka_unit_test(test_some_at_once_and_some_later),
		cmocka_unit_test(test_a_refund_by_a_late_clock),
		cmocka_unit_test(test_bookings_given_back),
		cmocka_unit_test(test_refunds_of_a_busy_key),
		cmocka_unit_test(test_many_refunds_in_between),
		cmocka_unit_test(test_a_refund_after_another_tier),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

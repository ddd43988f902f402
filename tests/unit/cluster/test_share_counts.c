/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a limit of a cluster counts while its share changes: a window and a log beside those of this
 * host alone whose capacity is what the share comes to, a bucket beside its debt in fractions.
 */
#include <stdio.h>

#include "shares.h"

/*
 * What the host may admit: by its share, its blind part, and the capacity, or what the store gives
 * above that.
 */
static uint32_t
effective(uint32_t capacity, uint32_t share, uint32_t blind)
{
	if (share > capacity)
		return share;
	return share + blind < capacity ? share + blind : capacity;
}

/*
 * A limit of this host alone whose requests bring along as capacity what the share comes to: the
 * same must be decided, told and given back, whatever the share does in between.
 */
struct pair {
	struct rl *rl, *alone;
	int rule, alone_rule;
	struct rl_limit limit;
	struct rl_share at;
	uint32_t share;
};

static struct pair
pair_of(struct rl_limit limit)
{
	const struct rl_options o = {.keys = 64, .ring = 256, .on_full = RL_FULL_RESERVE};
	struct rl_limit own = limit;
	struct pair p = {.rl = clustered_segment(64, RL_FULL_RESERVE), .limit = limit};

	own.blind = own.away = 0;
	assert_int_equal(rl_open_private(&o, &p.alone), 0);
	p.rule = define(p.rl, "r", limit);
	p.alone_rule = rl_define(p.alone, &(struct rl_rule){.name = "r", .limit = own});
	assert_true(p.alone_rule >= 0);
	assert_int_equal(rl_share_advance(p.rl, FOREVER), 0);
	return p;
}

static void
close_pair(struct pair *p)
{
	rl_close(p->rl);
	rl_close(p->alone);
}

static void
check_both(struct pair *p, uint32_t cost, uint64_t now, struct rl_charges charges[2])
{
	uint32_t e = effective(p->limit.capacity, p->share, p->limit.blind);
	struct rl_item item = {.rule = p->rule, .key = "k", .key_len = 1, .cost = cost};
	struct rl_result r, own = {.verdict = RL_DENIED};

	item.charges = &charges[0];
	at_check_item(p->rl, &item, now, &r);
	item.rule = p->alone_rule;
	item.capacity = e;
	item.charges = &charges[1];
	if (e > 0)
		at_check_item(p->alone, &item, now, &own);
	assert_int_equal(r.verdict, own.verdict == RL_NEVER ? RL_DENIED : own.verdict);
	assert_int_equal(r.limit, e > p->limit.capacity ? e : p->limit.capacity);
	if (e == 0)
		return;
	assert_int_equal(r.remaining, own.remaining);
	assert_int_equal(r.used, own.used);
	assert_int_equal(r.reset_after_ns, own.reset_after_ns);
	if (own.verdict == RL_DENIED) /* more of it may be there in a moment, if it is not all */
		assert_int_equal(r.retry_after_ns,
		                 r.reason == RL_BY_SHARE ? 2 * RL_MILLISECOND : own.retry_after_ns);
}

/* The incarnation, as soon as the key has a slot. */
static void
find(struct pair *p, uint64_t now)
{
	struct found found = wishes(p->rl, now);

	if (found.count > 0)
		p->at = found.share;
}

static void
change_share(struct pair *p, uint64_t *seed, uint64_t now)
{
	struct rl_share s;
	uint32_t most = p->limit.capacity * (test_below(seed, 3) == 0 ? 2 : 1);
	uint32_t to = (uint32_t)test_below(seed, most + 1);

	if (p->at.of.tag == 0)
		return;
	if (test_below(seed, 2) == 0) {
		assert_int_equal(rl_share_read(p->rl, &p->at.of, now, &s), 0);
		to = to > s.load ? to : s.load; /* as every answer is */
		set(p->rl, &p->at, to, now);
		p->share = to;
		return;
	}
	assert_int_equal(rl_share_lower(p->rl, &p->at.of, to, now, &s), 0);
	assert_true(s.share <= p->share);
	assert_true(s.share == p->share || (s.share >= to && s.share >= s.load));
	p->share = s.share;
}

/* Of what was charged last, without the charges. */
static void
refund_both(struct pair *p, uint64_t now)
{
	struct rl_item item = {.rule = p->rule, .key = "k", .key_len = 1, .cost = 2};
	int given = at_refund_key(p->rl, &item, now);

	item.rule = p->alone_rule;
	item.capacity = effective(p->limit.capacity, p->share, p->limit.blind);
	assert_int_equal(given, at_refund_key(p->alone, &item, now));
}

static void
follow(struct rl_limit limit, uint64_t seed)
{
	struct pair p = pair_of(limit);
	struct rl_charges charges[2] = {{0}};
	uint64_t now = T0, times = test_scaled(4000);

	for (uint64_t i = 0; i < times; i++) {
		now += test_below(&seed, 4) == 0 ? test_below(&seed, limit.window_ns / 3)
		                                 : test_below(&seed, limit.window_ns / 50);
		check_both(&p, 1 + (uint32_t)test_below(&seed, 3), now, charges);
		find(&p, now);
		if (test_below(&seed, 5) == 0)
			change_share(&p, &seed, now);
		if (test_below(&seed, 7) == 0)
			assert_int_equal(at_refund(p.rl, &charges[0], now),
			                 at_refund(p.alone, &charges[1], now));
		if (test_below(&seed, 11) == 0)
			refund_both(&p, now);
	}
	assert_true(p.at.of.tag != 0);
	close_pair(&p);
}

static void
test_windows_and_logs_follow_their_share(void **state)
{
	struct rl_limit limits[] = {
		window(20, 0),
		window(20, 3),
		{.algorithm = RL_SLIDING_WINDOW,
	         .capacity = 12,
	         .window_ns = RL_SECOND,
	         .blind = 1},
		{.algorithm = RL_SLIDING_WINDOW,
	         .capacity = 30,
	         .window_ns = RL_SECOND,
	         .granularity = 8,
	         .blind = 2},
		{.algorithm = RL_FIXED_WINDOW, .capacity = 9, .window_ns = RL_SECOND},
		{.algorithm = RL_FIXED_WINDOW, .capacity = 9, .window_ns = RL_SECOND, .blind = 2},
		{.algorithm = RL_SLIDING_LOG, .capacity = 15, .window_ns = RL_SECOND, .blind = 1},
		{.algorithm = RL_SLIDING_LOG, .capacity = 15, .window_ns = RL_SECOND},
	};

	(void)state;
	for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
		for (uint64_t seed = 1; seed <= 5; seed++)
			follow(limits[i], seed * 31 + i);
}

typedef __int128 exact;

/*
 * A bucket by its debt, in 1 / F tokens, F being the time in which it fills: it falls by e each
 * nanosecond, e being what the host may use. Nothing is rounded, and a change of e changes no debt.
 */
struct bucket {
	exact fill;
	exact debt;
	uint64_t at;
};

static void
drain(struct bucket *b, uint32_t e, uint64_t now)
{
	exact gone = (exact)e * (exact)(now - b->at);

	b->debt = b->debt > gone ? b->debt - gone : 0;
	b->at = now;
}

static bool
has_room(const struct bucket *b, uint32_t e, uint32_t cost, exact margin_ns)
{
	return b->debt + cost * b->fill + margin_ns * e <= b->fill * e;
}

/*
 * One step: the library admits only what the debt has room for, and all of it but for what is
 * rounded.
 */
static void
step_bucket(struct pair *p, struct bucket *b, uint32_t size, uint64_t *seed, uint64_t now)
{
	uint32_t e = effective(size, p->share, p->limit.blind);
	uint32_t cost = 1 + (uint32_t)test_below(seed, 3);
	struct rl_charges charges = {0};
	struct rl_result r;

	drain(b, e, now);
	test_check_at(p->rl, p->rule, "k", 1, cost, now, &r, &charges);
	if (cost > size) {
		assert_int_equal(r.verdict, RL_NEVER);
		return;
	}
	if (r.verdict == RL_ALLOWED)
		assert_true(has_room(b, e, cost, 0));
	else
		assert_false(has_room(b, e, cost, 10000));
	if (r.verdict != RL_ALLOWED)
		return;
	if (test_below(seed, 6) == 0)
		assert_int_equal(at_refund(p->rl, &charges, now), 1);
	else
		b->debt += cost * b->fill;
}

static void
follow_bucket(struct rl_limit limit, uint64_t seed)
{
	uint32_t size = limit.algorithm == RL_LEAKY_BUCKET ? limit.burst + 1 : limit.burst;
	struct pair p = pair_of(limit);
	uint64_t now = T0, times = test_scaled(6000);
	struct bucket b = {.at = T0};

	b.fill = (exact)limit.window_ns * size / limit.capacity;
	p.limit.capacity = size; /* what is lent are tokens of it */
	for (uint64_t i = 0; i < times; i++) {
		now += test_below(&seed, 40) == 0 ? test_below(&seed, (uint64_t)b.fill)
		                                  : test_below(&seed, (uint64_t)b.fill / size);
		step_bucket(&p, &b, size, &seed, now);
		find(&p, now);
		if (test_below(&seed, 9) == 0)
			change_share(&p, &seed, now);
		assert_true(b.debt <= b.fill * effective(size, 2 * size, limit.blind));
	}
	close_pair(&p);
}

static void
test_buckets_keep_their_debt(void **state)
{
	struct rl_limit limits[] = {
		{.algorithm = RL_TOKEN_BUCKET, .capacity = 10, .burst = 10, .window_ns = RL_SECOND},
		{.algorithm = RL_TOKEN_BUCKET,
	         .capacity = 7,
	         .burst = 21,
	         .window_ns = RL_SECOND,
	         .blind = 2},
		{.algorithm = RL_TOKEN_BUCKET,
	         .capacity = 1000,
	         .burst = 50,
	         .window_ns = 60 * RL_SECOND,
	         .blind = 1},
		{.algorithm = RL_LEAKY_BUCKET,
	         .capacity = 30,
	         .burst = 5,
	         .window_ns = RL_SECOND,
	         .blind = 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
		for (uint64_t seed = 1; seed <= 5; seed++)
			follow_bucket(limits[i], seed * 17 + i);
}

/* Of a full bucket all tokens are there at once, and each next one on the nanosecond. */
static void
test_a_bucket_is_exact(void **state)
{
	struct rl *rl = clustered_segment(64, RL_FULL_RESERVE);
	int rule = define(rl, "r",
	                  (struct rl_limit){.algorithm = RL_TOKEN_BUCKET,
	                                    .capacity = 3,
	                                    .window_ns = RL_SECOND,
	                                    .away = RL_AWAY_OPEN});
	struct rl_result r;

	(void)state;
	assert_int_equal(admitted(rl, rule, 5, T0), 3);
	check(rl, rule, T0, &r);
	assert_int_equal(r.limit, 3);
	assert_int_equal(r.used, 3);
	assert_int_equal(r.retry_after_ns, RL_SECOND / 3 + 1);
	assert_int_equal(check(rl, rule, T0 + RL_SECOND / 3, NULL), RL_DENIED);
	assert_int_equal(check(rl, rule, T0 + RL_SECOND / 3 + 1, NULL), RL_ALLOWED);
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_windows_and_logs_follow_their_share),
		cmocka_unit_test(test_buckets_keep_their_debt),
		cmocka_unit_test(test_a_bucket_is_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The window arithmetic, alone on one counter, against the sequential limiter by definition.
 */
#include <string.h>

#include "algorithm/adds.h"
#include "algorithm/ops.h"
#include "algorithm/window_refund.h"
#include "naive.h"
#include "testing.h"

#define GEN 5

/* A counter: what the table keeps in a slot. */
struct counter {
	struct rl_window window;
	uint32_t capacity;
	bool has_state;
	bool has_excess; /* of its sum: what is drawn is less */
	struct rl_u128 word;
	uint64_t ring[RL_GRANULARITY_MAX];
};

static void
counter_init(struct counter *c, struct rl_window window, uint32_t capacity)
{
	*c = (struct counter){.window = window, .capacity = capacity};
	memset(c->ring, 0xa5, sizeof c->ring); /* an older incarnation's */
}

static void
store(struct counter *c, const struct rl_state *s, uint32_t entries)
{
	for (uint32_t i = 0; i < entries; i++)
		c->ring[(s->epoch + i) % c->window.count] =
			rl_ring_entry(s->epoch + i, i == 0 ? s->cur : 0, GEN);
}

static uint64_t frozen_seed = 9;
static unsigned long used_up; /* how often a short denial was compared */

/* What the fast path tells of a charge is what the slow path does. */
static void
expect_told(const struct counter *c, uint64_t now_ns, uint32_t cost, const struct rl_move *p)
{
	const struct rl_limiter l = {.algorithm = RL_SLIDING_WINDOW, .window = c->window};
	const struct rl_quota q = {.capacity = c->capacity};
	const struct rl_view v = {.word = c->word, .ring = c->ring};
	const struct rl_ask ask = {.l = &l, .q = &q, .v = &v, .cost = cost, .now_ns = now_ns};
	struct rl_plan plan = {0};

	assert_true(rl_adds_to_window(&ask, &plan));
	assert_int_equal(plan.decision.remaining,
	                 rl_window_left(&c->window, &p->next, c->capacity, now_ns));
	assert_int_equal(plan.decision.reset_at_ns, rl_window_idle_at(&c->window, &p->next));
	assert_int_equal(plan.charge_id, p->next.epoch);
}

/* The fast path says what the slow path does, and is taken whenever it can be. */
static void
expect_adds(const struct counter *c, const struct rl_state *s, uint64_t now_ns, uint32_t cost,
            const struct rl_move *p)
{
	uint64_t epoch = rl_window_epoch(&c->window, now_ns), used;
	struct rl_u128 next, long_way = rl_state_pack(p->next, GEN);
	bool may_add = epoch == s->epoch && s->jump == 0 && s->cur + s->sum + cost <= c->capacity;

	assert_int_equal(rl_window_adds(c->word, epoch, c->capacity, cost, &next, &used), may_add);
	assert_int_equal(used, s->cur + s->sum);
	if (may_add) {
		assert_true(p->step == RL_STEP_ADMIT && p->charges);
		assert_true(rl_u128_equal(next, long_way));
		expect_told(c, now_ns, cost, p);
	}
}

/* The short denial says what the slow path does. Any cost the capacity admits is denied by it. */
static void
expect_used_up(const struct counter *c, const struct rl_window_at *at, uint64_t now_ns,
               uint32_t cost, const struct rl_move *p, const struct rl_window_used *u)
{
	struct rl_window_until until;

	if (!rl_window_is_used_up(&c->window, at->state, rl_window_epoch(&c->window, now_ns),
	                          c->capacity))
		return;
	used_up++;
	until = rl_window_used_up_until(&c->window, at->state->epoch, at->state->cur, c->capacity,
	                                cost);
	assert_int_equal(p->step, RL_STEP_DENY);
	assert_int_equal(rl_window_remaining(u, c->capacity), 0);
	assert_int_equal(until.retry_at_ns, rl_window_retry_at(at, u, c->capacity, cost));
	assert_int_equal(until.reset_at_ns, rl_window_reset_at(at));
}

/* What is drawn for people is what is decided by. */
static void
expect_drawn(const struct counter *c, const struct rl_window_at *at, const struct rl_window_used *u)
{
	struct rl_history h;
	uint64_t all = 0;

	rl_window_history(at, &h);
	for (uint32_t i = 0; i <= c->window.count; i++)
		all += h.bucket[i];
	assert_int_equal(all, u->all);
	assert_int_equal(h.bucket[c->window.count], u->oldest);
}

static struct rl_window_at
at_time(const struct counter *c, struct rl_state *s, uint64_t now_ns)
{
	*s = rl_state_unpack(c->word, &c->window);
	return rl_window_at(&c->window, c->has_state ? s : NULL, c->ring, GEN, now_ns);
}

static struct rl_state
frozen_by(const struct counter *c, const struct rl_move *p)
{
	return rl_state_unpack(rl_state_freeze(c->word, p->entries, p->stays), &c->window);
}

/* Follow plans until the request is charged or denied. */
static bool
counter_check(struct counter *c, uint64_t now_ns, uint32_t cost)
{
	for (int steps = 0; steps < 8; steps++) {
		struct rl_state s = rl_state_unpack(c->word, &c->window);
		struct rl_window_at at = at_time(c, &s, now_ns);
		struct rl_window_used used = rl_window_count(&at);
		struct rl_move p;

		if (!c->has_excess)
			expect_drawn(c, &at, &used);
		rl_window_decide(&at, c->capacity, cost, &used, &p);
		if (c->has_state)
			expect_adds(c, &s, now_ns, cost, &p);
		if (at.state)
			expect_used_up(c, &at, now_ns, cost, &p, &used);

		if (p.step == RL_STEP_DENY)
			return false;
		if (p.step == RL_STEP_ROLL && test_below(&frozen_seed, 2))
			p.next = frozen_by(c, &p); /* somebody else goes on */
		else if (p.step == RL_STEP_ROLL || p.step == RL_STEP_CLOSE)
			store(c, &s, p.entries);
		c->word = rl_state_pack(p.next, GEN);
		c->has_state = true;
		if (p.charges && p.next.jump == 0)
			return true;
	}
	fail_msg("no decision after 8 steps");
	return false;
}

static uint32_t
remaining_at(const struct counter *c, uint64_t now_ns)
{
	struct rl_state s;
	struct rl_window_at at = at_time(c, &s, now_ns);
	struct rl_window_used used = rl_window_count(&at);

	return rl_window_remaining(&used, c->capacity);
}

/* A denied request is denied until just before retry_at, and allowed at it. */
static void
expect_retry(const struct counter *c, const struct naive *n, uint64_t now_ns, uint32_t cost)
{
	struct rl_state s;
	struct rl_window_at at = at_time(c, &s, now_ns);
	struct rl_window_used used = rl_window_count(&at);
	uint64_t then = rl_window_retry_at(&at, &used, c->capacity, cost);

	assert_true(then > now_ns);
	assert_false(naive_allows(n, then - 1, cost));
	assert_true(naive_allows(n, then, cost));
}

static void
expect_reset(const struct counter *c, const struct naive *n, uint64_t now_ns)
{
	struct rl_state s;
	struct rl_window_at at = at_time(c, &s, now_ns);
	uint64_t then = rl_window_reset_at(&at);

	if (then == 0)
		then = now_ns;
	else /* the last charge still counts, if only a little, just before */
		assert_true(remaining_at(c, then - 1) < c->capacity || !c->window.is_hard);
	assert_true(naive_remaining(n, then) == n->capacity);
	assert_true(remaining_at(c, then) == n->capacity);
}

static void
expect_left(const struct counter *c, uint64_t now_ns)
{
	struct rl_state s = rl_state_unpack(c->word, &c->window);
	uint32_t left = rl_window_left(&c->window, &s, c->capacity, now_ns);
	uint32_t exact = remaining_at(c, now_ns);

	assert_true(left <= exact);
	if (c->window.is_hard || c->window.count <= 1)
		assert_int_equal(left, exact);
}

/* One request to both; everything that can be asked must agree. */
static void
step(struct counter *c, struct naive *n, uint64_t now_ns, uint32_t cost)
{
	assert_int_equal(remaining_at(c, now_ns), naive_remaining(n, now_ns));
	bool allowed = counter_check(c, now_ns, cost);
	assert_int_equal(allowed, naive_check(n, now_ns, cost));
	assert_int_equal(remaining_at(c, now_ns), naive_remaining(n, now_ns));
	if (allowed)
		expect_left(c, now_ns);
	else
		expect_retry(c, n, now_ns, cost);
	expect_reset(c, n, now_ns);
}

static struct naive model;

static void
start(struct counter *c, uint64_t width, uint32_t count, bool is_hard, uint32_t capacity)
{
	counter_init(c, rl_window_of(width, count, is_hard), capacity);
	naive_init(&model, width, count, is_hard, capacity);
}

/* Every sequence of six requests whose gaps are drawn from a few telling ones. */
static void
run_sequences(uint32_t count, bool is_hard, uint32_t capacity)
{
	static const int gaps[] = {0, 1, 3, 4, 7, -2, 13};
	enum {
		LENGTH = 6,
		GAPS = sizeof gaps / sizeof gaps[0],
		WIDTH = 4
	};
	struct counter c;

	for (uint32_t sequence = 0; sequence < test_scaled(117649); sequence++) { /* 7^6 */
		uint32_t rest = sequence;
		int64_t now = 2;
		start(&c, WIDTH, count, is_hard, capacity);
		for (int i = 0; i < LENGTH; i++, rest /= GAPS) {
			now += gaps[rest % GAPS];
			now = now < 0 ? 0 : now;
			step(&c, &model, (uint64_t)now, 1 + (uint32_t)(i == 2 && capacity > 1));
		}
	}
}

static void
test_all_short_sequences(void **state)
{
	(void)state;
	for (uint32_t capacity = 1; capacity <= 3; capacity++) {
		for (uint32_t count = 0; count <= 3; count++)
			run_sequences(count, false, capacity);
		run_sequences(1, true, capacity);
		run_sequences(3, true, capacity);
	}
}

/* Costs, capacities, widths and gaps of every size, sometimes a step back in time. */
static void
test_random_histories(void **state)
{
	uint64_t seed = 1;
	struct counter c;

	(void)state;
	for (uint64_t run = 0; run < test_scaled(1500); run++) {
		uint32_t count = (uint32_t)test_below(&seed, RL_GRANULARITY_MAX + 1);
		uint64_t width =
			156250 + test_random(&seed) % (UINT64_C(1) << test_below(&seed, 52));
		uint32_t capacity =
			1 + (uint32_t)test_below(&seed, UINT64_C(1) << test_below(&seed, 28));
		uint64_t now = test_random(&seed) >> 2;
		start(&c, width, count, test_below(&seed, 2), capacity);
		for (int i = 0; i < 200; i++) {
			uint64_t gap = test_below(&seed, 1 + width * (1 + test_below(&seed, 4)));
			if (test_below(&seed, 20) == 0)
				gap = width * test_below(&seed, count + 3);
			now = test_below(&seed, 10) == 0 && now > gap ? now - gap : now + gap;
			uint32_t most = test_below(&seed, 3) == 0 ? capacity : 1 + capacity / 5;
			step(&c, &model, now, 1 + (uint32_t)test_below(&seed, most));
		}
	}
	assert_true(used_up > 1000);
}

static void
test_known_two_counter_examples(void **state)
{
	struct rl_window minute = rl_window_make(RL_SLIDING_WINDOW, 60 * RL_SECOND, 1, false);
	struct counter c;

	(void)state;
	/* 42 in the minute before, 18 in this one at its 15th second: 42 * 45/60 + 18 = 49.5 */
	counter_init(&c, minute, 50);
	assert_true(counter_check(&c, 0, 42));
	assert_true(counter_check(&c, 60 * RL_SECOND, 8));
	assert_true(counter_check(&c, 75 * RL_SECOND, 10));
	assert_int_equal(remaining_at(&c, 75 * RL_SECOND), 0);
	/* 400 before, 250 by the 45th second: 400 * 15/60 + 250 = 350 */
	counter_init(&c, minute, 400);
	assert_true(counter_check(&c, 0, 400));
	assert_true(counter_check(&c, 105 * RL_SECOND, 250));
	assert_int_equal(remaining_at(&c, 105 * RL_SECOND), 50);
}

/* No span of one window, wherever it starts, holds more than capacity. */
static void
test_hard_never_exceeds_capacity_in_any_window(void **state)
{
	enum {
		EVENTS = 4000,
		CAPACITY = 7
	};
	static uint64_t admitted[EVENTS];
	uint64_t seed = 2;
	struct counter c;

	(void)state;
	for (uint32_t count = 1; count <= 8; count++) {
		uint64_t window = 40 * count, now = 0;
		uint32_t used = 0;
		start(&c, 40, count, true, CAPACITY);
		for (int i = 0; i < EVENTS; i++) {
			now += test_below(&seed, 12);
			if (!counter_check(&c, now, 1))
				continue;
			admitted[used++] = now;
			if (used > CAPACITY)
				assert_true(now - admitted[used - 1 - CAPACITY] >= window);
		}
		assert_true(used > CAPACITY);
	}
}

/* What the sum has beyond the ring. */
static uint64_t
excess_of(const struct counter *c, uint64_t epoch)
{
	struct rl_state s;
	struct rl_window_at at = at_time(c, &s, epoch);
	struct rl_history h;
	uint64_t all = 0;

	rl_window_history(&at, &h);
	for (uint32_t i = 0; i < h.buckets; i++)
		all += h.bucket[i];
	return (uint64_t)s.cur + s.sum - all;
}

/*
 * A sum that is larger than its ring, as one who is killed between the steps of a late refund may
 * leave it.
 */
static void
test_no_excess_outlasts_two_turns(void **state)
{
	enum {
		COUNT = 7,
		EXCESS = 100
	};
	struct counter c;

	(void)state;
	for (uint64_t first = 0; first < COUNT; first++) {
		uint64_t epoch = first + 2 * COUNT;
		struct rl_state s;

		counter_init(&c, rl_window_of(1, COUNT, true), 1000);
		for (uint64_t e = first; e <= epoch; e++)
			assert_true(counter_check(&c, e, 1 + (uint32_t)e % 3));
		s = rl_state_unpack(c.word, &c.window);
		s.sum += EXCESS;
		c.word = rl_state_pack(s, GEN);
		c.has_excess = true;
		assert_int_equal(excess_of(&c, epoch), EXCESS);
		for (uint64_t e = epoch + 1; e <= epoch + 2 * COUNT; e++)
			assert_true(counter_check(&c, e, 1));
		assert_int_equal(excess_of(&c, epoch + 2 * COUNT), 0);
	}
}

/* One charge to five in sub-buckets 1 to 5, of which the last is frozen for two more. */
static struct rl_view
frozen_view(struct counter *c)
{
	counter_init(c, rl_window_of(1, 4, true), 1000);
	for (uint64_t e = 1; e <= 5; e++)
		assert_true(counter_check(c, e, (uint32_t)e));
	c->word = rl_state_freeze(c->word, 2, 3 + 4);
	return (struct rl_view){.word = c->word, .gen = GEN, .slot_bits = GEN, .ring = c->ring};
}

/* Whoever gives back need not close it first. */
static void
test_refunds_of_a_frozen_state(void **state)
{
	struct rl_limiter l = {0};
	struct rl_state s;
	struct counter c;
	struct rl_view v = frozen_view(&c);
	struct rl_back back;

	(void)state;
	rl_limiter_set(&l, RL_SLIDING_WINDOW);
	l.window = c.window;
	assert_int_equal(rl_window_refund(&c.window, &v, 2, 1, &back), RL_BACK_LATE);
	assert_int_equal(rl_window_sum_up(&c.window, &v, &back), RL_BACK_LATE);

	assert_int_equal(rl_window_refund(&c.window, &v, 3, 2, &back), RL_BACK_ENTRY);
	assert_int_equal(back.given, 2);
	s = rl_state_unpack(back.next, &c.window);
	assert_true(s.sum == 1 + 4 && s.cur == 5 && s.jump == 2);
	c.ring[back.place] = back.lowered;
	assert_int_equal(rl_window_sum_up(&c.window, &v, &back), RL_BACK_WORD);
	assert_true(rl_u128_equal(back.next, rl_state_pack(s, GEN)));
	v.word = back.next;

	store(&c, &s, 1);
	assert_int_equal(rl_window_refund(&c.window, &v, 5, 3, &back), RL_BACK_WORD);
	v.word = back.next;
	s = rl_state_unpack(v.word, &c.window);
	assert_true(s.sum == 1 + 4 && s.cur == 2 && s.jump == 2);
	assert_int_equal(l.ops->judge(&l, &v, 0), RL_UNDAMAGED);
	s.cur = 1;
	store(&c, &s, 1);
	assert_int_equal(l.ops->judge(&l, &v, 0), RL_FAULT_RING);
}

static void
test_width_is_rounded_up(void **state)
{
	struct rl_window w = rl_window_make(RL_SLIDING_WINDOW, RL_SECOND, 3, false);

	(void)state;
	assert_int_equal(w.width_ns, 333333334);
	assert_int_equal(w.count, 3);
	w = rl_window_make(RL_FIXED_WINDOW, RL_SECOND, 1, false);
	assert_int_equal(w.width_ns, RL_SECOND);
	assert_int_equal(w.count, 0);
}

static void
test_words_hold_their_extremes(void **state)
{
	struct rl_window w = rl_window_of(1, RL_GRANULARITY_MAX, false);
	struct rl_state most = {
		.epoch = (UINT64_C(1) << 46) - 1,
		.cur = RL_CAPACITY_MAX,
		.sum = RL_CAPACITY_MAX,
		.span = RL_GRANULARITY_MAX,
		.jump = RL_GRANULARITY_MAX,
	};
	struct rl_u128 word = rl_state_pack(most, 0xff);
	struct rl_state back = rl_state_unpack(word, &w);

	(void)state;
	assert_memory_equal(&most, &back, sizeof most);
	assert_int_equal(rl_state_gen(word), 0xff);
	assert_false(rl_state_is_dead(word));
	assert_int_equal(
		rl_ring_count(rl_ring_entry(most.epoch, RL_CAPACITY_MAX, 255), most.epoch, 255),
		RL_CAPACITY_MAX);
	assert_int_equal(rl_ring_count(rl_ring_entry(7, 1, 2), 8, 2), 0);
	assert_int_equal(rl_ring_count(rl_ring_entry(7, 1, 2), 7, 3), 0);
}

/* Whatever the bytes say, the arithmetic answers, and plans no impossible state. */
static void
test_damaged_words(void **state)
{
	uint64_t seed = 3, ring[RL_GRANULARITY_MAX];

	(void)state;
	for (uint64_t run = 0; run < test_scaled(200000); run++) {
		uint32_t count = (uint32_t)test_below(&seed, RL_GRANULARITY_MAX + 1);
		struct rl_window w = rl_window_of(1 + test_below(&seed, RL_WINDOW_MAX), count,
		                                  test_below(&seed, 2));

		struct rl_u128 word = {.lo = test_random(&seed), .hi = test_random(&seed)};
		struct rl_state s = rl_state_unpack(word, &w);
		uint32_t capacity = 1 + (uint32_t)test_below(&seed, RL_CAPACITY_MAX);
		uint32_t cost = 1 + (uint32_t)test_below(&seed, capacity);
		uint64_t now = test_random(&seed) >> 1;
		for (uint32_t i = 0; i < RL_GRANULARITY_MAX; i++)
			ring[i] = test_below(&seed, 2) ? test_random(&seed)
			                               : rl_ring_entry(s.epoch - i, 1000, GEN);
		struct rl_history h;
		struct rl_move p;
		struct rl_window_at at = rl_window_at(&w, &s, ring, GEN, now);
		struct rl_window_used used = rl_window_count(&at);
		rl_window_history(&at, &h);
		assert_true(rl_window_remaining(&used, capacity) <= capacity);
		rl_window_retry_at(&at, &used, capacity, cost);
		rl_window_reset_at(&at);
		rl_window_decide(&at, capacity, cost, &used, &p);
		rl_window_idle_at(&w, &s);
		if (p.step == RL_STEP_DENY)
			continue;
		if (p.step == RL_STEP_ROLL)
			assert_true(p.entries <= w.count && p.stays <= RL_CAPACITY_MAX);
		assert_true(p.next.span <= w.count && p.next.jump <= w.count);
		assert_true(p.next.cur <= RL_CAPACITY_MAX && p.next.sum <= RL_CAPACITY_MAX);
	}
}

/* The epoch of a time is its quotient, at every edge and at random. */
static void
test_epochs_are_quotients(void **state)
{
	uint64_t seed = 8;

	(void)state;
	for (uint64_t run = 0; run < test_scaled(300000); run++) {
		uint64_t window = RL_WINDOW_MIN + test_below(&seed, RL_WINDOW_MAX - RL_WINDOW_MIN);
		uint32_t granularity = 1 + (uint32_t)test_below(&seed, RL_GRANULARITY_MAX);
		struct rl_window w = rl_window_make(RL_SLIDING_WINDOW, window, granularity, false);
		uint64_t most = (UINT64_MAX >> 1) / w.width_ns;
		uint64_t edge = test_below(&seed, 4) ? test_below(&seed, most) * w.width_ns
		                                     : most * w.width_ns;
		uint64_t now = edge + test_below(&seed, 3) - 1;
		struct rl_window_at at;

		now = now < UINT64_MAX >> 1 ? now : UINT64_MAX >> 1;
		at = rl_window_at(&w, NULL, NULL, 0, now);
		assert_true(at.epoch == now / w.width_ns);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_epochs_are_quotients),
		cmocka_unit_test(test_all_short_sequences),
		cmocka_unit_test(test_random_histories),
		cmocka_unit_test(test_known_two_counter_examples),
		cmocka_unit_test(test_hard_never_exceeds_capacity_in_any_window),
		cmocka_unit_test(test_no_excess_outlasts_two_turns),
		cmocka_unit_test(test_refunds_of_a_frozen_state),
		cmocka_unit_test(test_width_is_rounded_up),
		cmocka_unit_test(test_words_hold_their_extremes),
		cmocka_unit_test(test_damaged_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

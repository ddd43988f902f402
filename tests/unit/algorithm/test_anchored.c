/* SPDX-License-Identifier: BSD-2-Clause */
/* Windows that begin with a key's first charge, and limits that count what they deny. */
#include <string.h>

#include "algorithm/ops.h"
#include "at.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define MINUTE (60 * RL_SECOND)
#define COUNT_MAX ((UINT32_C(1) << 28) - 1)

static int
define(struct rl *rl, const struct rl_limit *limit)
{
	int rule = rl_define(rl, &(struct rl_rule){.name = "r", .limit = *limit});

	assert_true(rule >= 0);
	return rule;
}

static struct rl_limit
anchored(uint32_t capacity, uint64_t window_ns)
{
	return (struct rl_limit){
		.algorithm = RL_ANCHORED_WINDOW, .capacity = capacity, .window_ns = window_ns};
}

static enum rl_verdict
check(struct rl *rl, int rule, uint64_t cost, uint64_t now, struct rl_result *r)
{
	return at_check(rl, rule, "k", 1, cost, now, r);
}

/* The definition: one key's window, and what was counted in it. */
struct naive {
	struct rl_limit limit;
	uint64_t start;
	uint64_t used;
	int has_begun;
};

static uint64_t
end_of(const struct naive *n)
{
	return n->limit.window_ns == RL_NEVER_NS ? UINT64_MAX : n->start + n->limit.window_ns;
}

/* A time before the window is in it. */
static int
is_over(const struct naive *n, uint64_t now)
{
	return !n->has_begun || now >= end_of(n);
}

static uint64_t
begin_at(const struct naive *n, uint64_t now)
{
	return n->limit.algorithm == RL_FIXED_WINDOW ? now - now % n->limit.window_ns : now;
}

static enum rl_verdict
naive_check(struct naive *n, uint64_t cost, uint64_t now)
{
	uint64_t used = is_over(n, now) ? 0 : n->used;

	if (used + cost > n->limit.capacity) {
		if (n->limit.count_denied)
			n->used = used + cost;
		return RL_DENIED;
	}
	if (is_over(n, now))
		n->start = begin_at(n, now);
	n->has_begun = 1;
	n->used = used + cost;
	return RL_ALLOWED;
}

static uint64_t
until(uint64_t then, uint64_t now)
{
	return then == UINT64_MAX ? RL_NEVER_NS : then > now ? then - now : 0;
}

static void
expect_same(const struct naive *n, uint64_t now, const struct rl_result *r)
{
	uint64_t used = is_over(n, now) ? 0 : n->used, capacity = n->limit.capacity;
	uint64_t shown = used > capacity && !n->limit.count_denied ? capacity : used;

	assert_int_equal(r->limit, capacity);
	assert_int_equal(r->used, shown);
	assert_int_equal(r->remaining, used < capacity ? capacity - used : 0);
	assert_int_equal(r->window_ns, n->limit.window_ns);
	if (used > 0)
		assert_int_equal(r->reset_after_ns, until(end_of(n), now));
	assert_int_equal(r->retry_after_ns,
	                 r->verdict == RL_DENIED ? until(end_of(n), now) : UINT64_C(0));
}

static struct rl_limit
any_limit(uint64_t *seed)
{
	struct rl_limit limit = anchored(1 + (uint32_t)test_below(seed, 30),
	                                 RL_WINDOW_MIN + test_below(seed, 100 * RL_SECOND));

	if (test_below(seed, 3) == 0)
		limit.algorithm = RL_FIXED_WINDOW;
	else if (test_below(seed, 8) == 0)
		limit.window_ns = RL_NEVER_NS;
	else if (test_below(seed, 8) == 0)
		limit.window_ns = RL_WINDOW_MAX;
	limit.count_denied = (int)test_below(seed, 2);
	return limit;
}

static uint64_t
step_of(const struct rl_limit *limit, uint64_t *seed)
{
	uint64_t window = limit->window_ns == RL_NEVER_NS ? MINUTE : limit->window_ns;

	return test_below(seed, 1 + 3 * window / limit->capacity);
}

/* Some requests by a clock that is behind, some peeks, some charges given back. */
static void
test_beside_its_definition(void **state)
{
	uint64_t seed = 5;

	(void)state;
	for (int run = 0; run < 3000; run++) {
		struct rl *rl = test_private(20);
		struct naive n = {.limit = any_limit(&seed)};
		int rule = define(rl, &n.limit);
		uint64_t now = T0 + test_below(&seed, MINUTE);
		for (int i = 0; i < 60; i++) {
			uint64_t cost =
				1 + test_below(&seed, n.limit.capacity < 4 ? n.limit.capacity : 4);
			struct rl_charges c;
			struct rl_result r;
			now += step_of(&n.limit, &seed);
			uint64_t at = test_below(&seed, 8) ? now : now - test_below(&seed, MINUTE);
			assert_int_equal(test_check_at(rl, rule, "k", 1, cost, at, &r, &c),
			                 naive_check(&n, cost, at));
			expect_same(&n, at, &r);
			if (test_below(&seed, 4) == 0 && r.verdict == RL_ALLOWED) {
				assert_int_equal(at_refund(rl, &c, now), 1);
				n.used -= cost;
			}
			at_peek(rl, rule, "k", 1, now, &r);
			expect_same(&n, now, &r);
			assert_int_equal(r.verdict == RL_ALLOWED, r.remaining > 0);
		}
		rl_close(rl);
	}
}

/* To the nanosecond, whatever the clock on the wall says. */
static void
test_begins_with_the_first_charge(void **state)
{
	struct rl *rl = test_private(20);
	struct rl_limit limit = anchored(2, MINUTE);
	int rule = define(rl, &limit);
	uint64_t first = T0 + 59 * RL_SECOND + 17;
	struct rl_result r;

	(void)state;
	at_peek(rl, rule, "k", 1, T0, &r); /* a peek is no charge */
	assert_int_equal(check(rl, rule, 1, first, &r), RL_ALLOWED);
	assert_int_equal(r.reset_after_ns, MINUTE);
	assert_int_equal(check(rl, rule, 1, first + MINUTE - 1, NULL), RL_ALLOWED);
	assert_int_equal(check(rl, rule, 1, first + MINUTE - 1, &r), RL_DENIED);
	assert_int_equal(r.retry_after_ns, 1);
	assert_int_equal(at_check(rl, rule, "j", 1, 1, first, NULL), RL_ALLOWED);
	assert_int_equal(check(rl, rule, 1, first + MINUTE, &r), RL_ALLOWED);
	assert_int_equal(r.remaining, 1);
	/* The same where it is not the first request of its minute, which goes a longer way. */
	assert_int_equal(at_check(rl, rule, "j", 1, 1, first + MINUTE, &r), RL_ALLOWED);
	assert_int_equal(r.remaining, 1);
	rl_close(rl);
}

/* A refund of a window that is over takes nothing from the next. */
static void
test_a_late_refund_is_ignored(void **state)
{
	struct rl *rl = test_private(20);
	struct rl_limit limit = anchored(5, MINUTE);
	int rule = define(rl, &limit);
	struct rl_charges old;
	struct rl_result r;

	(void)state;
	test_check_at(rl, rule, "k", 1, 1, T0, NULL, &old);
	check(rl, rule, 4, T0 + MINUTE, &r);
	assert_int_equal(at_refund(rl, &old, T0 + MINUTE), 0);
	at_peek(rl, rule, "k", 1, T0 + MINUTE, &r);
	assert_int_equal(r.used, 4);
	rl_close(rl);
}

/* What is given back whole leaves the window, and who is reset has none. */
static void
test_none_is_told_from_nothing(void **state)
{
	struct rl *rl = test_private(20);
	struct rl_limit limit = anchored(5, MINUTE);
	int rule = define(rl, &limit);
	struct rl_charges charges;
	struct rl_result r;

	(void)state;
	test_check_at(rl, rule, "k", 1, 1, T0, NULL, &charges);
	assert_int_equal(at_refund(rl, &charges, T0 + 1), 1);
	at_peek(rl, rule, "k", 1, T0 + 10, &r);
	assert_int_equal(r.used, 0);
	assert_int_equal(r.reset_after_ns, MINUTE - 10);
	check(rl, rule, 1, T0 + 20, &r);
	assert_int_equal(r.reset_after_ns, MINUTE - 20);
	at_peek(rl, rule, "k", 1, T0 + MINUTE, &r);
	assert_int_equal(r.reset_after_ns, 0);
	at_peek(rl, rule, "j", 1, T0, &r);
	assert_int_equal(r.reset_after_ns, 0);
	rl_close(rl);
}

static void
test_who_is_reset_begins_anew(void **state)
{
	struct rl *rl = test_private(20);
	struct rl_limit limit = anchored(5, MINUTE);
	int rule = define(rl, &limit);
	uint64_t now = rl_now(rl);
	struct rl_result r;

	(void)state;
	check(rl, rule, 3, now, NULL);
	assert_int_equal(rl_reset(rl, rule, "k", 1), 1);
	at_peek(rl, rule, "k", 1, rl_now(rl) + 10, &r);
	assert_int_equal(r.used, 0);
	assert_int_equal(r.reset_after_ns, 0);
	now = rl_now(rl) + 20;
	check(rl, rule, 1, now, &r);
	assert_int_equal(r.reset_after_ns, MINUTE);
	rl_close(rl);
}

static void
test_without_an_end(void **state)
{
	struct rl *rl = test_private(20);
	struct rl_limit limit = anchored(3, RL_NEVER_NS);
	int rule = define(rl, &limit);
	struct rl_result r;

	(void)state;
	for (uint64_t year = 0; year < 3; year++)
		assert_int_equal(check(rl, rule, 1, T0 + year * RL_WINDOW_MAX, &r), RL_ALLOWED);
	assert_int_equal(r.reset_after_ns, RL_NEVER_NS);
	assert_int_equal(check(rl, rule, 1, T0 + 100 * RL_WINDOW_MAX, &r), RL_DENIED);
	assert_int_equal(r.retry_after_ns, RL_NEVER_NS);
	assert_int_equal(rl_sweep_at(rl, T0 + 100 * RL_WINDOW_MAX), 0);
	assert_int_equal(rl_reset(rl, rule, "k", 1), 1);
	assert_int_equal(check(rl, rule, 3, T0 + 100 * RL_WINDOW_MAX, NULL), RL_ALLOWED);
	rl_close(rl);
}

/* It stops where its word is full, and begins anew as ever. */
static void
test_denied_ones_do_not_go_round(void **state)
{
	const enum rl_algorithm both[] = {RL_FIXED_WINDOW, RL_ANCHORED_WINDOW};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct rl *rl = test_private(20);
		struct rl_limit limit = anchored(COUNT_MAX - 5, MINUTE);
		struct rl_result r;
		limit.algorithm = both[i];
		limit.count_denied = 1;
		int rule = define(rl, &limit);
		check(rl, rule, COUNT_MAX - 5, T0, NULL);
		for (int j = 0; j < 3; j++)
			assert_int_equal(check(rl, rule, 4, T0 + 1, &r), RL_DENIED);
		assert_int_equal(r.used, COUNT_MAX);
		assert_int_equal(check(rl, rule, COUNT_MAX, T0 + 1, &r), RL_NEVER);
		assert_int_equal(check(rl, rule, 1, T0 + MINUTE, &r), RL_ALLOWED);
		assert_int_equal(r.used, 1);
		rl_close(rl);
	}
}

/* Whether denials count may change at any time, and the count stays. */
static void
test_may_be_switched(void **state)
{
	struct rl *rl = test_private(20);
	struct rl_limit limit = anchored(2, MINUTE);
	int rule = define(rl, &limit);
	struct rl_result r;

	(void)state;
	check(rl, rule, 2, T0, NULL);
	check(rl, rule, 1, T0, &r);
	assert_int_equal(r.used, 2);
	limit.count_denied = 1;
	assert_int_equal(define(rl, &limit), rule);
	check(rl, rule, 1, T0, &r);
	assert_int_equal(r.used, 3);
	limit.count_denied = 0;
	define(rl, &limit);
	check(rl, rule, 1, T0, &r);
	assert_int_equal(r.used, 3); /* it still counts */
	rl_close(rl);
}

static uint32_t
used_of(struct rl *rl, const struct rl_item *item, size_t limit)
{
	struct rl_item peek = *item;
	struct rl_result each[RL_LIMITS_MAX];
	size_t count;

	peek.cost = 0;
	at_check_limits(rl, &peek, T0, NULL, &count, each);
	assert_true(limit < count);
	return each[limit].used;
}

/* Of several limits each counts what it denies itself, and nothing else is charged. */
static void
test_several_limits(void **state)
{
	struct rl *rl = test_private(20);
	struct rl_limit more = anchored(4, MINUTE);
	struct rl_rule rule = {
		.name = "r", .limit = anchored(2, MINUTE), .more = &more, .more_count = 1};
	struct rl_item item = {.key = "k", .key_len = 1, .cost = 1};

	(void)state;
	rule.limit.count_denied = 1;
	item.rule = rl_define(rl, &rule);
	for (int i = 0; i < 5; i++)
		assert_int_equal(at_check_item(rl, &item, T0, NULL),
		                 i < 2 ? RL_ALLOWED : RL_DENIED);
	assert_int_equal(used_of(rl, &item, 0), 5);
	assert_int_equal(used_of(rl, &item, 1), 2);
	rule.limit.capacity = 9; /* now the other one denies */
	rl_define(rl, &rule);
	for (int i = 0; i < 5; i++)
		at_check_item(rl, &item, T0, NULL);
	assert_int_equal(used_of(rl, &item, 0), 7);
	assert_int_equal(used_of(rl, &item, 1), 4);
	rl_close(rl);
}

static void
test_a_shadow_counts_on(void **state)
{
	struct rl *rl = test_private(20);
	struct rl_limit limit = anchored(2, MINUTE);
	struct rl_result r;

	(void)state;
	limit.shadow = limit.count_denied = 1;
	int rule = define(rl, &limit);
	for (int i = 0; i < 5; i++)
		assert_int_equal(check(rl, rule, 1, T0, &r), RL_ALLOWED);
	assert_true(r.is_shadow_denied);
	assert_int_equal(r.used, 5);
	rl_close(rl);
}

struct copy {
	struct rl *to;
	int rule;
	unsigned seen;
};

static int
restore(const struct rl_entry *e, void *arg)
{
	struct copy *copy = arg;

	copy->seen++;
	assert_int_equal(e->used, 7);
	assert_int_equal(e->buckets, 1);
	assert_int_equal(e->bucket[0], 7);
	assert_int_equal(e->bucket_ns, MINUTE);
	assert_int_equal(e->bucket_end_ns, T0 + MINUTE + 3);
	assert_int_equal(e->charge_entries, 1);
	assert_int_equal(rl_restore_at(copy->to, copy->rule, e->limit, e->key, e->key_len,
	                               e->charge_entry[0].cost, e->charge_entry[0].at_ns),
	                 0);
	return 0;
}

/* What is listed of a key, restored elsewhere, is the same window. */
static void
test_listed_and_restored(void **state)
{
	struct rl *from = test_private(20), *to = test_private(20);
	struct rl_limit limit = anchored(5, MINUTE);
	struct rl_result r;

	(void)state;
	limit.count_denied = 1;
	int rule = define(from, &limit);
	struct copy copy = {.to = to, .rule = define(to, &limit)};
	check(from, rule, 4, T0 + 3, NULL);
	check(from, rule, 3, T0 + 9, NULL);
	assert_int_equal(rl_walk(from, T0 + 10, NULL, restore, &copy), 0);
	assert_int_equal(copy.seen, 1);
	at_peek(to, copy.rule, "k", 1, T0 + 10, &r);
	assert_int_equal(r.used, 7);
	assert_int_equal(r.retry_after_ns, MINUTE - 7);
	rl_close(from);
	rl_close(to);
}

static void
expect_refused(struct rl_limit limit, const char *text)
{
	struct rl_rule rule = {.name = "r", .limit = limit};
	struct rl *rl = test_private(20);
	char said[RL_RULE_TEXT_SIZE];

	assert_int_equal(rl_define(rl, &rule), -EINVAL);
	assert_int_equal(rl_rule_check(&rule, NULL, said, sizeof said), -EINVAL);
	assert_string_equal(said, text);
	rl_close(rl);
}

static void
test_what_cannot_be(void **state)
{
	struct rl_limit limit = anchored(160, MINUTE);

	(void)state;
	limit.prefetch = 1;
	expect_refused(limit,
	               "limit.prefetch: 1; only sliding_window and fixed_window have it, 0 is "
	               "allowed");
	limit.algorithm = RL_FIXED_WINDOW;
	limit.count_denied = 1;
	expect_refused(limit,
	               "limit.prefetch: 1; a limit that counts what it denies has none, 0 is "
	               "allowed");
	limit.prefetch = 0;
	limit.algorithm = RL_SLIDING_WINDOW;
	expect_refused(limit,
	               "limit.count_denied: only fixed_window and anchored_window have it, 0 is "
	               "allowed");
	limit.count_denied = 0;
	limit.window_ns = RL_NEVER_NS;
	expect_refused(limit, "limit.window_ns: only an anchored window can be without an end");
	expect_refused(anchored(1, RL_WINDOW_MAX + 1),
	               "limit.window_ns: 34560000000000001 ns; 10 ms to 400 days is allowed");
}

/* A damaged word counts twice what one can: what is told is that at most. */
static void
test_damage_counts_no_more_than_a_word(void **state)
{
	struct rl_limiter l = {
		.window_ns = RL_SECOND,
		.window = rl_window_make(RL_FIXED_WINDOW, RL_SECOND, 1, false),
	};
	const struct rl_quota q = {.capacity = 5, .counts_denied = true};
	const struct rl_state damaged = {.cur = RL_CAPACITY_MAX, .sum = RL_CAPACITY_MAX};
	const struct rl_view v = {.word = rl_state_pack(damaged, 0)};
	const struct rl_ask ask = {.l = &l, .q = &q, .v = &v, .cost = 1};
	struct rl_decision d;

	(void)state;
	rl_limiter_set(&l, RL_FIXED_WINDOW);
	rl_limiter_peek(&ask, &d);
	assert_int_equal(rl_decision_used(&d), RL_CAPACITY_MAX);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_beside_its_definition),
		cmocka_unit_test(test_begins_with_the_first_charge),
		cmocka_unit_test(test_a_late_refund_is_ignored),
		cmocka_unit_test(test_none_is_told_from_nothing),
		cmocka_unit_test(test_who_is_reset_begins_anew),
		cmocka_unit_test(test_without_an_end),
		cmocka_unit_test(test_denied_ones_do_not_go_round),
		cmocka_unit_test(test_may_be_switched),
		cmocka_unit_test(test_several_limits),
		cmocka_unit_test(test_a_shadow_counts_on),
		cmocka_unit_test(test_listed_and_restored),
		cmocka_unit_test(test_what_cannot_be),
		cmocka_unit_test(test_damage_counts_no_more_than_a_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

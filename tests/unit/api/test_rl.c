/* SPDX-License-Identifier: BSD-2-Clause */
/* What rl.h promises to an application, on a private segment under an injected clock. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "at.h"
#include "naive.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND) /* on a whole second and a whole 10 s */

static enum rl_verdict
check(struct rl *rl, int rule, const char *key, uint64_t cost, uint64_t now, struct rl_result *r)
{
	return at_check(rl, rule, key, strlen(key), cost, now, r);
}

static uint32_t
remaining(struct rl *rl, int rule, const char *key, uint64_t now)
{
	struct rl_result r;

	at_peek(rl, rule, key, strlen(key), now, &r);
	return r.remaining;
}

static void
test_exactly_capacity(void **state)
{
	struct rl *rl = test_private(100);
	int rule = test_rule(rl, "r", 100, 10 * RL_SECOND, 1, false);
	struct rl_result r;

	(void)state;
	for (uint32_t i = 1; i <= 100; i++) {
		assert_int_equal(check(rl, rule, "k", 1, T0, &r), RL_ALLOWED);
		assert_int_equal(r.limit, 100);
		assert_int_equal(r.remaining, 100 - i);
		assert_int_equal(r.retry_after_ns, 0);
		assert_int_equal(r.reset_after_ns, 20 * RL_SECOND);
		assert_int_equal(r.error, 0);
	}
	assert_int_equal(check(rl, rule, "k", 1, T0, &r), RL_DENIED);
	assert_int_equal(r.remaining, 0);
	/* in the next 10 s, 100 * (1 - f) + 1 <= 100 from f = 1/100 on */
	assert_int_equal(r.retry_after_ns, 10 * RL_SECOND + RL_SECOND / 10);
	assert_int_equal(check(rl, rule, "k", 1, T0 + r.retry_after_ns - 1, NULL), RL_DENIED);
	assert_int_equal(check(rl, rule, "k", 1, T0 + r.retry_after_ns, NULL), RL_ALLOWED);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_allowed), 101);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_denied), 2);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_inserted), 1);
	rl_close(rl);
}

static void
test_fixed_window_starts_on_the_clock(void **state)
{
	struct rl *rl = test_private(100);
	int rule = test_rule(rl, "r", 3, 10 * RL_SECOND, 0, false);
	struct rl_result r;

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(check(rl, rule, "k", 1, T0 + 9 * RL_SECOND, &r), RL_ALLOWED);
	assert_int_equal(r.reset_after_ns, RL_SECOND);
	assert_int_equal(check(rl, rule, "k", 1, T0 + 10 * RL_SECOND - 1, &r), RL_DENIED);
	assert_int_equal(r.retry_after_ns, 1);
	assert_int_equal(check(rl, rule, "k", 1, T0 + 10 * RL_SECOND, &r), RL_ALLOWED);
	assert_int_equal(r.remaining, 2);
	rl_close(rl);
}

static void
test_answers_that_need_no_counter(void **state)
{
	static char long_key[RL_KEY_MAX + 1];
	struct rl *rl = test_private(100);
	int rule = test_rule(rl, "r", 5, RL_SECOND, 1, false);
	struct rl_result r;

	(void)state;
	/* an empty key is not limited, and nothing counts it */
	for (int i = 0; i < 20; i++)
		assert_int_equal(at_check(rl, rule, NULL, 0, 1, T0, &r), RL_ALLOWED);
	assert_int_equal(r.error, RL_EEMPTY);
	assert_int_equal(r.remaining, 5);
	assert_int_equal(rl_fill(rl), 0);
	/* cost 0 is a peek */
	for (int i = 0; i < 20; i++)
		assert_int_equal(check(rl, rule, "k", 0, T0, &r), RL_ALLOWED);
	assert_int_equal(r.remaining, 5);
	assert_int_equal(rl_fill(rl), 0);
	/* cost above capacity: never, and the counter is as it was */
	assert_int_equal(check(rl, rule, "k", 2, T0, &r), RL_ALLOWED);
	assert_int_equal(check(rl, rule, "k", 6, T0, &r), RL_NEVER);
	assert_true(r.retry_after_ns == RL_NEVER_NS);
	assert_int_equal(r.remaining, 3);
	assert_int_equal(check(rl, rule, "k", (UINT64_C(1) << 32) + 1, T0, &r), RL_NEVER);
	assert_int_equal(check(rl, rule, "new", UINT64_MAX, T0, &r), RL_NEVER);
	assert_int_equal(rl_fill(rl), 1);
	assert_int_equal(remaining(rl, rule, "k", T0), 3);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_never), 3);
	/* what is wrong is undecided, and says why */
	assert_int_equal(at_check(rl, rule, long_key, sizeof long_key, 1, T0, &r), RL_UNDECIDED);
	assert_int_equal(r.error, -ENAMETOOLONG);
	assert_int_equal(at_check(rl, rule, NULL, 1, 1, T0, &r), RL_UNDECIDED);
	assert_int_equal(r.error, -EINVAL);
	assert_int_equal(at_check(rl, rule + 1, "k", 1, 1, T0, &r), RL_UNDECIDED);
	assert_int_equal(r.error, -EINVAL);
	assert_int_equal(at_check(rl, -1, "k", 1, 1, T0, &r), RL_UNDECIDED);
	assert_int_equal(at_check(rl, 1 << 20, "k", 1, 1, T0, &r), RL_UNDECIDED);
	assert_int_equal(at_check(rl, rule, long_key, RL_KEY_MAX, 1, T0, &r), RL_ALLOWED);
	rl_close(rl);
}

static void
test_keys_are_bytes(void **state)
{
	struct rl *rl = test_private(100);
	int rule = test_rule(rl, "r", 1, RL_SECOND, 1, false);
	const char *keys[] = {"\0", "\0\0", "a\0b", "a\0c", "a", "\xff\xfe\xfd"};
	size_t lens[] = {1, 2, 3, 3, 1, 3};

	(void)state;
	for (int i = 0; i < 6; i++)
		assert_int_equal(at_check(rl, rule, keys[i], lens[i], 1, T0, NULL), RL_ALLOWED);
	for (int i = 0; i < 6; i++)
		assert_int_equal(at_check(rl, rule, keys[i], lens[i], 1, T0, NULL), RL_DENIED);
	assert_int_equal(rl_fill(rl), 6);
	rl_close(rl);
}

static void
test_peek_spends_nothing(void **state)
{
	struct rl *rl = test_private(100);
	int rule = test_rule(rl, "r", 2, RL_SECOND, 4, true);
	struct rl_result r;

	(void)state;
	assert_int_equal(check(rl, rule, "k", 1, T0, NULL), RL_ALLOWED);
	for (int i = 0; i < 50; i++) {
		assert_int_equal(at_peek(rl, rule, "k", 1, T0, &r), RL_ALLOWED);
		assert_int_equal(r.remaining, 1);
	}
	assert_int_equal(check(rl, rule, "k", 1, T0, NULL), RL_ALLOWED);
	assert_int_equal(at_peek(rl, rule, "k", 1, T0, &r), RL_DENIED);
	assert_int_equal(check(rl, rule, "k", 0, T0, NULL), RL_DENIED);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_denied), 0);
	rl_close(rl);
}

static void
test_refund(void **state)
{
	struct rl *rl = test_private(100);
	int rule = test_rule(rl, "r", 5, 10 * RL_SECOND, 10, true);
	struct rl_charges first, second, late, denied;

	(void)state;
	assert_int_equal(test_check_at(rl, rule, "k", 1, 2, T0, NULL, &first), RL_ALLOWED);
	assert_int_equal(test_check_at(rl, rule, "k", 1, 3, T0, NULL, &second), RL_ALLOWED);
	assert_int_equal(test_check_at(rl, rule, "k", 1, 1, T0, NULL, &denied), RL_DENIED);
	assert_int_equal(rl_refund(rl, &denied), 0);
	assert_int_equal(rl_refund(rl, &first), 1);
	assert_int_equal(remaining(rl, rule, "k", T0), 2);
	/* once only */
	assert_int_equal(rl_refund(rl, &first), 0);
	assert_int_equal(remaining(rl, rule, "k", T0), 2);
	/* from its own sub-bucket, also once that has been left */
	assert_int_equal(rl_refund(rl, &second), 1);
	assert_int_equal(test_check_at(rl, rule, "k", 1, 1, T0, NULL, &second), RL_ALLOWED);
	assert_int_equal(test_check_at(rl, rule, "k", 1, 2, T0 + RL_SECOND, NULL, &late),
	                 RL_ALLOWED);
	assert_int_equal(rl_refund(rl, &second), 1);
	assert_int_equal(remaining(rl, rule, "k", T0 + RL_SECOND), 3);
	/* not from a counter that was forgotten meanwhile */
	assert_int_equal(rl_reset(rl, rule, "k", 1), 1);
	assert_int_equal(check(rl, rule, "k", 4, T0 + RL_SECOND, NULL), RL_ALLOWED);
	assert_int_equal(rl_refund(rl, &late), 0);
	assert_int_equal(remaining(rl, rule, "k", T0 + RL_SECOND), 1);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_refunded), 3);
	rl_close(rl);
}

/* A forged charge must not reach outside the table. */
static void
test_refund_of_nonsense(void **state)
{
	struct rl *rl = test_private(100);
	uint64_t seed = 4;

	(void)state;
	test_rule(rl, "r", 5, RL_SECOND, 4, false);
	for (int i = 0; i < 100000; i++) {
		struct rl_charges c = {.count = (unsigned)test_below(&seed, 20)};

		for (int k = 0; k < RL_LIMITS_MAX; k++)
			c.charge[k] = (struct rl_charge){
				.key = test_random(&seed),
				.epoch = test_random(&seed),
				.cost = (uint32_t)test_random(&seed),
				.capacity = (uint32_t)test_random(&seed),
				.memory = (uint32_t)test_random(&seed),
				.limit = (uint16_t)(test_below(&seed, 2) * test_random(&seed)),
				.gen = (uint8_t)test_random(&seed),
				.place = (uint8_t)test_random(&seed)};
		assert_int_equal(rl_refund(rl, &c), 0);
	}
	rl_close(rl);
}

static void
test_reset(void **state)
{
	struct rl *rl = test_private(100);
	int rule = test_rule(rl, "r", 2, 10 * RL_SECOND, 5, false);

	(void)state;
	assert_int_equal(rl_reset(rl, rule, "k", 1), 0);
	check(rl, rule, "k", 2, T0, NULL);
	check(rl, rule, "other", 1, T0, NULL);
	assert_int_equal(check(rl, rule, "k", 1, T0, NULL), RL_DENIED);
	assert_int_equal(rl_reset(rl, rule, "k", 1), 1);
	assert_int_equal(remaining(rl, rule, "k", T0), 2);
	assert_int_equal(remaining(rl, rule, "other", T0), 1);
	assert_int_equal(check(rl, rule, "k", 2, T0, NULL), RL_ALLOWED);
	/* what the old incarnation left in the ring is not the new one's */
	for (uint64_t s = 2; s < 30; s += 2) {
		rl_reset(rl, rule, "k", 1);
		assert_int_equal(check(rl, rule, "k", 1, T0 + s * RL_SECOND, NULL), RL_ALLOWED);
		assert_int_equal(remaining(rl, rule, "k", T0 + (s + 1) * RL_SECOND), 1);
	}
	assert_int_equal(rl_reset(rl, rule + 1, "k", 1), -EINVAL);
	rl_close(rl);
}

static void
test_define_and_find(void **state)
{
	struct rl *rl = test_private(100);
	int a = test_rule(rl, "a", 10, RL_SECOND, 4, false);
	int b = test_rule(rl, "b", 10, RL_SECOND, 4, false);
	struct rl_rule_info info;

	(void)state;
	assert_int_not_equal(a, b);
	assert_int_equal(test_rule(rl, "a", 10, RL_SECOND, 4, false), a);
	assert_int_equal(rl_find(rl, "a"), a);
	assert_int_equal(rl_find(rl, "b"), b);
	assert_int_equal(rl_find(rl, "c"), -ENOENT);
	assert_int_equal(rl_find(rl, ""), -ENOENT);
	assert_int_equal(rl_find(rl, NULL), -ENOENT);
	/* another capacity is the same rule, at once, with the same counters */
	check(rl, a, "k", 6, T0, NULL);
	assert_int_equal(test_rule(rl, "a", 7, RL_SECOND, 4, false), a);
	assert_int_equal(remaining(rl, a, "k", T0), 1);
	assert_int_equal(test_rule(rl, "a", 5, RL_SECOND, 4, false), a);
	assert_int_equal(remaining(rl, a, "k", T0), 0);
	/* another shape is another counter, of the same rule */
	assert_int_equal(test_rule(rl, "a", 10, 2 * RL_SECOND, 4, false), a);
	assert_int_equal(rl_find(rl, "a"), a);
	assert_int_equal(remaining(rl, a, "k", T0), 10);
	assert_int_equal(rl_rule_info(rl, a, &info), 1);
	assert_string_equal(info.name, "a");
	assert_int_equal(info.limit_count, 1);
	assert_int_equal(info.limits[0].capacity, 10);
	assert_true(info.limits[0].window_ns == 2 * RL_SECOND);
	assert_int_equal(rl_rule_info(rl, b + 1, &info), 0);
	/* and the old shape starts anew */
	assert_int_equal(test_rule(rl, "a", 7, RL_SECOND, 4, false), a);
	assert_int_equal(remaining(rl, a, "k", T0), 7);
	rl_close(rl);
}

static void
test_rules_that_cannot_be(void **state)
{
	struct rl *rl;
	const struct rl_rule good = {
		.name = "r", .limit.capacity = 1, .limit.window_ns = RL_SECOND};
	struct rl_rule r;

	(void)state;
	rl_open_private(&(struct rl_options){.keys = 10, .ring = 8, .rules = 2}, &rl);
#define REFUSED(error, field, value) \
	(r = good, r.field = (value), assert_int_equal(rl_define(rl, &r), (error)))
	REFUSED(-EINVAL, name, NULL);
	REFUSED(-EINVAL, name, "");
	REFUSED(-EINVAL, name, "with space");
	REFUSED(-EINVAL, name, "0123456789012345678901234567890123456789012345678901234567890123");
	REFUSED(-EINVAL, limit.capacity, 0);
	REFUSED(-EINVAL, limit.capacity, RL_CAPACITY_MAX + 1);
	REFUSED(-EINVAL, limit.window_ns, RL_WINDOW_MIN - 1);
	REFUSED(-EINVAL, limit.window_ns, RL_WINDOW_MAX + 1);
	REFUSED(-EINVAL, limit.granularity, 65);
	REFUSED(-EINVAL, limit.algorithm, (enum rl_algorithm)7);
	REFUSED(-EINVAL, limit.burst, 1);
	REFUSED(-EINVAL, limit.undelayed, 1);
	REFUSED(RL_ERING, limit.granularity, 9);
#undef REFUSED
	r = good;
	r.limit.algorithm = RL_FIXED_WINDOW;
	r.limit.hard = 1;
	assert_int_equal(rl_define(rl, &r), -EINVAL);
	assert_int_equal(rl_define(rl, &good), 0);
	r = good;
	r.limit.granularity = 8;
	r.limit.capacity = RL_CAPACITY_MAX;
	r.limit.window_ns = RL_WINDOW_MAX;
	assert_int_equal(rl_define(rl, &r), 0);
	r.name = "second";
	assert_int_equal(rl_define(rl, &r), 1);
	r.name = "third";
	assert_int_equal(rl_define(rl, &r), RL_ERULES);
	rl_close(rl);
}

static void
test_time_that_steps_back(void **state)
{
	struct rl *rl = test_private(100);
	int rule = test_rule(rl, "r", 3, 10 * RL_SECOND, 10, true);
	struct rl_result r;

	(void)state;
	check(rl, rule, "k", 1, T0 + 5 * RL_SECOND, NULL);
	/* an earlier now counts with the newest request, and gets no more than it */
	assert_int_equal(check(rl, rule, "k", 1, T0, &r), RL_ALLOWED);
	assert_int_equal(r.remaining, 1);
	assert_int_equal(check(rl, rule, "k", 1, 0, &r), RL_ALLOWED);
	assert_int_equal(check(rl, rule, "k", 1, T0 + 6 * RL_SECOND, &r), RL_DENIED);
	assert_int_equal(check(rl, rule, "k", 1, T0, &r), RL_DENIED);
	/* its retry is told on its own clock: in sub-bucket 5, 10 back, 1 on */
	assert_int_equal(r.retry_after_ns, 16 * RL_SECOND);
	rl_close(rl);
}

/* A machine that slept, or a clock that jumps ahead: what the window has left is free again. */
static void
test_time_that_jumps_ahead(void **state)
{
	struct rl *rl = test_private(100);
	int rule = test_rule(rl, "r", 3, 10 * RL_SECOND, 10, true);
	uint64_t hour = 3600 * RL_SECOND;
	struct rl_result r;

	(void)state;
	assert_int_equal(check(rl, rule, "k", 3, T0, NULL), RL_ALLOWED);
	assert_int_equal(check(rl, rule, "k", 3, T0 + hour, &r), RL_ALLOWED);
	/* a process that was stopped for that hour comes with its old now: it gets no more */
	assert_int_equal(check(rl, rule, "k", 1, T0, &r), RL_DENIED);
	assert_true(r.retry_after_ns == hour + 11 * RL_SECOND);
	assert_int_equal(check(rl, rule, "k", 1, T0 + r.retry_after_ns - 1, NULL), RL_DENIED);
	assert_int_equal(check(rl, rule, "k", 1, T0 + r.retry_after_ns, NULL), RL_ALLOWED);
	rl_close(rl);
}

/* Of two items: the first's key has used up its limit. */
static void
expect_two_denied(struct rl *rl, int rule, const char *key, uint64_t now_ns)
{
	const struct rl_item items[] = {{.rule = rule, .key = key, .key_len = 1, .cost = 1},
	                                {.rule = rule, .key = "other", .key_len = 5, .cost = 1}};
	struct rl_result r[2];
	size_t decided;

	assert_int_equal(at_check_all(rl, items, 2, now_ns, r, &decided), RL_DENIED);
	assert_int_equal(decided, 0);
	assert_true(r[0].retry_after_ns > 0 && r[0].retry_after_ns < 2 * RL_WINDOW_MIN);
}

static void
test_extremes(void **state)
{
	struct rl *rl = test_private(100);
	int rule = test_rule(rl, "r", RL_CAPACITY_MAX, RL_WINDOW_MAX, 64, false);
	int tiny = test_rule(rl, "tiny", 1, RL_WINDOW_MIN, 64, true);
	struct rl_result r;
	uint64_t nows[] = {0, 1, T0, UINT64_MAX >> 1, UINT64_MAX};

	(void)state;
	for (int i = 0; i < 5; i++) {
		char key[] = {(char)('a' + i), '\0'};
		assert_int_equal(check(rl, rule, key, RL_CAPACITY_MAX, nows[i], &r), RL_ALLOWED);
		assert_int_equal(r.remaining, 0);
		assert_int_equal(check(rl, rule, key, 1, nows[i], &r), RL_DENIED);
		assert_true(r.retry_after_ns > 0 && r.retry_after_ns < 2 * RL_WINDOW_MAX);
		assert_int_equal(check(rl, tiny, key, 1, nows[i], &r), RL_ALLOWED);
		assert_int_equal(check(rl, tiny, key, 1, nows[i], &r), RL_DENIED);
		assert_true(r.retry_after_ns > 0 && r.retry_after_ns < 2 * RL_WINDOW_MIN);
		expect_two_denied(rl, tiny, key, nows[i]);
	}
	rl_close(rl);
}

/* Several keys and rules at random through the whole library, against the definition. */
static void
test_random_traffic(void **state)
{
	enum {
		KEYS = 5
	};
	static struct naive models[KEYS];
	uint64_t seed = 7;

	(void)state;
	for (int run = 0; run < 60; run++) {
		struct rl *rl = test_private(100);
		uint32_t granularity = (uint32_t)test_below(&seed, 65);
		uint32_t capacity = 1 + (uint32_t)test_below(&seed, 40);
		bool is_hard = granularity > 0 && test_below(&seed, 2);
		uint64_t window = RL_WINDOW_MIN + test_below(&seed, 100 * RL_SECOND);
		if (run % 4 == 3)
			window = RL_WINDOW_MAX;
		int rule = test_rule(rl, "r", capacity, window, granularity, is_hard);
		uint32_t parts = granularity > 0 ? granularity : 1;
		uint64_t width = (window + parts - 1) / parts, now = T0;
		for (int k = 0; k < KEYS; k++)
			naive_init(&models[k], width, granularity, is_hard, capacity);
		for (int i = 0; i < 3000; i++) {
			struct rl_charges c;
			struct rl_result r;
			int k = (int)test_below(&seed, KEYS);
			uint64_t cost = 1 + test_below(&seed, 1 + capacity / 4);
			char key = (char)k;
			now += test_below(&seed, 1 + window / 8 / (1 + test_below(&seed, 32)));
			uint64_t at = test_below(&seed, 10) ? now : now - test_below(&seed, window);
			bool allowed = naive_check(&models[k], at, cost);
			enum rl_verdict verdict =
				test_check_at(rl, rule, &key, 1, cost, at, &r, &c);
			assert_int_equal(verdict, allowed ? RL_ALLOWED : RL_DENIED);
			if (!allowed) {
				assert_false(
					naive_allows(&models[k], at + r.retry_after_ns - 1, cost));
				assert_true(naive_allows(&models[k], at + r.retry_after_ns, cost));
			} else if (test_below(&seed, 8) == 0) {
				naive_refund(&models[k], models[k].newest, cost);
				assert_int_equal(rl_refund(rl, &c), 1);
			}
			at_peek(rl, rule, &key, 1, at, &r);
			assert_int_equal(r.remaining, naive_remaining(&models[k], at));
		}
		rl_close(rl);
	}
}

static void
test_every_error_has_words(void **state)
{
	const int errors[] = {0,           RL_EFOREIGN, RL_EVERSION,   RL_ETRUNCATED,
	                      RL_EDAMAGED, RL_EBOOT,    RL_ERING,      -ENOSPC,
	                      -ENOENT,     -EINVAL,     -ENAMETOOLONG, RL_EOWNER,
	                      RL_ECREATE,  RL_EADDRESS, RL_EREMOVED,   RL_ECOST,
	                      RL_ERULES,   RL_ELIMITS,  RL_EOVERRIDES, RL_EBANS,
	                      -EROFS,      -EBUSY,      -EACCES,       -ENOMEM,
	                      RL_EDEFINED};
	const int count = sizeof errors / sizeof errors[0];

	(void)state;
	for (int i = 0; i < count; i++)
		for (int j = 0; j < i; j++)
			assert_string_not_equal(rl_strerror(errors[i]), rl_strerror(errors[j]));
	assert_string_equal(rl_strerror(-9999), "unknown error");
	assert_string_equal(rl_strerror(1), "unknown error");
	assert_string_equal(rl_strerror(INT_MIN), "unknown error");
}

/* Each has a token of its own, which a program can match, and all but success have a remedy. */
static void
test_an_error_has_a_token_and_a_remedy(void **state)
{
	static const struct {
		int error;
		const char *token;
	} errors[] = {
#define RL_ERROR(number, token, sentence, remedy) {number, token},
#include "rl_errors.def"
#undef RL_ERROR
	};
	const size_t count = sizeof errors / sizeof errors[0];

	(void)state;
	for (size_t i = 0; i < count; i++) {
		assert_string_equal(rl_error_name(errors[i].error), errors[i].token);
		assert_int_equal(rl_error_remedy(errors[i].error)[0] == '\0', errors[i].error == 0);
		assert_int_equal(strspn(errors[i].token, "abcdefghijklmnopqrstuvwxyz_"),
		                 strlen(errors[i].token));
		for (size_t j = 0; j < i; j++) {
			assert_int_not_equal(errors[i].error, errors[j].error);
			assert_string_not_equal(errors[i].token, errors[j].token);
			assert_string_not_equal(rl_strerror(errors[i].error),
			                        rl_strerror(errors[j].error));
		}
	}
	assert_string_equal(rl_error_name(-ENOSPC), "full");
	assert_string_equal(rl_error_name(-ENOTTY), "unknown");
	assert_string_equal(rl_error_remedy(-ENOTTY), "");
}

/* Which of the things that a segment was made for is used up, and so what to make it with. */
static void
test_an_error_says_what_is_full(void **state)
{
	static const struct {
		int error;
		const char *what, *option;
	} full[] = {
		{RL_ERULES, "no room for another rule", "more `rules`"},
		{RL_ELIMITS, "no room for another limit", "make the segment with more"},
		{RL_EOVERRIDES, "overrides", "more `overrides`"},
		{RL_EBANS, "no room for another ban or exemption", "more `bans`"},
		{RL_ERING, "more sub-buckets than the segment's `ring`", "'rlctl resize --ring N'"},
		{-ENOSPC, "no room for another key", "more `keys`"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof full / sizeof full[0]; i++) {
		assert_non_null(strstr(rl_strerror(full[i].error), full[i].what));
		assert_non_null(strstr(rl_error_remedy(full[i].error), full[i].option));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_error_says_what_is_full),
		cmocka_unit_test(test_an_error_has_a_token_and_a_remedy),
		cmocka_unit_test(test_exactly_capacity),
		cmocka_unit_test(test_fixed_window_starts_on_the_clock),
		cmocka_unit_test(test_answers_that_need_no_counter),
		cmocka_unit_test(test_keys_are_bytes),
		cmocka_unit_test(test_peek_spends_nothing),
		cmocka_unit_test(test_refund),
		cmocka_unit_test(test_refund_of_nonsense),
		cmocka_unit_test(test_reset),
		cmocka_unit_test(test_define_and_find),
		cmocka_unit_test(test_rules_that_cannot_be),
		cmocka_unit_test(test_time_that_steps_back),
		cmocka_unit_test(test_time_that_jumps_ahead),
		cmocka_unit_test(test_extremes),
		cmocka_unit_test(test_random_traffic),
		cmocka_unit_test(test_every_error_has_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

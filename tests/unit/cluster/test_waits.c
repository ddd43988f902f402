/* SPDX-License-Identifier: BSD-2-Clause */
/* Who is denied for want of a share is told so, and how long to come again for it. */
#include <pthread.h>
#include <string.h>

#include "at.h"
#include "decide/sleep.h"
#include "rl_admin.h"
#include "rl_cluster.h"
#include "rule/handle.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define FOREVER (T0 * 2)

static struct rl *
open_lent(void)
{
	const struct rl_options o = {.keys = 64, .ring = 16, .flags = RL_OPEN_CLUSTER};
	struct rl *rl;

	assert_int_equal(rl_open_private(&o, &rl), 0);
	assert_int_equal(rl_share_advance(rl, FOREVER), 0);
	return rl;
}

static const struct rl_limit strict = {
	.capacity = 10,
	.window_ns = 60 * RL_SECOND,
	.scope = RL_SCOPE_CLUSTER,
	.away = RL_AWAY_CLOSED,
};

static int
define(struct rl *rl, const char *name, uint64_t wait_ns)
{
	struct rl_rule rule = {.name = name, .limit = strict};
	int handle;

	rule.limit.wait_ns = wait_ns;
	handle = rl_define(rl, &rule);
	assert_true(handle >= 0);
	return handle;
}

static struct rl_result
ask(struct rl *rl, int rule, unsigned flags)
{
	const struct rl_item item = {
		.rule = rule, .key = "k", .key_len = 1, .cost = 1, .now_ns = T0, .flags = flags};
	struct rl_result r;

	rl_check_item(rl, &item, &r);
	return r;
}

static int
keep(const struct rl_share *share, void *arg)
{
	*(struct rl_share *)arg = *share;
	return 0;
}

/* The wish that there is. */
static struct rl_share
wish_of(struct rl *rl)
{
	struct rl_share share;
	uint64_t from = 0;

	assert_int_equal(rl_share_wishes(rl, &from, UINT32_MAX, T0, keep, &share), 1);
	return share;
}

static uint64_t
denied(struct rl *rl, int rule)
{
	uint64_t denied = 0, shadow = 0;

	assert_int_equal(rl_limit_stats(rl, rule, 0, &denied, &shadow), 0);
	return denied;
}

#define assert_by_share(r, wait)                                          \
	do {                                                              \
		const struct rl_result got = (r);                         \
                                                                          \
		assert_int_equal(got.verdict, RL_DENIED);                 \
		assert_int_equal(got.reason, RL_BY_SHARE);                \
		assert_int_equal(got.retry_after_ns, 2 * RL_MILLISECOND); \
		assert_int_equal(got.delay_ns, wait);                     \
	} while (0)

/* Who comes again counts as denied when he does so no more. */
static void
test_who_waits_is_not_denied_as_yet(void **state)
{
	struct rl *rl = open_lent();
	int rule = define(rl, "r", 0);
	struct rl_share share;

	(void)state;
	assert_by_share(ask(rl, rule, RL_ITEM_WAITS), RL_WAIT_USUAL);
	assert_int_equal(denied(rl, rule), 0);
	share = wish_of(rl);
	assert_int_equal(share.denied, 1);
	assert_true(share.waits);
	assert_by_share(ask(rl, rule, 0), 0);
	assert_int_equal(denied(rl, rule), 1);
	assert_false(wish_of(rl).waits);
	assert_by_share(ask(rl, rule, RL_ITEM_SLEEPS), 0);
	assert_by_share(ask(rl, rule, RL_ITEM_WAITS | RL_ITEM_SLEEPS), 0);
	assert_int_equal(denied(rl, rule), 3);
	assert_false(wish_of(rl).waits);
	assert_int_equal(rl_share_set(rl, &share.of, 1, T0, &share), 0);
	assert_int_equal(ask(rl, rule, RL_ITEM_WAITS).verdict, RL_ALLOWED);
	assert_int_equal(denied(rl, rule), 3);
	rl_close(rl);
}

/* A limit says for how long, also to those who hold a worker; or that nobody waits. */
static void
test_a_limit_says_for_how_long(void **state)
{
	struct rl *rl = open_lent();
	int rule = define(rl, "r", 1000 * RL_MILLISECOND);
	struct rl_rule_info info;

	(void)state;
	assert_by_share(ask(rl, rule, RL_ITEM_WAITS), RL_SECOND);
	assert_by_share(ask(rl, rule, RL_ITEM_WAITS | RL_ITEM_SLEEPS), RL_SECOND);
	assert_int_equal(rl_rule_info(rl, rule, &info), 1);
	assert_int_equal(info.limits[0].wait_ns, RL_SECOND);
	wish_of(rl);
	assert_int_equal(define(rl, "r", RL_WAIT_NONE), rule); /* the same counter */
	assert_by_share(ask(rl, rule, RL_ITEM_WAITS | RL_ITEM_SLEEPS), 0);
	assert_int_equal(rl_rule_info(rl, rule, &info), 1);
	assert_int_equal(info.limits[0].wait_ns, RL_WAIT_NONE);
	assert_false(wish_of(rl).waits);
	assert_int_equal(define(rl, "r", RL_MILLISECOND), rule);
	assert_by_share(ask(rl, rule, RL_ITEM_WAITS), RL_MILLISECOND);
	rl_close(rl);
}

/* Who lends, meanwhile. */
struct lender {
	struct rl *rl;
	uint32_t to;
};

static void *
lend(void *arg)
{
	const struct lender *l = arg;
	struct rl_share share;
	uint64_t from = 0;

	while (rl_share_wishes(l->rl, &from, UINT32_MAX, T0, keep, &share) == 0)
		from = 0;
	assert_int_equal(rl_share_set(l->rl, &share.of, l->to, T0, &share), 0);
	return NULL;
}

static enum rl_verdict
ask_asleep(struct rl *rl, int rule, int free, int how, struct rl_result *r)
{
	struct rl_item item = {.rule = rule,
	                       .key = "k",
	                       .key_len = 1,
	                       .cost = 1,
	                       .now_ns = T0,
	                       .flags = RL_ITEM_SLEEPS};
	const struct rl_item two[] = {item, {.rule = free, .key = "k", .key_len = 1, .cost = 1}};
	struct rl_result each[RL_LIMITS_MAX];
	size_t count;

	switch (how) {
	case 0:
		return rl_check_item(rl, &item, r);
	case 1:
		return rl_check_limits(rl, &item, r, &count, each);
	case 2:
		return rl_decide(rl, &item, 1, RL_CHECK, 0, r, NULL);
	}
	rl_check_all(rl, two, 2, each, &count);
	*r = each[0];
	return r->verdict;
}

/* Whoever holds a worker sleeps where his limit says so, in each call; and is denied in the end. */
static void
test_a_worker_sleeps(void **state)
{
	const struct rl_rule own = {.name = "own",
	                            .limit = {.capacity = 99, .window_ns = RL_SECOND}};

	(void)state;
	for (int how = 0; how < 4; how++) {
		struct rl *rl = open_lent();
		int rule = define(rl, "r", RL_SECOND), free = rl_define(rl, &own);
		struct lender lender = {rl, 3};
		struct rl_result r;
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, lend, &lender), 0);
		assert_int_equal(ask_asleep(rl, rule, free, how, &r), RL_ALLOWED);
		assert_int_equal(pthread_join(thread, NULL), 0);
		assert_int_equal(denied(rl, rule), 0);
		assert_int_equal(define(rl, "r", 5 * RL_MILLISECOND), rule);
		for (int i = 0; i < 2; i++)
			assert_int_equal(ask_asleep(rl, rule, free, how, &r), RL_ALLOWED);
		assert_int_equal(ask_asleep(rl, rule, free, how, &r), RL_DENIED);
		assert_int_equal(r.reason, RL_BY_SHARE);
		assert_int_equal(r.delay_ns, 0);
		assert_int_equal(denied(rl, rule), 1);
		assert_true(wish_of(rl).waits);
		rl_close(rl);
	}
}

/* By a clock that stands or goes back it ends by what was slept; by one that leaps, at once. */
static void
test_a_sleep_ends_by_any_clock(void **state)
{
	static const int64_t leaps_ns[] = {-(int64_t)RL_SECOND, -2 * (int64_t)RL_MILLISECOND,
	                                   (int64_t)RL_SECOND};
	static const int most[] = {6, 6, 2};

	(void)state;
	for (size_t i = 0; i < sizeof leaps_ns / sizeof leaps_ns[0]; i++) {
		const struct rl_result r = {.verdict = RL_DENIED,
		                            .reason = RL_BY_SHARE,
		                            .retry_after_ns = 2 * RL_MILLISECOND,
		                            .delay_ns = 11 * RL_MILLISECOND};
		struct rl_item item = {.flags = RL_ITEM_SLEEPS, .now_ns = T0};
		struct rl *rl = open_lent();
		struct rl_sleep sleep = {0};
		int tries = 0;

		while (item.flags & RL_ITEM_SLEEPS) {
			assert_true(++tries <= most[i]);
			assert_true(rl_sleep_on(&sleep, rl, &item, 1, &r));
			rl->segment.unix_offset_ns += (uint64_t)leaps_ns[i];
		}
		assert_true(item.now_ns <= T0 + r.delay_ns);
		rl_close(rl);
	}
}

static void
test_what_no_limit_has(void **state)
{
	struct rl *rl = open_lent();
	struct rl_rule rule = {.name = "r", .limit = strict};

	(void)state;
	rule.limit.wait_ns = RL_SECOND + RL_MILLISECOND;
	assert_int_equal(rl_define(rl, &rule), -EINVAL);
	rule.limit =
		(struct rl_limit){.capacity = 1, .window_ns = RL_SECOND, .wait_ns = RL_MILLISECOND};
	assert_int_equal(rl_define(rl, &rule), -EINVAL);
	rl_close(rl);
}

/* All that the rule gives is used here, or the store has nothing to lend: nobody waits for it. */
static void
test_overload_is_denied_at_once(void **state)
{
	struct rl *rl = open_lent();
	int rule = define(rl, "r", 0);
	struct rl_share share;
	struct rl_result r;

	(void)state;
	ask(rl, rule, RL_ITEM_WAITS);
	share = wish_of(rl);
	assert_int_equal(rl_share_dry(rl, &share.of, 1, T0), 0);
	r = ask(rl, rule, RL_ITEM_WAITS);
	assert_int_equal(r.reason, RL_BY_LIMIT);
	assert_int_equal(r.delay_ns, 0);
	assert_int_equal(denied(rl, rule), 1);
	assert_true(wish_of(rl).waits); /* it is asked for as by those who wait */
	assert_int_equal(rl_share_dry(rl, &share.of, 0, T0), 0);
	assert_by_share(ask(rl, rule, RL_ITEM_WAITS), RL_WAIT_USUAL);
	wish_of(rl);
	assert_int_equal(rl_share_set(rl, &share.of, 9, T0, &share), 0);
	for (int i = 0; i < 9; i++)
		assert_int_equal(ask(rl, rule, 0).verdict, RL_ALLOWED);
	assert_by_share(ask(rl, rule, RL_ITEM_WAITS), RL_WAIT_USUAL);
	assert_int_equal(rl_share_set(rl, &share.of, 10, T0, &share), 0);
	assert_int_equal(ask(rl, rule, 0).verdict, RL_ALLOWED);
	r = ask(rl, rule, RL_ITEM_WAITS);
	assert_int_equal(r.reason, RL_BY_LIMIT);
	assert_int_equal(r.delay_ns, 0);
	rl_close(rl);
}

/* That there is nothing to lend is said of one key, and not of the one behind it in the slot. */
static void
test_the_next_key_of_a_slot(void **state)
{
	struct rl *rl = open_lent();
	int rule = define(rl, "r", 0);
	struct rl_share share;

	(void)state;
	ask(rl, rule, 0);
	share = wish_of(rl);
	assert_int_equal(rl_share_dry(rl, &share.of, 1, T0), 0);
	assert_int_equal(rl_reset(rl, rule, "k", 1), 1);
	assert_int_equal(rl_share_dry(rl, &share.of, 1, T0), -ESTALE);
	ask(rl, rule, 0);
	assert_int_equal(wish_of(rl).of.slot, share.of.slot);
	assert_by_share(ask(rl, rule, 0), 0);
	rl_close(rl);
}

/* Without news of the store there is nothing to wait for; and a shadow denies nobody. */
static void
test_nothing_to_wait_for(void **state)
{
	const struct rl_options o = {.keys = 64, .flags = RL_OPEN_CLUSTER};
	struct rl_rule shadow = {.name = "s", .limit = strict};
	struct rl_result r;
	struct rl *rl;
	int rule;

	(void)state;
	assert_int_equal(rl_open_private(&o, &rl), 0);
	r = ask(rl, define(rl, "r", 0), RL_ITEM_WAITS);
	assert_int_equal(r.verdict, RL_DENIED);
	assert_int_equal(r.reason, RL_BY_LIMIT);
	assert_int_equal(r.delay_ns, 0);
	rl_close(rl);
	rl = open_lent();
	shadow.limit.shadow = 1;
	rule = rl_define(rl, &shadow);
	r = ask(rl, rule, RL_ITEM_WAITS);
	assert_int_equal(r.verdict, RL_ALLOWED);
	assert_int_equal(r.reason, RL_BY_LIMIT);
	assert_int_equal(r.delay_ns, 0);
	rl_close(rl);
}

/* Of several rules the cluster's may be waited for only if no other denies for longer. */
static void
test_beside_another_rule(void **state)
{
	struct rl *rl = open_lent();
	const struct rl_rule own = {.name = "own",
	                            .limit = {.capacity = 1, .window_ns = 60 * RL_SECOND}};
	const struct rl_item items[] = {
		{.rule = define(rl, "r", 0),
	         .key = "k",
	         .key_len = 1,
	         .cost = 1,
	         .now_ns = T0,
	         .flags = RL_ITEM_WAITS},
		{.rule = rl_define(rl, &own), .key = "k", .key_len = 1, .cost = 1},
	};
	struct rl_result r[2];
	size_t decided;

	(void)state;
	assert_int_equal(rl_check_all(rl, items, 2, r, &decided), RL_DENIED);
	assert_int_equal(decided, 0);
	assert_by_share(r[0], RL_WAIT_USUAL);
	assert_true(wish_of(rl).waits);
	assert_int_equal(denied(rl, items[0].rule), 0);
	assert_int_equal(ask(rl, items[1].rule, 0).verdict, RL_ALLOWED); /* it was not charged */
	assert_int_equal(rl_check_all(rl, items, 2, r, &decided), RL_DENIED);
	assert_int_equal(decided, 1);
	assert_int_equal(r[1].reason, RL_BY_LIMIT);
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_waits_is_not_denied_as_yet),
		cmocka_unit_test(test_a_limit_says_for_how_long),
		cmocka_unit_test(test_a_worker_sleeps),
		cmocka_unit_test(test_a_sleep_ends_by_any_clock),
		cmocka_unit_test(test_what_no_limit_has),
		cmocka_unit_test(test_overload_is_denied_at_once),
		cmocka_unit_test(test_the_next_key_of_a_slot),
		cmocka_unit_test(test_nothing_to_wait_for),
		cmocka_unit_test(test_beside_another_rule),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules of several limits, and rules that count networks. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "at.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)

static struct rl_item
item(int rule, const char *key, uint64_t cost)
{
	return (struct rl_item){.rule = rule, .key = key, .key_len = strlen(key), .cost = cost};
}

static enum rl_verdict
check(struct rl *rl, int rule, const char *key, uint64_t cost, uint64_t now, struct rl_result *r)
{
	return at_check(rl, rule, key, strlen(key), cost, now, r);
}

/* 3 in a second and 5 in ten. */
static int
two_limits(struct rl *rl, const char *name)
{
	const struct rl_limit slow = {
		.capacity = 5, .window_ns = 10 * RL_SECOND, .granularity = 10, .hard = 1};
	const struct rl_rule rule = {
		.name = name,
		.limit = {.algorithm = RL_FIXED_WINDOW, .capacity = 3, .window_ns = RL_SECOND},
		.more = &slow,
		.more_count = 1,
	};
	int id = rl_define(rl, &rule);

	assert_true(id >= 0);
	return id;
}

static void
test_both_limits_hold(void **state)
{
	struct rl *rl = test_private(100);
	int rule = two_limits(rl, "r");
	struct rl_result r;

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(check(rl, rule, "k", 1, T0, &r), RL_ALLOWED);
	assert_int_equal(check(rl, rule, "k", 1, T0, &r), RL_DENIED);
	assert_int_equal(r.index, 0);
	assert_int_equal(r.limit, 3);
	assert_true(r.retry_after_ns == RL_SECOND);
	for (int i = 0; i < 2; i++)
		assert_int_equal(check(rl, rule, "k", 1, T0 + RL_SECOND, &r), RL_ALLOWED);
	assert_int_equal(r.remaining, 0); /* told of the tighter one */
	assert_int_equal(r.index, 1);
	assert_int_equal(check(rl, rule, "k", 1, T0 + RL_SECOND, &r), RL_DENIED);
	assert_int_equal(r.index, 1);
	assert_int_equal(r.limit, 5);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_allowed), 5);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_denied), 2);
	rl_close(rl);
}

/* What the slow limit denies has spent nothing of the fast one, and the other way round. */
static void
test_a_denial_spends_nothing(void **state)
{
	struct rl *rl = test_private(100);
	int rule = two_limits(rl, "r");
	struct rl_item one = item(rule, "k", 1);
	struct rl_result r, each[RL_LIMITS_MAX];
	size_t count;

	(void)state;
	for (int i = 0; i < 10; i++)
		check(rl, rule, "k", 3, T0, &r);
	for (int i = 0; i < 10; i++)
		check(rl, rule, "k", 3, T0 + 2 * RL_SECOND, &r);
	one.cost = 0;
	assert_int_equal(at_check_limits(rl, &one, T0 + 2 * RL_SECOND, &r, &count, each),
	                 RL_ALLOWED);
	assert_int_equal(count, 2);
	assert_int_equal(each[0].remaining, 3);
	assert_int_equal(each[0].limit, 3);
	assert_int_equal(each[1].remaining, 2);
	assert_int_equal(each[1].limit, 5);
	assert_int_equal(each[1].index, 1);
	one.cost = 3; /* who would have allowed says so */
	assert_int_equal(at_check_limits(rl, &one, T0 + 2 * RL_SECOND, &r, &count, each),
	                 RL_DENIED);
	assert_true(each[0].verdict == RL_ALLOWED && each[0].limit == 3 && each[0].remaining == 3);
	rl_close(rl);
}

static int
one_of(struct rl *rl, enum rl_algorithm algorithm, uint64_t window_ns)
{
	return rl_define(rl, &(struct rl_rule){.name = "one",
	                                       .limit = {.algorithm = algorithm,
	                                                 .capacity = 2,
	                                                 .window_ns = window_ns}});
}

/* Of whoever decided; and as it is now, though the rule was changed under the same handle. */
static void
test_the_window_is_the_deciding_limits(void **state)
{
	const struct rl_pattern pattern = {RL_MATCH_KEY, "banned", 6};
	struct rl *rl = test_private(100);
	int two = two_limits(rl, "r"), one = -1;
	struct rl_item peek = item(two, "k", 0);
	struct rl_result r, each[RL_LIMITS_MAX];
	size_t count;

	(void)state;
	for (int i = 0; i < 2; i++)
		check(rl, two, "k", 3, T0 + (unsigned)i * RL_SECOND, &r);
	assert_true(r.verdict == RL_DENIED && r.index == 1 && r.window_ns == 10 * RL_SECOND);
	check(rl, two, "k", 4, T0 + RL_SECOND, &r);
	assert_true(r.verdict == RL_NEVER && r.index == 0 && r.window_ns == RL_SECOND);
	at_check_limits(rl, &peek, T0, &r, &count, each);
	assert_true(each[0].window_ns == RL_SECOND && each[1].window_ns == 10 * RL_SECOND);
	for (int n = 0; n < 2 * test_algorithm_count(); n++) {
		uint64_t window_ns = n % 2 ? 14 * RL_SECOND : 7 * RL_SECOND;
		one = one_of(rl, (enum rl_algorithm)(n / 2), window_ns);
		assert_true(one >= 0);
		for (int i = 0; i < 3; i++) {
			memset(&r, 0xff, sizeof r);
			check(rl, one, "k", 1, T0, &r);
			assert_true(r.window_ns == window_ns);
		}
		at_peek(rl, one, "new", 3, T0, &r);
		assert_true(r.window_ns == window_ns);
	}
	assert_int_equal(rl_ban(rl, one, &pattern, RL_NEVER_NS), 0);
	assert_int_equal(check(rl, one, "banned", 1, T0, &r), RL_DENIED);
	assert_true(r.reason == RL_BY_BAN && r.window_ns == 14 * RL_SECOND);
	check(rl, one, "", 1, T0, &r);
	assert_true(r.error == RL_EEMPTY && r.window_ns == 14 * RL_SECOND);
	check(rl, 77, "k", 1, T0, &r);
	assert_true(r.verdict == RL_UNDECIDED && r.window_ns == 0);
	rl_close(rl);
}

static void
test_refund_gives_back_to_all(void **state)
{
	struct rl *rl = test_private(100);
	int rule = two_limits(rl, "r");
	struct rl_item peek = item(rule, "k", 0);
	struct rl_result r, each[RL_LIMITS_MAX];
	struct rl_charges c;
	size_t count;

	(void)state;
	assert_int_equal(test_check_at(rl, rule, "k", 1, 2, T0, NULL, &c), RL_ALLOWED);
	assert_int_equal(c.count, 2);
	assert_int_equal(at_refund(rl, &c, T0), 1);
	assert_int_equal(at_refund(rl, &c, T0), 0);
	at_check_limits(rl, &peek, T0, &r, &count, each);
	assert_int_equal(each[0].remaining, 3);
	assert_int_equal(each[1].remaining, 5);
	rl_close(rl);
}

/* One enforced, one only tried out, of one shape: two counters. */
/* Who may not write decides nothing; a shadow says that it would not have known. */
static void
test_shadows_that_cannot_be_charged(void **state)
{
	const struct rl_options o = {.keys = 10, .flags = RL_OPEN_EXISTING | RL_OPEN_READONLY};
	const struct rl_limit trial = {
		.algorithm = RL_FIXED_WINDOW, .capacity = 2, .window_ns = RL_SECOND, .shadow = 1};
	const struct rl_rule shadows = {
		.name = "r", .limit = trial, .more = &trial, .more_count = 1};
	struct rl *rl, *reader;
	struct rl_result r;
	int rule;

	(void)state;
	assert_int_equal(rl_open(test_segment_name(), &(struct rl_options){.keys = 10}, &rl), 0);
	rule = rl_define(rl, &shadows);
	assert_true(rule >= 0);
	assert_int_equal(rl_open(test_segment_name(), &o, &reader), 0);
	assert_int_equal(check(reader, rule, "k", 1, T0, &r), RL_ALLOWED);
	assert_int_equal(r.error, -EROFS);
	rl_close(reader);
	rl_close(rl);
}

static void
test_a_shadow_beside_an_enforced_limit(void **state)
{
	struct rl *rl = test_private(100);
	const struct rl_limit trial = {
		.algorithm = RL_FIXED_WINDOW, .capacity = 2, .window_ns = RL_SECOND, .shadow = 1};
	int rule = rl_define(rl, &(struct rl_rule){.name = "r",
	                                           .limit = {.algorithm = RL_FIXED_WINDOW,
	                                                     .capacity = 4,
	                                                     .window_ns = RL_SECOND},
	                                           .more = &trial,
	                                           .more_count = 1});
	struct rl_result r;

	(void)state;
	for (int i = 0; i < 4; i++) {
		assert_int_equal(check(rl, rule, "k", 1, T0, &r), RL_ALLOWED);
		assert_int_equal(r.is_shadow_denied, i >= 2);
		assert_int_equal(r.index, 0); /* headers tell of what is enforced */
		assert_int_equal(r.remaining, 3 - i);
	}
	assert_int_equal(check(rl, rule, "k", 1, T0, &r), RL_DENIED);
	assert_int_equal(r.index, 0);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_shadow_denied), 2);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_allowed), 4);
	rl_close(rl);
}

/* Random rules and histories: denied 1 ns before retry_after_ns, allowed at it. */
static void
test_retry_of_several_limits_is_exact(void **state)
{
	uint64_t seed = 7, tried = 0;

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct rl *rl = test_private(20);
		struct rl_limit limits[4];
		uint64_t now = T0 + test_below(&seed, 100 * RL_SECOND);
		struct rl_result r;

		memset(limits, 0, sizeof limits);
		for (int i = 0; i < 4; i++) {
			limits[i].algorithm = (enum rl_algorithm)test_below(&seed, 5);
			limits[i].capacity = (uint32_t)(1 + test_below(&seed, 20));
			limits[i].window_ns = RL_SECOND + test_below(&seed, 20 * RL_SECOND);
			if (limits[i].algorithm == RL_SLIDING_WINDOW) {
				limits[i].granularity = (uint32_t)(1 + test_below(&seed, 8));
				limits[i].hard = (int)test_below(&seed, 2);
			}
			if (limits[i].algorithm == RL_LEAKY_BUCKET)
				limits[i].burst = (uint32_t)test_below(&seed, 10);
		}
		int rule = rl_define(rl, &(struct rl_rule){.name = "r",
		                                           .limit = limits[0],
		                                           .more = limits + 1,
		                                           .more_count = test_below(&seed, 4)});
		assert_true(rule >= 0);
		for (int step = 0; step < 60; step++) {
			uint64_t cost = 1 + test_below(&seed, 3);
			now += test_below(&seed, RL_SECOND);
			if (check(rl, rule, "k", cost, now, &r) != RL_DENIED)
				continue;
			struct rl_result again;
			uint64_t at = now + r.retry_after_ns;
			assert_int_equal(check(rl, rule, "k", cost, at - 1, &again), RL_DENIED);
			assert_int_equal(check(rl, rule, "k", cost, at, &again), RL_ALLOWED);
			now = at;
			tried++;
		}
		rl_close(rl);
	}
	assert_true(tried > 1000);
}

static void
test_rules_together_count_their_limits(void **state)
{
	struct rl *rl = test_private(100);
	int two = two_limits(rl, "two"), one = test_rule(rl, "one", 2, RL_SECOND, 0, false);
	struct rl_item items[] = {item(two, "k", 1), item(one, "k", 1)};
	struct rl_charges c[2];
	struct rl_item many[RL_ITEMS_MAX];
	struct rl_result r[RL_ITEMS_MAX];
	size_t decided;

	(void)state;
	items[0].charges = &c[0];
	items[1].charges = &c[1];
	assert_int_equal(at_check_all(rl, items, 2, T0, r, &decided), RL_ALLOWED);
	assert_int_equal(c[0].count, 2);
	assert_int_equal(c[1].count, 1);
	assert_int_equal(at_check_all(rl, items, 2, T0, r, &decided), RL_ALLOWED);
	assert_int_equal(at_check_all(rl, items, 2, T0, r, &decided), RL_DENIED);
	assert_int_equal(decided, 1);
	assert_int_equal(c[0].count, 0);
	/* 32 limits are the most, however they are spread over items */
	for (size_t i = 0; i < RL_ITEMS_MAX; i++)
		many[i] = item(two, "m", 0);
	assert_int_equal(at_check_all(rl, many, RL_ITEMS_MAX / 2, T0, r, &decided), RL_ALLOWED);
	assert_int_equal(at_check_all(rl, many, RL_ITEMS_MAX / 2 + 1, T0, r, &decided),
	                 RL_UNDECIDED);
	/* but a batch takes any number */
	for (size_t i = 0; i < RL_ITEMS_MAX; i++)
		many[i].cost = 1;
	at_check_many(rl, many, RL_ITEMS_MAX, T0, r);
	for (size_t i = 0; i < RL_ITEMS_MAX; i++)
		assert_int_equal(r[i].verdict, i < 3 ? RL_ALLOWED : RL_DENIED);
	rl_close(rl);
}

static void
test_rules_that_cannot_be(void **state)
{
	struct rl *rl = test_private(100);
	struct rl_limit more[RL_LIMITS_MAX];
	struct rl_rule rule = {.name = "r", .more = more, .more_count = RL_LIMITS_MAX - 1};

	(void)state;
	for (int i = 0; i < RL_LIMITS_MAX; i++)
		more[i] = (struct rl_limit){.capacity = 1, .window_ns = RL_SECOND};
	rule.limit = more[0];
	assert_true(rl_define(rl, &rule) >= 0);
	rule.more_count = RL_LIMITS_MAX;
	assert_int_equal(rl_define(rl, &rule), -EINVAL);
	rule.more_count = 1;
	rule.more = NULL;
	assert_int_equal(rl_define(rl, &rule), -EINVAL);
	rule.more = more;
	more[0].prefix_v4 = 24; /* one limit with a prefix, one without */
	assert_int_equal(rl_define(rl, &rule), -EINVAL);
	rule.limit.prefix_v4 = 33;
	assert_int_equal(rl_define(rl, &rule), -EINVAL);
	rule.limit.prefix_v4 = 32;
	rule.limit.prefix_v6 = 129;
	assert_int_equal(rl_define(rl, &rule), -EINVAL);
	rule.limit.prefix_v6 = 128;
	assert_true(rl_define(rl, &rule) >= 0);
	/* a bucket that a century does not fill */
	rule = (struct rl_rule){.name = "b",
	                        .limit = {.algorithm = RL_TOKEN_BUCKET,
	                                  .capacity = 1,
	                                  .window_ns = RL_WINDOW_MAX,
	                                  .burst = 91}};
	assert_int_equal(rl_define(rl, &rule), -EINVAL);
	rule.limit.burst = 90;
	assert_true(rl_define(rl, &rule) >= 0);
	rl_close(rl);
}

/* Every limit row taken: a further shape is refused, those that are there go on. */
static void
test_room_for_limits(void **state)
{
	struct rl_rule rule = {.name = "r", .limit = {.capacity = 1}};
	struct rl *rl;
	struct rl_info info;

	(void)state;
	assert_int_equal(
		rl_open_private(&(struct rl_options){.keys = 10, .ring = 64, .rules = 2}, &rl), 0);
	rl_info(rl, &info);
	assert_int_equal(info.limits, 32);
	for (unsigned i = 0; i < info.limits; i++) {
		rule.limit.window_ns = (i + 1) * RL_SECOND;
		assert_int_equal(rl_define(rl, &rule), 0);
	}
	rule.limit.window_ns = 1000 * RL_SECOND; /* in a row that nothing refers to any more */
	assert_int_equal(rl_define(rl, &rule), 0);
	assert_int_equal(check(rl, 0, "k", 1, T0, NULL), RL_ALLOWED);
	assert_int_equal(check(rl, 0, "k", 1, T0, NULL), RL_DENIED);
	rl_close(rl);
}

/* Per address, per /24 and /64, per /48. */
static int
networks(struct rl *rl)
{
	const struct rl_limit more[] = {
		{.algorithm = RL_FIXED_WINDOW,
	         .capacity = 4,
	         .window_ns = RL_SECOND,
	         .prefix_v4 = 24,
	         .prefix_v6 = 64},
		{.algorithm = RL_FIXED_WINDOW,
	         .capacity = 6,
	         .window_ns = RL_SECOND,
	         .prefix_v6 = 48},
	};
	int rule = rl_define(rl, &(struct rl_rule){.name = "ip",
	                                           .limit = {.algorithm = RL_FIXED_WINDOW,
	                                                     .capacity = 2,
	                                                     .window_ns = RL_SECOND,
	                                                     .prefix_v4 = 32,
	                                                     .prefix_v6 = 128},
	                                           .more = more,
	                                           .more_count = 2});

	assert_true(rule >= 0);
	return rule;
}

static int
count_entries(const struct rl_entry *e, void *arg)
{
	char *text = arg;

	snprintf(text + strlen(text), 256 - strlen(text), "%u:%.*s=%u ", e->limit, (int)e->key_kept,
	         (const char *)e->key, e->used);
	return 0;
}

static void
test_networks(void **state)
{
	struct rl *rl = test_private(100);
	int rule = networks(rl);
	struct rl_charges c;
	struct rl_result r;
	char text[256] = "";

	(void)state;
	for (int i = 0; i < 2; i++)
		assert_int_equal(test_check_at(rl, rule, "192.0.2.1", 9, 1, T0, &r, &c),
		                 RL_ALLOWED);
	assert_int_equal(c.count, 2); /* no limit for /48 of IPv4 */
	assert_int_equal(check(rl, rule, "192.0.2.1", 1, T0, &r), RL_DENIED);
	assert_int_equal(r.index, 0);
	/* v4-mapped v6, however it is written, is v4 */
	assert_int_equal(check(rl, rule, "::ffff:192.0.2.1", 1, T0, &r), RL_DENIED);
	assert_int_equal(check(rl, rule, "0:0::FFFF:c000:201", 1, T0, &r), RL_DENIED);
	for (int i = 0; i < 2; i++)
		assert_int_equal(check(rl, rule, "192.0.2.254", 1, T0, &r), RL_ALLOWED);
	assert_int_equal(check(rl, rule, "192.0.2.99", 1, T0, &r), RL_DENIED); /* the /24 */
	assert_int_equal(r.index, 1);
	assert_int_equal(r.limit, 4);
	assert_int_equal(check(rl, rule, "192.0.3.99", 1, T0, &r), RL_ALLOWED);
	/* IPv6: two interfaces of a /64, then another /64 of the /48 */
	for (int i = 0; i < 2; i++) {
		assert_int_equal(check(rl, rule, "2001:db8::1", 1, T0, &r), RL_ALLOWED);
		assert_int_equal(test_check_at(rl, rule, "2001:db8::2", 11, 1, T0, &r, &c),
		                 RL_ALLOWED);
	}
	assert_int_equal(c.count, 3);
	assert_int_equal(check(rl, rule, "2001:db8::3", 1, T0, &r), RL_DENIED);
	assert_int_equal(r.index, 1);
	assert_int_equal(check(rl, rule, "2001:db8:0:1::1", 2, T0, &r), RL_ALLOWED);
	assert_int_equal(check(rl, rule, "2001:db8:0:2::1", 1, T0, &r), RL_DENIED);
	assert_int_equal(r.index, 2);
	/* an address' counters, and a network's alone */
	assert_int_equal(rl_lookup(rl, rule, "192.0.2.1", 9, T0, count_entries, text), 0);
	assert_string_equal(text, "0:192.0.2.1=2 1:192.0.2.0/24=4 ");
	text[0] = '\0';
	assert_int_equal(rl_lookup(rl, rule, "192.0.2.0/24", 12, T0, count_entries, text), 0);
	assert_string_equal(text, "1:192.0.2.0/24=4 ");
	assert_int_equal(rl_lookup(rl, rule, "2001:db8::/48", 13, T0, count_entries, text), 0);
	assert_int_equal(rl_lookup(rl, rule, "192.0.2.0/23", 12, T0, count_entries, text), -ENOENT);
	assert_int_equal(rl_lookup(rl, rule, "elsewhere", 9, T0, count_entries, text), RL_EADDRESS);
	assert_int_equal(rl_reset(rl, rule, "192.0.2.0/24", 12), 1);
	assert_int_equal(check(rl, rule, "192.0.2.99", 1, T0, &r), RL_ALLOWED);
	rl_close(rl);
}

static void
test_keys_that_are_no_addresses(void **state)
{
	static const char *const bad[] = {
		"",           "localhost",    "1.2.3",
		"1.2.3.4.5",  "1.2.3.4 ",     "::g",
		"fe80::1%lo", "192.0.2.0/24", "0000:0000:0000:0000:0000:0000:0000:0000:00001"};
	struct rl *rl = test_private(100);
	int rule = networks(rl);
	struct rl_result r;

	(void)state;
	assert_int_equal(check(rl, rule, bad[0], 1, T0, &r), RL_ALLOWED); /* empty: unlimited */
	for (size_t i = 1; i < sizeof bad / sizeof bad[0]; i++) {
		assert_int_equal(check(rl, rule, bad[i], 1, T0, &r), RL_UNDECIDED);
		assert_int_equal(r.error, RL_EADDRESS);
	}
	assert_int_equal(at_check(rl, rule, "1.2.3.4\0", 8, 1, T0, &r), RL_UNDECIDED);
	assert_int_equal(rl_fill(rl), 0);
	rl_close(rl);
}

/* A limit for one family does not count the other. */
static void
test_a_family_without_a_limit(void **state)
{
	struct rl *rl = test_private(100);
	int rule = rl_define(
		rl, &(struct rl_rule){
			    .name = "v4",
			    .limit = {.capacity = 1, .window_ns = RL_SECOND, .prefix_v4 = 32}});
	struct rl_result r;

	(void)state;
	for (int i = 0; i < 5; i++)
		assert_int_equal(check(rl, rule, "::1", 1, T0, &r), RL_ALLOWED);
	assert_int_equal(check(rl, rule, "127.0.0.1", 1, T0, &r), RL_ALLOWED);
	assert_int_equal(check(rl, rule, "127.0.0.1", 1, T0, &r), RL_DENIED);
	rl_close(rl);
}

static int
read_denied(const struct rl_entry *e, void *arg)
{
	*(uint64_t *)arg = e->denied;
	return 0;
}

/* Denials are sampled: about right, and never beyond six standard errors. */
static void
test_denied_is_about_right(void **state)
{
	struct rl *rl = test_private(10);
	int rule = test_rule(rl, "r", 1, RL_SECOND, 0, false);
	const uint64_t denials = 64000;
	uint64_t denied = 0;

	(void)state;
	for (uint64_t i = 0; i <= denials; i++)
		check(rl, rule, "k", 1, T0, NULL);
	rl_lookup(rl, rule, "k", 1, T0, read_denied, &denied);
	assert_in_range(denied, denials - 6 * 2024, denials + 6 * 2024); /* sqrt(64 * 64000) */
	rl_close(rl);
}

static int
deny_a_few(void *arg, int i)
{
	(void)i;
	for (int n = 0; n < 32; n++)
		if (rl_check(arg, 0, "k", 1, 1, NULL) != RL_DENIED)
			return 1;
	return 0;
}

/* Workers that are forked from one process draw their samples each for itself. */
static void
test_denied_in_many_children(void **state)
{
	struct rl *rl;
	uint64_t denied = 0;

	(void)state;
	assert_int_equal(rl_open(test_segment_name(), &(struct rl_options){.ring = 64}, &rl), 0);
	test_rule(rl, "r", 1, RL_WINDOW_MAX, 0, false);
	assert_int_equal(rl_check(rl, 0, "k", 1, 1, NULL), RL_ALLOWED);
	for (int i = 0; i < 20; i++)
		test_fork(20, deny_a_few, rl);
	rl_lookup(rl, 0, "k", 1, rl_now(rl), read_denied, &denied);
	rl_close(rl);
	rl_unlink(test_segment_name());
	/* 12,800, by a standard error of 905 */
	assert_in_range(denied, 12800 - 8 * 905, 12800 + 8 * 905);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_limits_hold),
		cmocka_unit_test(test_a_denial_spends_nothing),
		cmocka_unit_test(test_the_window_is_the_deciding_limits),
		cmocka_unit_test(test_refund_gives_back_to_all),
		cmocka_unit_test(test_a_shadow_beside_an_enforced_limit),
		cmocka_unit_test_teardown(test_shadows_that_cannot_be_charged, test_unlink),
		cmocka_unit_test(test_retry_of_several_limits_is_exact),
		cmocka_unit_test(test_rules_together_count_their_limits),
		cmocka_unit_test(test_rules_that_cannot_be),
		cmocka_unit_test(test_room_for_limits),
		cmocka_unit_test(test_networks),
		cmocka_unit_test(test_keys_that_are_no_addresses),
		cmocka_unit_test(test_a_family_without_a_limit),
		cmocka_unit_test(test_denied_is_about_right),
		cmocka_unit_test(test_denied_in_many_children),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

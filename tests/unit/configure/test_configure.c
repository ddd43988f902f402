/* SPDX-License-Identifier: BSD-2-Clause */
/* The compiled configuration: overrides, reloads, what they keep and what they refuse. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "at.h"
#include "rule/handle.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)

static enum rl_verdict
check(struct rl *rl, int rule, const char *key, uint64_t cost, uint64_t now, struct rl_result *r)
{
	return at_check(rl, rule, key, strlen(key), cost, now, r);
}

static uint32_t
remaining(struct rl *rl, int rule, const char *key)
{
	struct rl_result r;

	check(rl, rule, key, 0, T0, &r);
	return r.remaining;
}

static struct rl_override
override(const char *text, enum rl_override_kind kind, uint32_t capacity)
{
	return (struct rl_override){
		.pattern = rl_pattern_of(text, strlen(text)), .kind = kind, .capacity = {capacity}};
}

static void
test_reload_keeps_counters(void **state)
{
	struct rl *rl = test_private(100);
	struct rl_config_rule rules[2] = {test_config_rule("a", 10, 60 * RL_SECOND),
	                                  test_config_rule("b", 10, 60 * RL_SECOND)};
	struct rl_config_outcome o;
	unsigned effects[2];

	(void)state;
	assert_int_equal(rl_configure(rl, rules, 2, 0, effects, &o), 0);
	assert_int_equal(effects[0], RL_EFFECT_NEW);
	assert_true(o.is_changed);
	assert_true(o.generation == 1);
	int a = rl_find(rl, "a"), b = rl_find(rl, "b");
	check(rl, a, "k", 4, T0, NULL);
	check(rl, b, "k", 4, T0, NULL);
	/* the same once more is no change */
	assert_int_equal(rl_configure(rl, rules, 2, 0, effects, &o), 0);
	assert_false(o.is_changed);
	assert_true(o.generation == 1);
	/* a capacity at once, a window anew */
	rules[0].rule.limit.capacity = 5;
	rules[1].rule.limit.window_ns = 120 * RL_SECOND;
	assert_int_equal(rl_configure(rl, rules, 2, RL_CONFIGURE_DRY, effects, &o), 0);
	assert_true(o.generation == 1);
	assert_int_equal(remaining(rl, a, "k"), 6);
	assert_int_equal(effects[0], RL_EFFECT_CHANGED);
	assert_int_equal(effects[1], RL_EFFECT_ANEW | RL_EFFECT_DROPPED);
	assert_int_equal(rl_configure(rl, rules, 2, 0, effects, &o), 0);
	assert_int_equal(effects[0], RL_EFFECT_CHANGED);
	assert_int_equal(effects[1], RL_EFFECT_ANEW | RL_EFFECT_DROPPED);
	assert_int_equal(remaining(rl, a, "k"), 1);
	assert_int_equal(remaining(rl, b, "k"), 10);
	/* what the old window counted is swept at once, whatever its time */
	assert_int_equal(rl_fill(rl), 2);
	assert_int_equal(rl_sweep_at(rl, T0), 1);
	/* shadow too is at once */
	rules[0].rule.limit.shadow = 1;
	assert_int_equal(rl_configure(rl, rules, 2, 0, effects, &o), 0);
	assert_int_equal(check(rl, a, "k", 3, T0, NULL), RL_ALLOWED);
	rl_close(rl);
}

static void
test_removed_rules(void **state)
{
	struct rl *rl = test_private(100);
	struct rl_config_rule rules[2] = {test_config_rule("a", 1, 60 * RL_SECOND),
	                                  test_config_rule("b", 1, 60 * RL_SECOND)};
	int own = test_rule(rl, "b", 3, 60 * RL_SECOND, 0, false);
	struct rl_config_outcome o;
	struct rl_rule_info info;
	struct rl_result r;
	unsigned effects[2];

	(void)state;
	check(rl, own, "k", 1, T0, NULL);
	assert_int_equal(rl_configure(rl, rules, 2, 0, effects, &o), 0);
	assert_int_equal(effects[1], RL_EFFECT_ADOPTED | RL_EFFECT_CHANGED);
	int a = rl_find(rl, "a");
	assert_int_equal(rl_find(rl, "b"), own);
	assert_int_equal(check(rl, own, "k", 1, T0, NULL), RL_DENIED); /* counted before */
	check(rl, a, "k", 1, T0, NULL);
	/* the administrator's word stands against the application's */
	assert_int_equal(test_rule(rl, "b", 5, 60 * RL_SECOND, 0, false), own);
	assert_int_equal(check(rl, own, "k", 1, T0, NULL), RL_DENIED);
	rl_rule_info(rl, own, &info);
	assert_int_equal(info.source, RL_SOURCE_CONFIGURATION);
	/* gone: the one falls back to the application's, the other limits nothing */
	assert_int_equal(rl_configure(rl, NULL, 0, 0, NULL, &o), 0);
	assert_int_equal(o.removed, 2);
	assert_int_equal(remaining(rl, own, "k"), 4);
	rl_rule_info(rl, own, &info);
	assert_int_equal(info.source, RL_SOURCE_APPLICATION);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(check(rl, a, "k", 1, T0, &r), RL_ALLOWED);
		assert_int_equal(r.error, RL_EREMOVED);
	}
	rl_rule_info(rl, a, &info);
	assert_int_equal(info.source, RL_SOURCE_NONE);
	assert_int_equal(rl_find(rl, "a"), -ENOENT);
	assert_int_equal(rl_sweep_at(rl, T0), 1); /* a's key; b's is counted on */
	/* and back */
	assert_int_equal(rl_configure(rl, rules, 1, 0, effects, &o), 0);
	assert_int_equal(effects[0], RL_EFFECT_NEW);
	assert_int_equal(rl_find(rl, "a"), a);
	assert_int_equal(check(rl, a, "k", 1, T0, &r), RL_ALLOWED);
	assert_int_equal(check(rl, a, "k", 1, T0, &r), RL_DENIED);
	rl_close(rl);
}

/* `capacity` requests are admitted at once, and are told of it. */
static void
expect_capacity(struct rl *rl, int rule, const char *key, uint32_t capacity)
{
	struct rl_result r;

	for (uint32_t n = 0; n < capacity; n++) {
		assert_int_equal(check(rl, rule, key, 1, T0, &r), RL_ALLOWED);
		assert_int_equal(r.limit, capacity);
		assert_int_equal(r.remaining, capacity - n - 1);
	}
	assert_int_equal(check(rl, rule, key, 1, T0, &r), RL_DENIED);
	assert_int_equal(r.limit, capacity);
	assert_int_equal(r.reason, RL_BY_LIMIT);
	assert_int_equal(check(rl, rule, key, capacity + 1, T0, &r), RL_NEVER);
	assert_int_equal(at_peek(rl, rule, key, strlen(key), T0, &r), RL_DENIED);
	assert_int_equal(r.limit, capacity);
}

/* Of whole keys alone, which are looked for at once, whatever counts them. */
static void
test_overrides_of_whole_keys(void **state)
{
	static const enum rl_algorithm algorithms[] = {RL_SLIDING_WINDOW, RL_FIXED_WINDOW,
	                                               RL_ANCHORED_WINDOW, RL_TOKEN_BUCKET,
	                                               RL_SLIDING_LOG};
	struct rl_override overrides[] = {
		override("vip", RL_OVERRIDE_CAPACITY, 5),
		override("few", RL_OVERRIDE_CAPACITY, 1),
		override("mallory", RL_OVERRIDE_BANNED, 0),
	};

	(void)state;
	for (size_t i = 0; i < sizeof algorithms / sizeof algorithms[0]; i++) {
		struct rl *rl = test_private(100);
		struct rl_config_rule rule = test_config_rule("a", 2, 3600 * RL_SECOND);
		struct rl_result r;
		int a;

		rule.rule.limit.algorithm = algorithms[i];
		rule.overrides = overrides;
		rule.override_count = 3;
		assert_int_equal(rl_configure(rl, &rule, 1, 0, NULL, NULL), 0);
		a = rl_find(rl, "a");
		expect_capacity(rl, a, "vip", 5);
		expect_capacity(rl, a, "few", 1);
		expect_capacity(rl, a, "anyone", 2);
		assert_int_equal(check(rl, a, "mallory", 1, T0, &r), RL_DENIED);
		assert_int_equal(r.reason, RL_BY_BAN);
		assert_int_equal(r.limit, 2);
		rl_close(rl);
	}
}

static void
test_overrides(void **state)
{
	struct rl *rl = test_private(100);
	struct rl_override overrides[] = {
		override("vip", RL_OVERRIDE_CAPACITY, 100),
		override("free:*", RL_OVERRIDE_CAPACITY, 2),
		override("free:gift", RL_OVERRIDE_UNLIMITED, 0),
		override("mallory", RL_OVERRIDE_BANNED, 0),
		override("10.0.0.0/8", RL_OVERRIDE_CAPACITY, 50),
		override("10.1.0.0/16", RL_OVERRIDE_BANNED, 0),
	};
	struct rl_config_rule rule = test_config_rule("a", 10, 60 * RL_SECOND);
	struct rl_config_outcome o;
	struct rl_override found;
	struct rl_result r;
	unsigned effect;

	(void)state;
	rule.overrides = overrides;
	rule.override_count = 6;
	assert_int_equal(rl_configure(rl, &rule, 1, 0, &effect, &o), 0);
	int a = rl_find(rl, "a");
	assert_int_equal(remaining(rl, a, "anyone"), 10);
	assert_int_equal(remaining(rl, a, "vip"), 100);
	assert_int_equal(remaining(rl, a, "free:x"), 2);
	assert_int_equal(remaining(rl, a, "free:"), 2);
	assert_int_equal(remaining(rl, a, "free"), 10);
	assert_int_equal(remaining(rl, a, "10.2.3.4"), 50);
	assert_int_equal(check(rl, a, "free:gift", 1000, T0, &r), RL_ALLOWED);
	assert_int_equal(r.reason, RL_BY_EXEMPTION);
	assert_int_equal(check(rl, a, "mallory", 1, T0, &r), RL_DENIED);
	assert_int_equal(r.reason, RL_BY_BAN);
	assert_true(r.retry_after_ns == RL_NEVER_NS);
	assert_int_equal(check(rl, a, "10.1.9.9", 1, T0, &r), RL_DENIED);
	assert_int_equal(rl_override_count(rl, a), 6);
	assert_int_equal(rl_override_info(rl, a, &overrides[0].pattern, &found), 1);
	assert_int_equal(found.capacity[0], 100);
	/* a key's counter stays when its override changes */
	check(rl, a, "vip", 60, T0, NULL);
	overrides[0].capacity[0] = 70;
	assert_int_equal(rl_configure(rl, &rule, 1, 0, &effect, &o), 0);
	assert_int_equal(effect, RL_EFFECT_OVERRIDES);
	assert_int_equal(remaining(rl, a, "vip"), 10);
	for (uint32_t i = 0; i < 5; i++) { /* each bank in turn */
		overrides[0].capacity[0] = 66 + i;
		assert_int_equal(rl_configure(rl, &rule, 1, 0, NULL, NULL), 0);
		assert_int_equal(remaining(rl, a, "vip"), 6 + i);
	}
	/* the key's own capacity before a tier's */
	const struct rl_item tier = {
		.rule = a, .key = "vip", .key_len = 3, .cost = 0, .capacity = 500};
	at_check_item(rl, &tier, T0, &r);
	assert_int_equal(r.limit, 70);
	/* an order given at run time before the file's */
	struct rl_pattern everyone = rl_pattern_of("10.0.0.0/8", 10);
	assert_int_equal(rl_allow(rl, a, &everyone, RL_NEVER_NS), 0);
	assert_int_equal(check(rl, a, "10.1.9.9", 1, T0, &r), RL_ALLOWED);
	/* gone with the next configuration */
	rule.override_count = 0;
	assert_int_equal(rl_configure(rl, &rule, 1, 0, &effect, &o), 0);
	assert_int_equal(remaining(rl, a, "free:x"), 10);
	assert_int_equal(check(rl, a, "mallory", 1, T0, &r), RL_ALLOWED);
	assert_int_equal(rl_override_info(rl, a, &overrides[0].pattern, &found), 0);
	rl_close(rl);
}

/* What an override said is gone with it, also when its bank is written again. */
static void
test_overrides_do_not_come_back(void **state)
{
	struct rl *rl = test_private(100);
	struct rl_override overrides[] = {override("k", RL_OVERRIDE_CAPACITY, 3),
	                                  override("x", RL_OVERRIDE_CAPACITY, 5)};
	struct rl_config_rule rule = test_config_rule("a", 10, 60 * RL_SECOND);

	(void)state;
	rule.overrides = overrides;
	rule.override_count = 2;
	assert_int_equal(rl_configure(rl, &rule, 1, 0, NULL, NULL), 0);
	int a = rl_find(rl, "a");
	assert_int_equal(remaining(rl, a, "x"), 5);
	rule.override_count = 1;
	for (uint32_t i = 0; i < 4; i++) {
		overrides[0].capacity[0] = 4 + i;
		assert_int_equal(rl_configure(rl, &rule, 1, 0, NULL, NULL), 0);
		assert_int_equal(remaining(rl, a, "k"), 4 + i);
		assert_int_equal(remaining(rl, a, "x"), 10);
	}
	rl_close(rl);
}

/* Of a rule with two limits, each has its capacity, or keeps the rule's. */
static void
test_overrides_of_several_limits(void **state)
{
	struct rl *rl = test_private(100);
	const struct rl_limit slow = {
		.algorithm = RL_FIXED_WINDOW, .capacity = 20, .window_ns = 60 * RL_SECOND};
	struct rl_override overrides[] = {override("k", RL_OVERRIDE_CAPACITY, 0),
	                                  override("both", RL_OVERRIDE_CAPACITY, 7)};
	struct rl_config_rule rule = test_config_rule("a", 10, RL_SECOND);
	struct rl_item item = {.key = "k", .key_len = 1};
	struct rl_result r, each[RL_LIMITS_MAX];
	size_t count;

	(void)state;
	overrides[0].capacity[1] = 30;
	overrides[1].capacity[1] = 8;
	rule.rule.more = &slow;
	rule.rule.more_count = 1;
	rule.overrides = overrides;
	rule.override_count = 2;
	assert_int_equal(rl_configure(rl, &rule, 1, 0, NULL, NULL), 0);
	item.rule = rl_find(rl, "a");
	at_check_limits(rl, &item, T0, &r, &count, each);
	assert_int_equal(each[0].limit, 10);
	assert_int_equal(each[1].limit, 30);
	item.key = "both";
	item.key_len = 4;
	at_check_limits(rl, &item, T0, &r, &count, each);
	assert_int_equal(each[0].limit, 7);
	assert_int_equal(each[1].limit, 8);
	rl_close(rl);
}

/* Each is refused, names what is at fault, and leaves what was. */
static void
test_what_is_refused(void **state)
{
	struct rl_override overrides[] = {override("k", RL_OVERRIDE_CAPACITY, 5),
	                                  override("k", RL_OVERRIDE_BANNED, 0)};
	struct rl_config_rule rules[3] = {test_config_rule("a", 10, RL_SECOND),
	                                  test_config_rule("b", 10, RL_SECOND),
	                                  test_config_rule("c", 10, RL_SECOND)};
	struct rl_config_outcome o;
	struct rl *rl;

	(void)state;
	assert_int_equal(
		rl_open_private(
			&(struct rl_options){.keys = 10, .ring = 16, .rules = 2, .overrides = 3},
			&rl),
		0);
	assert_int_equal(rl_configure(rl, rules, 1, 0, NULL, NULL), 0);
#define REFUSED(count, error, at_rule, at_override)                                \
	(assert_int_equal(rl_configure(rl, rules, (count), 0, NULL, &o), (error)), \
	 assert_int_equal(o.rule, (at_rule)), assert_int_equal(o.override, (at_override)))
	rules[1].rule.limit.capacity = 0;
	REFUSED(2, -EINVAL, 1, 0);
	rules[1] = test_config_rule("a", 10, RL_SECOND);
	REFUSED(2, -EINVAL, 1, 0);
	rules[1] = test_config_rule("b", 10, RL_SECOND);
	rules[1].rule.limit.algorithm = RL_SLIDING_WINDOW;
	rules[1].rule.limit.granularity = 17;
	REFUSED(2, RL_ERING, 1, 0);
	rules[1] = test_config_rule("b", 10, RL_SECOND);
	rules[1].overrides = overrides;
	rules[1].override_count = 2;
	REFUSED(2, -EINVAL, 1, 1); /* the same pattern twice */
	overrides[1] = override("10.0.0.0/8", RL_OVERRIDE_BANNED, 0);
	overrides[1].pattern.key = "10.0.0.0/x";
	REFUSED(2, RL_EADDRESS, 1, 1);
	overrides[1] = override("x", RL_OVERRIDE_CAPACITY, 0);
	REFUSED(2, -EINVAL, 1, 1); /* says nothing */
	overrides[1].capacity[1] = 5;
	REFUSED(2, -EINVAL, 1, 1); /* there is no second limit */
	overrides[1] = override("x", RL_OVERRIDE_CAPACITY, RL_CAPACITY_MAX + 1);
	REFUSED(2, -EINVAL, 1, 1);
	rules[1].rule.limit.algorithm = RL_SLIDING_LOG;
	rules[1].rule.limit.capacity = 8;
	overrides[1] = override("x", RL_OVERRIDE_CAPACITY, 9);
	REFUSED(2, RL_ERING, 1, 1);
	rules[1] = test_config_rule("b", 10, RL_SECOND);
	REFUSED(3, RL_ERULES, 2, 0);
	assert_true(o.needed == 3);
#undef REFUSED
	/* four overrides where three fit */
	struct rl_override four[] = {
		override("1", RL_OVERRIDE_BANNED, 0), override("2", RL_OVERRIDE_BANNED, 0),
		override("3", RL_OVERRIDE_BANNED, 0), override("4", RL_OVERRIDE_BANNED, 0)};
	rules[1].overrides = four;
	rules[1].override_count = 4;
	assert_int_equal(rl_configure(rl, rules, 2, 0, NULL, &o), RL_EOVERRIDES);
	assert_true(o.needed == 4);
	assert_true(o.generation == 0 || o.generation == 1);
	assert_int_equal(rl_configure(rl, NULL, 1, 0, NULL, &o), -EINVAL);
	assert_int_equal(rl_configure(rl, rules, 1, 2, NULL, &o), -EINVAL);
	assert_true(rl_find(rl, "a") >= 0);
	assert_int_equal(rl_find(rl, "b"), -ENOENT);
	struct rl_info info;
	rl_info(rl, &info);
	assert_true(info.generation == 1);
	rl_close(rl);
}

/* Many overrides, each found, and none for who has none. */
static void
test_many_overrides(void **state)
{
	enum {
		COUNT = 200000
	};
	struct rl_override *overrides = calloc(COUNT, sizeof *overrides);
	char(*names)[16] = calloc(COUNT, sizeof *names);
	struct rl_config_rule rule = test_config_rule("a", 10, 60 * RL_SECOND);
	struct rl *rl;
	char key[32];

	(void)state;
	assert_int_equal(rl_open_private(&(struct rl_options){.keys = 10, .overrides = COUNT}, &rl),
	                 0);
	for (uint32_t i = 0; i < COUNT; i++) {
		snprintf(names[i], sizeof names[i], "user:%u", i);
		overrides[i] = override(names[i], RL_OVERRIDE_CAPACITY, i + 11);
	}
	rule.overrides = overrides;
	rule.override_count = COUNT;
	assert_int_equal(rl_configure(rl, &rule, 1, 0, NULL, NULL), 0);
	int a = rl_find(rl, "a");
	for (uint32_t i = 0; i < COUNT; i++)
		assert_int_equal(remaining(rl, a, names[i]), i + 11);
	for (uint32_t i = COUNT; i < 2 * COUNT; i++) {
		snprintf(key, sizeof key, "user:%u", i);
		assert_int_equal(remaining(rl, a, key), 10);
	}
	rl_close(rl);
	free(overrides);
	free(names);
}

/* A configurer killed while it writes: what it leaves in the other bank is nobody's. */
static void
test_a_half_written_configuration(void **state)
{
	struct rl *rl = test_private(100);
	struct rl_override one = override("k", RL_OVERRIDE_CAPACITY, 3);
	struct rl_config_rule rules[2] = {test_config_rule("a", 10, RL_SECOND),
	                                  test_config_rule("b", 20, RL_SECOND)};

	(void)state;
	rules[0].overrides = &one;
	rules[0].override_count = 1;
	assert_int_equal(rl_configure(rl, rules, 1, 0, NULL, NULL), 0);
	int a = rl_find(rl, "a");
	/* as if a second one had come to its last step, and died */
	one.capacity[0] = 4;
	rules[0].rule.limit.capacity = 11;
	assert_int_equal(rl_configure(rl, rules, 2, 0, NULL, NULL), 0);
	rl->segment.header->generation--;
	assert_int_equal(remaining(rl, a, "k"), 3);
	assert_int_equal(remaining(rl, a, "x"), 10);
	assert_int_equal(rl_find(rl, "b"), -ENOENT);
	/* the next one starts from a clean bank */
	rules[0].override_count = 0;
	rules[0].rule.limit.capacity = 12;
	assert_int_equal(rl_configure(rl, rules, 1, 0, NULL, NULL), 0);
	assert_int_equal(remaining(rl, a, "k"), 12);
	assert_int_equal(rl_find(rl, "b"), -ENOENT);
	rl_close(rl);
}

/* By another process that has the segment open, and while somebody else holds the turn. */
static void
test_turns(void **state)
{
	struct rl_config_rule rule = test_config_rule("a", 10, RL_SECOND);
	struct rl *one, *two;
	pid_t holder;

	(void)state;
	assert_int_equal(rl_open(test_segment_name(), NULL, &one), 0);
	assert_int_equal(rl_open(test_segment_name(), NULL, &two), 0);
	assert_int_equal(rl_configure(one, &rule, 1, 0, NULL, NULL), 0);
	assert_int_equal(remaining(two, rl_find(two, "a"), "k"), 10);
	/* one sweeper */
	assert_int_equal(rl_supervise(one, &holder), 0);
	assert_int_equal(rl_supervise(one, &holder), 0);
	assert_int_equal(rl_heartbeat_at(one, T0), 0);
	assert_int_equal(rl_supervise(two, &holder), -EBUSY);
	assert_int_equal(holder, getpid());
	rl_close(one);
	assert_int_equal(rl_supervise(two, &holder), 0);
	/* which does not keep anyone from configuring */
	rule.rule.limit.capacity = 11;
	assert_int_equal(rl_configure(two, &rule, 1, 0, NULL, NULL), 0);
	/* the name gone, nobody could be kept out */
	rl_unlink(test_segment_name());
	rule.rule.limit.capacity = 12;
	assert_int_equal(rl_configure(two, &rule, 1, 0, NULL, NULL), -ENOENT);
	rl_close(two);
}

/* A tier is for the first limit: an override of the second leaves it alone. */
static void
test_a_tier_beside_an_override(void **state)
{
	struct rl *rl = test_private(10);
	const struct rl_limit more = {.capacity = 100, .window_ns = 60 * RL_SECOND};
	const struct rl_override second = {
		.pattern = {.match = RL_MATCH_KEY, .key = "k", .key_len = 1}, .capacity = {0, 50}};
	struct rl_config_rule rule = test_config_rule("r", 100, RL_SECOND);
	const struct rl_item item = {.key = "k", .key_len = 1, .cost = 1, .capacity = 2};

	(void)state;
	rule.rule.more = &more;
	rule.rule.more_count = 1;
	rule.overrides = &second;
	rule.override_count = 1;
	assert_int_equal(rl_configure(rl, &rule, 1, 0, NULL, NULL), 0);
	assert_int_equal(at_check_item(rl, &item, T0, NULL), RL_ALLOWED);
	assert_int_equal(at_check_item(rl, &item, T0, NULL), RL_ALLOWED);
	assert_int_equal(at_check_item(rl, &item, T0, NULL), RL_DENIED);
	rl_close(rl);
}

/* A dry run refuses what a run refuses, and says as much of it. */
static void
test_a_dry_run_finds_the_same_faults(void **state)
{
	const struct rl_override twice[2] = {override("10.0.0.0/8", RL_OVERRIDE_CAPACITY, 2),
	                                     override("10.1.0.0/8", RL_OVERRIDE_BANNED, 0)};
	const struct rl_limit more = {.capacity = 1, .window_ns = RL_SECOND};
	struct rl_config_rule rules[2] = {test_config_rule("a", 1, RL_SECOND),
	                                  test_config_rule("b", 1, RL_SECOND)};
	struct rl_config_outcome o;
	struct rl *rl;

	(void)state;
	assert_int_equal(rl_open_private(&(struct rl_options){.keys = 10, .rules = 1}, &rl), 0);
	rules[0].overrides = twice;
	rules[0].override_count = 2;
	for (unsigned dry = 0; dry < 2; dry++) {
		assert_int_equal(rl_configure(rl, rules, 1, !dry, NULL, &o), -EINVAL);
		assert_int_equal(o.rule, 0);
		assert_int_equal(o.override, 1);
	}
	rules[0].override_count = 0;
	for (unsigned dry = 0; dry < 2; dry++) {
		assert_int_equal(rl_configure(rl, rules, 2, !dry, NULL, &o), RL_ERULES);
		assert_int_equal(o.rule, 1);
		assert_int_equal(o.needed, 2);
	}
	/* sixteen rows of limits, eight of them in force while eight others are to come */
	struct rl_limit eight[RL_LIMITS_MAX - 1];
	for (int i = 0; i < RL_LIMITS_MAX - 1; i++)
		eight[i] = more;
	rules[0].rule.more = eight;
	rules[0].rule.more_count = RL_LIMITS_MAX - 1;
	assert_int_equal(rl_configure(rl, rules, 1, 0, NULL, &o), 0);
	for (int i = 0; i < RL_LIMITS_MAX - 1; i++)
		eight[i].window_ns = 2 * RL_SECOND;
	test_rule(rl, "a", 1, 7 * RL_SECOND, 1, false);
	rules[0].rule.limit.window_ns = 3 * RL_SECOND;
	for (unsigned dry = 0; dry < 2; dry++) {
		assert_int_equal(rl_configure(rl, rules, 1, !dry, NULL, &o), RL_ELIMITS);
		assert_int_equal(o.rule, 0);
		assert_int_equal(o.needed, 17);
	}
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reload_keeps_counters),
		cmocka_unit_test(test_removed_rules),
		cmocka_unit_test(test_overrides_of_whole_keys),
		cmocka_unit_test(test_overrides),
		cmocka_unit_test(test_overrides_do_not_come_back),
		cmocka_unit_test(test_overrides_of_several_limits),
		cmocka_unit_test(test_what_is_refused),
		cmocka_unit_test(test_many_overrides),
		cmocka_unit_test(test_a_half_written_configuration),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_a_tier_beside_an_override),
		cmocka_unit_test(test_a_dry_run_finds_the_same_faults),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

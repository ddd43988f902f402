/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Automatic bans: who is banned when, for how long, and by how many processes. Times are passed in.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "at.h"
#include "rule/auto_ban.h"
#include "rule/handle.h"
#include "testing.h"

#define MINUTE (60 * RL_SECOND)
#define HOUR (60 * MINUTE)

static const struct rl_auto_ban usual = {
	.after = 5, .longer = 2, .within_ns = 10 * MINUTE, .for_ns = HOUR, .at_most_ns = 3 * HOUR};

static uint64_t start;

/* A rule of one request in 30 days, whose denials ban. */
static int
configure(struct rl *rl, const struct rl_auto_ban *ban, bool is_shadow)
{
	struct rl_config_rule rule = test_config_rule("r", 1, 30 * 24 * HOUR);

	rule.ban = *ban;
	rule.rule.limit.shadow = is_shadow;
	assert_int_equal(rl_configure(rl, &rule, 1, 0, NULL, NULL), 0);
	start = rl_now(rl);
	return rl_find(rl, "r");
}

static struct rl_result
ask(struct rl *rl, int rule, const char *key, uint64_t after_ns)
{
	struct rl_result r;

	at_check(rl, rule, key, strlen(key), 1, start + after_ns, &r);
	return r;
}

static bool
is_banned(struct rl *rl, int rule, const char *key, uint64_t after_ns)
{
	struct rl_result r;

	at_peek(rl, rule, key, strlen(key), start + after_ns, &r);
	return r.reason == RL_BY_BAN;
}

static void
deny(struct rl *rl, int rule, const char *key, unsigned times, uint64_t after_ns)
{
	for (unsigned i = 0; i < times; i++)
		assert_int_equal(ask(rl, rule, key, after_ns).verdict, RL_DENIED);
}

static uint64_t
auto_banned(struct rl *rl, int rule)
{
	uint64_t counters[RL_COUNTERS];

	assert_int_equal(rl_stats(rl, rule, counters, RL_COUNTERS), 0);
	return counters[RL_COUNT_auto_banned];
}

static void
test_so_many_denials_ban(void **state)
{
	struct rl *rl = test_private(100);
	int rule = configure(rl, &usual, false);
	struct rl_pattern p = rl_pattern_of("k", 1);
	struct rl_ban_info info;
	struct rl_result r;

	(void)state;
	assert_int_equal(ask(rl, rule, "k", 0).verdict, RL_ALLOWED);
	deny(rl, rule, "k", 4, MINUTE);
	assert_false(is_banned(rl, rule, "k", MINUTE));
	deny(rl, rule, "k", 1, 2 * MINUTE);
	assert_true(is_banned(rl, rule, "k", 2 * MINUTE));
	r = ask(rl, rule, "k", 2 * MINUTE);
	assert_int_equal(r.reason, RL_BY_BAN);
	assert_true(r.retry_after_ns >= HOUR && r.retry_after_ns <= HOUR + RL_MILLISECOND);
	assert_false(is_banned(rl, rule, "k", 2 * MINUTE + HOUR + RL_MILLISECOND));
	assert_false(is_banned(rl, rule, "other", 2 * MINUTE));
	assert_int_equal(rl_ban_info(rl, rule, &p, start + 3 * MINUTE, &info), 1);
	assert_string_equal(info.reason, "automatic: denied 5 times, ban 1");
	assert_true(info.since_ns == start + 2 * MINUTE);
	assert_true(info.is_automatic);
	assert_int_equal(auto_banned(rl, rule), 1);
	rl_close(rl);
}

/* What is forgotten is neither counted nor a reason for a longer ban; a ban that stands stays. */
static void
test_forgotten(void **state)
{
	struct rl *rl = test_private(100);
	int rule = configure(rl, &usual, false);
	struct rl_pattern p = rl_pattern_of("k", 1);

	(void)state;
	assert_int_equal(rl_auto_ban_forget(rl, rule, "k", 1), 0);
	ask(rl, rule, "k", 0);
	ask(rl, rule, "j", 0);
	deny(rl, rule, "k", 4, MINUTE);
	deny(rl, rule, "j", 4, MINUTE);
	assert_int_equal(rl_auto_ban_forget(rl, rule, "k", 1), 1);
	assert_int_equal(rl_auto_ban_forget(rl, rule, "k", 1), 0);
	deny(rl, rule, "k", 4, MINUTE);
	assert_false(is_banned(rl, rule, "k", MINUTE));
	deny(rl, rule, "j", 1, MINUTE);
	assert_true(is_banned(rl, rule, "j", MINUTE));
	deny(rl, rule, "k", 1, MINUTE);
	assert_int_equal(rl_auto_ban_forget(rl, rule, "k", 1), 1);
	assert_true(is_banned(rl, rule, "k", MINUTE));
	assert_int_equal(rl_unban(rl, rule, &p), 1);
	deny(rl, rule, "k", 5, 2 * MINUTE);
	assert_true(is_banned(rl, rule, "k", HOUR));
	assert_false(
		is_banned(rl, rule, "k", HOUR + 3 * MINUTE)); /* the first again, not two hours */
	assert_int_equal(rl_auto_ban_forget(rl, rule, "", 0), -EINVAL);
	assert_int_equal(rl_auto_ban_forget(rl, RL_ANY_RULE, "k", 1), -EINVAL);
	rl_close(rl);
}

static void
test_within_the_time_alone(void **state)
{
	struct rl *rl = test_private(100);
	int rule = configure(rl, &usual, false);

	(void)state;
	ask(rl, rule, "k", 0);
	for (unsigned round = 0; round < 5; round++)
		deny(rl, rule, "k", 4, round * 10 * MINUTE);
	assert_false(is_banned(rl, rule, "k", HOUR));
	deny(rl, rule, "k", 5, HOUR);
	assert_true(is_banned(rl, rule, "k", HOUR));
	rl_close(rl);
}

/* Of `count` denials at ascending times, those that are not longer ago than that at `now_ns`. */
static unsigned
newer(const uint64_t *times, unsigned count, uint64_t now_ns, uint64_t ago_ns)
{
	unsigned number = 0;

	while (number < count && now_ns - times[count - 1 - number] < ago_ns)
		number++;
	return number;
}

#define DENIALS 40

/* At random times, which are the closer the smaller `step_ns` is, beside a log of them. */
static bool
roll(struct rl *rl, int rule, const char *key, uint64_t step_ns, uint64_t *seed)
{
	uint64_t times[DENIALS], now_ns = HOUR;

	ask(rl, rule, key, 0);
	for (unsigned i = 0; i < DENIALS; i++) {
		bool is_ban;

		now_ns += test_random(seed) % 4 == 0 ? test_random(seed) % (4 * step_ns)
		                                     : test_random(seed) % (step_ns / 2);
		times[i] = now_ns;
		assert_int_equal(ask(rl, rule, key, now_ns).reason, RL_BY_LIMIT);
		is_ban = is_banned(rl, rule, key, now_ns);
		if (is_ban)
			assert_true(newer(times, i + 1, now_ns, usual.within_ns) >= usual.after);
		else
			assert_true(newer(times, i + 1, now_ns, usual.within_ns / 3 * 2) <
			                    usual.after &&
			            newer(times, i + 1, now_ns, usual.within_ns) <
			                    2 * usual.after - 1);
		if (is_ban)
			return true;
	}
	return false;
}

/*
 * Never for fewer in the time, always for so many in two thirds of it, and for twice as many in all
 * of it.
 */
static void
test_whenever_they_begin(void **state)
{
	struct rl *rl = test_private(1000);
	int rule = configure(rl, &usual, false);
	uint64_t seed = 1;
	unsigned bans = 0;

	(void)state;
	for (unsigned i = 0; i < 200; i++) {
		char key[16];

		snprintf(key, sizeof key, "k%u", i);
		bans += roll(rl, rule, key, 4 * usual.within_ns / (1 + i % 20), &seed);
	}
	assert_in_range(bans, 100, 190);
	rl_close(rl);
}

/* So many in a moment ban, wherever the moment is, and whatever there was long before. */
static void
test_a_burst_is_never_missed(void **state)
{
	struct rl *rl = test_private(1000);
	int rule = configure(rl, &usual, false);

	(void)state;
	for (unsigned i = 0; i < 60; i++) {
		uint64_t at_ns = HOUR + i * 10 * RL_SECOND;
		char key[16];

		snprintf(key, sizeof key, "k%u", i);
		ask(rl, rule, key, 0);
		deny(rl, rule, key, 1, at_ns - usual.within_ns + 10 * RL_SECOND);
		deny(rl, rule, key, 2, at_ns - 10 * RL_SECOND);
		deny(rl, rule, key, 3, at_ns);
		assert_true(is_banned(rl, rule, key, at_ns));
	}
	rl_close(rl);
}

/* A clock that is behind counts to its own time. */
static void
test_a_clock_that_is_behind(void **state)
{
	struct rl *rl = test_private(100);
	int rule = configure(rl, &usual, false);
	uint64_t late_ns = HOUR - (start + HOUR) % usual.within_ns; /* where a part begins */

	(void)state;
	ask(rl, rule, "k", 0);
	deny(rl, rule, "k", 1, late_ns);
	deny(rl, rule, "k", 2, late_ns - 1);
	deny(rl, rule, "k", 1,
	     late_ns + 7 * MINUTE); /* a third before this part, two parts before */
	assert_false(is_banned(rl, rule, "k", late_ns + 7 * MINUTE));
	deny(rl, rule, "k", 2, late_ns + 7 * MINUTE);
	assert_false(is_banned(rl, rule, "k", late_ns + 7 * MINUTE));
	deny(rl, rule, "k", 1, late_ns + 7 * MINUTE);
	assert_true(is_banned(rl, rule, "k", late_ns + 7 * MINUTE));
	rl_close(rl);
}

/* What was counted within another time is not counted within this one. */
static void
test_another_time_begins_anew(void **state)
{
	struct rl *rl = test_private(100);
	struct rl_auto_ban ban = usual;
	int rule = configure(rl, &ban, false);

	(void)state;
	ask(rl, rule, "k", 0);
	deny(rl, rule, "k", 4, MINUTE);
	ban.within_ns += 3; /* parts of nearly the same numbers */
	configure(rl, &ban, false);
	deny(rl, rule, "k", 4, MINUTE);
	assert_false(is_banned(rl, rule, "k", MINUTE));
	deny(rl, rule, "k", 1, MINUTE);
	assert_true(is_banned(rl, rule, "k", MINUTE));
	rl_close(rl);
}

/* When the ban of `length` that begins at `at` is over, it comes to the next. */
static uint64_t
next_ban(struct rl *rl, int rule, uint64_t at_ns, uint64_t length_ns)
{
	deny(rl, rule, "k", 5, at_ns);
	assert_true(is_banned(rl, rule, "k", at_ns + length_ns - RL_MILLISECOND));
	assert_false(is_banned(rl, rule, "k", at_ns + length_ns + RL_MILLISECOND));
	return at_ns + length_ns + RL_MILLISECOND;
}

static void
test_longer_each_time(void **state)
{
	struct rl *rl = test_private(100);
	int rule = configure(rl, &usual, false);
	uint64_t at_ns = MINUTE;

	(void)state;
	ask(rl, rule, "k", 0);
	at_ns = next_ban(rl, rule, at_ns, HOUR);
	at_ns = next_ban(rl, rule, at_ns, 2 * HOUR);
	at_ns = next_ban(rl, rule, at_ns, 3 * HOUR); /* at most */
	at_ns = next_ban(rl, rule, at_ns, 3 * HOUR);
	/* forgotten when nothing came for at_most, and for as long as denials count */
	at_ns = next_ban(rl, rule, at_ns + 3 * HOUR + 10 * MINUTE + RL_MILLISECOND, HOUR);
	rl_close(rl);
}

static void
test_who_is_never_banned(void **state)
{
	struct rl *rl = test_private(100);
	int rule = configure(rl, &usual, true);
	struct rl_pattern p = rl_pattern_of("k", 1);
	struct rl_result r;

	(void)state;
	/* a limit that is not enforced */
	for (int i = 0; i < 20; i++)
		assert_int_equal(ask(rl, rule, "k", MINUTE).verdict, RL_ALLOWED);
	assert_false(is_banned(rl, rule, "k", MINUTE));
	/* somebody exempt */
	rule = configure(rl, &usual, false);
	assert_int_equal(rl_allow(rl, rule, &p, RL_NEVER_NS), 0);
	for (int i = 0; i < 20; i++)
		assert_int_equal(ask(rl, rule, "k", MINUTE).verdict, RL_ALLOWED);
	/* nor does one that is set between the denial and the ban give way to it */
	for (int i = 0; i < 20; i++)
		rl_auto_ban_count(&rl->segment, rule, "k", 1, start + MINUTE);
	at_check(rl, rule, "k", 1, 1, start + MINUTE, &r);
	assert_int_equal(r.reason, RL_BY_EXEMPTION);
	/* whoever only peeks, and a rule without it */
	ask(rl, rule, "peeker", 0);
	for (int i = 0; i < 20; i++)
		assert_false(is_banned(rl, rule, "peeker", MINUTE));
	rule = configure(rl, &(struct rl_auto_ban){0}, false);
	ask(rl, rule, "free", 0);
	deny(rl, rule, "free", 20, MINUTE);
	assert_false(is_banned(rl, rule, "free", MINUTE));
	rl_close(rl);
}

#define ADDRESS "10.1.2.3"

static bool
is_exempt(struct rl *rl, int rule, uint64_t after_ns)
{
	return ask(rl, rule, ADDRESS, after_ns).reason == RL_BY_EXEMPTION;
}

/*
 * Under the rule or any, of the network or a beginning, before or after the ban: nobody in it is
 * banned by a rule.
 */
static void
test_an_exemption_goes_before(void **state)
{
	static const char *const patterns[] = {"10.0.0.0/8", "10.1.2.3/32", "10.1.*", ADDRESS};
	struct rl *rl = test_private(100);
	int rule = configure(rl, &usual, false), any[] = {rule, RL_ANY_RULE};

	(void)state;
	ask(rl, rule, ADDRESS, 0);
	deny(rl, rule, ADDRESS, 5, MINUTE);
	assert_true(is_banned(rl, rule, ADDRESS, MINUTE));
	for (unsigned i = 0; i < 7; i++) { /* the key's own entry under the rule replaces the ban */
		struct rl_pattern p = rl_pattern_of(patterns[i / 2], strlen(patterns[i / 2]));
		int of = any[(i + 1) % 2];

		assert_int_equal(rl_allow(rl, of, &p, start + HOUR / 2), 0);
		assert_true(is_exempt(rl, rule, MINUTE));
		assert_false(is_exempt(rl, rule, HOUR / 2 + RL_MILLISECOND));
		assert_true(is_banned(rl, rule, ADDRESS, HOUR / 2 + RL_MILLISECOND));
		assert_int_equal(rl_unban(rl, of, &p), 1);
		assert_true(is_banned(rl, rule, ADDRESS, MINUTE));
	}
	rl_close(rl);
}

/* Between the denial and the ban. */
static void
test_no_ban_of_who_is_exempt(void **state)
{
	struct rl *rl = test_private(100);
	int rule = configure(rl, &usual, false);
	struct rl_pattern network = rl_pattern_of("10.0.0.0/8", 10), p = rl_pattern_of(ADDRESS, 8);
	struct rl_ban_info info;

	(void)state;
	assert_int_equal(rl_allow(rl, rule, &network, RL_NEVER_NS), 0);
	for (int i = 0; i < 20; i++)
		rl_auto_ban_count(&rl->segment, rule, ADDRESS, 8, start + MINUTE);
	assert_int_equal(rl_ban_info(rl, rule, &p, start + MINUTE, &info), 0);
	assert_int_equal(auto_banned(rl, rule), 0);
	rl_close(rl);
}

/* Of the configuration, at any time. One that has a capacity instead exempts from nothing. */
static void
test_an_override_goes_before(void **state)
{
	struct rl *rl = test_private(100);
	struct rl_config_rule rule = test_config_rule("r", 1, 30 * 24 * HOUR);
	struct rl_override override = {.pattern = rl_pattern_of("10.0.0.0/8", 10),
	                               .kind = RL_OVERRIDE_UNLIMITED};
	int id = configure(rl, &usual, false);

	(void)state;
	ask(rl, id, ADDRESS, 0);
	deny(rl, id, ADDRESS, 5, MINUTE);
	rule.ban = usual;
	rule.overrides = &override;
	rule.override_count = 1;
	assert_int_equal(rl_configure(rl, &rule, 1, 0, NULL, NULL), 0);
	assert_true(is_exempt(rl, id, MINUTE));
	override.kind = RL_OVERRIDE_CAPACITY;
	override.capacity[0] = 7;
	assert_int_equal(rl_configure(rl, &rule, 1, 0, NULL, NULL), 0);
	assert_true(is_banned(rl, id, ADDRESS, MINUTE));
	rl_close(rl);
}

/* One that people set decides, and when all are over is told. */
static void
test_beside_other_bans(void **state)
{
	struct rl *rl = test_private(100);
	int rule = configure(rl, &usual, false);
	struct rl_pattern wide = rl_pattern_of("10.0.0.0/8", 10),
			  close = rl_pattern_of("10.1.0.0/16", 11);
	uint64_t minutes[] = {30, 90}; /* shorter and longer than the automatic one */

	(void)state;
	ask(rl, rule, ADDRESS, 0);
	deny(rl, rule, ADDRESS, 5, 0);
	for (int i = 0; i < 2; i++) {
		uint64_t until_ns = minutes[i] * MINUTE,
			 most_ns = until_ns > HOUR ? until_ns : HOUR;
		struct rl_result r;

		assert_int_equal(rl_ban(rl, rule, &close, start + until_ns), 0);
		r = ask(rl, rule, ADDRESS, 0);
		assert_int_equal(r.reason, RL_BY_BAN);
		assert_in_range(r.retry_after_ns, most_ns, most_ns + RL_MILLISECOND);
		/* an exemption behind it ends the automatic one, too */
		assert_int_equal(rl_allow(rl, RL_ANY_RULE, &wide, RL_NEVER_NS), 0);
		r = ask(rl, rule, ADDRESS, 0);
		assert_int_equal(r.reason, RL_BY_BAN);
		assert_in_range(r.retry_after_ns, until_ns, until_ns + RL_MILLISECOND);
		assert_int_equal(rl_unban(rl, RL_ANY_RULE, &wide), 1);
	}
	rl_close(rl);
}

/* By whoever was quicker than a denial. */
static void
test_one_that_stands_is_left_alone(void **state)
{
	struct rl *rl = test_private(100);
	int rule = configure(rl, &usual, false);
	struct rl_pattern p = rl_pattern_of("k", 1);
	struct rl_ban_info info;

	(void)state;
	assert_int_equal(rl_ban(rl, rule, &p, start + 10 * HOUR), 0);
	for (int i = 0; i < 20; i++)
		rl_auto_ban_count(&rl->segment, rule, "k", 1, start + MINUTE);
	assert_int_equal(rl_ban_info(rl, rule, &p, start + MINUTE, &info), 1);
	assert_true(!info.is_automatic && info.until_ns >= start + 10 * HOUR);
	assert_int_equal(auto_banned(rl, rule), 0);
	rl_close(rl);
}

/* As from a file of bans. */
static void
test_one_that_is_set_again(void **state)
{
	struct rl *rl = test_private(100);
	int rule = configure(rl, &usual, false);
	struct rl_ban_info ban = {.rule = rule,
	                          .is_automatic = 1,
	                          .pattern = rl_pattern_of(ADDRESS, 8),
	                          .until_ns = start + HOUR},
			   seen;
	struct rl_pattern network = rl_pattern_of("10.0.0.0/8", 10);

	(void)state;
	assert_int_equal(rl_ban_set(rl, &ban), 0);
	assert_int_equal(rl_ban_info(rl, rule, &ban.pattern, start, &seen), 1);
	assert_true(seen.is_automatic && seen.pattern.match == RL_MATCH_KEY);
	assert_true(is_banned(rl, rule, ADDRESS, 0));
	assert_int_equal(rl_allow(rl, RL_ANY_RULE, &network, RL_NEVER_NS), 0);
	assert_true(is_exempt(rl, rule, 0));
	ban.is_exemption = 1;
	assert_int_equal(rl_ban_set(rl, &ban), -EINVAL);
	ban.is_exemption = 0;
	ban.pattern = network;
	assert_int_equal(rl_ban_set(rl, &ban), -EINVAL);
	ban.pattern = rl_pattern_of(ADDRESS, 8);
	ban.rule = RL_ANY_RULE;
	assert_int_equal(rl_ban_set(rl, &ban), -EINVAL);
	rl_close(rl);
}

/* By one of several limits, of networks, in a batch, and without a slot. */
static void
test_every_way_to_be_denied(void **state)
{
	struct rl *rl = test_private(100);
	struct rl_config_rule rule = test_config_rule("r", 1, 30 * 24 * HOUR);
	struct rl_limit more = rule.rule.limit;
	struct rl_item item = {.key = "192.0.2.1", .key_len = 9, .cost = 1};
	struct rl_result r[1];

	(void)state;
	rule.ban = usual;
	rule.rule.limit.prefix_v4 = 32;
	more.prefix_v4 = 24;
	more.capacity = 2;
	rule.rule.more = &more;
	rule.rule.more_count = 1;
	assert_int_equal(rl_configure(rl, &rule, 1, 0, NULL, NULL), 0);
	item.rule = rl_find(rl, "r");
	start = rl_now(rl);
	for (int i = 0; i < 3; i++)
		at_check_many(rl, &item, 1, start, r);
	assert_int_equal(r[0].reason, RL_BY_LIMIT);
	for (int i = 0; i < 4; i++)
		r[0] = ask(rl, item.rule, "192.0.2.1", 0);
	assert_int_equal(r[0].reason, RL_BY_BAN);
	assert_false(is_banned(rl, item.rule, "192.0.2.2", 0)); /* the key, not its network */
	rl_close(rl);
}

static void
test_what_is_refused(void **state)
{
	struct rl *rl = test_private(100);
	struct rl_config_rule rule = test_config_rule("r", 1, HOUR);
	const struct rl_auto_ban bad[] = {
		{RL_AUTO_AFTER_MAX + 1, 1, MINUTE, HOUR, HOUR},
		{5, 0, MINUTE, HOUR, HOUR},
		{5, RL_AUTO_LONGER_MAX + 1, MINUTE, HOUR, HOUR},
		{5, 1, RL_SECOND - 1, HOUR, HOUR},
		{5, 1, MINUTE, 0, HOUR},
		{5, 1, MINUTE, HOUR, HOUR - 1},
		{5, 1, MINUTE, HOUR, RL_WINDOW_MAX + 1},
	};
	struct rl_config_outcome outcome;
	struct rl_auto_ban is;
	unsigned effects;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		rule.ban = bad[i];
		assert_int_equal(rl_configure(rl, &rule, 1, 0, NULL, NULL), -EINVAL);
	}
	rule.ban = usual;
	assert_int_equal(rl_configure(rl, &rule, 1, 0, &effects, &outcome), 0);
	assert_int_equal(rl_auto_ban_info(rl, rl_find(rl, "r"), &is), 1);
	assert_memory_equal(&is, &usual, sizeof is);
	assert_int_equal(rl_configure(rl, &rule, 1, 0, &effects, &outcome), 0);
	assert_int_equal(outcome.is_changed, 0);
	rule.ban.for_ns++;
	assert_int_equal(rl_configure(rl, &rule, 1, 0, &effects, &outcome), 0);
	assert_int_equal(effects, RL_EFFECT_AUTO_BAN);
	rule.ban.after = 0;
	assert_int_equal(rl_configure(rl, &rule, 1, 0, &effects, &outcome), 0);
	assert_int_equal(effects, RL_EFFECT_AUTO_BAN);
	assert_int_equal(rl_auto_ban_info(rl, rl_find(rl, "r"), &is), 0);
	rl_close(rl);
}

/* Many keys that are denied once each do not save the one that is denied often. */
static void
test_a_flood_hides_nobody(void **state)
{
	struct rl *rl = test_private(20000);
	int rule = configure(rl, &usual, false);
	char key[16];

	(void)state;
	ask(rl, rule, "bad", 0);
	for (unsigned i = 0; i < 5; i++) {
		deny(rl, rule, "bad", 1, MINUTE);
		if (i < 1)
			deny(rl, rule, "bad", 1, MINUTE); /* two strikes are worth more than one */
		for (unsigned j = 0; j < test_scaled(20000) && i < 4; j++) {
			snprintf(key, sizeof key, "k%u.%u", i, j);
			rl_auto_ban_count(&rl->segment, rule, key, strlen(key), start + MINUTE);
		}
		if (i == 3)
			break;
	}
	assert_true(is_banned(rl, rule, "bad", MINUTE));
	rl_close(rl);
}

#define CHILDREN 4
#define ROUNDS 50

struct shared {
	struct rl *rl;
	int rule;
};

/* Each denies each key once in a while; together they reach the number, exactly once. */
static int
deny_together(void *arg, int child)
{
	const struct shared *shared = arg;
	char key[16];

	(void)child;
	for (unsigned i = 0; i < ROUNDS; i++) {
		snprintf(key, sizeof key, "k%u", i);
		for (int j = 0; j < 25; j++)
			rl_auto_ban_count(&shared->rl->segment, shared->rule, key, strlen(key),
			                  start + MINUTE);
	}
	return 0;
}

static int
count_it(const struct rl_ban_info *ban, void *arg)
{
	++*(unsigned *)arg;
	assert_string_equal(ban->reason, "automatic: denied 100 times, ban 1");
	return 0;
}

static void
test_processes_together(void **state)
{
	struct rl_options options = {.keys = 100, .bans = 4096};
	struct rl_auto_ban ban = usual;
	struct shared shared;
	unsigned count = 0;

	(void)state;
	ban.after = 100;
	assert_int_equal(rl_open(test_segment_name(), &options, &shared.rl), 0);
	shared.rule = configure(shared.rl, &ban, false);
	test_fork(CHILDREN, deny_together, &shared);
	rl_bans_walk(shared.rl, start + 2 * MINUTE, count_it, &count);
	/* A CAS that fails TRIES times loses a denial: the ban is late by it then. */
	for (unsigned i = 0; i < ROUNDS; i++) {
		char key[16];

		snprintf(key, sizeof key, "k%u", i);
		for (int j = 0; j < 20 && !is_banned(shared.rl, shared.rule, key, MINUTE); j++)
			rl_auto_ban_count(&shared.rl->segment, shared.rule, key, strlen(key),
			                  start + MINUTE);
		assert_true(is_banned(shared.rl, shared.rule, key, MINUTE));
	}
	assert_true(count <= ROUNDS);
	assert_int_equal(auto_banned(shared.rl, shared.rule), ROUNDS);
	rl_close(shared.rl);
}

/* Whatever stands in the strikes and in what the rule asks for, a denial ends. */
static void
test_hostile_bytes(void **state)
{
	struct rl *rl = test_private(100);
	int rule = configure(rl, &usual, false);
	struct rl_segment *s = &rl->segment;
	uint64_t seed = 1;

	(void)state;
	ask(rl, rule, "k", 0);
	for (unsigned i = 0; i < 2000; i++) {
		for (uint32_t j = 0; j < s->geometry.ban_slots; j++)
			s->strikes[j] = (struct rl_u128){test_random(&seed), test_random(&seed)};
		for (uint32_t j = 0; i % 2 && j < 2 * s->geometry.rules; j++)
			s->auto_bans[j].numbers = test_random(&seed) | 1;
		rl_auto_ban_count(s, rule, "k", 1, start + MINUTE);
		rl_auto_ban_count(s, rule, "k", 1, 0);
		rl_auto_ban_count(s, rule, "k", 1, INT64_MAX);
	}
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_so_many_denials_ban),
		cmocka_unit_test(test_forgotten),
		cmocka_unit_test(test_within_the_time_alone),
		cmocka_unit_test(test_whenever_they_begin),
		cmocka_unit_test(test_a_burst_is_never_missed),
		cmocka_unit_test(test_a_clock_that_is_behind),
		cmocka_unit_test(test_another_time_begins_anew),
		cmocka_unit_test(test_longer_each_time),
		cmocka_unit_test(test_who_is_never_banned),
		cmocka_unit_test(test_an_exemption_goes_before),
		cmocka_unit_test(test_no_ban_of_who_is_exempt),
		cmocka_unit_test(test_an_override_goes_before),
		cmocka_unit_test(test_beside_other_bans),
		cmocka_unit_test(test_one_that_stands_is_left_alone),
		cmocka_unit_test(test_one_that_is_set_again),
		cmocka_unit_test(test_every_way_to_be_denied),
		cmocka_unit_test(test_what_is_refused),
		cmocka_unit_test(test_a_flood_hides_nobody),
		cmocka_unit_test_teardown(test_processes_together, test_unlink),
		cmocka_unit_test(test_hostile_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

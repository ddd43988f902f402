/* SPDX-License-Identifier: BSD-2-Clause */
/* A change of rules or bans dies at any instruction: see operation.h. */
#include "at.h"
#include "operation.h"

/* Some keys have used something. */
static void
prepare_used(void)
{
	for (int key = 0; key < 2; key++) {
		check_at(HARD, key, now, NULL);
		check_at(TWO, key, now, NULL);
	}
}

static void
run_ban(void)
{
	const struct rl_pattern p = {.key = "b", .key_len = 1};

	rl_ban(rl, rules[HARD], &p, RL_NEVER_NS);
}

static void
run_ban_with_reason(void)
{
	const struct rl_ban_info ban = {.rule = rules[HARD],
	                                .pattern = {.key = "b", .key_len = 1},
	                                .until_ns = RL_NEVER_NS,
	                                .author = 7,
	                                .since_ns = 8,
	                                .hits = 9,
	                                .reason_len = 20,
	                                .reason = "a reason of 20 bytes"};

	rl_ban_set(rl, &ban);
}

/* Killed half way or not, it can be set, holds, and can be lifted. */
static void
survive_ban(void)
{
	const struct rl_pattern p = {.key = "b", .key_len = 1};
	struct rl_ban_info info;
	struct rl_result r;
	int stands = rl_ban_info(rl, rules[HARD], &p, now, &info);

	for (int i = 0; i < 3; i++) { /* the later ones by what the first has kept */
		at_check(rl, rules[HARD], "b", 1, 0, now, &r);
		assert_int_equal(r.verdict, r.reason == RL_BY_BAN ? RL_DENIED : RL_ALLOWED);
		assert_int_equal(r.reason == RL_BY_BAN, stands);
	}
	run_ban();
	assert_int_equal(at_check(rl, rules[HARD], "b", 1, 1, now, &r), RL_DENIED);
	assert_int_equal(rl_unban(rl, rules[HARD], &p), 1);
	assert_int_equal(at_check(rl, rules[HARD], "b", 1, 0, now, &r), RL_ALLOWED);
}

/* The note of a ban is there whole, or none is. */
static void
survive_ban_with_reason(void)
{
	const struct rl_pattern p = {.key = "b", .key_len = 1};
	struct rl_ban_info info = {0};

	if (rl_ban_info(rl, rules[HARD], &p, now, &info) == 1 && info.has_note) {
		assert_string_equal(info.reason, "a reason of 20 bytes");
		assert_int_equal(info.author, 7);
		assert_true(info.since_ns == 8 && info.hits == 9);
	} else {
		assert_int_equal(info.reason_len, 0);
	}
	survive_ban();
}

/* By the segment's own clock, as whoever is at its command line means it. */
static int
override(uint32_t capacity)
{
	return rl_override(rl, rules[HARD], 0, "k1", 2, capacity, FAR);
}

static uint32_t
limit_of_key(int key)
{
	struct rl_result r;

	check_at(HARD, key, now, &r);
	assert_int_equal(r.error, 0);
	return r.limit;
}

static void
prepare_override(void)
{
	prepare_used();
	assert_int_equal(override(3), 0);
}

static void
run_override(void)
{
	override(9);
}

static void
run_override_lifted(void)
{
	override(0);
}

/* The key's limit is one that it was given, or the configured one, and can be set and lifted. */
static void
survive_override(void)
{
	uint32_t limit = limit_of_key(1);

	assert_true(limit == 3 || limit == 6 || limit == 9);
	assert_int_equal(limit_of_key(0), 6);
	assert_int_equal(override(2), 0);
	assert_int_equal(limit_of_key(1), 2);
	assert_int_equal(override(0), 1);
	assert_int_equal(limit_of_key(1), 6);
}

static void
run_define(void)
{
	test_rule(rl, "new", 3, 3 * RL_SECOND, 3, true);
}

static void
survive_define(void)
{
	struct rl_result r;
	int id;

	run_define();
	id = rl_find(rl, "new");
	assert_int_equal(at_check(rl, id, "n", 1, 1, now, &r), RL_ALLOWED);
	assert_int_equal(r.limit, 3);
	rl_reset(rl, id, "n", 1);
}

/* Of two limits, and to stay. */
static int
define_first(uint32_t capacity)
{
	const struct rl_limit more = {.capacity = 10 * capacity, .window_ns = 60 * RL_SECOND};

	return rl_define(
		rl, &(struct rl_rule){.name = "new",
	                              .limit = {.capacity = capacity, .window_ns = 3 * RL_SECOND},
	                              .more = &more,
	                              .more_count = 1,
	                              .flags = RL_DEFINE_KEEP});
}

static void
run_define_first(void)
{
	define_first(3);
}

/* Another definition is the first one, or finds this one whole. */
static void
survive_define_first(void)
{
	struct rl_rule_info info;
	int error = define_first(4);
	uint32_t capacity = error == RL_EDEFINED ? 3 : 4;

	assert_true(error >= 0 || error == RL_EDEFINED);
	assert_int_equal(rl_rule_info(rl, rl_find(rl, "new"), &info), 1);
	assert_int_equal(info.limit_count, 2);
	assert_int_equal(info.limits[0].capacity, capacity);
	assert_int_equal(info.limits[1].capacity, 10 * capacity);
	rl_forget(rl, "new");
}

/* A shape that was left, and is taken up again. */
static void
prepare_again(void)
{
	run_define();
	at_check(rl, rl_find(rl, "new"), "n", 1, 3, now, NULL);
	test_rule(rl, "new", 3, 5 * RL_SECOND, 3, true);
	at_check(rl, rl_find(rl, "new"), "n", 1, 3, now, NULL);
}

/* No row that was never used: the next limit takes one that was left. */
static void
prepare_rows(void)
{
	struct rl_info info;

	rl_info(rl, &info);
	for (uint32_t i = 0; i < info.limits; i++) {
		test_rule(rl, "new", 3, (100 + i) * RL_SECOND, 3, true);
		at_check(rl, rl_find(rl, "new"), "n", 1, 1, now, NULL);
	}
}

/* Who only stands still has the turn; who was killed did not take it along. */
static void
survive_rows(void)
{
	struct rl_rule_info info;
	struct rl_result r;
	int id = rl_find(rl, "new");

	assert_int_equal(at_check(rl, id, "other", 5, 0, now, &r), RL_ALLOWED);
	assert_int_equal(r.error, 0);
	assert_int_equal(r.remaining, 3);
	if (!is_killed)
		return;
	survive_define();
	assert_int_equal(rl_rule_info(rl, id, &info), 1);
	assert_true(info.limits[0].window_ns == 3 * RL_SECOND);
}

static int left; /* the handle of a rule whose row is to become "new"'s */

/* No row of a rule that was never used: the next name takes one that was left. */
static void
prepare_names(void)
{
	struct rl_info info;

	rl_info(rl, &info);
	left = test_rule(rl, "left", 3, 3 * RL_SECOND, 3, true);
	for (uint32_t i = info.rules_used + 1; i < info.rules; i++)
		test_rule(rl, i % 2 ? "odd" : "even", 3, 3 * RL_SECOND, 3, true);
	for (int i = 0; i < 5; i++)
		at_check(rl, left, "n", 1, 1, now, NULL);
	assert_int_equal(rl_forget(rl, "left"), 1);
}

/* The handle that was left limits nothing, and the new rule begins with nothing. */
static void
survive_names(void)
{
	uint64_t counted[RL_COUNTERS];
	struct rl_rule_info info;
	struct rl_result r;
	int id;

	assert_int_equal(rl_rule_info(rl, left, &info), 1); /* whose the row is now */
	assert_int_equal(rl_stats(rl, info.handle, counted, RL_COUNTERS), 0);
	assert_int_equal(counted[RL_COUNT_denied], info.handle == left ? 2 : 0);
	assert_int_equal(at_check(rl, left, "n", 1, 1, now, &r), RL_ALLOWED);
	assert_int_equal(r.error, RL_EREMOVED);
	if (!is_killed)
		return;
	survive_define();
	id = rl_find(rl, "new");
	assert_true(id > left && (id & RL_RULE_INDEX_MASK) == left);
	assert_int_equal(rl_stats(rl, id, counted, RL_COUNTERS), 0);
	assert_int_equal(counted[RL_COUNT_allowed], 1);
	assert_int_equal(counted[RL_COUNT_denied], 0);
}

static void
run_configure(void)
{
	configure(9);
}

/* One configuration or the other; and whoever killed did not take the lock along. */
static void
survive_configure(void)
{
	struct seen s;

	observe(&s);
	assert_int_equal(s.limit[0], s.limit[1]);
	if (!is_killed)
		return;
	assert_int_equal(configure(11), 0);
	observe(&s);
	assert_int_equal(s.limit[0], 11);
	assert_int_equal(s.limit[1], 11);
}

/* Two denials ban; one was. */
static void
prepare_auto_ban(void)
{
	struct rl_config_rule rule = test_config_rule("auto", 1, 60 * RL_SECOND);

	prepare_used();
	rule.ban = (struct rl_auto_ban){.after = 2,
	                                .longer = 1,
	                                .within_ns = 60 * RL_SECOND,
	                                .for_ns = 60 * RL_SECOND,
	                                .at_most_ns = 60 * RL_SECOND};
	assert_int_equal(configure_with(7, &rule), 0);
	for (int i = 0; i < 2; i++)
		at_check(rl, rl_find(rl, "auto"), "b", 1, 1, now, NULL);
}

static void
run_auto_ban(void)
{
	at_check(rl, rl_find(rl, "auto"), "b", 1, 1, now, NULL);
}

/* Banned, or two denials later: nothing that was left half done is in the way. */
static void
survive_auto_ban(void)
{
	const struct rl_pattern p = {.key = "b", .key_len = 1};
	int rule = rl_find(rl, "auto");
	struct rl_result r;

	for (int i = 0; i < 3; i++)
		assert_int_equal(at_check(rl, rule, "b", 1, 1, now, &r), RL_DENIED);
	assert_int_equal(r.reason, RL_BY_BAN);
	assert_true(rl_unban(rl, rule, &p) >= 0); /* by the segment's clock it is over already */
	assert_int_equal(at_check(rl, rule, "b", 1, 0, now, &r), RL_DENIED);
	assert_int_equal(r.reason, RL_BY_LIMIT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		OPERATION("ban", prepare_used, run_ban, survive_ban),
		OPERATION("ban with a reason", prepare_used, run_ban_with_reason,
	                  survive_ban_with_reason),
		OPERATION("automatic ban", prepare_auto_ban, run_auto_ban, survive_auto_ban),
		OPERATION("override", prepare_used, run_override, survive_override),
		OPERATION("override again", prepare_override, run_override, survive_override),
		OPERATION("lift an override", prepare_override, run_override_lifted,
	                  survive_override),
		OPERATION("define", prepare_used, run_define, survive_define),
		OPERATION("define first", prepare_used, run_define_first, survive_define_first),
		OPERATION("define again", prepare_again, run_define, survive_define),
		OPERATION("use a row again", prepare_rows, run_define, survive_rows),
		OPERATION("use a rule's row again", prepare_names, run_define, survive_names),
		OPERATION("configure", prepare_used, run_configure, survive_configure),
	};

	return cmocka_run_group_tests(tests, open_base, close_base);
}

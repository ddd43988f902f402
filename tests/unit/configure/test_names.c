/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of rules that are used again, and the handles of rules that had them before. */
#include <stdio.h>
#include <string.h>

#include "at.h"
#include "audit.h"
#include "rule/handle.h"
#include "shared/layout.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define HOUR (3600 * RL_SECOND)
#define DAY (24 * HOUR)
#define TEN_YEARS 3652 /* days */
#define RULES 4

static struct rl *
open_rules(uint32_t rules)
{
	const struct rl_options options = {
		.keys = 40, .rules = rules, .overrides = 8, .bans = 8, .key_bytes = 16};
	struct rl *rl;

	assert_int_equal(rl_open_private(&options, &rl), 0);
	return rl;
}

static struct rl_rule
rule_of(const char *name, uint32_t capacity)
{
	return (struct rl_rule){
		.name = name,
		.limit = {.algorithm = RL_FIXED_WINDOW, .capacity = capacity, .window_ns = HOUR}};
}

static int
define(struct rl *rl, const char *name)
{
	const struct rl_rule rule = rule_of(name, 2);

	return rl_define(rl, &rule);
}

static struct rl_pattern
whole(const char *key)
{
	return (struct rl_pattern){.match = RL_MATCH_KEY, .key = key, .key_len = strlen(key)};
}

/* One rule, under which "banned" is banned by its override. */
static int
configure(struct rl *rl, const char *name)
{
	const struct rl_override banned = {.pattern = whole("banned"), .kind = RL_OVERRIDE_BANNED};
	const struct rl_config_rule rule = {
		.rule = rule_of(name, 2), .overrides = &banned, .override_count = 1};

	return rl_configure(rl, &rule, name ? 1 : 0, 0, NULL, NULL);
}

static enum rl_verdict
check(struct rl *rl, int rule, const char *key, uint64_t now, int *error)
{
	struct rl_result r;

	at_check(rl, rule, key, strlen(key), 1, now, &r);
	*error = r.error;
	return r.verdict;
}

static void
expect(struct rl *rl, int rule, const char *key, uint64_t now, enum rl_verdict verdict, int error)
{
	int is;

	assert_int_equal(check(rl, rule, key, now, &is), verdict);
	assert_int_equal(is, error);
}

static void
expect_counted(struct rl *rl, int rule, uint64_t allowed, uint64_t denied, uint64_t banned)
{
	uint64_t values[RL_COUNTERS];

	assert_int_equal(rl_stats(rl, rule, values, RL_COUNTERS), 0);
	assert_int_equal(values[RL_COUNT_allowed], allowed);
	assert_int_equal(values[RL_COUNT_denied], denied);
	assert_int_equal(values[RL_COUNT_banned], banned);
	assert_true(values[RL_COUNT_retired] == 0);
}

/* A rule that is there no more: allowed, counted nowhere, and not to be asked about. */
static void
expect_removed(struct rl *rl, int rule, uint64_t now)
{
	const struct rl_pattern pattern = whole("k");
	uint64_t values[RL_COUNTERS];
	struct rl_rule_info info;

	for (int i = 0; i < 5; i++) {
		expect(rl, rule, "k", now, RL_ALLOWED, RL_EREMOVED);
		expect(rl, rule, "banned", now, RL_ALLOWED, RL_EREMOVED);
		expect(rl, rule, "lifted", now, RL_ALLOWED, RL_EREMOVED);
	}
	assert_int_equal(rl_ban(rl, rule, &pattern, RL_NEVER_NS), -EINVAL);
	assert_int_equal(rl_reset(rl, rule, "k", 1), -EINVAL);
	assert_int_equal(rl_stats(rl, rule, values, RL_COUNTERS), -EINVAL);
	assert_int_equal(rl_override_count(rl, rule), 0);
	if (rule >= RULES)
		assert_int_equal(rl_rule_info(rl, rule, &info), 0);
}

/* What some day brings to its rule: limited, banned, exempted, counted from zero. */
static void
play(struct rl *rl, int rule, uint64_t now)
{
	const struct rl_pattern pattern = whole("lifted");

	expect_counted(rl, rule, 0, 0, 0);
	assert_int_equal(rl_override_count(rl, rule), 1);
	for (int i = 0; i < 3; i++) { /* the third is denied */
		expect(rl, rule, "k", now, i < 2 ? RL_ALLOWED : RL_DENIED, 0);
		expect(rl, rule, "lifted", now, i < 2 ? RL_ALLOWED : RL_DENIED, 0);
	}
	expect(rl, rule, "banned", now, RL_DENIED, 0);
	expect_counted(rl, rule, 4, 3, 1);
	assert_int_equal(rl_ban(rl, rule, &pattern, RL_NEVER_NS), 0);
	expect(rl, rule, "lifted", now, RL_DENIED, 0);
	expect_counted(rl, rule, 4, 4, 2);
}

static int
count_bans(const struct rl_ban_info *ban, void *arg)
{
	int *count = arg;

	assert_true(ban->rule >= 0);
	++*count;
	return 0;
}

/* A rule of another name every day, more of them than there is room for; one is defined. */
static void
test_ten_years_of_other_names(void **state)
{
	struct rl *rl = open_rules(RULES);
	int own = define(rl, "own"), rule = -1, first = -1, bans;
	struct rl_rule_info info;
	struct rl_info room;
	char name[32];

	(void)state;
	for (uint64_t day = 0; day < TEN_YEARS; day++) {
		uint64_t now = T0 + day * DAY;
		snprintf(name, sizeof name, "day-%d", (int)day);
		assert_int_equal(configure(rl, name), 0);
		rule = rl_find(rl, name);
		assert_true(rule >= 0 && (rule & RL_RULE_INDEX_MASK) < RULES);
		assert_int_equal(rl_rule_info(rl, rule & RL_RULE_INDEX_MASK, &info), 1);
		assert_string_equal(info.name, name);
		assert_int_equal(info.handle, rule);
		play(rl, rule, now);
		if (day >= RULES)
			expect_removed(rl, first, now);
		expect_counted(rl, rule, 4, 4, 2);
		bans = 0; /* one of each rule that has its row still */
		assert_int_equal(rl_bans_walk(rl, rl_now(rl), count_bans, &bans), 0);
		assert_int_equal(bans, day < RULES - 1 ? day + 1 : RULES - 1);
		first = day == 0 ? rule : first;
		assert_int_equal(configure(rl, NULL), 0);
		assert_int_equal(rl_find(rl, "own"), own);
	}
	assert_int_equal(rl_find(rl, name), -ENOENT);
	assert_true(rule >> RL_RULE_INDEX_BITS > TEN_YEARS / RULES);
	audit_assert_whole(rl);
	rl_info(rl, &room);
	assert_int_equal(room.rules_used, 1);
	rl_close(rl);
}

/* Whatever is in force, or was defined, keeps its row. */
static void
test_what_has_limits_stays(void **state)
{
	struct rl *rl = open_rules(3);
	struct rl_config_outcome o;
	struct rl_config_rule two[2] = {{.rule = rule_of("b", 2)}, {.rule = rule_of("c", 2)}};
	int a = define(rl, "a");

	(void)state;
	assert_int_equal(rl_configure(rl, two, 2, 0, NULL, NULL), 0);
	assert_int_equal(define(rl, "d"), RL_ERULES);
	two[0].rule.name = "d";
	assert_int_equal(rl_configure(rl, two, 2, 0, NULL, &o), RL_ERULES);
	assert_int_equal(o.needed, 4);
	assert_int_equal(o.rule, 0);
	two[0].rule.name = "b";
	assert_int_equal(rl_configure(rl, two, 1, 0, NULL, NULL), 0);
	/* "c" has its row until another needs it: back, it has its handle */
	assert_int_equal(rl_configure(rl, two, 2, 0, NULL, NULL), 0);
	assert_int_equal(rl_find(rl, "c"), 2);
	assert_int_equal(rl_configure(rl, two, 1, 0, NULL, NULL), 0);
	assert_int_equal(define(rl, "d"), 2 | 1 << RL_RULE_INDEX_BITS);
	assert_int_equal(define(rl, "e"), RL_ERULES);
	expect(rl, 2, "k", T0, RL_ALLOWED, RL_EREMOVED);
	expect(rl, 2 | 2 << RL_RULE_INDEX_BITS, "k", T0, RL_UNDECIDED, -EINVAL);
	assert_int_equal(rl_find(rl, "a"), a);
	assert_int_equal(rl_find(rl, "b"), 1);
	audit_assert_whole(rl);
	rl_close(rl);
}

/* A name that the new configuration has keeps its row, though it is not in force. */
static void
test_names_that_come_back_keep_their_row(void **state)
{
	struct rl *rl = open_rules(3);
	struct rl_config_rule two[2] = {{.rule = rule_of("a", 2)}, {.rule = rule_of("b", 2)}};

	(void)state;
	assert_int_equal(rl_configure(rl, two, 2, 0, NULL, NULL), 0);
	assert_int_equal(define(rl, "own"), 2);
	assert_int_equal(rl_configure(rl, NULL, 0, 0, NULL, NULL), 0);
	two[1].rule.name = "new";
	two[0].rule.name = "other";
	two[1].rule.name = "a";
	assert_int_equal(rl_configure(rl, two, 2, 0, NULL, NULL), 0);
	assert_int_equal(rl_find(rl, "a"), 0);
	assert_int_equal(rl_find(rl, "other"), 1 | 1 << RL_RULE_INDEX_BITS);
	rl_close(rl);
}

static void
test_forget(void **state)
{
	struct rl *rl = open_rules(1);
	int a = define(rl, "a"), b;

	(void)state;
	expect(rl, a, "k", T0, RL_ALLOWED, 0);
	assert_int_equal(rl_forget(rl, "b"), -ENOENT);
	assert_int_equal(rl_forget(rl, "no name"), -EINVAL);
	assert_int_equal(define(rl, "b"), RL_ERULES);
	assert_int_equal(rl_forget(rl, "a"), 1);
	assert_int_equal(rl_forget(rl, "a"), 0);
	assert_int_equal(rl_find(rl, "a"), -ENOENT);
	expect(rl, a, "k", T0, RL_ALLOWED, RL_EREMOVED);
	/* defined again, it starts anew, under its handle */
	assert_int_equal(define(rl, "a"), a);
	for (int i = 0; i < 3; i++)
		expect(rl, a, "k", T0, i < 2 ? RL_ALLOWED : RL_DENIED, 0);
	/* configured, it stays in force */
	assert_int_equal(configure(rl, "a"), 0);
	assert_int_equal(rl_forget(rl, "a"), 1);
	expect(rl, a, "k", T0, RL_DENIED, 0);
	assert_int_equal(configure(rl, NULL), 0);
	b = define(rl, "b");
	assert_int_equal(b, a | 1 << RL_RULE_INDEX_BITS);
	expect_removed(rl, a, T0);
	for (int i = 0; i < 3; i++)
		expect(rl, b, "k", T0, i < 2 ? RL_ALLOWED : RL_DENIED, 0);
	expect(rl, a, "k", T0, RL_ALLOWED, RL_EREMOVED);
	audit_assert_whole(rl);
	rl_close(rl);
}

/* What every rule's bans say holds for handles of rules that are gone, as for removed ones. */
static void
test_bans_of_any_rule(void **state)
{
	const struct rl_pattern pattern = whole("k");
	struct rl *rl = open_rules(1);
	int a = define(rl, "a"), b;

	(void)state;
	assert_int_equal(rl_forget(rl, "a"), 1);
	b = define(rl, "b");
	assert_int_equal(rl_ban(rl, RL_ANY_RULE, &pattern, RL_NEVER_NS), 0);
	expect(rl, a, "k", T0, RL_DENIED, RL_EREMOVED);
	expect_counted(rl, b, 0, 0, 0);
	expect(rl, b, "k", T0, RL_DENIED, 0);
	expect_counted(rl, b, 0, 1, 1);
	rl_close(rl);
}

/* What a definer of the former rule writes late is none of the new one's. */
static void
test_what_a_sleeper_writes(void **state)
{
	struct rl *rl = open_rules(1);
	int a = define(rl, "a"), b;
	struct rl_u128 list = rl->segment.rows[0].limits[RL_BANK_APP];
	struct rl_refs refs;

	(void)state;
	rl_rules_refs(&rl->segment, 0, RL_BANK_APP, &refs);
	assert_int_equal(rl_forget(rl, "a"), 1);
	assert_int_equal(configure(rl, "b"), 0);
	b = rl_find(rl, "b");
	assert_int_equal(rl_rules_set_refs(&rl->segment, a, RL_BANK_APP, &refs), -EAGAIN);
	rl->segment.rows[0].limits[RL_BANK_APP] = list;
	expect(rl, a, "k", T0, RL_ALLOWED, RL_EREMOVED);
	audit_assert_whole(rl);
	assert_int_equal(configure(rl, NULL), 0);
	expect(rl, b, "k", T0, RL_ALLOWED, RL_EREMOVED);
	assert_int_equal(rl_find(rl, "b"), -ENOENT);
	assert_true(define(rl, "c") >= 0);
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ten_years_of_other_names),
		cmocka_unit_test(test_what_has_limits_stays),
		cmocka_unit_test(test_names_that_come_back_keep_their_row),
		cmocka_unit_test(test_forget),
		cmocka_unit_test(test_bans_of_any_rule),
		cmocka_unit_test(test_what_a_sleeper_writes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rows of rules that are given to other names, while somebody sleeps with a handle or wants them.
 */
#include "few_rows.h"

/* The first row is that of "a", of 5 in a minute, all used up by "k"; there is no other. */
static struct rl *
with_one_rule(void)
{
	struct rl *rl = open_rows(1);

	define_one(rl, "a", 5, 60 * RL_SECOND, false);
	for (int i = 0; i < 5; i++)
		check(rl, 0);
	return rl;
}

static int
give_to(struct rl *rl, const char *name, uint32_t capacity)
{
	assert_int_equal(rl_forget(rl, "a"), 1);
	define_one(rl, name, capacity, 60 * RL_SECOND, false);
	return rl_find(rl, name);
}

/* Of the same shape, so that it has the same limit's row, too. */
static void
give_the_name_away(struct rl *rl, int rule)
{
	int b = give_to(rl, "b", 5);

	(void)rule;
	assert_int_equal(b, 1 << RL_RULE_INDEX_BITS);
	for (int i = 0; i < 4; i++)
		assert_int_equal(check(rl, b), RL_ALLOWED);
}

/* A sleeper with the old handle charges nothing of the new rule's, and is not denied by it. */
static void
test_a_sleeper_with_a_name(void **state)
{
	const int b = 1 << RL_RULE_INDEX_BITS;
	bool goes_on = true;

	(void)state;
	for (int n = 1; goes_on; n++) {
		struct rl *rl = with_one_rule();
		goes_on = intrude(rl, 0, check_and_tell, give_the_name_away, n);
		assert_true(told.verdict == RL_DENIED || told.verdict == RL_ALLOWED);
		if (goes_on) { /* what it counts late is its one request */
			assert_true(test_counter(rl, b, RL_COUNT_allowed) <= 4 + 1);
			assert_true(test_counter(rl, b, RL_COUNT_denied) <= 1);
			assert_int_equal(check(rl, b), RL_ALLOWED);
			assert_int_equal(check(rl, b), RL_DENIED);
		}
		rl_close(rl);
	}
}

static const struct rl_pattern the_key = {.match = RL_MATCH_KEY, .key = "k", .key_len = 1};

static void
give_to_one_that_bans(struct rl *rl, int rule)
{
	int b = give_to(rl, "b", 1000);

	(void)rule;
	assert_int_equal(rl_ban(rl, b, &the_key, RL_NEVER_NS), 0);
}

/* Nor do the new rule's bans hold for it. */
static void
test_a_sleeper_and_bans(void **state)
{
	bool goes_on = true;

	(void)state;
	for (int n = 1; goes_on; n++) {
		struct rl *rl = with_one_rule();
		goes_on = intrude(rl, 0, check_and_tell, give_to_one_that_bans, n);
		assert_int_equal(told.reason, RL_BY_LIMIT);
		assert_true(told.verdict == RL_DENIED || told.verdict == RL_ALLOWED);
		assert_true(told.limit == 5 || told.error == RL_EREMOVED);
		rl_close(rl);
	}
}

static void
ban_the_key(struct rl *rl, int rule)
{
	rl_ban(rl, rule, &the_key, RL_NEVER_NS);
}

static void
give_to_more(struct rl *rl, int rule)
{
	(void)rule;
	give_to(rl, "b", 1000);
}

static int
is_shown(const struct rl_ban_info *ban, void *arg)
{
	(void)ban;
	(void)arg;
	return 1;
}

/* And a ban that is set late for the old rule is none of the new one's. */
static void
test_a_late_ban(void **state)
{
	bool goes_on = true;

	(void)state;
	for (int n = 1; goes_on; n++) {
		struct rl *rl = with_one_rule();
		goes_on = intrude(rl, 0, ban_the_key, give_to_more, n);
		if (goes_on) {
			assert_int_equal(check(rl, rl_find(rl, "b")), RL_ALLOWED);
			assert_int_equal(rl_bans_walk(rl, 0, is_shown, NULL), 0);
		}
		rl_close(rl);
	}
}

/* Two that want the same row of a rule: for the name it had, and for another. */

static void
define_the_old_name(struct rl *rl, int rule)
{
	(void)rule;
	has_come = rl_rules_seek(&rl->segment, "a") >= 0 || !rl->handle->is_configuring;
	if (has_come)
		define_one(rl, "a", 7, 60 * RL_SECOND, false);
}

static void
define_a_new_name(struct rl *rl, int rule)
{
	(void)rule;
	has_come = !rl->handle->is_configuring;
	if (has_come)
		define_one(rl, "b", 9, 1000 * RL_SECOND, false);
}

static void
configure_a_new_name(struct rl *rl, int rule)
{
	const struct rl_config_rule r = {
		.rule = {.name = "b", .limit = {.capacity = 9, .window_ns = 1000 * RL_SECOND}}};

	(void)rule;
	has_come = !rl->handle->is_configuring;
	if (has_come)
		assert_int_equal(rl_configure(rl, &r, 1, 0, NULL, NULL), 0);
}

static void
play_names(call_fn *first, call_fn *second)
{
	bool goes_on = true;

	for (int n = 1; goes_on; n++) {
		struct rl *rl = open_rows(3);
		define_one(rl, "a", 7, 60 * RL_SECOND, false);
		define_one(rl, "c", 7, 60 * RL_SECOND, false);
		define_one(rl, "s", 5, 60 * RL_SECOND, false);
		rl_forget(rl, "a");
		rl_forget(rl, "c");
		has_come = false;
		goes_on = intrude(rl, 0, first, second, n);
		if (!has_come || !goes_on)
			second(rl, 0);
		expect_limit(rl, "a", 7, 60 * RL_SECOND);
		expect_limit(rl, "b", 9, 1000 * RL_SECOND);
		expect_limit(rl, "s", 5, 60 * RL_SECOND);
		audit_assert_whole(rl);
		rl_close(rl);
	}
}

static void
test_two_want_a_name(void **state)
{
	(void)state;
	play_names(define_the_old_name, define_a_new_name);
	play_names(define_a_new_name, define_the_old_name);
	play_names(define_the_old_name, configure_a_new_name);
	play_names(configure_a_new_name, define_the_old_name);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_sleeper_with_a_name),
		cmocka_unit_test(test_a_sleeper_and_bans),
		cmocka_unit_test(test_a_late_ban),
		cmocka_unit_test(test_two_want_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

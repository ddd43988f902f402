/* SPDX-License-Identifier: BSD-2-Clause */
/* What is kept of a ban for people: why, by whom, since when, and how often it answered. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "rule/handle.h"
#include "shared/layout_people.h"
#include "testing.h"

static const char reason[] = "scraping \x1b[2J, ticket 4711";

static struct rl_ban_info
wanted(int rule, const char *text, uint64_t until_ns)
{
	struct rl_ban_info ban = {.rule = rule,
	                          .pattern = rl_pattern_of(text, strlen(text)),
	                          .until_ns = until_ns,
	                          .author = 4242,
	                          .reason_len = strlen(reason)};

	memcpy(ban.reason, reason, ban.reason_len);
	return ban;
}

static struct rl_ban_info
found(struct rl *rl, int rule, const char *text)
{
	struct rl_pattern p = rl_pattern_of(text, strlen(text));
	struct rl_ban_info info = {0};

	assert_int_equal(rl_ban_info(rl, rule, &p, rl_now(rl), &info), 1);
	return info;
}

static void
ask(struct rl *rl, int rule, const char *key, uint64_t cost)
{
	rl_check(rl, rule, key, strlen(key), cost, NULL);
}

static int
take_it(const struct rl_ban_info *ban, void *arg)
{
	*(struct rl_ban_info *)arg = *ban;
	return 1;
}

static void
test_a_note_is_kept(void **state)
{
	struct rl *rl = test_private(100);
	int rule = test_rule(rl, "r", 5, RL_SECOND, 0, false);
	uint64_t before = rl_now(rl);
	struct rl_ban_info ban = wanted(rule, "user:*", RL_NEVER_NS), is;

	(void)state;
	assert_int_equal(rl_ban_set(rl, &ban), 0);
	is = found(rl, rule, "user:*");
	assert_int_equal(is.has_note, 1);
	assert_int_equal(is.author, 4242);
	assert_true(is.since_ns >= before && is.since_ns <= rl_now(rl));
	assert_int_equal(is.hits, 0);
	assert_int_equal(is.reason_len, strlen(reason));
	assert_string_equal(is.reason, reason);
	/* a walk tells the same, and what it tells can be set again */
	assert_int_equal(rl_bans_walk(rl, rl_now(rl), take_it, &is), 1);
	assert_string_equal(is.reason, reason);
	is.pattern = ban.pattern; /* what the walk told pointed into its own copy */
	is.since_ns = 17;
	is.hits = 5;
	assert_int_equal(rl_ban_set(rl, &is), 0);
	is = found(rl, rule, "user:*");
	assert_true(is.since_ns == 17);
	assert_int_equal(is.hits, 5);
	rl_close(rl);
}

/* Of a rule of so many limits. */
static void
count_hits(unsigned limits)
{
	const struct rl_limit limit = {.capacity = 5, .window_ns = RL_SECOND},
			      more = {.capacity = 9, .window_ns = 2 * RL_SECOND};
	struct rl *rl = test_private(100);
	int rule = rl_define(
		rl, &(struct rl_rule){
			    .name = "r", .limit = limit, .more = &more, .more_count = limits - 1});
	struct rl_pattern p = rl_pattern_of("k", 1), q = rl_pattern_of("friend", 6);
	struct rl_item items[2] = {{.rule = rule, .key = "k", .key_len = 1, .cost = 1},
	                           {.rule = rule, .key = "other", .key_len = 5, .cost = 1}};
	struct rl_result results[2];

	assert_int_equal(rl_ban(rl, rule, &p, RL_NEVER_NS), 0);
	assert_int_equal(rl_allow(rl, RL_ANY_RULE, &q, RL_NEVER_NS), 0);
	for (int i = 0; i < 3; i++)
		ask(rl, rule, "k", 1);
	ask(rl, rule, "other", 1);
	ask(rl, rule, "friend", 1);
	rl_peek(rl, rule, "k", 1, NULL);
	ask(rl, rule, "k", 0);
	assert_int_equal(found(rl, rule, "k").hits, 3);
	assert_int_equal(found(rl, RL_ANY_RULE, "friend").hits, 1);
	rl_check_many(rl, items, 2, results);
	assert_int_equal(found(rl, rule, "k").hits, 4);
	/* another ban counts from the start */
	assert_int_equal(rl_ban(rl, rule, &p, rl_now(rl) + 60 * RL_SECOND), 0);
	assert_int_equal(found(rl, rule, "k").hits, 0);
	assert_int_equal(found(rl, rule, "k").author, geteuid());
	rl_close(rl);
}

static void
test_hits_are_requests(void **state)
{
	(void)state;
	count_hits(1);
	count_hits(2);
}

/*
 * Whatever is damaged of a note, or left of it by one that died: the ban stands, and nothing wrong
 * is told.
 */
static void
test_a_torn_note_is_none(void **state)
{
	struct rl *rl = test_private(100);
	int rule = test_rule(rl, "r", 5, RL_SECOND, 0, false);
	struct rl_ban_info ban = wanted(rule, "k", RL_NEVER_NS), is;
	struct rl_ban_note *notes = rl->segment.notes, *note = NULL, whole;

	(void)state;
	assert_int_equal(rl_ban_set(rl, &ban), 0);
	for (uint32_t i = 0; i < rl->segment.geometry.ban_slots; i++)
		if (notes[i].check != 0)
			note = &notes[i];
	assert_non_null(note);
	whole = *note;
	for (size_t i = 0; i < sizeof whole; i++) {
		if (i >= offsetof(struct rl_ban_note, hits) && i < offsetof(struct rl_ban_note, by))
			continue;
		((unsigned char *)note)[i] ^= 0x55;
		is = found(rl, rule, "k");
		assert_int_equal(is.has_note, 0);
		assert_int_equal(is.reason_len, 0);
		assert_int_equal(is.hits, 0);
		*note = whole;
	}
	assert_int_equal(found(rl, rule, "k").has_note, 1);
	/* the note of a ban that was replaced is not the next one's */
	assert_int_equal(rl_ban(rl, rule, &ban.pattern, rl_now(rl) + 60 * RL_SECOND), 0);
	*note = whole;
	assert_int_equal(found(rl, rule, "k").has_note, 0);
	assert_int_equal(rl_check(rl, rule, "k", 1, 1, NULL), RL_DENIED);
	rl_close(rl);
}

static void
test_what_is_refused(void **state)
{
	struct rl *rl = test_private(100);
	int rule = test_rule(rl, "r", 5, RL_SECOND, 0, false);
	struct rl_ban_info ban = wanted(rule, "k", RL_NEVER_NS);

	(void)state;
	ban.reason_len = RL_REASON_MAX + 1;
	assert_int_equal(rl_ban_set(rl, &ban), -EINVAL);
	assert_int_equal(rl_check(rl, rule, "k", 1, 1, NULL), RL_ALLOWED);
	memset(ban.reason, 'x', RL_REASON_MAX);
	ban.reason_len = RL_REASON_MAX;
	assert_int_equal(rl_ban_set(rl, &ban), 0);
	assert_int_equal(strlen(found(rl, rule, "k").reason), RL_REASON_MAX);
	ban.rule = rule + 1;
	assert_int_equal(rl_ban_set(rl, &ban), -EINVAL);
	rl_close(rl);
}

#define CHILDREN 4
#define ASKED 20000

struct askers {
	struct rl *rl;
	int rule;
};

static int
ask_often(void *arg, int i)
{
	const struct askers *askers = arg;

	(void)i;
	for (int j = 0; j < ASKED; j++)
		ask(askers->rl, askers->rule, "k", 1);
	return 0;
}

static void
test_hits_of_processes_add_up(void **state)
{
	struct rl_pattern p = rl_pattern_of("k", 1);
	struct askers askers;

	(void)state;
	assert_int_equal(rl_open(test_segment_name(), NULL, &askers.rl), 0);
	askers.rule = test_rule(askers.rl, "r", 5, RL_SECOND, 0, false);
	assert_int_equal(rl_ban(askers.rl, askers.rule, &p, RL_NEVER_NS), 0);
	test_fork(CHILDREN, ask_often, &askers);
	assert_int_equal(found(askers.rl, askers.rule, "k").hits, CHILDREN * ASKED);
	rl_close(askers.rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_note_is_kept),
		cmocka_unit_test(test_hits_are_requests),
		cmocka_unit_test(test_a_torn_note_is_none),
		cmocka_unit_test(test_what_is_refused),
		cmocka_unit_test_teardown(test_hits_of_processes_add_up, test_unlink),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

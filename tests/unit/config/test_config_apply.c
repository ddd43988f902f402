/* SPDX-License-Identifier: BSD-2-Clause */
/* A file in a segment: what it does there, and what is told of it. */

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "apply/apply.h"
#include "at.h"
#include "load/load.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)

#define ANEW                                                                                 \
	"a segment keeps what it was created with: end what uses it and 'rlctl unlink' it, " \
	"so that it is created anew\n"
#define RESIZE "'rlctl resize' changes that, and no count is lost\n"

#define SMALLER "a smaller \"granularity\", or capacity of a log, fits; "

struct told {
	char text[4096];
};

static void
hear(enum config_level level, const char *text, void *arg)
{
	struct told *told = arg;
	size_t used = strlen(told->text);

	snprintf(told->text + used, sizeof(told->text) - used, "%s%s\n",
	         level == CONFIG_ERROR ? "!" : "", text);
}

/* What is told of a file that is put into force; it is good in itself. */
static int
apply(struct rl *rl, const char *text, unsigned flags, const char *want)
{
	struct told told = {""};
	struct rl_config_outcome outcome;
	struct config *config = config_parse("f", text, strlen(text), hear, &told);
	int error;

	assert_string_equal(told.text, "");
	assert_non_null(config);
	error = config_apply(rl, config, flags, &outcome, hear, &told);
	assert_string_equal(told.text, want);
	config_free(config);
	return error;
}

static void
applies(struct rl *rl, const char *text, const char *want)
{
	assert_int_equal(apply(rl, text, RL_CONFIGURE_DRY, want), 0); /* told, and not done: */
	assert_int_equal(apply(rl, text, 0, want), 0);
	assert_int_equal(apply(rl, text, 0, ""), 0);
}

/* How many requests of `key` are allowed at T0, of so many. */
static int
count_allowed(struct rl *rl, const char *name, const char *key, int requests)
{
	int rule = rl_find(rl, name), allowed = 0;

	assert_true(rule >= 0);
	while (requests-- > 0)
		allowed += at_check(rl, rule, key, strlen(key), 1, T0, NULL) == RL_ALLOWED;
	return allowed;
}

#define RULE(members) "{\"rules\": {\"r\": {" members "}}}"

static void
test_numbers_change_at_once(void **state)
{
	struct rl *rl = test_private(100);

	(void)state;
	applies(rl, RULE("\"limit\": \"3/min\""), "r: new, 3 per 1m\n");
	assert_int_equal(count_allowed(rl, "r", "k", 5), 3);
	applies(rl, RULE("\"limit\": \"5/min\""), "r: capacity 5, was 3\n");
	assert_int_equal(count_allowed(rl, "r", "k", 5), 2);
	applies(rl, RULE("\"limit\": \"5/min\", \"mode\": \"shadow\""),
	        "r: mode \"shadow\", was \"enforce\"\n");
	assert_int_equal(count_allowed(rl, "r", "k", 5), 5);
	applies(rl, RULE("\"limit\": \"5/min\""), "r: mode \"enforce\", was \"shadow\"\n");
	assert_int_equal(count_allowed(rl, "r", "k", 5), 0);
	rl_close(rl);
}

static void
test_shapes_start_anew(void **state)
{
	struct rl *rl = test_private(100);

	(void)state;
	applies(rl, RULE("\"limit\": \"3/min\""), "r: new, 3 per 1m\n");
	assert_int_equal(count_allowed(rl, "r", "k", 5), 3);
	applies(rl, RULE("\"limit\": \"3/h\""), "r: starts anew, its window has changed\n");
	assert_int_equal(count_allowed(rl, "r", "k", 5), 3);
	applies(rl, RULE("\"limit\": \"3/h\", \"hard\": false"),
	        "r: starts anew, its hard has changed\n");
	applies(rl, RULE("\"limit\": \"3/h\", \"granularity\": 5"),
	        "r: starts anew, its granularity has changed\n");
	applies(rl, RULE("\"limit\": \"3/h\", \"granularity\": 5, \"hard\": true"),
	        "r: starts anew, its hard has changed\n");
	applies(rl, RULE("\"limit\": \"3/h\", \"algorithm\": \"token_bucket\""),
	        "r: starts anew, its algorithm has changed\n");
	applies(rl, RULE("\"limit\": \"4/h\", \"algorithm\": \"token_bucket\""),
	        "r: capacity 4, was 3\n");
	applies(rl, RULE("\"limit\": \"4/h\", \"algorithm\": \"token_bucket\", \"burst\": 9"),
	        "r: burst 9, was 4\n");
	applies(rl, RULE("\"limit\": \"4/h\", \"algorithm\": \"leaky_bucket\", \"burst\": 9"),
	        "r: starts anew, its algorithm has changed\n");
	applies(rl,
	        RULE("\"limit\": \"4/h\", \"algorithm\": \"leaky_bucket\", \"burst\": 9,"
	             "\"undelayed\": 3"),
	        "r: undelayed 3, was 0\n");
	applies(rl, RULE("\"limit\": \"99/h\", \"algorithm\": \"fixed_window\""),
	        "r: starts anew, its algorithm has changed\n");
	applies(rl, RULE("\"limit\": \"99/h\", \"algorithm\": \"fixed_window\", \"prefetch\": 6"),
	        "r: prefetch 6, was 0\n");
	rl_close(rl);
}

static void
test_several_limits(void **state)
{
	struct rl *rl = test_private(100);

	(void)state;
	applies(rl, RULE("\"limits\": [{\"limit\": \"3/min\"}, {\"limit\": \"9/h\"}]"),
	        "r: new, 3 per 1m and further limits\n");
	assert_int_equal(count_allowed(rl, "r", "k", 5), 3);
	applies(rl, RULE("\"limits\": [{\"limit\": \"3/min\"}, {\"limit\": \"8/d\"}]"),
	        "r: limit 2: starts anew, its window has changed\n");
	assert_int_equal(count_allowed(rl, "r", "k", 5), 0);
	applies(rl,
	        RULE("\"limits\": [{\"limit\": \"3/min\"}, {\"limit\": \"8/d\"}, {\"limit\": "
	             "\"9/2d\"}]"),
	        "r: limit 3: new\n");
	applies(rl, RULE("\"limits\": [{\"limit\": \"4/min\"}, {\"limit\": \"8/d\"}]"),
	        "r: limit 1: capacity 4, was 3\nr: what was limit 3 is dropped\n");
	assert_int_equal(count_allowed(rl, "r", "k", 5), 1);
	applies(rl, RULE("\"limits\": [{\"limit\": \"8/d\"}, {\"limit\": \"4/min\"}]"),
	        "r: its limits stand in another order\n");
	assert_int_equal(count_allowed(rl, "r", "k", 5), 0);
	rl_close(rl);
}

/* Two limits of one shape are told apart, and those before one that is dropped. */
static void
test_twins(void **state)
{
	struct rl *rl = test_private(100);

	(void)state;
	applies(rl,
	        RULE("\"window\": \"1m\", \"limits\": [{\"capacity\": 5},"
	             "{\"capacity\": 7, \"mode\": \"shadow\"}, {\"limit\": \"99/h\"}]"),
	        "r: new, 5 per 1m and further limits\n");
	applies(rl,
	        RULE("\"window\": \"1m\", \"limits\": [{\"capacity\": 5},"
	             "{\"capacity\": 8, \"mode\": \"shadow\"}, {\"limit\": \"99/h\"}]"),
	        "r: limit 2: capacity 8, was 7\n");
	applies(rl, RULE("\"limits\": [{\"limit\": \"99/h\"}, {\"limit\": \"999/d\"}]"),
	        "r: limit 2: starts anew, its window has changed\nr: what was limit 1 is "
	        "dropped\n");
	applies(rl, RULE("\"limit\": \"999/d\""), "r: what was limit 1 is dropped\n");
	rl_close(rl);
}

static void
test_overrides(void **state)
{
	struct rl *rl = test_private(100);

	(void)state;
	applies(rl,
	        RULE("\"limit\": \"3/min\", \"overrides\": {\"a\": {\"capacity\": 1},"
	             "\"b:*\": {\"unlimited\": true}, \"10.0.0.0/8\": {\"banned\": true}}"),
	        "r: new, 3 per 1m\nr: overrides: 3 new, 0 changed, 0 removed\n");
	assert_int_equal(count_allowed(rl, "r", "k", 5), 3);
	assert_int_equal(count_allowed(rl, "r", "a", 5), 1);
	assert_int_equal(count_allowed(rl, "r", "b:1", 5), 5);
	assert_int_equal(count_allowed(rl, "r", "10.1.2.3", 5), 0);
	applies(rl,
	        RULE("\"limit\": \"3/min\", \"overrides\": {\"a\": {\"capacity\": 2},"
	             "\"b:*\": {\"unlimited\": true}, \"\\u0063\": {\"banned\": true}}"),
	        "r: overrides: 1 new, 1 changed, 1 removed\n");
	assert_int_equal(count_allowed(rl, "r", "a", 5), 1);
	assert_int_equal(count_allowed(rl, "r", "b:1", 5), 5);
	assert_int_equal(count_allowed(rl, "r", "c", 5), 0);
	assert_int_equal(count_allowed(rl, "r", "10.1.2.3", 5), 3);
	applies(rl, RULE("\"limit\": \"3/min\""), "r: overrides: 0 new, 0 changed, 3 removed\n");
	assert_int_equal(count_allowed(rl, "r", "c", 5), 3);
	rl_close(rl);
}

static void
test_prefixes(void **state)
{
	struct rl *rl = test_private(100);

	(void)state;
	applies(rl,
	        RULE("\"window\": \"1m\", \"prefixes\": [{\"v4\": 32, \"capacity\": 2},"
	             "{\"v4\": 24, \"capacity\": 3}], \"overrides\":"
	             "{\"192.0.2.9\": {\"banned\": true}, \"192.0.3.0/24\": {\"unlimited\": "
	             "true}}"),
	        "r: new, 2 per 1m and further limits\nr: overrides: 2 new, 0 changed, 0 removed\n");
	assert_int_equal(count_allowed(rl, "r", "192.0.2.1", 5), 2);
	assert_int_equal(count_allowed(rl, "r", "192.0.2.2", 5), 1);
	assert_int_equal(count_allowed(rl, "r", "192.0.2.9", 5), 0);
	assert_int_equal(count_allowed(rl, "r", "192.0.3.9", 5), 5);
	applies(rl,
	        RULE("\"window\": \"1m\", \"prefixes\": [{\"v4\": 32, \"capacity\": 2},"
	             "{\"v4\": 16, \"capacity\": 3}]"),
	        "r: limit 2: starts anew, its v4 has changed\n"
	        "r: overrides: 0 new, 0 changed, 2 removed\n");
	rl_close(rl);
}

/* The well-known form: each key its own limit, others none. */
static void
test_keys(void **state)
{
	struct rl *rl = test_private(100);

	(void)state;
	applies(rl,
	        "{\"keys\": {\"user:241531\": {\"time_window_sec\": 1, \"capacity\": 5},"
	        "\"slow\": {\"window\": \"1h\", \"capacity\": 2}, \"bad\": {\"banned\": true}}}",
	        "keys: new, 268435455 per 1s and further limits\n"
	        "keys: overrides: 3 new, 0 changed, 0 removed\n");
	assert_int_equal(count_allowed(rl, "keys", "user:241531", 9), 5);
	assert_int_equal(count_allowed(rl, "keys", "slow", 9), 2);
	assert_int_equal(count_allowed(rl, "keys", "bad", 9), 0);
	assert_int_equal(count_allowed(rl, "keys", "somebody", 1000), 1000);
	rl_close(rl);
}

static void
test_rules_come_and_go(void **state)
{
	struct rl *rl = test_private(100);
	int rule;
	struct rl_rule own = {.name = "r", .limit = {.capacity = 2, .window_ns = 60 * RL_SECOND}};

	(void)state;
	assert_true(rl_define(rl, &own) >= 0);
	applies(rl, RULE("\"limit\": \"4/min\", \"granularity\": 1"),
	        "r: configured from now on; an application had defined it\n"
	        "r: capacity 4, was 2\n");
	assert_int_equal(count_allowed(rl, "r", "k", 9), 4);
	applies(rl, "{\"rules\": {\"s\": {\"limit\": \"1/s\"}}}",
	        "s: new, 1 per 1s\nr: removed from the configuration\n");
	assert_int_equal(count_allowed(rl, "r", "l", 9), 2); /* as the application wants it */
	rule = rl_find(rl, "s");
	applies(rl, "{}", "s: removed from the configuration\n");
	for (int i = 0; i < 5; i++) /* nobody wants it */
		assert_int_equal(at_check(rl, rule, "l", 1, 1, T0, NULL), RL_ALLOWED);
	applies(rl, "{\"rules\": {\"s\": {\"limit\": \"1/s\"}}}", "s: new, 1 per 1s\n");
	rl_close(rl);
}

/* A segment that is too small keeps what it has, and the file's place is told. */
static void
test_what_does_not_fit(void **state)
{
	struct rl_options small = {.keys = 16, .ring = 4, .rules = 2, .overrides = 2};
	struct rl *rl;
	char want[512];

	(void)state;
	assert_int_equal(rl_open_private(&small, &rl), 0);
	assert_int_equal(apply(rl, RULE("\"limit\": \"1/min\", \"granularity\": 1"), 0,
	                       "r: new, 1 per 1m\n"),
	                 0);
	snprintf(want, sizeof(want),
	         "!f:1:12: /rules/r: needs a ring of 60, the segment has 4; %s'rlctl resize --ring "
	         "60' gives it one, and no count is lost\n",
	         SMALLER);
	assert_int_equal(apply(rl, RULE("\"limit\": \"1/min\""), 0, want), RL_ERING);
	snprintf(want, sizeof(want),
	         "!f:1:96: /rules/r/overrides/k: needs a ring of 10, the segment has 4; %s'rlctl "
	         "resize --ring 10' gives it one, and no count is lost\n",
	         SMALLER);
	assert_int_equal(
		apply(rl,
	              RULE("\"limit\": \"1/min\", \"algorithm\": \"sliding_log\", "
	                   "\"mode\": \"shadow\", \"overrides\": {\"k\": {\"capacity\": 5}}"),
	              0, want),
		RL_ERING);
	snprintf(want, sizeof(want), "!f:1:1: no room for 3 overrides, the segment holds 2; %s",
	         ANEW);
	assert_int_equal(apply(rl,
	                       RULE("\"limit\": \"1/min\", \"granularity\": 1, \"overrides\": "
	                            "{\"a\": {\"banned\": true},"
	                            "\"b\": {\"banned\": true}, \"c\": {\"banned\": true}}"),
	                       0, want),
	                 RL_EOVERRIDES);
	assert_int_equal(count_allowed(rl, "r", "k", 9), 1);
	assert_int_equal(apply(rl, RULE("\"limit\": \"1/min\", \"granularity\": 1"), 0, ""), 0);
	rl_close(rl);
}

static void
test_segment_differs(void **state)
{
	struct rl_options options = {
		.keys = 100, .ring = 64, .on_full = RL_FULL_DENY, .buffer_ns = RL_SECOND};
	struct rl *rl;
	char want[2048];

	(void)state;
	assert_int_equal(rl_open_private(&options, &rl), 0);
	assert_int_equal(apply(rl,
	                       "{\"segment\": {\"keys\": 100, \"on_full\": \"deny\", \"ring\": 64},"
	                       "\"gc\": {\"buffer\": \"1s\"}}",
	                       0, ""),
	                 0);
	snprintf(want, sizeof(want),
	         "f:1:22: warning: /segment/keys: the running segment has 100; %s"
	         "f:1:39: warning: /segment/on_full: the running segment has \"deny\"; %s"
	         "f:1:56: warning: /segment/ring: the running segment has 64; %s"
	         "f:1:77: warning: /gc/buffer: the running segment has 1s; %s",
	         RESIZE, ANEW, RESIZE, ANEW);
	assert_int_equal(
		apply(rl,
	              "{\"segment\": {\"keys\": 9000, \"on_full\": \"allow\", \"ring\": 65},"
	              "\"gc\": {\"buffer\": \"2s\"}}",
	              0, want),
		0);
	rl_close(rl);
}

/* A wish that came too late, either way. */
static void
test_segment_differs_in_pages(void **state)
{
	static const char *const has[] = {"false", "true"};

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		const struct rl_options options = {.keys = 100,
		                                   .flags = i ? RL_OPEN_HUGE_PAGES : 0};
		char file[64], want[512];
		struct rl *rl;
		assert_int_equal(rl_open_private(&options, &rl), 0);
		snprintf(file, sizeof(file), "{\"segment\": {\"huge_pages\": %s}}", has[i]);
		assert_int_equal(apply(rl, file, 0, ""), 0);
		snprintf(file, sizeof(file), "{\"segment\": {\"huge_pages\": %s}}", has[!i]);
		snprintf(want, sizeof(want),
		         "f:1:28: warning: /segment/huge_pages: the running segment has %s; %s",
		         has[i], ANEW);
		assert_int_equal(apply(rl, file, 0, want), 0);
		rl_close(rl);
	}
}

static void
test_read_only(void **state)
{
	const char *name = test_segment_name();
	struct rl_options options = {.flags = RL_OPEN_READONLY | RL_OPEN_EXISTING};
	struct rl *rl, *reader;

	(void)state;
	rl_unlink(name);
	assert_int_equal(rl_open(name, &(struct rl_options){.ring = 64}, &rl), 0);
	assert_int_equal(rl_open(name, &options, &reader), 0);
	assert_int_equal(
		apply(reader, RULE("\"limit\": \"1/s\""), RL_CONFIGURE_DRY, "r: new, 1 per 1s\n"),
		0);
	assert_int_equal(apply(rl, RULE("\"limit\": \"1/s\""), 0, "r: new, 1 per 1s\n"), 0);
	assert_int_equal(apply(reader, RULE("\"limit\": \"1/s\""), RL_CONFIGURE_DRY, ""), 0);
	rl_close(reader);
	rl_close(rl);
	rl_unlink(name);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers_change_at_once),
		cmocka_unit_test(test_shapes_start_anew),
		cmocka_unit_test(test_several_limits),
		cmocka_unit_test(test_twins),
		cmocka_unit_test(test_overrides),
		cmocka_unit_test(test_prefixes),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_rules_come_and_go),
		cmocka_unit_test(test_what_does_not_fit),
		cmocka_unit_test(test_segment_differs),
		cmocka_unit_test(test_segment_differs_in_pages),
		cmocka_unit_test(test_read_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

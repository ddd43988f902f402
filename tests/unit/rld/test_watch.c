/* SPDX-License-Identifier: BSD-2-Clause */
/* What the daemon says of a segment: how it stands, and warnings that do not flood the log. */

#include "../../../rld/loop/watch.h"

#include <metrics/metrics.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "rule/handle.h"
#include "shared/layout_people.h"
#include "testing.h"

#define MINUTE (60 * RL_SECOND)

/* stderr goes to a file for as long as `look` runs; what was written is in `said`. */
static char said[4096];

static void
look(struct watch *watch, uint64_t taken, uint64_t now_ns, char text[static WATCH_TEXT])
{
	FILE *file = tmpfile();
	int before = dup(STDERR_FILENO);
	size_t size;

	assert_non_null(file);
	dup2(fileno(file), STDERR_FILENO);
	watch_look(watch, taken, now_ns, text);
	dup2(before, STDERR_FILENO);
	close(before);
	rewind(file);
	size = fread(said, 1, sizeof said - 1, file);
	said[size] = '\0';
	fclose(file);
}

static void
assert_says(const char *text)
{
	if (!strstr(said, text))
		fail_msg("not said: %s; but: %s", text, said);
}

/* Deny `count` keys that find none of 16 places. */
static void
overfill(struct rl *rl, int rule, uint32_t count)
{
	static uint32_t key;
	uint64_t before = test_counter(rl, rule, RL_COUNT_full_denied);

	while (test_counter(rl, rule, RL_COUNT_full_denied) < before + count) {
		key++;
		rl_check(rl, rule, &key, sizeof key, 1, NULL);
	}
}

static void
test_losses_are_told_once_a_minute_and_all(void **state)
{
	struct rl *rl = test_private_on_full(1, RL_FULL_DENY);
	int rule = test_rule(rl, "r", 5, 3600 * RL_SECOND, 1, false);
	char text[WATCH_TEXT];
	struct watch watch;

	(void)state;
	overfill(rl, rule, 7); /* before it watched */
	watch_start(&watch, rl, RL_SECOND);
	look(&watch, 0, 2 * RL_SECOND, text);
	assert_string_equal(said, "");
	overfill(rl, rule, 3);
	look(&watch, 0, 3 * RL_SECOND, text);
	assert_says("<4>3 requests were denied because their key");
	overfill(rl, rule, 4);
	look(&watch, 0, 4 * RL_SECOND, text);
	assert_string_equal(said, "");
	overfill(rl, rule, 5);
	look(&watch, 0, 3 * RL_SECOND + MINUTE, text);
	assert_says("<4>9 requests were denied because their key");
	look(&watch, 0, 3 * RL_SECOND + 3 * MINUTE, text);
	assert_string_equal(said, "");
	watch_end(&watch);
	rl_close(rl);
}

/* Two programs that define one rule differently. */
static void
test_definitions_that_replace_each_other_are_told(void **state)
{
	struct rl *rl = test_private(10);
	char text[WATCH_TEXT];
	struct watch watch;

	(void)state;
	test_rule(rl, "r", 5, 3600 * RL_SECOND, 1, false);
	watch_start(&watch, rl, RL_SECOND);
	test_rule(rl, "r", 5, 3600 * RL_SECOND, 1, false);
	look(&watch, 0, 2 * RL_SECOND, text);
	assert_string_equal(said, "");
	test_rule(rl, "r", 50, 3600 * RL_SECOND, 1, false);
	test_rule(rl, "r", 5, 3600 * RL_SECOND, 1, false);
	look(&watch, 0, 3 * RL_SECOND, text);
	assert_says("<4>2 definitions of rules were replaced by different ones; if no");
	assert_says("'rlctl doctor' says which");
	look(&watch, 0, 3 * RL_SECOND + 2 * MINUTE, text);
	assert_string_equal(said, "");
	watch_end(&watch);
	rl_close(rl);
}

static void
test_a_nearly_full_table_is_told_when_it_becomes_so(void **state)
{
	struct rl *rl = test_private(600);
	char text[WATCH_TEXT];
	struct watch watch;

	(void)state;
	watch_start(&watch, rl, 0);
	look(&watch, 750, RL_SECOND, text);
	assert_string_equal(said, "");
	look(&watch, 751, 2 * RL_SECOND, text);
	assert_says("<4>751 of 1000 slots are used");
	look(&watch, 999, 3 * RL_SECOND, text);
	look(&watch, 720, 3 * RL_SECOND, text); /* not far enough down to come again */
	look(&watch, 800, 4 * RL_SECOND, text);
	assert_string_equal(said, "");
	look(&watch, 700, 5 * RL_SECOND, text);
	look(&watch, 800, 6 * RL_SECOND, text);
	assert_says("<4>800 of 1000 slots are used");
	watch_end(&watch);
	rl_close(rl);
}

/* `count` keys of a network, or of none. */
static void
ask_network(struct rl *rl, int rule, const char *before, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		char key[64];
		int len = snprintf(key, sizeof key, "%s%u", before, i);

		assert_int_equal(rl_check(rl, rule, key, (size_t)len, 1, NULL), RL_ALLOWED);
	}
}

static void
test_decisions_without_a_slot_are_told(void **state)
{
	struct rl *rl = test_private(1);
	int rule = test_rule(rl, "r", 5, 3600 * RL_SECOND, 1, false);
	int other = test_rule(rl, "s", 5, 3600 * RL_SECOND, 1, false);
	char text[WATCH_TEXT];
	struct watch watch;

	(void)state;
	watch_start(&watch, rl, RL_SECOND);
	ask_network(rl, rule, "user:", 16);
	look(&watch, 0, 2 * RL_SECOND, text);
	assert_string_equal(said, "");
	assert_int_equal(rl_check(rl, rule, "x", 1, 5, NULL), RL_ALLOWED);
	assert_int_equal(rl_check(rl, rule, "x", 1, 1, NULL), RL_DENIED);
	assert_int_equal(rl_check(rl, other, "x", 1, 1, NULL), RL_ALLOWED);
	look(&watch, 0, 3 * RL_SECOND, text);
	assert_says("<4>2 decisions were for keys without a slot");
	assert_says("<4>1 requests of keys without a slot were denied");
	assert_says("<4>1 keys gave their slot to another rule's");
	look(&watch, 0, 3 * RL_SECOND + 2 * MINUTE, text);
	assert_string_equal(said, "");
	watch_end(&watch);
	rl_close(rl);
}

/* Once, and again only after it was well below; in a table that has room, never. */
static void
test_a_network_that_takes_the_table_is_told(void **state)
{
	struct rl *rl = test_private(600);
	int rule = test_rule(rl, "r", 5, 3600 * RL_SECOND, 1, false);
	const struct rl_pattern network = rl_pattern_of("203.0.113.0/24", 14);
	struct rl_reset_counts counts;
	char text[WATCH_TEXT];
	struct watch watch;

	(void)state;
	watch_start(&watch, rl, 0);
	ask_network(rl, rule, "203.0.113.", 60);
	ask_network(rl, rule, "user:", 60);
	look(&watch, 800, RL_SECOND, text);
	assert_null(strstr(said, "network"));
	ask_network(rl, rule, "203.0.113.1", 100); /* 90 of them are new */
	look(&watch, 700, MINUTE, text);
	assert_string_equal(said, "");
	look(&watch, 800, 2 * MINUTE, text);
	assert_says("<4>segment '': network 203.0.113.0/24 takes 71");
	assert_says(" % of the used slots, and 80 % of all are used; 'rlctl --segment ");
	assert_says(" ban 203.0.113.0/24 --for 1h' denies it\n");
	look(&watch, 800, 4 * MINUTE, text);
	assert_string_equal(said, "");
	assert_int_equal(rl_reset_matching(rl, rule, &network, &counts), 0);
	look(&watch, 800, 6 * MINUTE, text);
	assert_string_equal(said, "");
	ask_network(rl, rule, "203.0.113.1", 100);
	look(&watch, 800, 8 * MINUTE, text);
	assert_says("<4>segment '': network 203.0.113.0/24 takes ");
	watch_end(&watch);
	rl_close(rl);
}

static void
test_a_rule_that_takes_the_table_is_told(void **state)
{
	struct rl *rl = test_private(600);
	int rule = test_rule(rl, "api", 5, 3600 * RL_SECOND, 1, false), other;
	char text[WATCH_TEXT];
	struct watch watch;

	(void)state;
	watch_start(&watch, rl, 0);
	ask_network(rl, rule, "user:", 60);
	look(&watch, 800, RL_SECOND, text); /* it has the table for itself */
	assert_null(strstr(said, "rule"));
	other = test_rule(rl, "login", 5, 3600 * RL_SECOND, 1, false);
	ask_network(rl, other, "user:", 40);
	look(&watch, 800, 2 * MINUTE, text);
	assert_says("<4>segment '': rule 'api' takes 60 % of the used slots, and 80 % of all are "
	            "used; 'rlctl --segment  list --rule api' shows whose\n");
	look(&watch, 800, 4 * MINUTE, text);
	assert_string_equal(said, "");
	other = test_rule(rl, "third", 5, 3600 * RL_SECOND, 1, false);
	ask_network(rl, other, "more:", 30); /* 46 %: not far enough down to come again */
	look(&watch, 800, 6 * MINUTE, text);
	ask_network(rl, rule, "more:", 30);
	look(&watch, 800, 8 * MINUTE, text);
	assert_string_equal(said, "");
	look(&watch, 600, 10 * MINUTE, text);
	look(&watch, 800, 12 * MINUTE, text);
	assert_says("rule 'api' takes 56 %");
	watch_end(&watch);
	rl_close(rl);
}

/* That a row begins anew with another rule is no damage, and what that one counts is told. */
static void
test_a_row_that_becomes_another_rules(void **state)
{
	const struct rl_options options = {.keys = 1, .rules = 1, .on_full = RL_FULL_DENY};
	char text[WATCH_TEXT];
	struct watch watch;
	struct rl *rl;

	(void)state;
	assert_int_equal(rl_open_private(&options, &rl), 0);
	overfill(rl, test_rule(rl, "r", 5, 3600 * RL_SECOND, 1, false), 7);
	watch_start(&watch, rl, RL_SECOND);
	assert_int_equal(rl_forget(rl, "r"), 1);
	overfill(rl, test_rule(rl, "s", 5, 3600 * RL_SECOND, 1, false), 2);
	look(&watch, 0, 2 * RL_SECOND, text);
	assert_says("<4>2 requests were denied because their key");
	assert_null(strstr(said, "damaged"));
	watch_end(&watch);
	rl_close(rl);
}

static void
configure_one(struct rl *rl, const char *name, uint32_t capacity)
{
	const struct rl_config_rule rule = {
		.rule = {.name = name, .limit = {.capacity = capacity, .window_ns = RL_SECOND}}};

	assert_int_equal(rl_configure(rl, &rule, name ? 1 : 0, 0, NULL, NULL), 0);
}

/* Others have changed the configuration: a rule in another's row is new, and the other removed. */
static void
test_a_configured_row_that_becomes_another_rules(void **state)
{
	const struct rl_options options = {.keys = 1, .rules = 1, .on_full = RL_FULL_DENY};
	char text[WATCH_TEXT];
	struct watch watch;
	struct rl *rl;

	(void)state;
	assert_int_equal(rl_open_private(&options, &rl), 0);
	configure_one(rl, "before", 3);
	watch_start(&watch, rl, RL_SECOND);
	configure_one(rl, NULL, 0);
	configure_one(rl, "after", 4);
	look(&watch, 0, 2 * RL_SECOND, text);
	assert_says("before: removed from the configuration");
	assert_says("after: new");
	assert_null(strstr(said, "after: capacity"));
	watch_end(&watch);
	rl_close(rl);
}

/* As somebody could who may write the segment. */
static void
write_over(struct rl *rl, int rule, enum rl_counter counter, uint64_t value)
{
	rl_atomic_store(&rl->segment.stats[rule].counter[counter], value);
}

static void
test_what_cannot_be_is_told_as_damage_and_once(void **state)
{
	static const uint64_t nonsense[] = {
		UINT64_C(4261868058182108144), 3, UINT64_MAX, UINT64_C(1) << 63,
		12 * 10 * RL_SECOND,           2};
	struct rl *rl = test_private(600);
	int rule = test_rule(rl, "r", 5, 3600 * RL_SECOND, 1, false);
	uint64_t now_ns = RL_SECOND;
	char text[WATCH_TEXT];
	struct watch watch;

	(void)state;
	write_over(rl, rule, RL_COUNT_denied, 7);
	write_over(rl, rule, RL_COUNT_full_denied, 7);
	watch_start(&watch, rl, now_ns);
	for (size_t i = 0; i < sizeof nonsense / sizeof nonsense[0]; i++) {
		now_ns += RL_SECOND;
		write_over(rl, rule, RL_COUNT_full_denied, nonsense[i]);
		write_over(rl, rule, RL_COUNT_denied, nonsense[i]);
		look(&watch, 123, now_ns, text);
		if (i > 0)
			assert_string_equal(said, "");
		assert_non_null(strstr(text, " %, 0 decisions/s"));
		if (i == 0) {
			assert_says(
				"<4>segment '': the statistics are damaged ('denied' has moved");
			assert_null(strchr(strchr(said, '<') + 1, '<')); /* one line */
		}
		now_ns += 2 * MINUTE;
		look(&watch, 123, now_ns, text); /* as nothing more comes, nothing is said */
		assert_string_equal(said, "");
	}
	write_over(rl, rule, RL_COUNT_full_denied, 43); /* from 2: that may be */
	look(&watch, 123, now_ns, text);
	assert_says("<4>41 requests were denied because");
	watch_end(&watch);
	rl_close(rl);
}

/* The families of a metric are all there, and of the samples those that may be true. */
static void
test_metrics_leave_out_what_cannot_be(void **state)
{
	struct rl *rl = test_private(600);
	int good = test_rule(rl, "good", 5, 3600 * RL_SECOND, 1, false);
	int bad = test_rule(rl, "bad", 5, 3600 * RL_SECOND, 1, false);
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	(void)state;
	write_over(rl, good, RL_COUNT_denied, 1000000);
	write_over(rl, bad, RL_COUNT_denied, UINT64_C(4261868058182108144));
	write_over(rl, bad, RL_COUNT_reset, UINT64_MAX);
	assert_int_equal(metrics_write_filled(to, rl, rl_now(rl), 0), 0);
	fclose(to);
	assert_non_null(strstr(text, "rl_denied_total{segment=\"\",rule=\"good\"} 1000000\n"));
	assert_null(strstr(text, "rl_denied_total{segment=\"\",rule=\"bad\"}"));
	assert_non_null(strstr(text, "rl_allowed_total{segment=\"\",rule=\"bad\"} 0\n"));
	assert_non_null(strstr(text, "rl_counters_damaged{segment=\"\"} 2\n"));
	free(text);
	rl_close(rl);
}

static void
test_the_status_has_keys_fill_and_rate(void **state)
{
	struct rl *rl = test_private(600);
	int rule = test_rule(rl, "r", 5, 3600 * RL_SECOND, 1, false);
	char text[WATCH_TEXT];
	struct watch watch;

	(void)state;
	watch_start(&watch, rl, RL_SECOND);
	for (int i = 0; i < 30; i++)
		rl_check(rl, rule, "alice", 5, 1, NULL);
	look(&watch, 123, 3 * RL_SECOND, text);
	assert_string_equal(text, "123 keys, fill 12.3 %, 15 decisions/s");
	look(&watch, 0, 4 * RL_SECOND, text);
	assert_string_equal(text, "0 keys, fill 0.0 %, 0 decisions/s");
	watch_end(&watch);
	rl_close(rl);
}

static void
configure(struct rl *rl, uint32_t capacity, uint64_t window_ns, size_t overrides)
{
	const struct rl_override override = {.pattern = {RL_MATCH_KEY, "alice", 5},
	                                     .capacity = {7}};
	const struct rl_config_rule rule = {
		.rule = {.name = "login", .limit = {.capacity = capacity, .window_ns = window_ns}},
		.overrides = &override,
		.override_count = overrides};

	assert_int_equal(rl_configure(rl, &rule, capacity > 0, 0, NULL, NULL), 0);
}

static void
test_what_another_process_configures_is_told_once(void **state)
{
	struct rl *rl = test_private(100);
	char text[WATCH_TEXT];
	struct watch watch;

	(void)state;
	configure(rl, 5, RL_SECOND, 0);
	watch_start(&watch, rl, 0);
	look(&watch, 0, RL_SECOND, text);
	assert_string_equal(said, "");
	configure(rl, 11, RL_SECOND, 1);
	look(&watch, 0, 2 * RL_SECOND, text);
	assert_string_equal(
		said, "<5>another process has changed the configuration, generation 2, was 1\n"
		      "<5>login: capacity 11, was 5\n"
		      "<5>login: overrides: 1 new, 0 changed, 0 removed\n");
	look(&watch, 0, 3 * RL_SECOND, text);
	assert_string_equal(said, "");
	configure(rl, 0, RL_SECOND, 0);
	look(&watch, 0, 4 * RL_SECOND, text);
	assert_says("<5>login: removed from the configuration");
	configure(rl, 3, RL_SECOND, 0);
	look(&watch, 0, 5 * RL_SECOND, text);
	assert_says("<5>login: new, 3 per 1s");
	configure(rl, 4, RL_SECOND, 0);
	watch_rules(&watch); /* it was us */
	look(&watch, 0, 6 * RL_SECOND, text);
	assert_string_equal(said, "");
	watch_end(&watch);
	rl_close(rl);
}

#define ONE_LANE 5000000 /* so much leaves an overflow counter one lane */

/*
 * Rules by name, networks by their width alone, and the overflow counters of keys without a slot.
 */
static void
test_metrics_of_a_full_table(void **state)
{
	const struct rl_options o = {.keys = 1, .cells = 4, .reserves = 2};
	char *text = NULL;
	struct rl *rl;
	size_t size;
	FILE *to;
	int rule;

	(void)state;
	assert_int_equal(rl_open_private(&o, &rl), 0);
	rule = test_rule(rl, "r", ONE_LANE, 3600 * RL_SECOND, 1, false);
	ask_network(rl, rule, "203.0.113.", 12);
	ask_network(rl, rule, "user:", 4);
	to = open_memstream(&text, &size);
	assert_int_equal(metrics_write(to, rl, rl_now(rl)), 0);
	fflush(to);
	assert_non_null(strstr(text, "rl_rule_slots_ratio{segment=\"\",rule=\"r\"} 1.000000\n"));
	assert_non_null(strstr(text, "rl_network_slots_max_ratio{segment=\"\",family=\"ipv4\","
	                             "bits=\"24\"} 0.750000\n"));
	assert_null(strstr(text, "203.0.113"));
	assert_non_null(strstr(text, "rl_reserve_limits{segment=\"\"} 0\n"));
	assert_null(strstr(text, "rl_reserve_full_ratio{"));
	assert_int_equal(rl_check(rl, rule, "x", 1, ONE_LANE, NULL), RL_ALLOWED);
	rewind(to);
	assert_int_equal(metrics_write(to, rl, rl_now(rl)), 0);
	fclose(to);
	assert_non_null(strstr(text, "rl_reserve_limits{segment=\"\"} 1\n"));
	assert_non_null(strstr(
		text, "rl_reserve_full_ratio{segment=\"\",rule=\"r\",limit=\"1\"} 0.250000\n"));
	assert_non_null(
		strstr(text, "rl_reserve_cells_used{segment=\"\",rule=\"r\",limit=\"1\"} 1\n"));
	assert_non_null(strstr(
		text, "rl_reserve_until_timestamp_seconds{segment=\"\",rule=\"r\",limit=\"1\"} "));
	free(text);
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_another_process_configures_is_told_once),
		cmocka_unit_test(test_losses_are_told_once_a_minute_and_all),
		cmocka_unit_test(test_definitions_that_replace_each_other_are_told),
		cmocka_unit_test(test_a_nearly_full_table_is_told_when_it_becomes_so),
		cmocka_unit_test(test_decisions_without_a_slot_are_told),
		cmocka_unit_test(test_a_network_that_takes_the_table_is_told),
		cmocka_unit_test(test_a_rule_that_takes_the_table_is_told),
		cmocka_unit_test(test_a_row_that_becomes_another_rules),
		cmocka_unit_test(test_a_configured_row_that_becomes_another_rules),
		cmocka_unit_test(test_what_cannot_be_is_told_as_damage_and_once),
		cmocka_unit_test(test_metrics_leave_out_what_cannot_be),
		cmocka_unit_test(test_metrics_of_a_full_table),
		cmocka_unit_test(test_the_status_has_keys_fill_and_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

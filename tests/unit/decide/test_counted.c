/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Each counter of rl_counters.def is brought about by some call, and shown. All calls that there
 * are, with any arguments, bring about most of them; the rest has a scene here. A counter that
 * nothing brings about is named.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "at.h"
#include "exercise.h"
#include "metrics/metrics.h"
#include "testing.h"

#define T0 EXERCISE_NOW
#define HOUR (3600 * RL_SECOND)
#define ROUNDS 3000

static uint64_t counted[RL_COUNTERS];

static struct rl *
open_with(const struct rl_options *options)
{
	struct rl *rl;

	assert_int_equal(rl_open(test_segment_name(), options, &rl), 0);
	return rl;
}

static int
define(struct rl *rl, const struct rl_limit *limit)
{
	int rule = rl_define(rl, &(struct rl_rule){.name = "r", .limit = *limit});

	assert_true(rule >= 0);
	return rule;
}

static void
ask(struct rl *rl, int rule, const void *key, size_t key_len)
{
	at_check(rl, rule, key, key_len, 1, T0, NULL);
}

static char *
metrics_of(struct rl *rl)
{
	char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	assert_non_null(to);
	assert_int_equal(metrics_write(to, rl, rl_now(rl) + HOUR), 0);
	assert_int_equal(fclose(to), 0);
	return text;
}

static void
assert_shown(const char *text, const char *rule, int counter, uint64_t value)
{
	char line[200];

	snprintf(line, sizeof line, "\nrl_%s_total{segment=\"%s\",rule=\"%s\"} %" PRIu64 "\n",
	         rl_counter_info(counter)->name, test_segment_name(), rule, value);
	if (!strstr(text, line))
		fail_msg("the metrics do not have%s", line);
}

/* What the segment counts is shown, and kept. It goes. */
static void
take(struct rl *rl)
{
	char *text = metrics_of(rl);
	struct rl_rule_info rule;
	uint64_t values[RL_COUNTERS];
	struct rl_info info;

	rl_info(rl, &info);
	for (int row = 0; row < (int)info.rules; row++) {
		if (rl_rule_info(rl, row, &rule) != 1)
			continue;
		assert_int_equal(rl_stats(rl, rule.handle, values, RL_COUNTERS), 0);
		for (int c = 0; c < RL_COUNTERS; c++) {
			assert_shown(text, rule.name, c, values[c]);
			counted[c] += values[c];
		}
	}
	free(text);
	rl_close(rl);
	test_unlink(NULL);
}

static void
make_all_calls(void)
{
	struct rl *rl = open_with(&exercise_options);
	uint64_t seed = 1;

	exercise_fill(rl);
	for (int i = 0; i < ROUNDS; i++)
		exercise_calls(rl, &seed);
	take(rl);
}

/* More keys than there are slots. */
static void
fill(enum rl_on_full on_full)
{
	struct rl *rl = open_with(&(struct rl_options){.keys = 10, .ring = 64, .on_full = on_full});
	int rule = define(rl, &(struct rl_limit){.capacity = 5, .window_ns = HOUR});

	for (uint32_t key = 0; key < 200; key++)
		ask(rl, rule, &key, sizeof key);
	take(rl);
}

/* And counters, which can be nowhere else. */
static void
fill_with_counters(void)
{
	struct rl *rl = open_with(&(struct rl_options){.keys = 10});
	int space = rl_define_counters(rl, "c");

	for (uint32_t key = 0; key < 200; key++)
		at_counter_add(rl, space, &key, sizeof key, 1, HOUR, T0, NULL);
	take(rl);
}

/* A shadow's denial; another definition; and all keys forgotten at once. */
static void
redefine(void)
{
	struct rl *rl = open_with(NULL);
	struct rl_limit limit = {.capacity = 1, .window_ns = HOUR, .shadow = 1};
	struct rl_reset_counts *uncounted = NULL;
	int rule = define(rl, &limit);

	ask(rl, rule, "k", 1);
	ask(rl, rule, "k", 1);
	limit.capacity = 2;
	rule = define(rl, &limit);
	assert_int_equal(rl_reset_matching(rl, rule, NULL, uncounted), 0);
	take(rl);
}

static void
take_in_flight(struct rl *rl, int rule)
{
	struct rl_charges charges;

	test_check_at(rl, rule, "k", 1, 1, T0, NULL, &charges);
}

/* One seat, whose holder is killed. */
static void
hold_and_be_killed(void)
{
	struct rl *rl = open_with(&(struct rl_options){.ring = 64, .holders = 1});
	int rule = define(rl, &(struct rl_limit){.algorithm = RL_IN_FLIGHT, .capacity = 5});
	bool *has_asked = test_shared(sizeof *has_asked);
	pid_t pid = fork();

	if (pid == 0) {
		take_in_flight(rl, rule);
		__atomic_store_n(has_asked, true, __ATOMIC_SEQ_CST);
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	while (!__atomic_load_n(has_asked, __ATOMIC_SEQ_CST))
		usleep(100);
	take_in_flight(rl, rule);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	usleep(120000); /* longer than a process is believed to be alive without another look */
	rl_sweep_at(rl, T0);
	take(rl);
}

static void
deny_until_banned(void)
{
	struct rl *rl = open_with(NULL);
	struct rl_config_rule rule = test_config_rule("r", 1, HOUR);
	uint64_t now = rl_now(rl);

	rule.ban = (struct rl_auto_ban){
		.after = 2, .longer = 1, .within_ns = HOUR, .for_ns = HOUR, .at_most_ns = HOUR};
	assert_int_equal(rl_configure(rl, &rule, 1, 0, NULL, NULL), 0);
	for (int i = 0; i < 4; i++)
		at_check(rl, rl_find(rl, "r"), "k", 1, 1, now, NULL);
	take(rl);
}

/* What was prefetched in a table is nothing in the next. */
static void
prefetch_and_resize(void)
{
	struct rl *rl = open_with(&(struct rl_options){.keys = 100, .ring = 64});
	int rule = define(rl, &(struct rl_limit){.algorithm = RL_FIXED_WINDOW,
	                                         .capacity = 20000,
	                                         .window_ns = HOUR,
	                                         .prefetch = 10});
	struct rl_moving moving = {0};

	ask(rl, rule, "k", 1);
	ask(rl, rule, "k", 1);
	assert_int_equal(rl_resize(rl, &(struct rl_resize){.keys = 200}, 0), 0);
	assert_int_equal(rl_move_slots_at(rl, 0, UINT64_MAX, T0, &moving), 0);
	assert_int_equal(rl_move_end(rl), 1);
	ask(rl, rule, "k", 1);
	take(rl);
}

static void
test_each_counter_is_brought_about_and_shown(void **state)
{
	int missing = 0;

	(void)state;
	make_all_calls();
	fill_with_counters();
	fill(RL_FULL_ALLOW);
	redefine();
	hold_and_be_killed();
	deny_until_banned();
	prefetch_and_resize();
	for (int c = 0; c < RL_COUNTERS; c++) {
		if (counted[c] > 0)
			continue;
		print_error("%s: no call brings it about\n", rl_counter_info(c)->name);
		missing++;
	}
	assert_int_equal(missing, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_each_counter_is_brought_about_and_shown,
	                                  test_unlink),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

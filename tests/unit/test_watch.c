/* SPDX-License-Identifier: BSD-2-Clause */
/* What the daemon says of a segment: how it stands, and warnings that do not flood the log. */

#include "../../rld/watch.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

/* Evict `count` keys: each one that is new in a full table of 16 places pushes out another. */
static void
evict(struct rl *rl, int rule, uint32_t count)
{
	static uint32_t key;
	uint64_t before = test_counter(rl, rule, RL_COUNT_evicted);

	while (test_counter(rl, rule, RL_COUNT_evicted) < before + count) {
		key++;
		assert_int_equal(rl_check(rl, rule, &key, sizeof key, 1, NULL), RL_ALLOWED);
	}
}

static void
test_evictions_are_told_once_a_minute_and_all(void **state)
{
	struct rl *rl = test_private(1);
	int rule = test_rule(rl, "r", 5, 3600 * RL_SECOND, 1, false);
	char text[WATCH_TEXT];
	struct watch watch;

	(void)state;
	evict(rl, rule, 7); /* before it watched */
	watch_start(&watch, rl, RL_SECOND);
	look(&watch, 0, 2 * RL_SECOND, text);
	assert_string_equal(said, "");
	evict(rl, rule, 3);
	look(&watch, 0, 3 * RL_SECOND, text);
	assert_says("<4>3 live keys lost their count");
	evict(rl, rule, 4);
	look(&watch, 0, 4 * RL_SECOND, text);
	assert_string_equal(said, "");
	evict(rl, rule, 5);
	look(&watch, 0, 3 * RL_SECOND + MINUTE, text);
	assert_says("<4>9 live keys lost their count");
	look(&watch, 0, 3 * RL_SECOND + 3 * MINUTE, text);
	assert_string_equal(said, "");
	rl_close(rl);
}

static void
test_a_nearly_full_table_is_told_when_it_becomes_so(void **state)
{
	struct rl *rl = test_private(750);
	char text[WATCH_TEXT];
	struct watch watch;

	(void)state;
	watch_start(&watch, rl, 0);
	look(&watch, 750, RL_SECOND, text);
	assert_string_equal(said, "");
	look(&watch, 751, 2 * RL_SECOND, text);
	assert_says("<4>751 of 1000 places are taken");
	look(&watch, 999, 3 * RL_SECOND, text);
	look(&watch, 720, 3 * RL_SECOND, text); /* not far enough down to come again */
	look(&watch, 800, 4 * RL_SECOND, text);
	assert_string_equal(said, "");
	look(&watch, 700, 5 * RL_SECOND, text);
	look(&watch, 800, 6 * RL_SECOND, text);
	assert_says("<4>800 of 1000 places are taken");
	rl_close(rl);
}

static void
test_the_status_has_keys_fill_and_rate(void **state)
{
	struct rl *rl = test_private(750);
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
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_evictions_are_told_once_a_minute_and_all),
		cmocka_unit_test(test_a_nearly_full_table_is_told_when_it_becomes_so),
		cmocka_unit_test(test_the_status_has_keys_fill_and_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* A million overrides in one file, and their way into a segment. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "apply/apply.h"
#include "load/load.h"
#include "testing.h"

static int many; /* a million takes seconds: once is enough */

static void
hear(enum config_level level, const char *text, void *arg)
{
	size_t *count = arg;

	(void)level;
	(*count)++;
	print_message("%s\n", text);
}

static double
now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* To be freed. */
static char *
make_text(size_t *len)
{
	size_t room = (size_t)many * 40, used;
	char *text = malloc(room);

	assert_non_null(text);
	used = (size_t)snprintf(text, room,
	                        "{\"rules\": {\"r\": {\"limit\": \"5/s\", \"overrides\": {");
	for (int i = 0; i < many; i++)
		used += (size_t)snprintf(text + used, room - used,
		                         "%s\n\"user:%d\": {\"capacity\": %d}", i ? "," : "", i,
		                         i % 1000 + 6);
	used += (size_t)snprintf(text + used, room - used, "}}}}");
	*len = used;
	return text;
}

static void
check_last(struct rl *rl)
{
	struct rl_result result;
	char key[32];

	snprintf(key, sizeof(key), "user:%d", many - 1);
	assert_int_equal(rl_check(rl, rl_find(rl, "r"), key, strlen(key), 0, &result), RL_ALLOWED);
	assert_int_equal(result.limit, 1005);
	assert_int_equal(rl_check(rl, rl_find(rl, "r"), "user:", 5, 0, &result), RL_ALLOWED);
	assert_int_equal(result.limit, 5);
}

/* How long it takes is told, not tested: it depends on the machine. */
static void
test_many(void **state)
{
	size_t len, problems = 0;
	char *text = make_text(&len);
	double start = now(), loaded;
	struct config *config = config_parse("f", text, len, hear, &problems);
	struct rl_config_outcome outcome;
	struct rl *rl;

	(void)state;
	loaded = now();
	free(text);
	assert_non_null(config);
	assert_int_equal(problems, 0);
	assert_int_equal(config->rules[0].override_count, many);
	assert_int_equal(config->options.overrides, many);
	assert_int_equal(rl_open_private(&config->options, &rl), 0);
	assert_int_equal(config_apply(rl, config, 0, &outcome, hear, &problems), 0);
	print_message("%d overrides, %zu bytes: read in %.1f s, in force after %.1f s more\n", many,
	              len, loaded - start, now() - loaded);
	assert_int_equal(problems, 2); /* new rule, new overrides */
	check_last(rl);
	rl_close(rl);
	config_free(config);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_many)};

	many = (int)test_scaled(1000000);
	return cmocka_run_group_tests(tests, NULL, NULL);
}

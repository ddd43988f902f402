/* SPDX-License-Identifier: BSD-2-Clause */
/* A limit that does not say when a denied request may come back. */
#include <stdlib.h>
#include <string.h>

#include "at.h"
#include "load/load.h"
#include "rl_fields.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)

static void
test_a_denial_says_nothing_of_later(void **state)
{
	struct rl_rule rule = {.name = "r", .limit = {.capacity = 1, .window_ns = RL_SECOND}};
	struct rl *rl = test_private(20);
	struct rl_rule_info info;
	struct rl_result r;
	int id;

	(void)state;
	rule.limit.no_retry = 1;
	id = rl_define(rl, &rule);
	assert_int_equal(rl_rule_info(rl, id, &info), 1);
	assert_int_equal(info.limits[0].no_retry, 1);
	assert_int_equal(at_check(rl, id, "k", 1, 1, T0, &r), RL_ALLOWED);
	assert_int_equal(at_check(rl, id, "k", 1, 1, T0, &r), RL_DENIED);
	assert_int_equal(r.retry_after_ns, 0);
	rule.limit.no_retry = 0;
	assert_int_equal(rl_define(rl, &rule), id);
	assert_int_equal(at_check(rl, id, "k", 1, 1, T0, &r), RL_DENIED);
	assert_true(r.retry_after_ns > 0);
	rl_close(rl);
}

static void
hear(enum config_level level, const char *text, void *arg)
{
	(void)level;
	strncat(arg, text, 500);
}

/* Nobody but the list has told the file, nor what is said of it. */
static void
test_a_file_has_it(void **state)
{
	char text[] = "{\"rules\": {\"r\": {\"limit\": \"1/s\", \"no_retry\": true}}}";
	char refused[] = "{\"rules\": {\"r\": {\"limit\": \"1/s\", \"no_retry\": 5}}}";
	char said[1000] = "";
	struct config *config = config_parse("f", text, strlen(text), hear, said);

	(void)state;
	assert_non_null(config);
	assert_int_equal(config->rules[0].rule.limit.no_retry, 1);
	config_free(config);
	assert_null(config_parse("f", refused, strlen(refused), hear, said));
	assert_non_null(strstr(said, "no_retry: expected true or false, got 5"));
}

/* The name of a segment that a build has made which has no such option. */
static void
test_a_build_without_it_has_another_layout(void **state)
{
	const char *name = getenv("RL_RECIPE_SEGMENT");
	struct rl *rl;

	(void)state;
	if (!name)
		skip();
	assert_int_equal(rl_open(name, NULL, &rl), RL_EVERSION);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_denial_says_nothing_of_later),
		cmocka_unit_test(test_a_file_has_it),
		cmocka_unit_test(test_a_build_without_it_has_another_layout),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

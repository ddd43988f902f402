/* SPDX-License-Identifier: BSD-2-Clause */
/* A window that begins anew with each charge, beside its definition. */
#include <errno.h>
#include <string.h>

#include "at.h"
#include "load/load.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define MINUTE (60 * RL_SECOND)

static int
define(struct rl *rl, uint32_t capacity)
{
	int rule = rl_define(rl, &(struct rl_rule){.name = "r",
	                                           .limit = {.algorithm = RL_REST_WINDOW,
	                                                     .capacity = capacity,
	                                                     .window_ns = MINUTE}});

	assert_true(rule >= 0);
	return rule;
}

static void
test_admits_its_capacity_and_no_more(void **state)
{
	struct rl *rl = test_private(20);
	int rule = define(rl, 3);
	struct rl_result r;

	(void)state;
	assert_string_equal(rl_algorithm_info(RL_REST_WINDOW)->name, "rest_window");
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(at_check(rl, rule, "k", 1, 1, T0 + i * RL_SECOND, &r), RL_ALLOWED);
	assert_int_equal(at_check(rl, rule, "k", 1, 1, T0 + MINUTE, &r), RL_DENIED);
	assert_int_equal(r.used, 3);
	assert_int_equal(r.retry_after_ns, 2 * RL_SECOND);
	assert_int_equal(at_check(rl, rule, "k", 1, 1, T0 + MINUTE + 2 * RL_SECOND, &r),
	                 RL_ALLOWED);
	assert_int_equal(r.used, 1);
	rl_close(rl);
}

/* By definition: what is used, and the time of the newest charge. */
static void
test_beside_its_definition(void **state)
{
	struct rl *rl = test_private(20);
	int rule = define(rl, 5);
	uint64_t seed = 1, now = T0, newest = 0, used = 0;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		uint64_t cost = 1 + test_below(&seed, 3);
		bool is_admitted;

		now += test_below(&seed, 8) ? test_below(&seed, RL_SECOND)
		                            : test_below(&seed, 2 * MINUTE);
		used = now < newest + MINUTE ? used : 0;
		is_admitted = used + cost <= 5;
		assert_int_equal(at_check(rl, rule, "k", 1, cost, now, NULL),
		                 is_admitted ? RL_ALLOWED : RL_DENIED);
		used += is_admitted ? cost : 0;
		newest = is_admitted ? now : newest;
	}
	rl_close(rl);
}

static void
hear(enum config_level level, const char *text, void *arg)
{
	bool *is_named = arg;

	if (level == CONFIG_ERROR &&
	    strstr(text, "is not for its algorithm, which has no room for a share"))
		*is_named = true;
}

/* Its row leaves out what a cluster's limit needs: library and rl.json refuse it by name. */
static void
test_is_no_limit_of_a_cluster(void **state)
{
	const char *text = "{\"cluster\": {}, \"rules\": {\"r\": {\"limit\": \"5/min\", "
			   "\"algorithm\": \"rest_window\", \"scope\": \"cluster\"}}}";
	const struct rl_rule rule = {.name = "r",
	                             .limit = {.algorithm = RL_REST_WINDOW,
	                                       .capacity = 5,
	                                       .window_ns = MINUTE,
	                                       .scope = RL_SCOPE_CLUSTER}};
	char told[RL_RULE_TEXT_SIZE];
	bool is_named = false;

	(void)state;
	assert_int_equal(rl_rule_check(&rule, NULL, told, sizeof told), -EINVAL);
	assert_string_equal(
		told,
		"limit.scope: no limit of a cluster is rest_window, 0 (of the host) is allowed");
	assert_null(config_parse("f", text, strlen(text), hear, &is_named));
	assert_true(is_named);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_admits_its_capacity_and_no_more),
		cmocka_unit_test(test_beside_its_definition),
		cmocka_unit_test(test_is_no_limit_of_a_cluster),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

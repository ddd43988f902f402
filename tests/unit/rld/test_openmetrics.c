/* SPDX-License-Identifier: BSD-2-Clause */
/* What Prometheus' text is as OpenMetrics, and who is given it. */

#include "../../../rld/serve/openmetrics.h"

#include <stdlib.h>
#include <string.h>

#include "testing.h"

static void
check(const char *text, const char *expected)
{
	size_t size;
	char *out = openmetrics_text(text, &size);

	assert_non_null(out);
	assert_string_equal(out, expected);
	assert_int_equal(size, strlen(expected));
	free(out);
}

static void
test_a_family_of_counters_has_no_total(void **state)
{
	(void)state;
	check("# HELP rl_allowed_total Requests, in total.\n"
	      "# TYPE rl_allowed_total counter\n"
	      "rl_allowed_total{rule=\"a\"} 3\n",
	      "# HELP rl_allowed Requests, in total.\n"
	      "# TYPE rl_allowed counter\n"
	      "rl_allowed_total{rule=\"a\"} 3\n"
	      "# EOF\n");
	check("# TYPE rl_totals gauge\nrl_totals 1\n",
	      "# TYPE rl_totals gauge\nrl_totals 1\n# EOF\n");
}

static void
test_a_unit_is_said_once(void **state)
{
	(void)state;
	check("# HELP rl_sweep_seconds_total Time.\n"
	      "# TYPE rl_sweep_seconds_total counter\n"
	      "rl_sweep_seconds_total 1.5\n",
	      "# HELP rl_sweep_seconds Time.\n"
	      "# TYPE rl_sweep_seconds counter\n"
	      "# UNIT rl_sweep_seconds seconds\n"
	      "rl_sweep_seconds_total 1.5\n"
	      "# EOF\n");
	check("# TYPE rl_bytes gauge\n# TYPE rl_fill_ratio gauge\n",
	      "# TYPE rl_bytes gauge\n# UNIT rl_bytes bytes\n"
	      "# TYPE rl_fill_ratio gauge\n# UNIT rl_fill_ratio ratio\n# EOF\n");
	check("# TYPE rl_terabytes gauge\n", "# TYPE rl_terabytes gauge\n# EOF\n");
}

static void
test_other_lines_are_as_they_were(void **state)
{
	(void)state;
	check("", "# EOF\n");
	check("rl_a{b=\"# TYPE c_total d\"} 1\n", "rl_a{b=\"# TYPE c_total d\"} 1\n# EOF\n");
	check("\n# x\n", "\n# x\n# EOF\n");
}

static void
test_who_asks_for_it_is_given_it(void **state)
{
	(void)state;
	assert_false(openmetrics_is_accepted(NULL));
	assert_false(openmetrics_is_accepted(""));
	assert_false(openmetrics_is_accepted("*/*"));
	assert_false(openmetrics_is_accepted("text/plain;version=0.0.4"));
	assert_true(openmetrics_is_accepted("application/openmetrics-text; version=1.0.0"));
	assert_true(openmetrics_is_accepted("text/plain;q=0.5, Application/OpenMetrics-Text"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_family_of_counters_has_no_total),
		cmocka_unit_test(test_a_unit_is_said_once),
		cmocka_unit_test(test_other_lines_are_as_they_were),
		cmocka_unit_test(test_who_asks_for_it_is_given_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

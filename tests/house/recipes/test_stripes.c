/* SPDX-License-Identifier: BSD-2-Clause */
/* A segment that has as many stripes of counters as its options say. */
#include <string.h>

#include "load/load.h"
#include "segment/geometry.h"
#include "testing.h"

static void
test_a_segment_has_as_many(void **state)
{
	struct rl_options options = {.stripes = 3};
	struct rl_geometry g;
	struct rl_info info[2];
	struct rl *rl;

	(void)state;
	assert_int_equal(rl_geometry_from(&options, &g), 0);
	assert_int_equal(g.stripes, 3);
	options.stripes = 1025;
	assert_int_equal(rl_geometry_from(&options, &g), -EINVAL);
	for (int i = 0; i < 2; i++) {
		options.stripes = i == 0 ? 1 : 1024;
		assert_int_equal(rl_open_private(&options, &rl), 0);
		rl_info(rl, &info[i]);
		rl_close(rl);
	}
	assert_true(info[1].bytes > info[0].bytes);
}

static void
hear(enum config_level level, const char *text, void *arg)
{
	(void)level;
	strncat(arg, text, 500);
}

/* Nobody but the list has told the file. */
static void
test_a_file_has_it(void **state)
{
	char text[] = "{\"segment\": {\"stripes\": 7}}",
	     refused[] = "{\"segment\": {\"stripes\": 0}}";
	char said[1000] = "";
	struct config *config = config_parse("f", text, strlen(text), hear, said);

	(void)state;
	assert_non_null(config);
	assert_int_equal(config_options(config).stripes, 7);
	config_free(config);
	assert_null(config_parse("f", refused, strlen(refused), hear, said));
	assert_non_null(strstr(said, "stripes: expected an integer from 1 to 1024, got 0"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_segment_has_as_many),
		cmocka_unit_test(test_a_file_has_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Which Host headers the status page answers: a stranger's name for 127.0.0.1 is none of them. */

#include "../../../rld/serve/host.h"

#include "testing.h"

static void
test_this_host_is_answered(void **state)
{
	static const char *const hosts[] = {
		"localhost",      "LocalHost",      "127.0.0.1",  "[::1]",
		"localhost:9778", "127.0.0.1:9778", "[::1]:9778", "localhost:0",
	};

	(void)state;
	for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++)
		if (!host_is_this(hosts[i]))
			fail_msg("%s", hosts[i]);
}

static void
test_a_stranger_is_not(void **state)
{
	static const char *const hosts[] = {
		"",
		"example.org",
		"localhost.example.org",
		"127.0.0.1.example.org",
		"[::1].example.org",
		"localhost:",
		"localhost:9778x",
		"localhost:9778:1",
		"localhost:-1",
		"localhost: 1",
		"localhost ",
		" localhost",
		"localhost@example.org",
		"localhost:1@example.org",
		"127.0.0.10",
		"127.0.0.1/",
		"::1",
		"[::11]",
		"0.0.0.0",
		"local",
	};

	(void)state;
	assert_false(host_is_this(NULL));
	for (size_t i = 0; i < sizeof hosts / sizeof hosts[0]; i++)
		if (host_is_this(hosts[i]))
			fail_msg("%s", hosts[i]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_this_host_is_answered),
		cmocka_unit_test(test_a_stranger_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

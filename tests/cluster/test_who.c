/* SPDX-License-Identifier: BSD-2-Clause */
/* Which hosts have come and gone between two answers, in whatever order; and who a host is. */

#include <stdio.h>
#include <string.h>

#include "../../rld/cluster/hosts.h"
#include "testing.h"

#define MOST 8

static struct store_value items[MOST], *pointers[MOST], answer;
static char told[120];

/* An answer: two numbers, and hosts. */
static const struct store_value *
of(const char *names)
{
	static char text[120];

	strcpy(text, names);
	answer = (struct store_value){.type = STORE_ARRAY, .items = pointers, .count = 2};
	for (char *name = strtok(text, " "); name; name = strtok(NULL, " ")) {
		items[answer.count] = (struct store_value){.type = STORE_TEXT, .text = name};
		pointers[answer.count] = &items[answer.count];
		answer.count++;
	}
	return &answer;
}

static void
note(void *arg, bool has_joined, const char *host)
{
	(void)arg;
	strcat(strcat(told, has_joined ? "+" : "-"), host);
}

static const char *
compare(struct hosts *h, const char *names)
{
	told[0] = '\0';
	hosts_take(h, of(names), 2, note, NULL);
	return told;
}

static void
test_who_has_come_and_gone(void **state)
{
	struct hosts h = {0};

	(void)state;
	assert_string_equal(compare(&h, "b a"), ""); /* who was there before is not known */
	assert_string_equal(compare(&h, "a b"), "");
	assert_string_equal(compare(&h, "d b a c"), "+c+d");
	assert_string_equal(compare(&h, "d c b"), "-a");
	assert_string_equal(compare(&h, "e a b"), "+a-c-d+e");
	assert_string_equal(compare(&h, ""), "-a-b-e");
	assert_string_equal(compare(&h, "a"), "+a");
	hosts_free(&h);
}

/* A store that was flushed knows of one, of two, of all again: nobody takes them for fewer. */
static void
test_fewer_for_a_moment(void **state)
{
	uint64_t now_ns = 1000 * RL_SECOND;
	struct hosts_most m = {0};

	(void)state;
	assert_int_equal(hosts_most(&m, 3, now_ns), 3);
	assert_int_equal(hosts_most(&m, 1, now_ns + 1), 3);
	assert_int_equal(hosts_most(&m, 2, now_ns + HOSTS_LIFE_NS - 1), 3);
	assert_int_equal(hosts_most(&m, 3, now_ns + HOSTS_LIFE_NS - 1), 3);
	now_ns += HOSTS_LIFE_NS - 1;
	assert_int_equal(hosts_most(&m, 2, now_ns + HOSTS_LIFE_NS - 1), 3);
	assert_int_equal(hosts_most(&m, 2, now_ns + HOSTS_LIFE_NS), 2);
	assert_int_equal(hosts_most(&m, 4, now_ns + HOSTS_LIFE_NS), 4);
}

/* As long as the segment is the same; a container with its name and its file's number is not. */
static void
test_identity(void **state)
{
	struct identity id, same, later, other;
	char why[200];

	(void)state;
	assert_true(identity_open(&id, NULL, "web", 1000, why, sizeof why));
	assert_true(identity_open(&same, NULL, "web", 1000, why, sizeof why));
	assert_true(identity_open(&later, NULL, "web", 1001, why, sizeof why));
	assert_true(identity_open(&other, NULL, "api", 1000, why, sizeof why));
	assert_string_equal(id.text, same.text);
	assert_string_not_equal(id.text, later.text);
	assert_string_not_equal(id.text, other.text);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_who_has_come_and_gone),
		cmocka_unit_test(test_fewer_for_a_moment),
		cmocka_unit_test(test_identity),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

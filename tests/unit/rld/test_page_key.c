/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys on the status page: what clients may have written, as text that does nothing. */

#include "../../../rld/serve/page_key.h"

#include <string.h>

#include "testing.h"

#define ELLIPSIS "\xe2\x80\xa6"

static void
check(const void *key, size_t kept, size_t len, const char *shown)
{
	json_t *text = page_key(key, kept, len);

	assert_non_null(text);
	assert_string_equal(json_string_value(text), shown);
	json_decref(text);
}

static void
check_text(const char *key, const char *shown)
{
	check(key, strlen(key), strlen(key), shown);
}

static void
test_what_can_be_read_is_as_it_is(void **state)
{
	(void)state;
	check_text("alice", "alice");
	check_text("<b>&'\"", "<b>&'\"");
	check_text("gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f");
	check_text("\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80");
}

static void
test_what_acts_is_shown_by_its_bytes(void **state)
{
	(void)state;
	check_text("a\033[2J", "a\\x1b[2J");
	check("a\0b", 3, 3, "a\\x00b");
	check_text("\\x41", "\\\\x41");
	check_text("\xe2\x80\xae", "\\xe2\\x80\\xae"); /* right to left from here on */
	check_text("\xe2\x80\x8b", "\\xe2\\x80\\x8b"); /* no width */
	check_text("\xff\xc3", "\\xff\\xc3");
	check_text("\xc0\xaf", "\\xc0\\xaf"); /* a slash, too long */
	check_text("\xed\xa0\x80", "\\xed\\xa0\\x80");
}

static void
test_what_is_missing_has_an_ellipsis(void **state)
{
	(void)state;
	check("alice", 3, 5, "ali" ELLIPSIS);
	check(NULL, 0, 0, ELLIPSIS);
	check(NULL, 0, 9, ELLIPSIS);
	check("gr\xc3\xbc", 3, 4, "gr\\xc3" ELLIPSIS); /* half a character */
}

/* The longest text that there is has its room. */
static void
test_a_long_key_is_shown_in_part(void **state)
{
	char key[RL_KEY_MAX], shown[4 * PAGE_KEY_MOST + sizeof ELLIPSIS] = "";

	(void)state;
	memset(key, 0xff, sizeof key);
	for (int i = 0; i < PAGE_KEY_MOST; i++)
		strcat(shown, "\\xff");
	strcat(shown, ELLIPSIS);
	check(key, sizeof key, sizeof key, shown);
	memset(key, 'x', sizeof key);
	check(key, PAGE_KEY_MOST + 1, PAGE_KEY_MOST + 1,
	      "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
	      "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" ELLIPSIS);
	check(key, PAGE_KEY_MOST, PAGE_KEY_MOST,
	      "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
	      "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx");
	/* A character that begins within the part is whole. */
	memcpy(key + PAGE_KEY_MOST - 1, "\xf0\x9f\x98\x80", 4);
	check(key, PAGE_KEY_MOST + 3, PAGE_KEY_MOST + 3,
	      "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
	      "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\xf0\x9f\x98\x80" ELLIPSIS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_can_be_read_is_as_it_is),
		cmocka_unit_test(test_what_acts_is_shown_by_its_bytes),
		cmocka_unit_test(test_what_is_missing_has_an_ellipsis),
		cmocka_unit_test(test_a_long_key_is_shown_in_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

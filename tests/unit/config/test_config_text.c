/* SPDX-License-Identifier: BSD-2-Clause */
/* The text of a file: where values stand in it, changing one of them, durations, patterns. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "edit/splice.h"
#include "model/pattern_text.h"
#include "testing.h"
#include "text/calendar.h"
#include "text/duration.h"
#include "text/suggest.h"
#include "text/tokens.h"

static void
test_tokens(void **state)
{
	static const char text[] = "{\"a\": [1, \"x:\\\"]\" ], \"b\\\"\":{ } , \"c\":-2e3}";
	static const struct token want[] = {
		{0, 0, 42, 0, 6},  {1, 6, 19, 0, 4},   {0, 7, 8, 1, 3},
		{0, 10, 17, 1, 4}, {21, 27, 30, 0, 5}, {33, 37, 41, 0, 6},
	};
	struct tokens tokens;

	(void)state;
	assert_int_equal(tokens_scan(text, strlen(text), &tokens), 0);
	assert_int_equal(tokens.count, 6);
	for (size_t i = 0; i < 6; i++)
		assert_memory_equal(&tokens.at[i], &want[i], sizeof(want[i]));
	assert_int_equal(tokens_first(&tokens, 0), 1);
	assert_int_equal(tokens_sibling(&tokens, 1), 4);
	assert_int_equal(tokens_sibling(&tokens, 5), 0);
	assert_int_equal(tokens_first(&tokens, 4), 0);
	assert_int_equal(tokens_count(&tokens, 0), 3);
	assert_int_equal(tokens_count(&tokens, 1), 2);
	tokens_free(&tokens);
}

/* No text, however wrong, makes the scan leave it. */
static void
test_tokens_of_noise(void **state)
{
	static const char letters[] = "{}[]\",:\\ 1tn\n";
	uint64_t seed = 1;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		size_t len = (size_t)test_below(&seed, 24);
		char *text = malloc(len + 1); /* exactly so long, for the sanitizers */
		struct tokens tokens;

		assert_non_null(text);
		for (size_t i = 0; i < len; i++)
			text[i] = letters[test_below(&seed, sizeof(letters) - 1)];
		assert_int_equal(tokens_scan(text, len, &tokens), 0);
		for (uint32_t i = 0; i < tokens.count; i++)
			assert_true(tokens.at[i].end <= len && tokens.at[i].next <= tokens.count);
		tokens_free(&tokens);
		free(text);
	}
}

static void
sets(const char *text, const char *pointer, const char *value, const char *want)
{
	char *out;
	size_t len;

	assert_int_equal(splice_set(text, strlen(text), pointer, value, &out, &len), 0);
	assert_string_equal(out, want);
	assert_int_equal(len, strlen(want));
	free(out);
}

static void
unsets(const char *text, const char *pointer, const char *want)
{
	char *out;
	size_t len;

	assert_int_equal(splice_unset(text, strlen(text), pointer, &out, &len), 0);
	assert_string_equal(out, want);
	free(out);
}

static void
test_set(void **state)
{
	(void)state;
	sets("{\"a\":  1 }", "/a", "2", "{\"a\":  2 }");
	sets("{\"a\": [1, {\"b\": 2}]}", "/a/1/b", "\"x\"", "{\"a\": [1, {\"b\": \"x\"}]}");
	sets("{\"a/b~\": 1}", "/a~1b~0", "2", "{\"a/b~\": 2}");
	sets("{\"\\u0061\": 1}", "/a", "2", "{\"\\u0061\": 2}");
	sets("{\"\": 1}", "/", "2", "{\"\": 2}");
}

/* In the manner of what is there. */
static void
test_add(void **state)
{
	(void)state;
	sets("{}", "/a", "1", "{\"a\": 1}");
	sets("{\n}", "/a/b/c", "1", "{\"a\": {\"b\": {\"c\": 1}}}");
	sets("{\"a\": 1}", "/b", "2", "{\"a\": 1, \"b\": 2}");
	sets("{ \"a\": 1 }", "/b", "2", "{ \"a\": 1, \"b\": 2 }");
	sets("{\n\t\"a\": 1,\n\t\"c\": {}\n}\n", "/b", "2",
	     "{\n\t\"a\": 1,\n\t\"c\": {},\n\t\"b\": 2\n}\n");
	sets("{\"a\": {\"x\": 1}}", "/a/y/z", "2", "{\"a\": {\"x\": 1, \"y\": {\"z\": 2}}}");
	sets("{\"a\": [1]}", "/a/-", "2", "{\"a\": [1, 2]}");
	sets("{\"a\": []}", "/a/-/b", "2", "{\"a\": [{\"b\": 2}]}");
	sets("{}", "/a\"b", "1", "{\"a\\\"b\": 1}");
}

static void
test_unset(void **state)
{
	(void)state;
	unsets("{\"a\": 1}", "/a", "{}");
	unsets("{\"a\": 1, \"b\": 2, \"c\": 3}", "/a", "{\"b\": 2, \"c\": 3}");
	unsets("{\"a\": 1, \"b\": 2, \"c\": 3}", "/b", "{\"a\": 1, \"c\": 3}");
	unsets("{\"a\": 1, \"b\": 2, \"c\": 3}", "/c", "{\"a\": 1, \"b\": 2}");
	unsets("{\n\t\"a\": 1,\n\t\"b\": 2\n}\n", "/b", "{\n\t\"a\": 1\n}\n");
	unsets("{\n\t\"a\": 1,\n\t\"b\": 2\n}\n", "/a", "{\n\t\"b\": 2\n}\n");
	unsets("{\"a\": [1, 2, 3]}", "/a/1", "{\"a\": [1, 3]}");
}

static void
fails(int (*expected)(const char *, char **, size_t *), const char *pointer, int error)
{
	char *out;
	size_t len;

	assert_int_equal(expected(pointer, &out, &len), error);
	assert_null(out);
}

static const char some[] = "{\"a\": {\"b\": [1]}, \"c\": 5}";

static int
set_some(const char *pointer, char **out, size_t *len)
{
	return splice_set(some, strlen(some), pointer, "0", out, len);
}

static int
unset_some(const char *pointer, char **out, size_t *len)
{
	return splice_unset(some, strlen(some), pointer, out, len);
}

static void
test_pointers_that_lead_nowhere(void **state)
{
	(void)state;
	fails(set_some, "", SPLICE_EPOINTER);
	fails(set_some, "a", SPLICE_EPOINTER);
	fails(set_some, "/\xff", SPLICE_EPOINTER);
	fails(set_some, "/c/d", SPLICE_EPARENT);
	fails(set_some, "/a/b/1", SPLICE_EABSENT);
	fails(set_some, "/a/b/x", SPLICE_EABSENT);
	fails(unset_some, "", SPLICE_EPOINTER);
	fails(unset_some, "/d", SPLICE_EABSENT);
	fails(unset_some, "/a/b/-", SPLICE_EABSENT);
	fails(unset_some, "/a/b/00000000000000000000000000000000001", SPLICE_EABSENT);
}

static void
lasts(const char *text, uint64_t want)
{
	uint64_t ns = 0;

	assert_null(duration_parse(text, &ns));
	assert_int_equal(ns, want);
}

static void
is_wrong(const char *text, const char *why)
{
	uint64_t ns;
	const char *wrong = duration_parse(text, &ns);

	assert_non_null(wrong);
	assert_non_null(strstr(wrong, why));
}

static void
test_durations(void **state)
{
	(void)state;
	lasts("0s", 0);
	lasts("10ms", 10000000);
	lasts("1.5s", 1500000000);
	lasts("0.000000001s", 1);
	lasts("1.5d", 129600 * RL_SECOND);
	lasts("1h30m", 5400 * RL_SECOND);
	lasts("1d2h3m4s5ms6us7ns", UINT64_C(93784005006007));
	is_wrong("", "is empty");
	is_wrong("m", "does not begin");
	is_wrong("5", "has no unit");
	is_wrong("5s5", "has no unit");
	is_wrong("5sec", "unknown unit");
	is_wrong("1.s", "no whole number");
	is_wrong("1.5ns", "no whole number");
	is_wrong("0.0000000001s", "no whole number");
	is_wrong("0.0000000000000000001d", "no whole number");
	is_wrong("1s1s", "out of order");
	is_wrong("1s1m", "out of order");
	is_wrong("213504d", "is too long");
	is_wrong("213503d99999999s", "is too long");
}

static void
is_refused(const char *text, const char *why)
{
	const char *said = calendar_refuse(text);

	if (!said || !strstr(said, why))
		fail_msg("'%s': not refused for '%s', but: %s", text, why, said ? said : "fine");
}

/* What has no fixed length is told from all that has. */
static void
test_times_of_the_calendar(void **state)
{
	static const char *const windows[] = {"1d",    "30d",     "400d", "1h30m", "day",
	                                      "2hour", "min",     "",     "x",     "/",
	                                      "5ms",   "monthsy", "1yd",  "mow"};

	(void)state;
	for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++)
		assert_null(calendar_refuse(windows[i]));
	is_refused("1mo", "a month has no fixed length, so it is no window; use 30d");
	is_refused("/month", "use 30d");
	is_refused("2 Months", "use 30d");
	is_refused("calendar month", "use 30d");
	is_refused("1y", "a year has no fixed length, so it is no window; use 365d");
	is_refused("YEAR", "use 365d");
	is_refused("local-day", "use 1d, which is counted in UTC, or a counter by key");
	is_refused("calendar day", "to end at local midnight: rl_counter(3)");
	is_refused("1w", "a week is written 7d");
}

/* What is written exactly reads as the same. */
static void
test_exact_durations(void **state)
{
	uint64_t seed = 2;

	(void)state;
	assert_string_equal(duration_exact(0).text, "0s");
	assert_string_equal(duration_exact(90 * RL_SECOND).text, "90s");
	assert_string_equal(duration_exact(86400 * RL_SECOND).text, "1d");
	assert_string_equal(duration_exact(1500 * RL_MILLISECOND).text, "1500ms");
	for (int i = 0; i < 1000; i++) {
		uint64_t ns = test_random(&seed) >> test_below(&seed, 64);

		lasts(duration_exact(ns).text, ns);
	}
}

static void
test_suggestions(void **state)
{
	static const char *const names[] = {"capacity", "window", "v4", NULL};

	(void)state;
	assert_string_equal(suggest("capactiy", names), "capacity");
	assert_string_equal(suggest("windw", names), "window");
	assert_null(suggest("entirely", names));
	assert_null(suggest("v9x", names));
}

/* NULL: refused. Else "key ...", "prefix ..." or "network ...". */
static const char *const spellings[][2] = {
	{"alice", "key alice"},
	{"a/b/c", "key a/b/c"},
	{"v1.2.3", "key v1.2.3"},
	{"1.2", "key 1.2"},
	{"me@example.org", "key me@example.org"},
	{"a:b:c", "key a:b:c"},
	{"Foo::Bar", "key Foo::Bar"},
	{"user::7", "key user::7"},
	{"192.0.2.1:login", "key 192.0.2.1:login"},
	{"100%sure", "key 100%sure"},
	{"/find?q=[1]", "key /find?q=[1]"},
	{"/find?q=*", "prefix /find?q="},
	{"2024-05-01", "key 2024-05-01"},
	{"00:11:22:33:44:55", "key 00:11:22:33:44:55"},
	{"http://example.org/?q=1", "key http://example.org/?q=1"},
	{"user:7", "key user:7"},
	{"5/min", "key 5/min"},
	{"user:*", "prefix user:"},
	{"10.0.0.*", "prefix 10.0.0."},
	{"192.0.2.1", "key 192.0.2.1"},
	{"::ffff:10.0.0.5", "key 10.0.0.5"},
	{"2001:DB8:0::1", "key 2001:db8::1"},
	{"10.0.0.0/24", "network 10.0.0.0/24"},
	{"10.0.0.1/24", "network 10.0.0.0/24"},
	{"10.0.0.1/32", "network 10.0.0.1/32"},
	{"10.9.8.7/0", "network 0.0.0.0/0"},
	{"10.9.8.7/09", "network 10.0.0.0/9"},
	{"::ffff:10.0.0.5/120", "network 10.0.0.0/24"},
	{"::ffff:10.0.0.5/64", "network ::/64"},
	{"2001:db8::ffff/48", "network 2001:db8::/48"},
	{"10.0.0.0/33", NULL},
	{"10.0.0/24", NULL},
	{"10.0.0.0/255.255.255.0", NULL},
	{"10.0.0.0/", NULL},
	{"10.0.0.0/+8", NULL},
	{"10.0.0.0/24,", NULL},
	{"10.0.0.0/24/3", NULL},
	{"10.0.0.256/24", NULL},
	{"2001:db8::/129", NULL},
	{"2001:db8::1::/32", NULL},
	{"192.168.1.300", NULL},
	{"192.168.1.3.4", NULL},
	{"192.168.01.3", NULL},
	{"192.168.1.3,192.168.1.4", NULL},
	{"192.168.1.1-192.168.1.9", NULL},
	{"1::2::3", NULL},
	{"1:2:3:4:5:6:7:8:9", NULL},
	{"1.2.3", NULL},
	{"10.0.0", NULL},
	{"10.0.0.", NULL},
	{"[::1]", NULL},
	{"[::1]:80", NULL},
	{"[::1]/64", NULL},
	{"[fe80::1%lo]", NULL},
	{"[192.0.2.1]", NULL},
	{"1.2.3.4:80", NULL},
	{"1.2.3.4:", NULL},
	{"1.2.3.4:80/24", NULL},
	{"::1%lo", NULL},
	{"fe80::1%eth0", NULL},
	{"fe80::1%eth0/64", NULL},
	{"1.2.3.4%eth0", NULL},
	{"2001:db8::g", NULL},
	{"2001:db8::g/32", NULL},
	{"::g", NULL},
	{"1:2:3:4:5:6:7:g", NULL},
	{"user?", NULL},
	{"us?er*", NULL},
	{"[ab]", NULL},
	{"user[0-9]", NULL},
	{"user[0-9]*", NULL},
	{"us*er", NULL},
	{"*:5", NULL},
	{"*", NULL},
	{"**", NULL},
	{"user:*:x", NULL},
	{"user:**", NULL},
	{"10.0.*.*", NULL},
	{"", NULL},
};

static void
spells(const char *text, const char *wanted)
{
	static const char *const names[] = {"key", "prefix", "network"};
	struct pattern_text read, exact;
	char found[128];
	const char *wrong = pattern_parse(text, strlen(text), &read);

	assert_int_equal(wrong == NULL, wanted != NULL);
	if (wanted) {
		snprintf(found, sizeof(found), "%s %.*s", names[read.pattern.match],
		         (int)read.pattern.key_len, (const char *)read.pattern.key);
		assert_string_equal(found, wanted);
	}
	assert_int_equal(pattern_exact(text, strlen(text), &exact) == NULL, text[0] != '\0');
	assert_int_equal(exact.pattern.match, RL_MATCH_KEY);
	assert_ptr_equal(exact.pattern.key, text);
}

static void
test_patterns(void **state)
{
	char prefix[66];
	struct pattern_text read;
	const struct rl_pattern given = rl_pattern_of("10.1.2.3/8", 10);

	(void)state;
	for (size_t i = 0; i < sizeof(spellings) / sizeof(spellings[0]); i++)
		spells(spellings[i][0], spellings[i][1]);
	memset(prefix, 'x', sizeof(prefix));
	prefix[63] = prefix[64] = '*';
	assert_null(pattern_parse(prefix, 64, &read));
	prefix[63] = 'x';
	assert_non_null(pattern_parse(prefix, 65, &read));
	pattern_canonical(&given, &read);
	assert_int_equal(read.pattern.match, RL_MATCH_NETWORK);
	assert_int_equal(read.pattern.key_len, 10);
	assert_memory_equal(read.pattern.key, "10.0.0.0/8", 10);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tokens),
		cmocka_unit_test(test_tokens_of_noise),
		cmocka_unit_test(test_set),
		cmocka_unit_test(test_add),
		cmocka_unit_test(test_unset),
		cmocka_unit_test(test_pointers_that_lead_nowhere),
		cmocka_unit_test(test_durations),
		cmocka_unit_test(test_times_of_the_calendar),
		cmocka_unit_test(test_exact_durations),
		cmocka_unit_test(test_suggestions),
		cmocka_unit_test(test_patterns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* The words of a server's directives: each field that librl lists, as it is written there. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "../../../servers/common/directive.h"
#include "testing.h"

#define WORD_SIZE 64

/* "word=", and a value that the field takes, if directives take it; what that is as a number. */
static uint64_t
word_for(const struct rl_field *field, char word[WORD_SIZE])
{
	uint64_t number = field->kind == RL_FIELD_WORD || field->kind == RL_FIELD_FLAG ? 1 : 2;

	if (field->marks & RL_FIELD_NOT_IN_DIRECTIVES) {
		snprintf(word, WORD_SIZE, "%s=x", field->word);
	} else if (field->kind == RL_FIELD_OTHER) {
		number = strcmp(field->name, "mode") == 0 ? 0640 : 0;
		snprintf(word, WORD_SIZE, "%s=%s", field->word, number ? "0640" : "root");
	} else if (field->kind == RL_FIELD_DURATION) {
		number *= RL_SECOND;
		snprintf(word, WORD_SIZE, "%s=2s", field->word);
	} else if (field->kind == RL_FIELD_COUNT) {
		snprintf(word, WORD_SIZE, "%s=2", field->word);
	} else {
		snprintf(word, WORD_SIZE, "%s=%s", field->word,
		         field->words ? field->words[1] : "on");
	}
	return number;
}

static void
test_each_field_of_a_limit_is_read(void **state)
{
	const struct rl_field *field;
	char word[WORD_SIZE], why[RLB_TEXT_SIZE];
	size_t read = 0;

	(void)state;
	for (size_t i = 0; (field = rl_field(RL_OF_LIMIT, i)); i++) {
		struct rlb_limit l = {.step_ns = 0};
		uint64_t number = word_for(field, word);
		int error = rlb_word_of_limit(word, &l, why);

		if (field->marks & RL_FIELD_NOT_IN_DIRECTIVES) {
			assert_int_equal(error, -EINVAL);
			assert_non_null(strstr(why, field->why));
		} else if (strcmp(field->word, "capacity") == 0 ||
		           strcmp(field->word, "window") == 0) {
			assert_int_equal(error, -EINVAL);
			assert_non_null(strstr(why, "the rate says it"));
		} else {
			assert_int_equal(error, 0);
			assert_int_equal(rl_field_get(field, &l.limit), number);
			read++;
		}
	}
	assert_true(read > 8);
}

static void
test_each_option_of_a_segment_is_read(void **state)
{
	const struct rl_field *field;
	char word[WORD_SIZE], why[RLB_TEXT_SIZE];

	(void)state;
	for (size_t i = 0; (field = rl_field(RL_OF_OPTIONS, i)); i++) {
		struct rl_options o = {.flags = 0};
		uint64_t number = word_for(field, word);

		if (field->marks & RL_FIELD_NOT_IN_DIRECTIVES) {
			assert_int_equal(rlb_word_of_segment(word, &o, why), -EINVAL);
			assert_non_null(strstr(why, field->why));
			continue;
		}
		assert_int_equal(rlb_word_of_segment(word, &o, why), 0);
		assert_int_equal(rl_field_get(field, &o), number);
		assert_int_equal(o.ring, strcmp(field->name, "ring") == 0 ? 2 : 0);
		snprintf(word, sizeof word, "%s=0", field->word);
		if (field->kind == RL_FIELD_COUNT) {
			assert_int_equal(rlb_word_of_segment(word, &o, why),
			                 field->none > 0 ? 0 : -EINVAL);
			assert_int_equal(rl_field_get(field, &o),
			                 field->none > 0 ? field->none : number);
		}
	}
}

static int
read_limit(const char *word, struct rlb_limit *l)
{
	char why[RLB_TEXT_SIZE];

	return rlb_word_of_limit(word, l, why);
}

static int
read_segment(const char *word, struct rl_options *o)
{
	char why[RLB_TEXT_SIZE];

	return rlb_word_of_segment(word, o, why);
}

static void
test_what_begins_a_limit(void **state)
{
	static const char *const bad[] = {
		"5",           "0/s",        "5/parsec", "5/500d",         "5r",         "5rr/s",
		"in_flight=0", "in_flight=", "5/5ms",    "999999999999/s", "in_flight=x"};
	struct rlb_limit l;

	(void)state;
	assert_int_equal(rlb_word_begins("10r/s", &l), 1);
	assert_int_equal(l.limit.capacity, 10);
	assert_int_equal(l.limit.window_ns, RL_SECOND);
	assert_int_equal(rlb_word_begins("300/5min", &l), 1);
	assert_int_equal(l.limit.window_ns, 300 * RL_SECOND);
	assert_int_equal(rlb_word_begins("9/1h30m", &l), 1);
	assert_int_equal(l.limit.window_ns, 5400 * RL_SECOND);
	assert_int_equal(rlb_word_begins("in_flight=3", &l), 1);
	assert_int_equal(l.limit.algorithm, RL_IN_FLIGHT);
	assert_int_equal(l.limit.capacity, 3);
	assert_int_equal(rlb_word_begins("hard=on", &l), 0);
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_int_equal(rlb_word_begins(bad[i], &l), -EINVAL);
}

/* Bounds are those of the list, a byte is a byte, and what is no word says so. */
static void
test_what_is_wrong(void **state)
{
	static const char *const bad[] = {
		"v4=33", "v4=0",     "v4=",      "hard=yes",       "mode=soft", "hard",
		"=5",    "burst=-1", "burst= 5", "granularity=65", "window",    "granularity=0s"};
	static const char *const bad_of_segment[] = {
		"keys",      "keys=none",    "mode=7",      "mode=999",
		"mode=0066", "readonly",     "at_least",    "buffer=1",
		"buffer=0s", "buffer=never", "keys_most=5", "group=no-such"};
	struct rlb_limit l = {.step_ns = 0};
	struct rl_options o = {.flags = 0};

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
		assert_int_equal(read_limit(bad[i], &l), -EINVAL);
	for (size_t i = 0; i < sizeof bad_of_segment / sizeof bad_of_segment[0]; i++)
		assert_int_equal(read_segment(bad_of_segment[i], &o), -EINVAL);
	assert_int_equal(o.flags, 0);
}

static void
test_words_of_their_own(void **state)
{
	struct rlb_limit l = {.limit = {.window_ns = 10 * RL_SECOND}};
	struct rl_options o = {.flags = 0};
	char why[RLB_TEXT_SIZE];

	(void)state;
	assert_int_equal(read_limit("granularity=2s", &l), 0);
	assert_int_equal(rlb_limit_finish(&l, 64, why), 0);
	assert_int_equal(l.limit.granularity, 5);
	assert_int_equal(read_segment("events=none", &o), 0);
	assert_int_equal(o.events, RL_EVENTS_NONE);
	assert_int_equal(read_segment("huge_pages", &o), 0);
	assert_int_equal(read_segment("existing", &o), 0);
	assert_int_equal(read_segment("populate", &o), 0);
	assert_int_equal(o.flags, RL_OPEN_HUGE_PAGES | RL_OPEN_EXISTING | RL_OPEN_POPULATE);
	assert_int_equal(rlb_word_of_segment("on_full=evict", &o, why), 1);
	assert_non_null(strstr(why, "\"evict\" is gone"));
	assert_int_equal(rlb_options_check(&o, why), 0);
	assert_int_equal(read_segment("cells=3", &o), 0);
	assert_int_equal(rlb_options_check(&o, why), -EINVAL);
	assert_string_equal(why, "cells: expected a power of two");
	assert_int_equal(read_segment("cells=4", &o), 0);
	assert_int_equal(read_segment("reserves=3", &o), 0);
	assert_int_equal(rlb_options_check(&o, why), 0);
	assert_int_equal(read_segment("on_full=deny", &o), 0);
	assert_int_equal(rlb_options_check(&o, why), -EINVAL);
	assert_memory_equal(why, "cells: only", 11);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_field_of_a_limit_is_read),
		cmocka_unit_test(test_each_option_of_a_segment_is_read),
		cmocka_unit_test(test_what_begins_a_limit),
		cmocka_unit_test(test_what_is_wrong),
		cmocka_unit_test(test_words_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

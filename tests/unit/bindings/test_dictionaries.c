/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What all bindings read and show of structures: each field that librl lists, by bindings/common
 * alone.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "../../../bindings/common/limit.h"
#include "../../../bindings/common/options.h"
#include "testing.h"

/* A value that the field takes: 1, as each kind of field has it. */
static struct rlb_value
one_of(const struct rl_field *field)
{
	struct rlb_value v = {.kind = RLB_INTEGER, .integer = 1};

	if (field->kind == RL_FIELD_FLAG)
		v.kind = RLB_FLAG;
	if (field->kind == RL_FIELD_DURATION)
		v = (struct rlb_value){.kind = RLB_NS, .ns = 1};
	if (field->kind == RL_FIELD_WORD) {
		v = (struct rlb_value){.kind = RLB_WORDS, .words = field->words[1]};
		v.len = strlen(v.words);
	}
	return v;
}

struct seen {
	const struct rl_field *field;
	struct rlb_value value;
	unsigned count;
};

static void
see(void *to, const char *name, const struct rlb_value *value)
{
	struct seen *seen = to;

	if (strcmp(name, seen->field->name) != 0)
		return;
	seen->value = *value;
	seen->count++;
}

static void
assert_shown(enum rl_structure of, const struct rl_field *field, const void *from)
{
	struct rlb_value wanted = one_of(field);
	struct seen seen = {.field = field};

	rlb_fields_show(of, from, see, &seen);
	assert_int_equal(seen.count, 1);
	assert_int_equal(seen.value.kind, wanted.kind);
	assert_int_equal(seen.value.integer, wanted.integer);
	assert_int_equal(seen.value.ns, wanted.ns);
	if (wanted.kind == RLB_WORDS)
		assert_string_equal(seen.value.words, wanted.words);
}

static void
test_each_field_of_a_limit_is_taken_or_says_why_not(void **state)
{
	const struct rl_field *field;
	char why[RLB_TEXT_SIZE];
	size_t taken = 0;

	(void)state;
	for (size_t i = 0; (field = rl_field(RL_OF_LIMIT, i)); i++) {
		struct rlb_limit l = {0};
		struct rlb_value v = one_of(field);
		int error = rlb_limit_set(&l, field->name, strlen(field->name), &v, why);

		if (field->marks & RL_FIELD_NOT_IN_BINDINGS) {
			assert_int_equal(error, -EINVAL);
			assert_non_null(strstr(why, field->why));
			continue;
		}
		assert_int_equal(error, 0);
		assert_int_equal(rl_field_get(field, &l.limit), 1);
		assert_shown(RL_OF_LIMIT, field, &l.limit);
		taken++;
	}
	assert_true(taken > 10);
}

static void
test_each_option_is_taken(void **state)
{
	const struct rl_field *field;
	char why[RLB_TEXT_SIZE];

	(void)state;
	for (size_t i = 0; (field = rl_field(RL_OF_OPTIONS, i)); i++) {
		struct rl_options o = rlb_options;
		struct rlb_value v = one_of(field), none = {.kind = RLB_FLAG};

		if (field->marks & RL_FIELD_NOT_IN_BINDINGS)
			continue;
		if (field->offset == offsetof(struct rl_options, mode))
			v.integer = 0600;
		assert_int_equal(rlb_option_set(&o, field->name, strlen(field->name), &v, why), 0);
		assert_int_equal(rl_field_get(field, &o), v.kind == RLB_INTEGER ? v.integer : 1);
		v = (struct rlb_value){.kind = RLB_OTHER};
		assert_int_equal(rlb_option_set(&o, field->name, strlen(field->name), &v, why),
		                 -EINVAL);
		assert_memory_equal(why, field->name, strlen(field->name));
		if (field->none == 0)
			continue;
		assert_int_equal(rlb_option_set(&o, field->name, strlen(field->name), &none, why),
		                 0);
		assert_int_equal(rl_field_get(field, &o), field->none);
	}
}

static void
test_each_field_of_a_result_is_shown(void **state)
{
	const struct rl_field *field;

	(void)state;
	for (size_t i = 1; (field = rl_field(RL_OF_RESULT, i)); i++) {
		struct rl_result r = {0};

		assert_int_equal(rl_field_set(field, &r, 1), 0);
		if (field->kind != RL_FIELD_ERROR)
			assert_shown(RL_OF_RESULT, field, &r);
	}
}

static int
set(struct rlb_limit *l, const char *name, struct rlb_value v)
{
	char why[RLB_TEXT_SIZE];

	v.len = v.words ? strlen(v.words) : 0;
	return rlb_limit_set(l, name, strlen(name), &v, why);
}

#define WORDS(text) ((struct rlb_value){.kind = RLB_WORDS, .words = (text)})
#define INTEGER(n) ((struct rlb_value){.kind = RLB_INTEGER, .integer = (n)})

static void
test_a_duration_has_a_word_and_a_name(void **state)
{
	struct rlb_limit l = {0};

	(void)state;
	assert_int_equal(set(&l, "window", INTEGER(5)), 0);
	assert_int_equal(l.limit.window_ns, 5 * RL_SECOND);
	assert_int_equal(set(&l, "window_ns", INTEGER(5)), 0);
	assert_int_equal(l.limit.window_ns, 5);
	assert_int_equal(set(&l, "window_ns", WORDS("18446744073709551614")), 0);
	assert_int_equal(l.limit.window_ns, UINT64_MAX - 1);
	assert_int_equal(set(&l, "window_ns", WORDS("18446744073709551616")), -EINVAL);
	assert_int_equal(set(&l, "window", WORDS("1h30m")), 0);
	assert_int_equal(l.limit.window_ns, 5400 * RL_SECOND);
	assert_int_equal(set(&l, "window", (struct rlb_value){.kind = RLB_REAL, .real = INFINITY}),
	                 0);
	assert_int_equal(l.limit.window_ns, RL_NEVER_NS);
	assert_int_equal(set(&l, "window", INTEGER(-1)), -EINVAL);
}

/* As rl.json has it: 60 sub-buckets, hard; and a rate is both, capacity and window. */
static void
test_what_is_left_out(void **state)
{
	char why[RLB_TEXT_SIZE];
	struct rlb_limit l = {0};

	(void)state;
	assert_int_equal(set(&l, "limit", WORDS("5/min")), 0);
	assert_int_equal(rlb_limit_finish(&l, 64, why), 0);
	assert_int_equal(l.limit.granularity, 60);
	assert_int_equal(l.limit.hard, 1);
	assert_int_equal(set(&l, "capacity", INTEGER(5)), 0);
	assert_int_equal(rlb_limit_finish(&l, 64, why), -EINVAL);
	assert_non_null(strstr(why, "limit: it says capacity and window"));
	l = (struct rlb_limit){0};
	assert_int_equal(set(&l, "limit", WORDS("5/min")), 0);
	assert_int_equal(set(&l, "granularity", WORDS("10s")), 0);
	assert_int_equal(rlb_limit_finish(&l, 64, why), 0);
	assert_int_equal(l.limit.granularity, 6);
	assert_int_equal(l.limit.hard, 0);
	assert_int_equal(set(&l, "colour", INTEGER(1)), -EINVAL);
}

/* The sentence names the argument; librl's alone says that one is wrong. */
static void
test_why_a_segment_was_not_opened(void **state)
{
	struct rl_options o = {.on_full = RL_FULL_DENY, .cells = 64};
	char why[RLB_OPEN_TEXT_SIZE];
	struct rl *rl;

	(void)state;
	assert_int_equal(rl_open("a/b", NULL, &rl), -EINVAL);
	rlb_open_why(-EINVAL, "a/b", &rlb_options, why);
	assert_string_equal(why, "a name has 1 to 63 letters, digits and . _ -");
	assert_int_equal(rl_open_private(&o, &rl), -EINVAL);
	rlb_open_why(-EINVAL, NULL, &o, why);
	assert_string_equal(why, "cells: only a segment with on_full reserve has any");
	rlb_open_why(RL_EPUBLIC, "a", &o, why);
	assert_memory_equal(why, rl_strerror(RL_EPUBLIC), strlen(rl_strerror(RL_EPUBLIC)));
	assert_non_null(strstr(why, rl_error_remedy(RL_EPUBLIC)));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_field_of_a_limit_is_taken_or_says_why_not),
		cmocka_unit_test(test_each_option_is_taken),
		cmocka_unit_test(test_each_field_of_a_result_is_shown),
		cmocka_unit_test(test_a_duration_has_a_word_and_a_name),
		cmocka_unit_test(test_what_is_left_out),
		cmocka_unit_test(test_why_a_segment_was_not_opened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

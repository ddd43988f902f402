/* SPDX-License-Identifier: BSD-2-Clause */
/* The lists of fields name each field of their structures, and say of it what is so. */
#include <errno.h>
#include <string.h>

#include "rl_fields.h"
#include "testing.h"

/* Bytes that no field of a list has, from 0 to `end`, but those that only align the next one. */
static size_t
unnamed(enum rl_structure of, size_t end)
{
	uint8_t aligned[256] = {0};
	const struct rl_field *f;
	size_t count = 0;

	assert_true(end <= sizeof aligned);
	for (size_t i = 0; (f = rl_field(of, i)); i++) {
		assert_int_equal(aligned[f->offset], 0);
		memset(aligned + f->offset, (int)f->bytes, f->bytes);
	}
	for (size_t at = 0, next; at < end; at = next + 1) {
		for (next = at; next < end && !aligned[next]; next++)
			;
		if (next > at &&
		    (next == end ? next % 8 != 0 || next - at >= 8 : next - at >= aligned[next]))
			count += next - at;
	}
	return count;
}

static void
test_each_field_is_in_its_list(void **state)
{
	(void)state;
	assert_int_equal(unnamed(RL_OF_LIMIT, offsetof(struct rl_limit, reserved)), 0);
	assert_int_equal(unnamed(RL_OF_OPTIONS, offsetof(struct rl_options, reserved)), 0);
	assert_int_equal(unnamed(RL_OF_RESULT, sizeof(struct rl_result)), 0);
	assert_null(rl_field((enum rl_structure)3, 0));
	assert_null(rl_field(RL_OF_LIMIT, 1000));
}

static void
see_words(const struct rl_field *f)
{
	uint64_t number = 99;

	for (uint64_t i = 0; i <= f->most; i++)
		if (f->words[i]) {
			assert_int_equal(
				rl_field_number(f, f->words[i], strlen(f->words[i]), &number), 0);
			assert_int_equal(number, i);
		}
	assert_int_equal(rl_field_number(f, "nothing", 7, &number), -EINVAL);
}

static void
see_field(const struct rl_field *f)
{
	char nothing[512] = {0}, structure[512] = {0};
	uint64_t most = f->kind == RL_FIELD_FLAG ? 1
	                : f->bytes == 8          ? UINT64_MAX
	                                         : (UINT64_C(1) << 8 * f->bytes) - 1;

	assert_int_equal(f->size, sizeof(*f));
	assert_true(f->text[strlen(f->text) - 1] == '.');
	assert_int_equal(rl_field_set(f, structure, most), 0);
	assert_true(rl_field_get(f, structure) == (f->kind == RL_FIELD_ERROR ? UINT64_MAX : most));
	memset(structure + f->offset, 0, f->bytes);
	assert_memory_equal(structure, nothing, sizeof nothing);
	if (f->kind != RL_FIELD_FLAG && f->kind != RL_FIELD_ERROR && f->bytes < 8)
		assert_int_equal(rl_field_set(f, structure, most + 1), -EINVAL);
	if (f->words)
		see_words(f);
	else
		assert_int_not_equal(f->kind, RL_FIELD_WORD);
	/* Who does not take it has a reason, and who takes it needs none. */
	assert_int_equal(f->why[0] != '\0',
	                 (f->marks & (RL_FIELD_NOT_IN_FILES | RL_FIELD_NOT_IN_DIRECTIVES |
	                              RL_FIELD_NOT_IN_BINDINGS)) != 0);
}

static void
test_each_is_stored_where_it_is_and_read_from_there(void **state)
{
	const struct rl_field *f;

	(void)state;
	for (int of = RL_OF_LIMIT; of <= RL_OF_RESULT; of++)
		for (size_t i = 0; (f = rl_field((enum rl_structure)of, i)); i++) {
			see_field(f);
			assert_ptr_equal(
				rl_field_find((enum rl_structure)of, f->name, strlen(f->name)), f);
			assert_ptr_equal(
				rl_field_find((enum rl_structure)of, f->word, strlen(f->word)), f);
		}
	assert_null(rl_field_find(RL_OF_LIMIT, "capacit", 7));
	assert_null(rl_field_find(RL_OF_LIMIT, "capacity", 7));
}

static void
test_a_member_is_what_the_list_says(void **state)
{
	struct rl_limit limit = {.window_ns = 77, .shadow = 5};
	struct rl_result result = {.error = -ENOSPC};
	const struct rl_field *shadow = rl_field_find(RL_OF_LIMIT, "mode", 4);

	(void)state;
	assert_int_equal(rl_field_get(rl_field_find(RL_OF_LIMIT, "window", 6), &limit), 77);
	assert_int_equal(rl_field_get(shadow, &limit), 1);
	assert_string_equal(shadow->words[1], "shadow");
	assert_int_equal(rl_field_set(shadow, &limit, 4), 0);
	assert_int_equal(limit.shadow, 1);
	assert_int_equal(rl_field_set(rl_field_find(RL_OF_LIMIT, "away", 4), &limit, RL_AWAY_OPEN),
	                 0);
	assert_int_equal(limit.away, RL_AWAY_OPEN);
	assert_int_equal((int64_t)rl_field_get(rl_field_find(RL_OF_RESULT, "error", 5), &result),
	                 -ENOSPC);
}

/* What a file of before says is taken, and told from what is said today. */
static void
test_a_word_of_before_is_the_usual_one(void **state)
{
	const struct rl_field *on_full = rl_field_find(RL_OF_OPTIONS, "on_full", 7);
	uint64_t number = 77;

	(void)state;
	assert_string_equal(on_full->former, "evict");
	assert_int_equal(rl_field_number(on_full, "evict", 5, &number), 1);
	assert_int_equal(number, RL_FULL_RESERVE);
	assert_int_equal(rl_field_number(on_full, "evicted", 7, &number), -EINVAL);
	assert_null(rl_field_find(RL_OF_OPTIONS, "keys", 4)->former);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_field_is_in_its_list),
		cmocka_unit_test(test_each_is_stored_where_it_is_and_read_from_there),
		cmocka_unit_test(test_a_member_is_what_the_list_says),
		cmocka_unit_test(test_a_word_of_before_is_the_usual_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

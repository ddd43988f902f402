/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_MUSL_CMOCKA_H
#define RL_MUSL_CMOCKA_H

/*
 * What the unit tests use of cmocka, for a libc for which no cmocka is packaged. Groups run, fail,
 * skip and report as cmocka's do; the same sources are compiled with either.
 */

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct CMUnitTest {
	const char *name;
	void (*test_func)(void **state);
	int (*setup_func)(void **state);
	int (*teardown_func)(void **state);
	void *initial_state;
};

#define cmocka_unit_test(f)             \
	{                               \
#f, f, NULL, NULL, NULL \
	}
#define cmocka_unit_test_setup(f, setup) \
	{                                \
#f, f, setup, NULL, NULL \
	}
#define cmocka_unit_test_teardown(f, teardown) \
	{                                      \
#f, f, NULL, teardown, NULL    \
	}
#define cmocka_unit_test_setup_teardown(f, setup, teardown) \
	{                                                   \
#f, f, setup, teardown, NULL                \
	}

#define cmocka_run_group_tests(tests, setup, teardown) \
	mini_run((tests), sizeof(tests) / sizeof((tests)[0]), setup, teardown)

int mini_run(const struct CMUnitTest *tests, size_t count, int (*setup)(void **),
             int (*teardown)(void **));
void cmocka_set_test_filter(const char *pattern);

/* Say where and what, and end the running test: as failed, or as skipped. */
_Noreturn void mini_fail(const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
_Noreturn void mini_skip(void);

#define skip() mini_skip()
#define fail() mini_fail(__FILE__, __LINE__, "fail()")
#define fail_msg(...) mini_fail(__FILE__, __LINE__, __VA_ARGS__)
#define print_message(...) printf(__VA_ARGS__)
#define print_error(...) fprintf(stderr, __VA_ARGS__)

/* Numbers and pointers are compared as the largest unsigned integer, as cmocka does. */
void mini_compare(uintmax_t a, uintmax_t b, int equal, const char *what, const char *file,
                  int line);
void mini_range(uintmax_t value, uintmax_t least, uintmax_t most, const char *file, int line);
void mini_strings(const char *a, const char *b, int equal, const char *file, int line);
void mini_bytes(const void *a, const void *b, size_t size, int equal, const char *file, int line);

#define assert_int_equal(a, b) \
	mini_compare((uintmax_t)(a), (uintmax_t)(b), 1, #a " == " #b, __FILE__, __LINE__)
#define assert_int_not_equal(a, b) \
	mini_compare((uintmax_t)(a), (uintmax_t)(b), 0, #a " != " #b, __FILE__, __LINE__)
#define assert_true(a) mini_compare((a) ? 1 : 0, 1, 1, #a, __FILE__, __LINE__)
#define assert_false(a) mini_compare((a) ? 1 : 0, 0, 1, "not " #a, __FILE__, __LINE__)
#define assert_null(a) mini_compare((uintptr_t)(a), 0, 1, #a " == NULL", __FILE__, __LINE__)
#define assert_non_null(a) mini_compare((uintptr_t)(a), 0, 0, #a " != NULL", __FILE__, __LINE__)
#define assert_ptr_equal(a, b) \
	mini_compare((uintptr_t)(a), (uintptr_t)(b), 1, #a " == " #b, __FILE__, __LINE__)
#define assert_in_range(v, least, most) \
	mini_range((uintmax_t)(v), (uintmax_t)(least), (uintmax_t)(most), __FILE__, __LINE__)
#define assert_string_equal(a, b) mini_strings(a, b, 1, __FILE__, __LINE__)
#define assert_string_not_equal(a, b) mini_strings(a, b, 0, __FILE__, __LINE__)
#define assert_memory_equal(a, b, size) mini_bytes(a, b, size, 1, __FILE__, __LINE__)
#define assert_memory_not_equal(a, b, size) mini_bytes(a, b, size, 0, __FILE__, __LINE__)

#endif

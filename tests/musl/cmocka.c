/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmocka.h"

#include <fnmatch.h>
#include <stdarg.h>
#include <string.h>

enum {
	RETURNED,
	FAILED,
	SKIPPED
};

static jmp_buf ended;
static const char *filter;
static void *state;

void
cmocka_set_test_filter(const char *pattern)
{
	filter = pattern;
}

void
mini_fail(const char *file, int line, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n%s:%d: error: Failure!\n", file, line);
	longjmp(ended, FAILED);
}

void
mini_skip(void)
{
	longjmp(ended, SKIPPED);
}

void
mini_compare(uintmax_t a, uintmax_t b, int equal, const char *what, const char *file, int line)
{
	if ((a == b) != equal)
		mini_fail(file, line, "%s: %#jx, %#jx", what, a, b);
}

void
mini_range(uintmax_t value, uintmax_t least, uintmax_t most, const char *file, int line)
{
	if (value < least || value > most)
		mini_fail(file, line, "%ju is not in %ju to %ju", value, least, most);
}

void
mini_strings(const char *a, const char *b, int equal, const char *file, int line)
{
	if (!a || !b || (strcmp(a, b) == 0) != equal)
		mini_fail(file, line, "\"%s\" %s \"%s\"", a ? a : "NULL",
		          equal ? "!=" : "==", b ? b : "NULL");
}

void
mini_bytes(const void *a, const void *b, size_t size, int equal, const char *file, int line)
{
	if ((memcmp(a, b, size) == 0) != equal)
		mini_fail(file, line, "%zu bytes %s", size, equal ? "differ" : "are the same");
}

/* What ended it: a longjmp(), or its return. */
static int
run_body(const struct CMUnitTest *test)
{
	int how = setjmp(ended);

	if (how != RETURNED)
		return how;
	if (test->setup_func && test->setup_func(&state) != 0)
		mini_fail(test->name, 0, "setup");
	test->test_func(&state);
	return RETURNED;
}

/* A test that was skipped or failed is torn down as one that returned is. */
static int
run_one(const struct CMUnitTest *test)
{
	int how;

	if (test->initial_state)
		state = test->initial_state;
	how = run_body(test);
	if (test->teardown_func && test->teardown_func(&state) != 0)
		how = FAILED;
	return how;
}

int
mini_run(const struct CMUnitTest *tests, size_t count, int (*setup)(void **),
         int (*teardown)(void **))
{
	static const char *const words[] = {"      OK", "  FAILED", "  SKIPPED"};
	int failed = 0;

	if (setup && setup(&state) != 0)
		return 1;
	for (size_t i = 0; i < count; i++) {
		int how;

		if (filter && fnmatch(filter, tests[i].name, 0) != 0)
			continue;
		how = run_one(&tests[i]);
		printf("[%s ] %s\n", words[how], tests[i].name);
		fflush(stdout);
		failed += how == FAILED;
	}
	if (teardown && teardown(&state) != 0)
		failed++;
	return failed;
}

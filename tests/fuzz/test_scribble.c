/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Damage of every kind to every part of a segment: while it is in use, and to the file before
 * it is opened, by the library and by rlctl. RL_FUZZ_CASES says how much. Nothing crashes, nothing
 * hangs (SIGALRM), nothing leaves the segment (unreadable pages, AddressSanitizer), no answer
 * cannot be, and no byte of a key reaches a terminal as it is.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "exercise.h"
#include "guarded.h"
#include "harmless.h"
#include "rule/handle.h"
#include "scribble.h"
#include "testing.h"
#include "tool.h"

#define CASES_DEFAULT 5000
#define RESTORE_EVERY 8 /* cases; else all would soon be noise */
#define HANG_SECONDS 60
#define FILE_BYTES (16 << 20)

static uint64_t
cases(void)
{
	const char *given = getenv("RL_FUZZ_CASES");

	return given ? strtoull(given, NULL, 10) : CASES_DEFAULT;
}

static struct rl *
open_filled(void)
{
	struct rl *rl;

	rl_unlink(test_segment_name());
	assert_int_equal(rl_open(test_segment_name(), &exercise_options, &rl), 0);
	exercise_fill(rl);
	return rl;
}

static unsigned char *
copy_of(const struct rl *rl)
{
	unsigned char *copy = malloc(rl->segment.bytes);

	assert_non_null(copy);
	memcpy(copy, rl->segment.header, rl->segment.bytes);
	return copy;
}

/* Two that have it open, one of them to read only; and it is damaged between their calls. */
static void
test_while_in_use(void **state)
{
	struct rl *rl = open_filled(), *reader;
	unsigned char *whole = copy_of(rl);
	int fd = test_file_of_segment();
	uint64_t seed;

	(void)state;
	assert_int_equal(ftruncate(fd, FILE_BYTES), 0); /* room for tables that there are not */
	close(fd);
	assert_int_equal(rl_open(test_segment_name(),
	                         &(struct rl_options){.flags = RL_OPEN_READONLY}, &reader),
	                 0);
	for (uint64_t i = 0; i < cases(); i++) {
		seed = i;
		alarm(HANG_SECONDS);
		if (i % RESTORE_EVERY == 0)
			memcpy(rl->segment.header, whole, rl->segment.bytes);
		scribble_segment(&rl->segment, &seed);
		exercise_calls(i % 4 == 0 ? reader : rl, &seed);
	}
	alarm(0);
	free(whole);
	rl_close(reader);
	rl_close(rl);
}

static void
put(int fd, const void *bytes, size_t len)
{
	assert_int_equal(pwrite(fd, bytes, len, 0), len);
}

/* Open what is there, to write and to read; and if it opens, use it. True if it did. */
static bool
try_to_open(uint64_t *seed)
{
	static const unsigned flags[] = {RL_OPEN_EXISTING, RL_OPEN_READONLY};
	bool is_open = false;

	for (int i = 0; i < 2; i++) {
		struct rl *rl;
		int error =
			rl_open(test_segment_name(), &(struct rl_options){.flags = flags[i]}, &rl);
		if (error < 0) {
			assert_null(rl);
			assert_string_not_equal(rl_strerror(error), rl_strerror(-999));
			continue;
		}
		exercise_calls(rl, seed);
		is_open = true;
		rl_close(rl);
	}
	return is_open;
}

/* Nothing but the whole length opens. */
static void
test_truncated_files(void **state)
{
	struct rl *rl = open_filled();
	size_t bytes = rl->segment.bytes;
	unsigned char *whole = copy_of(rl);
	int fd = test_file_of_segment();
	uint64_t seed = 1;

	(void)state;
	rl_close(rl);
	for (size_t len = 0; len <= bytes + 4096; len += len < 512 || len > bytes ? 1 : 61) {
		assert_int_equal(ftruncate(fd, 0), 0);
		put(fd, whole, len < bytes ? len : bytes);
		assert_int_equal(ftruncate(fd, (off_t)len), 0);
		assert_int_equal(try_to_open(&seed), len == bytes);
	}
	assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
	assert_true(try_to_open(&seed));
	close(fd);
	free(whole);
}

static void
test_hostile_headers(void **state)
{
	struct rl *rl = open_filled();
	unsigned char *whole = copy_of(rl);
	size_t bytes = rl->segment.bytes;
	int fd = test_file_of_segment();
	uint64_t opened = 0;

	(void)state;
	rl_close(rl);
	for (uint64_t i = 0; i < cases(); i++) {
		uint64_t seed = i;
		struct rl_header h;
		alarm(HANG_SECONDS);
		put(fd, whole, bytes);
		memcpy(&h, whole, sizeof h);
		scribble_header(&h, &seed);
		put(fd, &h, sizeof h);
		opened += try_to_open(&seed);
	}
	alarm(0);
	assert_in_range(opened, 1, cases() - 1);
	print_message("           %d of %d opened\n", (int)opened, (int)cases());
	close(fd);
	free(whole);
}

/* rlctl says what it can, and ends as it should. */
static void
test_rlctl(void **state)
{
	static const char *const arguments[] = {
		"status",
		"status --json",
		"list",
		"list --json",
		"bans",
		"bans --json",
		"stats",
		"stats --json",
		"doctor",
		"doctor --json",
		"dump",
		"get hard user:1",
		"peek share x",
		"get net 192.0.2.1 --json",
		"check log user:2",
		"sweep",
		"reset token user:3",
	};
	struct rl *rl = open_filled();
	unsigned char *whole = copy_of(rl);

	(void)state;
	if (!tool_is_there())
		skip();
	harmless_except(rl->segment.header);
	for (uint64_t i = 0; i < 34 + cases() / 150; i++) {
		uint64_t seed = i;
		alarm(HANG_SECONDS);
		memcpy(rl->segment.header, whole, rl->segment.bytes);
		for (uint64_t n = i == 0 ? 0 : 1 + test_below(&seed, 40); n > 0; n--)
			scribble_segment(&rl->segment, &seed);
		if (i > 0 && test_below(&seed, 8) == 0)
			scribble_header(rl->segment.header, &seed);
		tool_run(arguments[i % (sizeof arguments / sizeof arguments[0])], i);
	}
	alarm(0);
	free(whole);
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_while_in_use, test_unlink),
		cmocka_unit_test_teardown(test_truncated_files, test_unlink),
		cmocka_unit_test_teardown(test_hostile_headers, test_unlink),
		cmocka_unit_test_teardown(test_rlctl, test_unlink),
	};

	test_segment_name();
	return cmocka_run_group_tests(tests, NULL, NULL);
}

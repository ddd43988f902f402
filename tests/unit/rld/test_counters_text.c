/* SPDX-License-Identifier: BSD-2-Clause */
/* What rld keeps of counters over a reboot: written, read, damaged and hostile. */

#include "../../../rld/base/hash.h"
#include "../../../rld/keep/counters_text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "at.h"
#include "testing.h"

#define ALL UINT64_MAX
#define LONG (300 * 24 * 3600 * RL_SECOND) /* a window that no test sees the end of */

static char *text;
static size_t size;

static struct counters_written
write_text(struct rl *rl, uint64_t most)
{
	struct counters_written written;
	FILE *out;

	free(text);
	out = open_memstream(&text, &size);
	assert_non_null(out);
	assert_true(counters_text_write(out, rl, most, &written));
	assert_int_equal(fclose(out), 0);
	return written;
}

static int
free_text(void **state)
{
	(void)state;
	free(text);
	text = NULL;
	return 0;
}

/* The lines, with the first and the last one that make them a whole text. */
static void
compose(const char *lines, unsigned keys)
{
	FILE *out;

	free(text);
	out = open_memstream(&text, &size);
	assert_non_null(out);
	fprintf(out, "rl-counters 1 5\n%send %u 0", lines, keys);
	fflush(out);
	fprintf(out, " %" PRIu64 "\n", hash_more(HASH_OF_NONE, text, size));
	assert_int_equal(fclose(out), 0);
}

static enum counters_text_kind
kind(void)
{
	uint64_t created_ns;

	return counters_text_check(text, size, &created_ns);
}

static uint64_t
used(struct rl *rl, int rule, const char *key)
{
	struct rl_result result;

	rl_check(rl, rule, key, strlen(key), RL_CAPACITY_MAX, &result);
	return result.used;
}

static uint64_t
charge(struct rl *rl, int rule, const char *key, uint64_t cost)
{
	struct rl_result result;

	assert_int_equal(rl_check(rl, rule, key, strlen(key), cost, &result), RL_ALLOWED);
	return result.used;
}

static void
test_what_is_written_is_restored(void **state)
{
	struct rl *from = test_private(100), *to = test_private(100);
	struct counters_written written;
	struct counters_restored restored;
	struct rl_info info;
	uint64_t created_ns;
	int rule = test_rule(from, "a", 50, 3600 * RL_SECOND, 6, false);

	(void)state;
	charge(from, rule, "alice", 7);
	charge(from, rule, "bob\n\xff", 9);
	written = write_text(from, ALL);
	assert_int_equal(written.keys, 2);
	assert_int_equal(written.unkept, 0);
	rl_info(from, &info);
	assert_int_equal(counters_text_check(text, size, &created_ns), COUNTERS_GOOD);
	assert_int_equal(created_ns, info.created_ns);

	rule = test_rule(to, "a", 60, 3600 * RL_SECOND, 6, false);
	assert_int_equal(charge(to, rule, "alice", 1), 1); /* before it: the sum counts */
	restored = counters_text_restore(to, text, size);
	assert_int_equal(restored.restored, 2);
	assert_int_equal(used(to, rule, "alice"), 8);
	assert_int_equal(used(to, rule, "bob\n\xff"), 9);
	rl_close(from);
	rl_close(to);
}

static void
test_what_finds_no_slot_goes_into_an_overflow_counter(void **state)
{
	struct rl *from = test_private(200), *to = test_private(10);
	int rule = test_rule(from, "a", 50, 3600 * RL_SECOND, 6, false);
	struct counters_restored restored;
	char key[16];

	(void)state;
	test_rule(to, "a", 50, 3600 * RL_SECOND, 6, false);
	for (int i = 0; i < 100; i++) {
		snprintf(key, sizeof key, "k%d", i);
		charge(from, rule, key, 7);
	}
	assert_int_equal(write_text(from, ALL).keys, 100);
	restored = counters_text_restore(to, text, size);
	assert_int_equal(restored.restored, 100);
	assert_int_equal(restored.failed, 0);
	assert_in_range(restored.in_cells, 1, 90);
	rl_close(from);
	rl_close(to);
}

static void
test_what_is_over_or_has_no_home_is_told(void **state)
{
	struct rl *rl = test_private(100);
	int rule = test_rule(rl, "a", 50, LONG, 0, false);
	struct counters_restored restored;
	struct rl_result result;
	char lines[1024];

	(void)state;
	snprintf(lines, sizeof lines,
	         "limit 0 a 0 1 50 25920000000000000 1 0 0 0\n"
	         "limit 1 a 0 1 50 25920000000000001 1 0 0 0\n"
	         "limit 2 gone 0 1 50 25920000000000000 1 0 0 0\n"
	         "limit 3 a 4 1 50 25920000000000000 0 0 0 0\n"
	         "key 0 61 %" PRIu64 " 3\n"     /* long ago */
	         "key 0 62 %" PRIu64 " 3\n"     /* of the future: as of now */
	         "key 1 63 %" PRIu64 " 3\n"     /* another window */
	         "key 2 64 %" PRIu64 " 3\n"     /* no such rule */
	         "key 0 65 %" PRIu64 " 99999\n" /* above the capacity */
	         "key 3 66 %" PRIu64 " 4\n" /* the fifth it was */,
	         rl_now(rl) - 2 * LONG, rl_now(rl) + LONG, rl_now(rl), rl_now(rl), rl_now(rl),
	         rl_now(rl));
	compose(lines, 6);
	assert_int_equal(kind(), COUNTERS_GOOD);
	restored = counters_text_restore(rl, text, size);
	assert_int_equal(restored.expired, 1);
	assert_int_equal(restored.restored, 3);
	assert_int_equal(restored.homeless, 2);
	assert_int_equal(restored.failed, 0);
	assert_int_equal(used(rl, rule, "a"), 0);
	assert_int_equal(used(rl, rule, "b"), 3);
	assert_int_equal(used(rl, rule, "c"), 0);
	assert_true(used(rl, rule, "e") >= 50);
	assert_int_equal(used(rl, rule, "f"), 4);
	rl_check(rl, rule, "b", 1, 48, &result);
	assert_true(result.retry_after_ns <= LONG);
	rl_close(rl);
}

static void
test_a_counter_by_key_lives_on(void **state)
{
	struct rl *from = test_private(100), *to = test_private(100);
	int space = rl_define_counters(from, "failed"), other;
	struct rl_count count;

	(void)state;
	at_counter_add(from, space, "alice", 5, 7, 3600 * RL_SECOND, rl_now(from), NULL);
	at_counter_add(from, space, "bob", 3, 4, RL_NEVER_NS, rl_now(from), NULL);
	assert_int_equal(write_text(from, ALL).keys, 2);
	assert_int_equal(kind(), COUNTERS_GOOD);
	assert_int_equal(counters_text_restore(to, text, size).restored, 2);
	other = rl_find(to, "failed");
	assert_int_equal(at_counter_get(to, other, "alice", 5, rl_now(to), &count), 1);
	assert_int_equal(count.value, 7);
	assert_true(count.expires_after_ns > 3500 * RL_SECOND);
	assert_true(count.expires_after_ns < 3601 * RL_SECOND);
	assert_int_equal(at_counter_get(to, other, "bob", 3, rl_now(to), &count), 1);
	assert_int_equal(count.expires_after_ns, RL_NEVER_NS);
	rl_close(from);
	rl_close(to);
}

static void
test_a_text_has_its_bound(void **state)
{
	struct rl *rl = test_private(1000);
	int rule = test_rule(rl, "a", 50, 3600 * RL_SECOND, 6, false);
	struct counters_written written;

	(void)state;
	for (int i = 0; i < 500; i++) {
		char key[16];

		snprintf(key, sizeof key, "key %d", i);
		charge(rl, rule, key, 1);
	}
	written = write_text(rl, 10000);
	assert_true(written.keys > 50 && written.unkept > 50);
	assert_int_equal(written.keys + written.unkept, 500);
	assert_true(size < 10128);
	assert_int_equal(kind(), COUNTERS_GOOD);
	assert_int_equal(counters_text_restore(rl, text, size).unkept, written.unkept);
	rl_close(rl);
}

static void
test_a_key_without_its_name_is_not_kept(void **state)
{
	const struct rl_options options = {.keys = 100, .ring = 64, .key_bytes = 4};
	struct counters_written written;
	struct rl *rl;
	int rule;

	(void)state;
	assert_int_equal(rl_open_private(&options, &rl), 0);
	rule = test_rule(rl, "a", 50, 3600 * RL_SECOND, 6, false);
	charge(rl, rule, "bob", 1);
	charge(rl, rule, "far too long to be kept by a record of any segment that has four bytes",
	       1);
	written = write_text(rl, ALL);
	assert_int_equal(written.keys, 1);
	assert_int_equal(written.unkept, 1);
	rl_close(rl);
}

/* Each byte changed, and each end too early: never is it a good text. */
static void
test_damage_is_seen(void **state)
{
	struct rl *rl = test_private(100);
	int rule = test_rule(rl, "a", 50, 3600 * RL_SECOND, 6, false);

	(void)state;
	charge(rl, rule, "alice", 7);
	write_text(rl, ALL);
	for (size_t i = 0; i < size; i++) {
		text[i] ^= 1;
		if (kind() == COUNTERS_GOOD)
			fail_msg("byte %zu of %s", i, text);
		text[i] ^= 1;
	}
	assert_int_equal(kind(), COUNTERS_GOOD);
	for (; size > 1; size--) {
		uint64_t created_ns;

		if (counters_text_check(text, size - 1, &created_ns) == COUNTERS_GOOD)
			fail_msg("%zu bytes of %s", size - 1, text);
	}
	rl_close(rl);
}

static void
test_a_stranger_is_foreign(void **state)
{
	static const char *const strangers[] = {
		"",
		"\n",
		"x",
		"rl-counters",
		"rl-counters 1",
		"rl-counters 2 5\n",
		"rl-counters 1 -5\n",
		"rl-counters 1 99999999999999999999\n",
		"rl-counters 1  5\n",
		"{\"rl_dump\":1}\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof strangers / sizeof strangers[0]; i++) {
		uint64_t created_ns;

		assert_int_equal(
			counters_text_check(strangers[i], strlen(strangers[i]), &created_ns),
			COUNTERS_FOREIGN);
	}
}

/* Of somebody who knows the hash. */
static void
test_a_hostile_text_is_damaged(void **state)
{
#define LIMIT "limit 0 a 0 1 50 60000000000 1 0 0 0\n"
	static const char *const lines[] = {
		"key 0 61 1 1\n",                                      /* no limit of that number */
		LIMIT "key 1 61 1 1\n",                                /* nor of that */
		LIMIT "key 0 6 1 1\n",                                 /* half a byte */
		LIMIT "key 0 6x 1 1\n",                                /* no digit */
		LIMIT "key 0  1 1\n",                                  /* no key */
		LIMIT "key 0 61 1\n",                                  /* no cost */
		LIMIT "key 0 61 1 1 \n",                               /* no number */
		LIMIT "key 0 61 -1 1\n",                               /* a sign */
		LIMIT "key 0 61 1 18446744073709551616\n",             /* too large a number */
		LIMIT "key 0 61\n1 1\n",                               /* an end in between */
		LIMIT "count 0 61 1 1\n",                              /* no space */
		LIMIT LIMIT "key 0 61 1 1\n",                          /* a number twice */
		"limit 0  0 1 50 60000000000 1 0 0 0\nkey 0 61 1 1\n", /* no name */
		"limit 0 a 8 1 50 60000000000 1 0 0 0\nkey 0 61 1 1\n", /* a ninth limit */
		"limit 0 a 0 1 50 60000000000 1 0 33 0\nkey 0 61 1 1\n",
		"limit 0 a 0 1 50 60000000000 1 0 0 129\nkey 0 61 1 1\n",
		"limit 0 aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 0 1 50 1 "
		"1 0 "
		"0 0\nkey 0 61 1 1\n",
		LIMIT "what 0 61 1 1\n",
		LIMIT "\nkey 0 61 1 1\n",
		LIMIT "end 1 0 5\nkey 0 61 1 1\n",
		LIMIT "key 0 61 1 1\nkey 0 62 1 1\n", /* one more than the end says */
	};

	(void)state;
	compose(LIMIT "key 0 61 1 1\n", 1);
	assert_int_equal(kind(), COUNTERS_GOOD);
	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++) {
		compose(lines[i], 1);
		if (kind() != COUNTERS_DAMAGED)
			fail_msg("%s", lines[i]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_what_is_written_is_restored, free_text),
		cmocka_unit_test_teardown(test_what_finds_no_slot_goes_into_an_overflow_counter,
	                                  free_text),
		cmocka_unit_test_teardown(test_what_is_over_or_has_no_home_is_told, free_text),
		cmocka_unit_test_teardown(test_a_counter_by_key_lives_on, free_text),
		cmocka_unit_test_teardown(test_a_text_has_its_bound, free_text),
		cmocka_unit_test_teardown(test_a_key_without_its_name_is_not_kept, free_text),
		cmocka_unit_test_teardown(test_damage_is_seen, free_text),
		cmocka_unit_test_teardown(test_a_stranger_is_foreign, free_text),
		cmocka_unit_test_teardown(test_a_hostile_text_is_damaged, free_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

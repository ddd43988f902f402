/* SPDX-License-Identifier: BSD-2-Clause */
/* Promises that are about memory: what is not written, and what is not believed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "at.h"
#include "rule/handle.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)

/* Tags, states and rings: what decisions of other processes read. Not names, which are cold. */
static void
protect_counters(struct rl *rl, int protection)
{
	unsigned char *from = (unsigned char *)rl->segment.table.bucket;
	unsigned char *end = rl->segment.records;

	assert_int_equal(mprotect(from, (size_t)(end - from), protection), 0);
}

/* A denial, a peek and a refusal write to no counter: a write would fault here. */
static void
test_a_denial_writes_nothing(void **state)
{
	(void)state;
	for (uint32_t granularity = 0; granularity <= 8; granularity++) {
		struct rl *rl = test_private(100);
		int rule = test_rule(rl, "r", 3, 8 * RL_SECOND, granularity, granularity > 4);
		for (int i = 0; i < 3; i++)
			at_check(rl, rule, "k", 1, 1, T0 + (uint64_t)i * RL_SECOND, NULL);
		protect_counters(rl, PROT_READ);
		for (uint64_t at = 2; at < 8; at++) {
			struct rl_result r;
			uint64_t now = T0 + at * RL_SECOND;
			assert_int_equal(at_check(rl, rule, "k", 1, 3, now, &r), RL_DENIED);
			assert_int_equal(at_check(rl, rule, "k", 1, 4, now, &r), RL_NEVER);
			assert_int_equal(at_check(rl, rule, "new", 3, 4, now, &r), RL_NEVER);
			assert_int_equal(at_check(rl, rule, "new", 3, 0, now, &r), RL_ALLOWED);
			at_peek(rl, rule, "k", 1, now, &r);
		}
		protect_counters(rl, PROT_READ | PROT_WRITE);
		rl_close(rl);
	}
}

#define LINE 64

/* How many lines of the segment differ from the copy, which then has them. */
static unsigned
changed_lines(const struct rl *rl, unsigned char *copy)
{
	const unsigned char *now = (const unsigned char *)rl->segment.header;
	unsigned changed = 0;

	for (size_t at = 0; at + LINE <= rl->segment.bytes; at += LINE) {
		changed += memcmp(now + at, copy + at, LINE) != 0;
		memcpy(copy + at, now + at, LINE);
	}
	return changed;
}

/* But for what is told once in a minute: this CPU's counters of the rule, and the key's record. */
static void
test_a_denial_changes_two_lines(void **state)
{
	const struct rl_limit one = {.capacity = 1, .window_ns = RL_WINDOW_MAX},
			      second = {.capacity = 9, .window_ns = RL_WINDOW_MAX};
	struct rl *rl = test_private(100);
	unsigned char *copy = calloc(1, rl->segment.bytes);

	(void)state;
	assert_non_null(copy);
	for (int i = 0; i < 3; i++) {
		static const char *const names[] = {"one", "first", "second"};
		const struct rl_rule rule = {.name = names[i],
		                             .limit = i < 2 ? one : second,
		                             .more = i < 2 ? &second : &one,
		                             .more_count = i > 0};
		int r = rl_define(rl, &rule);

		for (int n = 0; n < 5; n++)
			at_check(rl, r, "k", 1, 1, T0, NULL);
		changed_lines(rl, copy);
		for (int n = 0; n < 200; n++) {
			assert_int_equal(at_check(rl, r, "k", 1, 1, T0, NULL), RL_DENIED);
			assert_in_range(changed_lines(rl, copy), 1, 2);
		}
	}
	free(copy);
	rl_close(rl);
}

/* The same of every algorithm, and of several limits at once. */
static void
test_no_algorithm_writes_a_denial(void **state)
{
	(void)state;
	for (int algorithm = 0; rl_algorithm_info((enum rl_algorithm)algorithm); algorithm++) {
		struct rl_limit l = {.algorithm = (enum rl_algorithm)algorithm,
		                     .capacity = 3,
		                     .window_ns = 3600 * RL_SECOND};
		struct rl_limit more = {.capacity = 100, .window_ns = RL_SECOND};
		struct rl_rule rules[] = {
			{.name = "one", .limit = l},
			{.name = "two", .limit = l, .more = &more, .more_count = 1}};
		struct rl *rl = test_private(100);

		for (int i = 0; i < 2; i++) {
			int id = rl_define(rl, &rules[i]);
			struct rl_result r;

			while (at_check(rl, id, "k", 1, 1, T0, &r) == RL_ALLOWED)
				;
			assert_int_equal(r.verdict, RL_DENIED);
			protect_counters(rl, PROT_READ);
			assert_int_equal(at_check(rl, id, "k", 1, 1, T0 + 1, &r), RL_DENIED);
			assert_int_equal(at_check(rl, id, "k", 1, 2, T0 - 1, &r),
			                 l.algorithm == RL_LEAKY_BUCKET ? RL_NEVER : RL_DENIED);
			protect_counters(rl, PROT_READ | PROT_WRITE);
		}
		rl_close(rl);
	}
}

/* Scribble over `count` random places, half of them small changes of what is there. */
static void
scribble(struct rl *rl, uint64_t *seed, int count)
{
	/* Past the header: what is in use of it was copied when the segment was opened. */
	uint64_t *words = (uint64_t *)(void *)rl->segment.header;
	size_t size = rl->segment.bytes / sizeof *words;

	for (int i = 0; i < count; i++) {
		uint64_t *word = &words[test_below(seed, size)];
		if (test_below(seed, 2))
			*word = test_random(seed);
		else
			*word ^= UINT64_C(1) << test_below(seed, 64);
	}
}

static int
look(const struct rl_entry *e, void *arg)
{
	unsigned char last = 0;

	(void)arg;
	for (size_t i = 0; i < e->key_kept; i++)
		last ^= ((const unsigned char *)e->key)[i];
	return e->used > RL_CAPACITY_MAX ? 1 + last : 0;
}

/* Every call on a segment that somebody scribbles over between calls: it answers. */
static void
test_scribbled_segment(void **state)
{
	uint64_t seed = 11;

	(void)state;
	for (int run = 0; run < 40; run++) {
		struct rl *rl;
		const struct rl_options o = {
			.keys = 20, .ring = 8, .rules = 4, .on_full = (enum rl_on_full)(run % 3)};
		assert_int_equal(rl_open_private(&o, &rl), 0);
		test_rule(rl, "a", 5, 8 * RL_SECOND, 8, true);
		test_rule(rl, "b", 5, 8 * RL_SECOND, 4, false);
		test_rule(rl, "c", 5, 8 * RL_SECOND, 0, false);
		for (int i = 0; i < 1500; i++) {
			uint64_t key = test_below(&seed, 40);
			uint64_t now = T0 + (uint64_t)i * RL_SECOND / 4;
			int rule = (int)test_below(&seed, 5) - 1;
			struct rl_charges c;
			struct rl_result r;
			struct rl_rule_info info;
			uint64_t counters[RL_COUNTERS];
			scribble(rl, &seed, 1 + (int)test_below(&seed, 60));
			switch (test_check_at(rl, rule, &key, sizeof key, 1, now, &r, &c)) {
			case RL_ALLOWED:
			case RL_DENIED:
				assert_true(r.remaining <= r.limit);
				break;
			default:
				assert_int_not_equal(r.error, 0);
			}
			rl_refund(rl, &c);
			at_peek(rl, rule, &key, sizeof key, now, &r);
			assert_true(r.remaining <= r.limit);
			rl_reset(rl, rule, &key, sizeof key);
			rl_rule_info(rl, rule, &info);
			rl_find(rl, "b");
			rl_define(rl, &(struct rl_rule){.name = "b",
			                                .limit.capacity = 5,
			                                .limit.window_ns = RL_SECOND});
			rl_stats(rl, 0, counters, RL_COUNTERS);
			rl_lookup(rl, rule, &key, sizeof key, now, look, NULL);
			if (i % 20 == 0) {
				assert_int_equal(rl_walk(rl, now, NULL, look, NULL), 0);
				rl_sweep_at(rl, now);
			}
		}
		rl_close(rl);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_denial_writes_nothing),
		cmocka_unit_test(test_a_denial_changes_two_lines),
		cmocka_unit_test(test_no_algorithm_writes_a_denial),
		cmocka_unit_test(test_scribbled_segment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

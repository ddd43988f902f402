/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Keys crafted to collide under another segment's secret are ordinary keys here: the attacker
 * of a hash table needs the secret, and the secret is random and never leaves the segment.
 */
#include <string.h>

#include "at.h"
#include "decide/decide.h"
#include "testing.h"

#define CRAFTED 40 /* more than the 16 slots of any one key */
#define T0 (UINT64_C(1700000000) * RL_SECOND)

static uint64_t crafted[CRAFTED];

/* Find keys that share three lines in `rl`: one as their first, one of two as their second. */
static void
craft(struct rl *rl, int rule)
{
	uint64_t line = UINT64_MAX, key = 0;

	for (int found = 0; found < CRAFTED; key++) {
		struct rl_candidates p;

		rl_part_candidates(&rl->segment.table, rl_handle_limit(rl, rule),
		                   rl_hash_of_key(rl->segment.key_start, &key, sizeof key), &p);
		if (line == UINT64_MAX)
			line = p.first[0];
		if (p.first[0] == line && p.first[1] < 2 * (uint64_t)RL_BUCKET_SLOTS)
			crafted[found++] = key;
	}
}

static uint64_t
refused(struct rl *rl, int rule)
{
	for (int i = 0; i < CRAFTED; i++)
		at_check(rl, rule, &crafted[i], sizeof crafted[i], 1, T0, NULL);
	return test_counter(rl, rule, RL_COUNT_full_denied);
}

static void
test_crafted_keys(void **state)
{
	const struct rl_options o = {.keys = 300, .on_full = RL_FULL_DENY, .ring = 1};
	struct rl *known;

	(void)state;
	assert_int_equal(rl_open_private(&o, &known), 0);
	int rule = test_rule(known, "r", 1, 3600 * RL_SECOND, 1, true);
	craft(known, rule);
	/* with the secret, the flood fills a few lines of an empty table ... */
	assert_true(refused(known, rule) > 0);
	/* ... and without it does nothing, whatever secret the other segment drew */
	for (int i = 0; i < 200; i++) {
		struct rl *other;
		assert_int_equal(rl_open_private(&o, &other), 0);
		rule = test_rule(other, "r", 1, 3600 * RL_SECOND, 1, true);
		assert_int_equal(refused(other, rule), 0);
		rl_close(other);
	}
	rl_close(known);
}

static void
test_secrets_differ(void **state)
{
	struct rl *a = test_private(10), *b = test_private(10);

	(void)state;
	assert_memory_not_equal(&a->segment.key, &b->segment.key, sizeof a->segment.key);
	rl_close(a);
	rl_close(b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_crafted_keys),
		cmocka_unit_test(test_secrets_differ),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

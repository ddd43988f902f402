/* SPDX-License-Identifier: BSD-2-Clause */
/* An audit of a table in which a key moves. */
#include <string.h>

#include "intrude.h"

/* A key that keeps going from one slot to another while all are audited is never in both. */

static uint64_t *here, *there; /* its tags */
static uint64_t often;         /* accesses between two moves, at most */
static uint64_t seed;

static void
move(struct rl *rl, int rule)
{
	uint64_t key = *here & RL_TAG_KEY_MASK, *left = here;

	(void)rl;
	(void)rule;
	*here = rl_tag_make(RL_TAG_FREE, (uint8_t)(rl_tag_gen(*here) + 1), 0);
	*there = rl_tag_make(RL_TAG_LIVE, rl_tag_gen(*there), key);
	here = there;
	there = left;
	wait_for = 1 + (int)test_below(&seed, often);
}

static int
no_fault(enum rl_fault fault, uint64_t at, void *arg)
{
	(void)arg;
	fail_msg("slot %d: %s", (int)at, rl_fault_text(fault));
	return 1;
}

static void
audit(struct rl *rl, int rule)
{
	struct rl_audit counts;

	(void)rule;
	assert_int_equal(rl_audit(rl, no_fault, NULL, &counts), 0);
}

static void
test_a_key_that_moves_is_in_one_place(void **state)
{
	struct rl *rl = test_private(10);
	const struct rl_segment *s = &rl->segment;
	int rule = test_rule(rl, "r", 5, RL_SECOND, 1, false);

	(void)state;
	for (uint64_t run = 1; run <= test_scaled(20000); run++) {
		seed = run;
		here = rl_table_tag(&s->table, 0);
		there = rl_table_tag(&s->table, 1 + test_below(&seed, rl_segment_slots(s) - 1));
		memset(s->table.bucket, 0, s->table.buckets * sizeof *s->table.bucket);
		*here = rl_tag_make(RL_TAG_LIVE, 0, 42);
		often = 1 + test_below(&seed, 12);
		intrude(rl, rule, audit, move, 1 + (int)test_below(&seed, 60));
	}
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_key_that_moves_is_in_one_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

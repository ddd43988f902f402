/* SPDX-License-Identifier: BSD-2-Clause */
/* Shares, and wishes for them, of a segment that is resized: they move with their keys. */
#include <errno.h>

#include "rule/handle.h"
#include "shares.h"

static struct rl *
named_segment(void)
{
	const struct rl_options o = {.keys = 30,
	                             .ring = 16,
	                             .on_full = RL_FULL_DENY,
	                             .buffer_ns = RL_BUFFER_MAX,
	                             .flags = RL_OPEN_CLUSTER};
	struct rl *rl;

	assert_int_equal(rl_open(test_segment_name(), &o, &rl), 0);
	assert_int_equal(rl_share_advance(rl, FOREVER), 0);
	return rl;
}

static void
resize(struct rl *rl, uint32_t keys)
{
	struct rl_resize to = {.keys = keys};

	assert_int_equal(rl_resize(rl, &to, 0), 0);
}

static void
move_all(struct rl *rl)
{
	struct rl_moving moving = {0};
	struct rl_info info;

	rl_info(rl, &info);
	assert_int_equal(rl_move_slots_at(rl, 0, info.slots_before, T0, &moving), 0);
	assert_int_equal(rl_move_end(rl), 1);
}

static uint32_t
shares_of_all(struct rl *rl)
{
	struct rl_info info;
	uint32_t sum = 0;

	rl_info(rl, &info);
	assert_int_equal(rl_share_scan(rl, 0, info.slots + info.slots_before, T0, collect, &sum),
	                 0);
	return sum;
}

/* By what a lender was told of it before, in whatever table it is. */
static void
test_a_share_moves_with_its_key(void **state)
{
	struct rl *rl = named_segment();
	int rule = define(rl, "r", window(10, 0));
	struct rl_share share, now;

	(void)state;
	assert_int_equal(admitted(rl, rule, 1, T0), 0);
	share = wishes(rl, T0).share;
	set(rl, &share, 6, T0);
	assert_int_equal(admitted(rl, rule, 2, T0), 2);
	wishes(rl, T0);
	resize(rl, 100);
	assert_int_equal(rl_share_read(rl, &share.of, T0, &now), 0);
	assert_true(now.of.table == 0 && now.share == 6 && now.load == 2);
	assert_int_equal(shares_of_all(rl), 6);
	move_all(rl);
	assert_int_equal(shares_of_all(rl), 6);
	assert_int_equal(rl_share_read(rl, &share.of, T0, &now), 0);
	assert_true(now.of.table == 1 && now.share == 6 && now.load == 2);
	assert_int_equal(admitted(rl, rule, 9, T0), 4);
	assert_int_equal(wishes(rl, T0).count, 1);
	resize(rl, 30);
	assert_int_equal(rl_share_set(rl, &share.of, 8, T0, &now), 0);
	assert_true(now.of.table == 1 && now.share == 8);
	assert_int_equal(admitted(rl, rule, 9, T0), 2); /* and it has moved */
	assert_int_equal(rl_share_lower(rl, &share.of, 1, T0, &now), 0);
	assert_true(now.of.table == 2 && now.share == 8 && now.load == 8);
	assert_int_equal(rl_share_end(rl, &now.of, T0, &now), 0);
	assert_int_equal(now.share, 0);
	assert_int_equal(shares_of_all(rl), 0);
	rl_close(rl);
}

/* A word without a share was brought by nobody, as far as a lender knows. */
static void
test_what_has_begun_anew_is_not_followed(void **state)
{
	struct rl *rl = named_segment();
	int rule = define(rl, "r", window(10, 1));
	struct rl_share share, now;

	(void)state;
	assert_int_equal(admitted(rl, rule, 2, T0), 1);
	share = wishes(rl, T0).share;
	set(rl, &share, 6, T0);
	assert_int_equal(admitted(rl, rule, 9, T0), 6);
	resize(rl, 100);
	assert_int_equal(rl_reset(rl, rule, "k", 1), 1);
	assert_int_equal(admitted(rl, rule, 9, T0), 1);
	assert_int_equal(rl_share_read(rl, &share.of, T0, &now), -ESTALE);
	assert_int_equal(rl_share_set(rl, &share.of, 9, T0, &now), -ESTALE);
	assert_int_equal(rl_share_end(rl, &share.of, T0, &now), -ESTALE);
	assert_int_equal(shares_of_all(rl), 0);
	share.of.key_hash = 0; /* nobody knows where it is */
	assert_int_equal(rl_share_read(rl, &share.of, T0, &now), -ESTALE);
	rl_close(rl);
}

/* Wishes of keys for which the new table has no room are taken from the table before. */
static void
test_wishes_of_the_table_before(void **state)
{
	struct rl *rl = named_segment();
	int rule = define(rl, "r", window(10, 0));
	struct found found;

	(void)state;
	assert_int_equal(admitted(rl, rule, 1, T0), 0);
	found = wishes(rl, T0);
	set(rl, &found.share, 2, T0);
	assert_int_equal(admitted(rl, rule, 9, T0), 2);
	resize(rl, 100);
	found = wishes(rl, T0);
	assert_int_equal(found.count, 1);
	assert_true(found.share.of.table == 0 && found.share.load == 2);
	assert_int_equal(wishes(rl, T0).count, 0);
	rl_close(rl);
}

/*
 * Of a slot that a process has marked as left, which slept since it was another's: it is its key's.
 */
static void
test_a_slot_that_seems_to_be_left(void **state)
{
	struct rl *rl = named_segment();
	int rule = define(rl, "r", window(10, 0));
	struct rl_share share, now;
	uint64_t *tag;

	(void)state;
	assert_int_equal(admitted(rl, rule, 1, T0), 0);
	share = wishes(rl, T0).share;
	set(rl, &share, 6, T0);
	tag = rl_table_tag(&rl->segment.table, share.of.slot);
	*tag = rl_tag_make(RL_TAG_FREE, rl_tag_gen(*tag), *tag & RL_TAG_KEY_MASK);
	assert_true(rl_tag_is_leaving(*tag));
	assert_int_equal(shares_of_all(rl), 6);
	assert_true(*tag == share.of.tag);
	*tag = rl_tag_make(RL_TAG_FREE, rl_tag_gen(*tag), *tag & RL_TAG_KEY_MASK);
	assert_int_equal(rl_share_end(rl, &share.of, T0, &now), 0);
	assert_int_equal(now.share, 0);
	assert_int_equal(admitted(rl, rule, 1, T0), 0);
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_a_share_moves_with_its_key, test_unlink),
		cmocka_unit_test_teardown(test_what_has_begun_anew_is_not_followed, test_unlink),
		cmocka_unit_test_teardown(test_wishes_of_the_table_before, test_unlink),
		cmocka_unit_test_teardown(test_a_slot_that_seems_to_be_left, test_unlink),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

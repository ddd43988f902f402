/* SPDX-License-Identifier: BSD-2-Clause */
/* A decision, and what clears up after some, dies at any instruction: see operation.h. */
#include "at.h"
#include "operation.h"

static struct rl_charges charged; /* by prepare(), for run() to refund */

static void
prepare_nothing(void)
{
}

static void
run_insert(void)
{
	check_at(HARD, 0, now, NULL);
}

static void
prepare_hit(void)
{
	check_at(HARD, 0, now, NULL);
	check_at(HARD, 1, now, NULL);
}

/* Three sub-buckets, each with another count; the operation comes two later. */
static void
prepare_roll(void)
{
	for (int i = 0; i < 6; i++)
		check_at(HARD, 0, T0 + (uint64_t)(i / 2 + i / 5) * RL_SECOND, NULL);
	now = T0 + 5 * RL_SECOND;
}

static void
prepare_log(void)
{
	for (uint64_t i = 0; i < 3; i++)
		check_at(LOG, 0, T0 + i / 2 * RL_SECOND, NULL);
	now = T0 + 2 * RL_SECOND;
}

static void
run_log(void)
{
	check_at(LOG, 0, now, NULL);
}

static void
prepare_token(void)
{
	check_at(TOKEN, 0, now, NULL);
}

static void
run_token(void)
{
	check_at(TOKEN, 0, now, NULL);
}

/* A key of a customer whose tier is 2. */
static void
run_tier(void)
{
	const struct rl_item item = {
		.rule = rules[TWO], .key = "k0", .key_len = 2, .cost = 1, .capacity = 2};

	at_check_item(rl, &item, now, NULL);
}

/* Only of that tier, or of none yet. */
static void
survive_tier(void)
{
	for (uint64_t i = 0; i < rl_segment_slots(&rl->segment); i++)
		assert_int_equal(rl_record_tier(&rl->segment, i) & ~UINT32_C(2), 0);
}

static void
run_all(void)
{
	check_at(TWO, 0, now, NULL);
}

static void
prepare_refund(void)
{
	check_at(TWO, 0, now, NULL);
	test_check_at(rl, rules[TWO], "k0", 2, 1, now, NULL, &charged);
}

static void
run_refund(void)
{
	struct rl_charges copy = charged;

	at_refund(rl, &copy, now);
}

/* Of a sub-bucket that is closed: two of four count then, or three where the refund died early. */
static void
prepare_late_refund(void)
{
	test_check_at(rl, rules[HARD], "k0", 2, 1, T0, NULL, &charged);
	check_at(HARD, 0, T0, NULL);
	check_at(HARD, 0, T0 + RL_SECOND, NULL);
	now = T0 + 2 * RL_SECOND;
	check_at(HARD, 0, now, NULL);
}

static void
survive_late_refund(void)
{
	struct rl_result r;

	at_peek(rl, rules[HARD], "k0", 2, now, &r);
	if (r.used < 3 || r.used > 4)
		fail_msg("%u are counted of the 3 or 4 that are charged", r.used);
}

/* Two more than was charged, in a sub-bucket that nobody has opened yet. */
static void
prepare_debt(void)
{
	prepare_late_refund();
	now = T0 + 3 * RL_SECOND;
}

static void
run_debt(void)
{
	struct rl_charges copy = charged;

	at_settle(rl, &copy, 3, now);
}

/* All of it, or nothing. */
static void
survive_debt(void)
{
	struct rl_result r;

	at_peek(rl, rules[HARD], "k0", 2, now, &r);
	if (r.used != 4 && r.used != 6)
		fail_msg("%u are counted of the 4 that were charged and the 2 owed", r.used);
}

/* One of the two that were charged in a closed sub-bucket has cost nothing. */
static void
prepare_settle_late(void)
{
	test_check_at(rl, rules[HARD], "k0", 2, 2, T0, NULL, &charged);
	check_at(HARD, 0, T0 + RL_SECOND, NULL);
	now = T0 + 2 * RL_SECOND;
	check_at(HARD, 0, now, NULL);
}

static void
run_settle_to_one(void)
{
	struct rl_charges copy = charged;

	at_settle(rl, &copy, 1, now);
}

static void
prepare_bucket(void)
{
	test_check_at(rl, rules[TOKEN], "k0", 2, 3, now, NULL, &charged);
}

static void
run_settle_to_five(void)
{
	struct rl_charges copy = charged;

	at_settle(rl, &copy, 5, now);
}

static void
run_reset(void)
{
	rl_reset(rl, rules[TWO], "k0", 2);
}

/* Keys of three rules, one of them with two limits, and a retirement left half way. */
static void
prepare_reset_many(void)
{
	struct rl_table *t = &rl->segment.table;

	prepare_refund();
	check_at(HARD, 1, now, NULL);
	check_at(LOG, 2, now, NULL);
	for (unsigned i = 0; i < SLOTS; i++) {
		uint64_t tag = *rl_table_tag(t, i);
		struct rl_u128 *state = rl_table_state(t, i);
		if (rl_tag_status(tag) == RL_TAG_LIVE && rl_tag_limit(tag) == 1)
			*state = rl_state_retired(*state, rl_tag_gen(tag));
	}
}

static void
run_reset_many(void)
{
	struct rl_reset_counts counts;

	rl_reset_matching(rl, RL_ANY_RULE, NULL, &counts);
}

static void
run_renew(void)
{
	rl_reset_matching(rl, RL_ANY_RULE, NULL, NULL);
}

static void
run_reset_beginning(void)
{
	const struct rl_pattern k0 = {RL_MATCH_PREFIX, "k0", 2};

	rl_reset_matching(rl, rules[TWO], &k0, NULL);
}

/* All slots used; key 3 has used the least. */
static void
prepare_full(void)
{
	for (int key = 1; key <= SLOTS; key++)
		for (int i = 0; i < 2; i++)
			if (i == 0 || key != 3)
				check_at(HARD, key, now, NULL);
}

/* All slots used, one of them stale. */
static void
prepare_stale(void)
{
	check_at(HARD, 1, T0 - 100 * RL_SECOND, NULL);
	for (int key = 2; key <= SLOTS; key++)
		check_at(HARD, key, now, NULL);
}

/* For the sweeper: stale ones, live ones, a claim left half way and a retirement likewise. */
static void
prepare_sweep(void)
{
	struct rl_table *t = &rl->segment.table;
	int left = 2;

	for (int key = 0; key < 4; key++) {
		check_at(HARD, key, T0 - 100 * RL_SECOND, NULL);
		check_at(LOG, key, T0 - 100 * RL_SECOND, NULL);
		check_at(TOKEN, key, now, NULL);
	}
	for (unsigned i = 0; i < SLOTS && left > 0; i++) {
		uint64_t *tag = rl_table_tag(t, i);
		struct rl_u128 *state = rl_table_state(t, i);
		if (rl_tag_status(*tag) == RL_TAG_FREE)
			*tag = rl_tag_make(RL_TAG_TENT, rl_tag_gen(*tag), 77);
		else if (rl_tag_limit(*tag) == 0)
			*state = rl_state_retired(*state, rl_tag_gen(*tag));
		else
			continue;
		left--;
	}
}

static void
run_sweep(void)
{
	rl_sweep_at(rl, now);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		OPERATION("insert", prepare_nothing, run_insert, NULL),
		OPERATION("hit", prepare_hit, run_insert, NULL),
		OPERATION("roll", prepare_roll, run_insert, NULL),
		OPERATION("roll a log", prepare_log, run_log, NULL),
		OPERATION("take a token", prepare_token, run_token, NULL),
		OPERATION("charge two limits", prepare_hit, run_all, NULL),
		OPERATION("insert with a tier", prepare_nothing, run_tier, survive_tier),
		OPERATION("be denied by a tier", prepare_refund, run_tier, survive_tier),
		OPERATION("refund", prepare_refund, run_refund, NULL),
		OPERATION("refund late", prepare_late_refund, run_refund, survive_late_refund),
		OPERATION("settle to more", prepare_debt, run_debt, survive_debt),
		OPERATION("settle to less", prepare_settle_late, run_settle_to_one,
	                  survive_late_refund),
		OPERATION("settle a bucket to less", prepare_bucket, run_settle_to_one, NULL),
		OPERATION("settle a bucket to more", prepare_bucket, run_settle_to_five, NULL),
		OPERATION("reset", prepare_refund, run_reset, NULL),
		OPERATION("reset many", prepare_reset_many, run_reset_many, NULL),
		OPERATION("reset at once", prepare_reset_many, run_renew, NULL),
		OPERATION("reset a beginning", prepare_reset_many, run_reset_beginning, NULL),
		OPERATION("evict", prepare_full, run_insert, NULL),
		OPERATION("take a stale slot", prepare_stale, run_insert, NULL),
		OPERATION("sweep", prepare_sweep, run_sweep, NULL),
	};

	return cmocka_run_group_tests(tests, open_base, close_base);
}

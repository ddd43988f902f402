/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One operation is stopped before each of its accesses to a shared word in turn, and others do
 * something whole there (see stop.h). What they are told, and what counts in the end, is what it
 * would have been one after the other.
 */
#include <string.h>

#include "at.h"
#include "audit.h"
#include "rule/handle.h"
#include "stop.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define DAY (86400 * RL_SECOND)
#define CAPACITY 64

static struct rl *rl;
static int rule;
static struct rl_result told, other;
static struct rl_charges charged;
static bool is_given_back; /* it is too late once the time has moved on */

static void
audit_whole(int n)
{
	struct audit a;

	if (!audit_segment(rl, &a))
		fail_msg("stopped at access %d: %s", n, a.fault);
}

static enum rl_verdict
check(uint64_t cost, uint64_t now_ns, struct rl_result *r)
{
	return at_check(rl, rule, "k", 1, cost, now_ns, r);
}

static enum rl_verdict
charge(uint64_t cost, uint64_t now_ns)
{
	return test_check_at(rl, rule, "k", 1, cost, now_ns, NULL, &charged);
}

/* A log that is as long as its ring has room for, all of it used two days ago, 40 of it now. */
static void
open_log(void)
{
	const struct rl_options o = {.keys = 12, .ring = 2 * CAPACITY, .bans = 1, .rules = 1};

	assert_int_equal(rl_open_private(&o, &rl), 0);
	rule = rl_define(rl, &(struct rl_rule){.name = "log",
	                                       .limit = {.algorithm = RL_SLIDING_LOG,
	                                                 .capacity = CAPACITY,
	                                                 .window_ns = DAY}});
	assert_true(rule >= 0);
	for (uint64_t i = 0; i < CAPACITY; i++)
		assert_int_equal(check(1, T0 - 2 * DAY + i, NULL), RL_ALLOWED);
}

static void
check_the_rest(void)
{
	check(CAPACITY - 40, T0 + RL_SECOND, &told);
}

static void
refund_charged(void)
{
	is_given_back = at_refund(rl, &charged, T0 + RL_SECOND) == 1;
}

/* Whatever was stored of what is given back: nothing of it counts. */
static void
test_refund_beside_a_log_check(void **state)
{
	bool is_stopped = true;

	(void)state;
	for (int n = 1; is_stopped; n++) {
		open_log();
		is_given_back = false;
		assert_int_equal(charge(40, T0), RL_ALLOWED);
		is_stopped = stop_at(n, check_the_rest, refund_charged);
		if (told.verdict != RL_ALLOWED)
			fail_msg("stopped at access %d: denied", n);
		check(0, T0 + RL_SECOND, &other);
		if (other.remaining != (is_given_back ? 40 : 0))
			fail_msg("stopped at access %d: %u remain", n, other.remaining);
		assert_true(other.reset_after_ns == DAY);
		audit_whole(n);
		rl_close(rl);
	}
}

static void
check_ahead(void)
{
	check(1, T0 + DAY, &told);
}

static void
refund_and_check(void)
{
	refund_charged();
	check(1, T0 + RL_SECOND, &other);
}

/* The same with all that a log holds, stored by a clock that is a window ahead. */
static void
test_refund_beside_a_clock_ahead(void **state)
{
	bool is_stopped = true;

	(void)state;
	for (int n = 1; is_stopped; n++) {
		open_log();
		is_given_back = false;
		assert_int_equal(charge(CAPACITY, T0), RL_ALLOWED);
		is_stopped = stop_at(n, check_ahead, refund_and_check);
		if (is_given_back && other.verdict != RL_ALLOWED)
			fail_msg("stopped at access %d: denied", n);
		assert_int_equal(told.verdict, RL_ALLOWED);
		audit_whole(n);
		rl_close(rl);
	}
}

#define GRANULARITY 4
#define WINDOW (4 * RL_SECOND)

/* The state of the only key there is. */
static struct rl_state
state_of_key(void)
{
	const struct rl_segment *s = &rl->segment;
	struct rl_window w = rl_window_make(RL_SLIDING_WINDOW, WINDOW, GRANULARITY, true);
	struct rl_u128 word = {0};

	for (uint64_t i = 0; i < rl_segment_slots(s); i++)
		if (rl_tag_status(rl_atomic_load(rl_table_tag(&s->table, i))) == RL_TAG_LIVE)
			assert_true(rl_atomic_load16(rl_table_state(&s->table, i), &word));
	return rl_state_unpack(word, &w);
}

static bool was_frozen, has_moved;

static void
check_late(void)
{
	struct rl_state before = state_of_key(), after;

	check(1, T0, &other);
	after = state_of_key();
	if (before.jump == 0)
		return;
	was_frozen = true;
	has_moved |=
		after.jump == before.jump && after.epoch == before.epoch && after.cur != before.cur;
}

static void
check_next(void)
{
	check(1, T0 + RL_SECOND, &told);
}

/* What was charged in a sub-bucket is final once it is frozen, whatever a late clock says. */
static void
test_a_late_check_beside_a_frozen_one(void **state)
{
	const struct rl_options o = {.keys = 12, .ring = GRANULARITY, .bans = 1, .rules = 1};
	const struct rl_rule r = {.name = "r",
	                          .limit = {.capacity = CAPACITY,
	                                    .window_ns = WINDOW,
	                                    .granularity = GRANULARITY,
	                                    .hard = 1}};
	bool is_stopped = true;

	(void)state;
	was_frozen = has_moved = false;
	for (int n = 1; is_stopped; n++) {
		assert_int_equal(rl_open_private(&o, &rl), 0);
		rule = rl_define(rl, &r);
		assert_int_equal(check(1, T0, NULL), RL_ALLOWED);
		is_stopped = stop_at(n, check_next, check_late);
		if (has_moved)
			fail_msg("stopped at access %d: charged in a frozen sub-bucket", n);
		check(0, T0 + RL_SECOND, &other);
		assert_int_equal(other.remaining, CAPACITY - (is_stopped ? 3 : 2));
		audit_whole(n);
		rl_close(rl);
	}
	assert_true(was_frozen);
}

#define SECONDS(n) ((n)*RL_SECOND)

static void
check_denied(void)
{
	check(1, T0 + SECONDS(3), &told);
}

static void
move_on(void)
{
	assert_int_equal(check(1, T0 + SECONDS(5), &other), RL_ALLOWED);
}

/* A denial is told of one instant: before the window moved on, or after. */
static void
test_a_denial_beside_a_window_that_moves_on(void **state)
{
	const struct rl_options o = {.keys = 12, .ring = GRANULARITY, .bans = 1, .rules = 1};
	const struct rl_rule r = {
		.name = "r",
		.limit = {
			.capacity = 4, .window_ns = WINDOW, .granularity = GRANULARITY, .hard = 1}};
	bool is_stopped = true;

	(void)state;
	for (int n = 1; is_stopped; n++) {
		assert_int_equal(rl_open_private(&o, &rl), 0);
		rule = rl_define(rl, &r);
		for (uint64_t i = 0; i < 4; i++)
			assert_int_equal(check(1, T0 + SECONDS(i), NULL), RL_ALLOWED);
		is_stopped = stop_at(n, check_denied, move_on);
		assert_int_equal(told.verdict, RL_DENIED);
		if (!(told.retry_after_ns == SECONDS(2) && told.reset_after_ns == SECONDS(5)) &&
		    !(told.retry_after_ns == SECONDS(3) && told.reset_after_ns == SECONDS(7)))
			fail_msg("stopped at access %d: retry after %.1f s, reset after %.1f s", n,
			         (double)told.retry_after_ns / 1e9,
			         (double)told.reset_after_ns / 1e9);
		audit_whole(n);
		rl_close(rl);
	}
}

static void
roll_on(void)
{
	check(1, T0 + SECONDS(2), &told);
}

static void
give_back_more(void)
{
	struct rl_charges own = charged;

	own.charge[0].cost = 2;
	is_given_back &= at_refund(rl, &own, T0 + SECONDS(2)) == 1;
}

static void
give_back_late(void)
{
	struct rl_charges own = charged;

	own.charge[0].cost = 5;
	is_given_back &= at_refund(rl, &own, T0 + SECONDS(2)) == 1;
}

/* What is charged to three sub-buckets; of one of the first two, 5 or 2 of 7 are given back. */
static void
play_late_refund(void (*first)(void), void (*second)(void), uint64_t of)
{
	const struct rl_options o = {.keys = 12, .ring = GRANULARITY, .bans = 1, .rules = 1};
	const struct rl_rule r = {.name = "r",
	                          .limit = {.capacity = CAPACITY,
	                                    .window_ns = WINDOW,
	                                    .granularity = GRANULARITY,
	                                    .hard = 1}};
	bool is_stopped = true;

	for (int n = 1; is_stopped; n++) {
		uint32_t counts = 0;

		assert_int_equal(rl_open_private(&o, &rl), 0);
		rule = rl_define(rl, &r);
		for (uint64_t i = 0; i < 2; i++)
			assert_int_equal(i == of ? charge(7, T0 + SECONDS(i))
			                         : check(3, T0 + SECONDS(i), NULL),
			                 RL_ALLOWED);
		is_given_back = true;
		is_stopped = stop_at(n, first, second);
		if (!is_given_back)
			fail_msg("stopped at access %d: nothing was given back", n);
		counts = 7 + 3;
		counts += first == roll_on || (is_stopped && second == roll_on);
		counts -=
			first == give_back_late || (is_stopped && second == give_back_late) ? 5 : 0;
		counts -= is_stopped && second == give_back_more ? 2 : 0;
		check(0, T0 + SECONDS(2), &other);
		if (other.used != counts)
			fail_msg("stopped at access %d: %u count, and not %u", n, other.used,
			         counts);
		audit_whole(n);
		rl_close(rl);
	}
}

/* A refund in a sub-bucket that is closed, or being closed, counts once, whoever is at it. */
static void
test_a_late_refund(void **state)
{
	(void)state;
	for (uint64_t of = 0; of < 2; of++) {
		play_late_refund(give_back_late, roll_on, of);
		play_late_refund(roll_on, give_back_late, of);
		play_late_refund(give_back_late, give_back_more, of);
	}
}

/* A slot's tag comes back after so many incarnations. */
#define INCARNATIONS 256

static uint64_t later_ns; /* when all but the first charge are made */
static int resets;
static bool is_forgotten; /* what was charged first, when the others began */

static void
open_used_up(enum rl_algorithm algorithm)
{
	const struct rl_options o = {.keys = 12, .ring = 10, .bans = 1, .rules = 1};

	assert_int_equal(rl_open_private(&o, &rl), 0);
	rule = rl_define(rl, &(struct rl_rule){.name = "r",
	                                       .limit = {.algorithm = algorithm,
	                                                 .capacity = 5,
	                                                 .window_ns = 3600 * RL_SECOND}});
	assert_true(rule >= 0);
	assert_int_equal(check(5, T0, NULL), RL_ALLOWED);
}

static void
sweep_later(void)
{
	rl_sweep_at(rl, later_ns);
}

static void
reset_key(void)
{
	rl_reset(rl, rule, "k", 1);
}

/* So many incarnations on, the last of them has used all that it may. */
static void
reset_often(void)
{
	is_forgotten = check(0, later_ns, &other) == RL_ALLOWED;
	for (int i = 0; i < resets; i++) {
		check(1, later_ns, NULL);
		reset_key();
	}
	check(5, later_ns, &other);
}

static int
add_used(const struct rl_entry *e, void *arg)
{
	*(uint32_t *)arg += e->used;
	return 0;
}

/* Whoever wakes on a slot that has turned round takes nothing from the key that is there. */
static void
play_turns(enum rl_algorithm algorithm, void (*stopped)(void), uint64_t later)
{
	const int step = 8 / (int)test_scaled(8);
	bool is_stopped = true;

	later_ns = later;
	for (int n = 1; is_stopped; n += step) {
		uint32_t used = 0;
		open_used_up(algorithm);
		is_stopped = stop_at(n, stopped, reset_often);
		audit_whole(n);
		rl_lookup(rl, rule, "k", 1, later_ns, add_used, &used);
		if (is_stopped && is_forgotten &&
		    (other.verdict != RL_ALLOWED || used != 5 ||
		     check(1, later_ns, &other) != RL_DENIED))
			fail_msg("%d resets at access %d: %u used of 5", resets, n, used);
		rl_close(rl);
	}
}

static void
test_turns_beside_a_sweep(void **state)
{
	(void)state;
	for (resets = INCARNATIONS - 2; resets <= INCARNATIONS + 1; resets++)
		play_turns(RL_FIXED_WINDOW, sweep_later, T0 + DAY);
	resets = 2 * INCARNATIONS - 1;
	play_turns(RL_TOKEN_BUCKET, sweep_later, T0 + DAY);
	play_turns(RL_SLIDING_LOG, sweep_later, T0 + DAY);
}

static void
test_turns_beside_a_reset(void **state)
{
	(void)state;
	for (resets = INCARNATIONS - 2; resets <= INCARNATIONS + 1; resets++)
		play_turns(RL_FIXED_WINDOW, reset_key, T0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refund_beside_a_log_check),
		cmocka_unit_test(test_refund_beside_a_clock_ahead),
		cmocka_unit_test(test_a_late_check_beside_a_frozen_one),
		cmocka_unit_test(test_a_denial_beside_a_window_that_moves_on),
		cmocka_unit_test(test_a_late_refund),
		cmocka_unit_test(test_turns_beside_a_sweep),
		cmocka_unit_test(test_turns_beside_a_reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

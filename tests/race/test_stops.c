/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One operation is stopped before each of its accesses to a shared word in turn, and others do
 * something whole there (see stop.h). What they are told, and what counts in the end, is what it
 * would have been one after the other.
 */
#include <string.h>

#include "audit.h"
#include "handle.h"
#include "stop.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define DAY (86400 * RL_SECOND)
#define CAPACITY 64

static struct rl *rl;
static int rule;
static struct rl_result charged, told, other;
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
	return rl_check_at(rl, rule, "k", 1, cost, now_ns, r);
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
	is_given_back = rl_refund_at(rl, &charged, T0 + RL_SECOND) == 1;
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
		assert_int_equal(check(40, T0, &charged), RL_ALLOWED);
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
		assert_int_equal(check(CAPACITY, T0, &charged), RL_ALLOWED);
		is_stopped = stop_at(n, check_ahead, refund_and_check);
		if (is_given_back && other.verdict != RL_ALLOWED)
			fail_msg("stopped at access %d: denied", n);
		assert_int_equal(told.verdict, RL_ALLOWED);
		audit_whole(n);
		rl_close(rl);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refund_beside_a_log_check),
		cmocka_unit_test(test_refund_beside_a_clock_ahead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

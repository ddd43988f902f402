/* SPDX-License-Identifier: BSD-2-Clause */
/* sliding_log: how long it may be, and what it tells once some of it was given back. */
#include <string.h>

#include "at.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define WINDOW (10 * RL_SECOND)

static int
define(struct rl *rl, uint32_t capacity)
{
	return rl_define(rl, &(struct rl_rule){.name = "log",
	                                       .limit = {.algorithm = RL_SLIDING_LOG,
	                                                 .capacity = capacity,
	                                                 .window_ns = WINDOW}});
}

/* A ring has room for a log of half as many, a tier's and an override's like the rule's. */
static void
test_half_a_ring(void **state)
{
	const uint32_t rings[] = {2, 3, 128, RL_RING_MAX};
	const uint32_t most[] = {1, 1, 64, RL_LOG_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof rings / sizeof rings[0]; i++) {
		struct rl *rl = test_with_ring(rings[i]);
		assert_int_equal(define(rl, most[i] + 1), RL_ERING);
		int rule = define(rl, most[i]);
		assert_true(rule >= 0);
		struct rl_item item = {.rule = rule, .key = "k", .key_len = 1, .cost = most[i]};
		struct rl_result r;
		assert_int_equal(at_check_item(rl, &item, T0, &r), RL_ALLOWED);
		assert_int_equal(r.limit, most[i]);
		item.capacity = most[i] + 1;
		assert_int_equal(at_check_item(rl, &item, T0, &r), RL_UNDECIDED);
		assert_int_equal(r.error, RL_ERING);
		rl_close(rl);
	}
}

static void
test_no_log_in_a_ring_of_one(void **state)
{
	(void)state;
	for (uint32_t ring = 0; ring <= 1; ring++) { /* 0: nobody has asked for more */
		struct rl *rl = test_with_ring(ring);

		assert_int_equal(define(rl, 1), RL_ERING);
		rl_close(rl);
	}
}

/* What was admitted and not given back, in order. */
static struct {
	uint64_t at[4096];
	unsigned count;
} kept;

static unsigned
kept_in_window(uint64_t now_ns)
{
	unsigned count = 0;

	for (unsigned i = 0; i < kept.count; i++)
		count += kept.at[i] + WINDOW > now_ns;
	return count;
}

/* Nothing counts any more at reset_after_ns, and something does 1 ns before. */
static void
expect_reset(struct rl *rl, int rule, uint64_t now_ns)
{
	uint64_t newest = kept.count > 0 ? kept.at[kept.count - 1] : 0, left = 0;
	struct rl_result r;

	if (kept_in_window(now_ns) > 0)
		left = newest + WINDOW - now_ns;
	at_peek(rl, rule, "k", 1, now_ns, &r);
	assert_int_equal(r.limit - r.remaining, kept_in_window(now_ns));
	assert_true(r.reset_after_ns == left);
}

static void
charge_and_give_back(struct rl *rl, int rule, uint64_t now_ns, uint64_t cost, bool gives_back)
{
	struct rl_charges c;

	if (test_check_at(rl, rule, "k", 1, cost, now_ns, NULL, &c) != RL_ALLOWED)
		return;
	if (gives_back && at_refund(rl, &c, now_ns) == 1)
		return;
	while (cost-- > 0)
		kept.at[kept.count++] = now_ns;
}

static void
test_reset_after_refunds(void **state)
{
	uint64_t seed = 14;

	(void)state;
	for (int run = 0; run < 200; run++) {
		uint32_t capacity = 1 + (uint32_t)test_below(&seed, 20);
		struct rl *rl = test_with_ring(2 * capacity);
		int rule = define(rl, capacity);
		uint64_t now = T0;
		kept.count = 0;
		for (int i = 0; i < 100; i++) {
			now += test_below(&seed, 3) * test_below(&seed, WINDOW / 2);
			charge_and_give_back(rl, rule, now, 1 + test_below(&seed, capacity),
			                     test_below(&seed, 2));
			expect_reset(rl, rule, now);
			expect_reset(rl, rule, now + test_below(&seed, 2 * WINDOW));
		}
		rl_close(rl);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_half_a_ring),
		cmocka_unit_test(test_no_log_in_a_ring_of_one),
		cmocka_unit_test(test_reset_after_refunds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

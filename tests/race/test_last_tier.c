/* SPDX-License-Identifier: BSD-2-Clause */
/* An eviction that looks at a key by its limit and by its last tier, while the key is charged. */
#include "at.h"
#include "intrude.h"

#define FULL 10
#define USED 6

static void
charge(struct rl *rl, int rule, uint32_t key, uint64_t cost, uint32_t tier)
{
	const struct rl_item item = {
		.rule = rule, .key = &key, .key_len = sizeof key, .cost = cost, .capacity = tier};

	at_check_item(rl, &item, T0, NULL);
}

static uint32_t
used_of(struct rl *rl, int rule, uint32_t key)
{
	struct rl_result r;

	at_peek(rl, rule, &key, sizeof key, T0, &r);
	return r.used;
}

static bool was_full;

static void
insert(struct rl *rl, int rule)
{
	charge(rl, rule, 1000, 1, 0);
}

static void
use_up(struct rl *rl, int rule)
{
	charge(rl, rule, 3, FULL - USED, 0);
	was_full = used_of(rl, rule, 3) == FULL;
}

/* All others are at nine of ten, and one at six; its last tier makes it look like less. */
static void
test_a_key_that_gets_to_its_limit_stays(void **state)
{
	bool goes_on = true;
	int seen = 0;

	(void)state;
	for (int n = 1; goes_on; n++) {
		struct rl *rl = test_private_on_full(1, RL_FULL_EVICT);
		int rule = test_rule(rl, "r", FULL, 60 * RL_SECOND, 0, false);
		for (uint32_t key = 0; key < 16;
		     key++) /* one by one: what costs more than is left stays */
			for (uint32_t i = 0; i < (key == 3 ? USED - 1 : FULL - 1); i++)
				charge(rl, rule, key, 1, 0);
		charge(rl, rule, 3, 1, 100);
		was_full = false;
		goes_on = intrude(rl, rule, insert, use_up, n);
		seen += was_full;
		if (was_full)
			assert_int_equal(used_of(rl, rule, 3), FULL);
		rl_close(rl);
	}
	assert_true(seen > 10);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_key_that_gets_to_its_limit_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

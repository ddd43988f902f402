/* SPDX-License-Identifier: BSD-2-Clause */
/* What of a segment is a trouble: areas from their bounds on, and what the statistics tell. */

#include "health/health.h"

#include "testing.h"

#define NOW (UINT64_C(1800000000) * RL_SECOND)

static struct rl *
open_segment(struct rl_info *info)
{
	const struct rl_options options = {
		.keys = 100, .rules = 10, .bans = 10, .on_full = RL_FULL_RESERVE};
	struct rl *rl;

	assert_int_equal(rl_open_private(&options, &rl), 0);
	rl_info(rl, info);
	return rl;
}

static void
test_an_area_is_told_from_its_bound_on(void **state)
{
	struct health_area area = {.name = "a", .room = 1000, .most_percent = 80};

	(void)state;
	area.used = 799;
	assert_false(health_is_nearly_full(&area));
	area.used = 800;
	assert_true(health_is_nearly_full(&area));
	area.used = area.room = 0;
	assert_false(health_is_nearly_full(&area));
}

static void
test_each_area_has_its_own_numbers(void **state)
{
	struct health_area areas[HEALTH_AREAS];
	struct rl_info info;
	struct rl *rl = open_segment(&info);

	(void)state;
	test_rule(rl, "a", 5, 60 * RL_SECOND, 0, false);
	test_rule(rl, "b", 5, 60 * RL_SECOND, 0, false);
	rl_ban(rl, RL_ANY_RULE, &(struct rl_pattern){RL_MATCH_KEY, "x", 1}, RL_NEVER_NS);
	rl_info(rl, &info);
	health_areas(rl, &info, NOW, info.slots * 3 / 4, areas);
	for (int i = 0; i < HEALTH_AREAS; i++) {
		assert_non_null(areas[i].name);
		if (health_is_nearly_full(&areas[i]) != (i == HEALTH_SLOTS))
			fail_msg("%s", areas[i].name);
	}
	assert_int_equal(areas[HEALTH_RULES].used, 2);
	assert_int_equal(areas[HEALTH_RULES].room, info.rules);
	assert_int_equal(areas[HEALTH_LIMITS].used, 2);
	assert_int_equal(areas[HEALTH_OVERRIDES].used, 0);
	assert_int_equal(areas[HEALTH_BANS].used, 1);
	assert_int_equal(areas[HEALTH_BANS].room, info.bans);
	assert_int_equal(areas[HEALTH_HOLDERS].room, info.holders);
	assert_int_equal(areas[HEALTH_RESERVES].room, info.reserves);
	rl_close(rl);
}

static void
test_what_replaced_and_found_no_slot_is_summed(void **state)
{
	struct rl_info info;
	struct rl *rl = open_segment(&info);
	int rule = test_rule(rl, "a", 5, 3600 * RL_SECOND, 0, false);
	struct health_losses losses = health_losses(rl, &info);

	(void)state;
	assert_int_equal(losses.without_slot + losses.redefined + losses.nameless, 0);
	for (uint32_t i = 0; i < 5 * info.slots; i++)
		rl_check(rl, rule, &i, sizeof i, 1, NULL);
	test_rule(rl, "a", 6, 3600 * RL_SECOND, 0, false);
	losses = health_losses(rl, &info);
	assert_int_equal(losses.without_slot, test_counter(rl, rule, RL_COUNT_reserved));
	assert_true(losses.without_slot > info.slots);
	assert_int_equal(losses.redefined, 1);
	rl_close(rl);
}

static void
test_a_fresh_segment_goes_by_the_wall(void **state)
{
	struct rl_info info;
	struct rl *rl = open_segment(&info);
	bool is_behind;

	(void)state;
	assert_true(health_clock_off_ns(rl, &is_behind) < HEALTH_CLOCK_NS);
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_area_is_told_from_its_bound_on),
		cmocka_unit_test(test_each_area_has_its_own_numbers),
		cmocka_unit_test(test_what_replaced_and_found_no_slot_is_summed),
		cmocka_unit_test(test_a_fresh_segment_goes_by_the_wall),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

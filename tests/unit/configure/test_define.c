/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Applications that define one rule differently: the first stays if they say so, and all is
 * counted.
 */
#include <errno.h>
#include <string.h>

#include "at.h"
#include "rule/handle.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define MINUTE (60 * RL_SECOND)

static const struct rl_limit in_order[] = {{.capacity = 5, .window_ns = MINUTE},
                                           {.capacity = 9, .window_ns = 2 * MINUTE}};

/* Each differs from the first in one thing. */
static const struct rl_rule definitions[] = {
	{.limit = {.capacity = 7, .window_ns = MINUTE}, .more = in_order, .more_count = 2},
	{.limit = {.capacity = 8, .window_ns = MINUTE}, .more = in_order, .more_count = 2},
	{.limit = {.capacity = 7, .window_ns = MINUTE, .shadow = 1},
         .more = in_order,
         .more_count = 2},
	{.limit = {.capacity = 7, .window_ns = MINUTE, .hard = 1},
         .more = in_order,
         .more_count = 2},
	{.limit = {.capacity = 7, .window_ns = MINUTE}, .more = in_order, .more_count = 1},
	{.limit = {.capacity = 7, .window_ns = MINUTE}},
	{.limit = {.capacity = 7, .window_ns = 2 * MINUTE}},
	{.limit = {.algorithm = RL_TOKEN_BUCKET, .capacity = 7, .window_ns = MINUTE}},
};

#define DEFINITIONS (sizeof definitions / sizeof definitions[0])

static int
define(struct rl *rl, size_t definition, unsigned flags)
{
	struct rl_rule rule = definitions[definition];

	rule.name = "r";
	rule.flags = flags;
	return rl_define(rl, &rule);
}

static void
configure(struct rl *rl, bool is_configured)
{
	const struct rl_config_rule rule = test_config_rule("r", 3, MINUTE);

	assert_int_equal(rl_configure(rl, &rule, is_configured, 0, NULL, NULL), 0);
}

/* Is what holds without a configuration that definition? */
static void
assert_defined(struct rl *rl, size_t definition)
{
	const struct rl_rule *rule = &definitions[definition];
	struct rl_rule_info info;

	assert_int_equal(rl_rule_info(rl, 0, &info), 1);
	assert_int_equal(info.source, RL_SOURCE_APPLICATION);
	assert_int_equal(info.limit_count, rule->more_count + 1);
	for (size_t i = 0; i < info.limit_count; i++) {
		const struct rl_limit *l = i == 0 ? &rule->limit : &rule->more[i - 1];
		assert_int_equal(info.limits[i].algorithm, l->algorithm);
		assert_int_equal(info.limits[i].capacity, l->capacity);
		assert_true(info.limits[i].window_ns == l->window_ns);
		assert_int_equal(info.limits[i].hard, l->hard);
		assert_int_equal(info.limits[i].shadow, l->shadow);
	}
}

static void
test_the_first_definition_stays(void **state)
{
	struct rl *rl = test_private(10);

	(void)state;
	assert_int_equal(define(rl, 0, RL_DEFINE_KEEP), 0);
	at_check(rl, 0, "k", 1, 2, T0, NULL);
	for (size_t d = 1; d < DEFINITIONS; d++) {
		struct rl_result r;
		assert_int_equal(define(rl, d, RL_DEFINE_KEEP), RL_EDEFINED);
		assert_int_equal(rl_find(rl, "r"), 0);
		assert_defined(rl, 0);
		at_check(rl, 0, "k", 1, 0, T0, &r);
		assert_int_equal(r.remaining, 3); /* of the second limit */
	}
	assert_int_equal(define(rl, 0, RL_DEFINE_KEEP), 0);
	assert_int_equal(test_counter(rl, 0, RL_COUNT_redefined), 0);
	assert_int_equal(define(rl, 1, 0), 0); /* who does not ask to keep replaces */
	assert_defined(rl, 1);
	assert_int_equal(test_counter(rl, 0, RL_COUNT_redefined), 1);
	assert_int_equal(define(rl, 0, RL_DEFINE_KEEP), RL_EDEFINED);
	rl_close(rl);
}

/* A refused definition takes no row, of rules or of limits. */
static void
test_a_refused_definition_takes_nothing(void **state)
{
	struct rl *rl = test_private(10);
	struct rl_info before, after;

	(void)state;
	assert_int_equal(define(rl, 5, RL_DEFINE_KEEP), 0);
	rl_info(rl, &before);
	for (size_t d = 0; d < DEFINITIONS; d++)
		assert_int_equal(define(rl, d, RL_DEFINE_KEEP), d == 5 ? 0 : RL_EDEFINED);
	rl_info(rl, &after);
	assert_int_equal(after.rules_used, before.rules_used);
	assert_int_equal(after.limits_used, before.limits_used);
	assert_true(rl->segment.limits[before.limits_used].identity.lo == 0);
	rl_close(rl);
}

/* Whatever comes one after the other: as one variable would have it. */
static void
test_any_order(void **state)
{
	struct rl *rl = test_private(10);
	uint64_t seed = 5, redefined = 0;
	int defined = -1;

	(void)state;
	for (int i = 0; i < 20000; i++) {
		int next = (int)test_below(&seed, DEFINITIONS);
		unsigned flags = test_below(&seed, 2) ? RL_DEFINE_KEEP : 0;
		bool differs = defined >= 0 && defined != next;

		if (test_below(&seed, 8) == 0) {
			assert_int_equal(rl_forget(rl, "r"), i == 0 ? -ENOENT : defined >= 0);
			defined = -1;
			continue;
		}
		configure(rl, test_below(&seed, 2));
		if (differs && flags) {
			assert_int_equal(define(rl, (size_t)next, flags), RL_EDEFINED);
		} else {
			assert_int_equal(define(rl, (size_t)next, flags), 0);
			redefined += differs;
			defined = next;
		}
		assert_int_equal(test_counter(rl, 0, RL_COUNT_redefined), redefined);
		configure(rl, false);
		assert_defined(rl, (size_t)defined);
	}
	assert_true(redefined > 1000);
	rl_close(rl);
}

/*
 * What the administrator has configured is no definition that differs; what is beneath it may be.
 */
static void
test_a_configuration_is_no_disagreement(void **state)
{
	struct rl *rl = test_private(10);
	struct rl_rule_info info;

	(void)state;
	configure(rl, true);
	assert_int_equal(define(rl, 0, RL_DEFINE_KEEP), 0);
	assert_int_equal(define(rl, 1, RL_DEFINE_KEEP), RL_EDEFINED);
	assert_int_equal(rl_rule_info(rl, 0, &info), 1);
	assert_int_equal(info.source, RL_SOURCE_CONFIGURATION);
	assert_int_equal(test_counter(rl, 0, RL_COUNT_redefined), 0);
	configure(rl, false);
	assert_defined(rl, 0);
	rl_close(rl);
}

/* As a definer leaves it that was killed while its row was given away: nobody's definition. */
static void
test_a_broken_list_is_no_definition(void **state)
{
	struct rl *rl = test_private(10);
	struct rl_u128 *list = rl->segment.rows[0].limits;

	(void)state;
	assert_int_equal(define(rl, 0, RL_DEFINE_KEEP), 0);
	assert_true(test_rule(rl, "other", 3, MINUTE, 1, false) > 0);
	list[RL_BANK_APP].lo = rl->segment.rows[1].limits[RL_BANK_APP].lo;
	assert_int_equal(define(rl, 5, RL_DEFINE_KEEP), 0);
	assert_defined(rl, 5);
	assert_int_equal(test_counter(rl, 0, RL_COUNT_redefined), 0);
	rl_close(rl);
}

static void
test_what_else_is_refused(void **state)
{
	const struct rl_options readonly = {.flags = RL_OPEN_READONLY};
	struct rl *rl, *reader;

	(void)state;
	assert_int_equal(rl_open(test_segment_name(), NULL, &rl), 0);
	assert_int_equal(rl_open(test_segment_name(), &readonly, &reader), 0);
	assert_int_equal(define(rl, 0, RL_DEFINE_KEEP << 1), -EINVAL);
	assert_int_equal(define(rl, 0, RL_DEFINE_KEEP), 0);
	assert_int_equal(define(reader, 0, RL_DEFINE_KEEP), -EROFS);
	assert_int_equal(rl_find(reader, "r"), 0);
	assert_int_equal(rl_define_counters(rl, "r"), -EEXIST);
	rl_close(reader);
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_first_definition_stays),
		cmocka_unit_test(test_a_refused_definition_takes_nothing),
		cmocka_unit_test(test_any_order),
		cmocka_unit_test(test_a_configuration_is_no_disagreement),
		cmocka_unit_test(test_a_broken_list_is_no_definition),
		cmocka_unit_test_teardown(test_what_else_is_refused, test_unlink),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

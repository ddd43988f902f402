/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of limits that are used again, and limits that start anew. */
#include <stdio.h>
#include <string.h>

#include "at.h"
#include "audit.h"
#include "decide/decide.h"
#include "rule/handle.h"
#include "segment/record.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define HOUR (3600 * RL_SECOND)
#define TEN_YEARS 87600 /* hours */

static struct rl *
open_one(uint32_t rules)
{
	const struct rl_options options = {
		.keys = 40, .rules = rules, .overrides = 1, .bans = 1, .key_bytes = 16};
	struct rl *rl;

	assert_int_equal(rl_open_private(&options, &rl), 0);
	return rl;
}

static enum rl_verdict
check(struct rl *rl, int rule, const char *key, uint64_t now, struct rl_result *r)
{
	return at_check(rl, rule, key, strlen(key), 1, now, r);
}

static uint32_t
remaining(struct rl *rl, int rule, const char *key, uint64_t now)
{
	struct rl_result r;

	at_peek(rl, rule, key, strlen(key), now, &r);
	return r.remaining;
}

/* What some hour brings: a key of before starts anew, is charged and used up. */
static void
charge(struct rl *rl, int rule, uint64_t hour, uint64_t window_ns)
{
	uint64_t now = T0 + hour * HOUR;
	struct rl_rule_info info;
	char stale[16];

	snprintf(stale, sizeof stale, "s%d", (int)(hour % 5));
	assert_int_equal(rl_rule_info(rl, rule, &info), 1);
	assert_true(info.limits[0].window_ns == window_ns);
	assert_int_equal(check(rl, rule, "k", now, NULL), RL_ALLOWED);
	assert_int_equal(check(rl, rule, stale, now, NULL), RL_ALLOWED);
	assert_int_equal(check(rl, rule, "k", now + 1, NULL), RL_ALLOWED);
	assert_int_equal(check(rl, rule, "k", now + 2, NULL), RL_DENIED);
}

/* Three rules, and each hour one of them, or all at once, has a window that it never had before. */
static void
play_hour(struct rl *rl, uint64_t hour, bool is_configured)
{
	struct rl_config_rule rules[3] = {test_config_rule("a", 2, 30 * 24 * HOUR + hour),
	                                  test_config_rule("b", 2, 24 * HOUR + hour),
	                                  test_config_rule("c", 2, 24 * HOUR + hour / 1000)};

	if (is_configured)
		assert_int_equal(rl_configure(rl, rules, 3, 0, NULL, NULL), 0);
	else
		for (int i = 0; i < 2; i++)
			assert_int_equal(rl_define(rl, &rules[i].rule), i);
	for (int i = 0; i < 2; i++)
		charge(rl, i, hour, rules[i].rule.limit.window_ns);
}

static void
test_ten_years_of_other_windows(void **state)
{
	struct rl_info info;

	(void)state;
	for (int is_configured = 0; is_configured < 2; is_configured++) {
		struct rl *rl = open_one(3);
		for (uint64_t hour = 0; hour < TEN_YEARS; hour++)
			play_hour(rl, hour, is_configured);
		audit_assert_whole(rl);
		rl_sweep_at(rl, T0 + TEN_YEARS * HOUR); /* what was left behind */
		assert_true(rl_fill(rl) < 20);
		rl_info(rl, &info);
		assert_int_equal(info.rules_used, is_configured ? 3 : 2);
		assert_int_equal(info.limits_used, is_configured ? 3 : 2);
		rl_close(rl);
	}
}

static int
define(struct rl *rl, const char *name, uint64_t window_ns)
{
	const struct rl_config_rule rule = test_config_rule(name, 5, window_ns);

	return rl_define(rl, &rule.rule);
}

static int
configure(struct rl *rl, const char *name, uint64_t window_ns)
{
	const struct rl_config_rule rule = test_config_rule(name, 5, window_ns);

	return rl_configure(rl, &rule, name ? 1 : 0, 0, NULL, NULL);
}

/* One key, once: its older life is nowhere to be seen. */
static int
is_only(const struct rl_entry *e, void *arg)
{
	int *count = arg;

	*count += !e->is_stale; /* of what is not in force all is */
	return !e->is_stale && e->used != 1;
}

static void
expect_anew(struct rl *rl)
{
	int count = 0;

	assert_int_equal(remaining(rl, 0, "k", T0), 5);
	assert_int_equal(check(rl, 0, "k", T0, NULL), RL_ALLOWED);
	assert_int_equal(rl_walk(rl, T0, NULL, is_only, &count), 0);
	assert_int_equal(count, 1);
	audit_assert_whole(rl);
}

static void
test_a_shape_taken_up_again_starts_anew(void **state)
{
	struct rl *rl = open_one(2);

	(void)state;
	assert_int_equal(define(rl, "r", HOUR), 0);
	check(rl, 0, "k", T0, NULL);
	assert_int_equal(define(rl, "r", 2 * HOUR), 0);
	expect_anew(rl);
	assert_int_equal(define(rl, "r", HOUR), 0);
	expect_anew(rl);
	/* defined again as it is, and by the configuration, it goes on */
	assert_int_equal(define(rl, "r", HOUR), 0);
	assert_int_equal(configure(rl, "r", HOUR), 0);
	assert_int_equal(remaining(rl, 0, "k", T0), 4);
	/* by the configuration, there and back */
	assert_int_equal(configure(rl, "r", 2 * HOUR), 0);
	expect_anew(rl);
	/* who defines what is not in force changes nothing */
	assert_int_equal(define(rl, "r", HOUR), 0);
	assert_int_equal(remaining(rl, 0, "k", T0), 4);
	assert_int_equal(configure(rl, "r", HOUR), 0);
	expect_anew(rl);
	/* dropped by the configuration: as applications define it, which was not in force */
	assert_int_equal(configure(rl, "r", 2 * HOUR), 0);
	expect_anew(rl);
	assert_int_equal(configure(rl, NULL, 0), 0);
	expect_anew(rl);
	rl_close(rl);
}

/* A configuration that is dropped leaves a limit that both had as it is. */
static void
test_what_both_have_goes_on(void **state)
{
	struct rl *rl = open_one(2);

	(void)state;
	assert_int_equal(define(rl, "r", HOUR), 0);
	assert_int_equal(configure(rl, "r", HOUR), 0);
	check(rl, 0, "k", T0, NULL);
	assert_int_equal(configure(rl, NULL, 0), 0);
	assert_int_equal(remaining(rl, 0, "k", T0), 4);
	rl_close(rl);
}

/* Rows that lists refer to are nobody else's: sixteen at once is all there is room for. */
static void
test_what_is_referred_to_stays(void **state)
{
	struct rl_limit more[RL_LIMITS_MAX - 1];
	struct rl_rule rule = {.name = "a", .more = more, .more_count = RL_LIMITS_MAX - 1};
	struct rl_config_rule config = {.override_count = 0};
	struct rl_config_outcome o;
	struct rl_rule_info info;
	struct rl *rl = open_one(1);

	(void)state;
	rule.limit = (struct rl_limit){.capacity = 3, .window_ns = HOUR};
	for (int i = 0; i < RL_LIMITS_MAX - 1; i++)
		more[i] = rule.limit;
	assert_int_equal(rl_define(rl, &rule), 0);
	config.rule = rule;
	config.rule.limit.window_ns = 2 * HOUR;
	assert_int_equal(rl_configure(rl, &config, 1, 0, NULL, &o), 0);
	check(rl, 0, "k", T0, NULL);
	for (uint64_t i = 0; i < 50; i++) { /* seven are common to both */
		config.rule.limit.window_ns = (3 + i) * HOUR;
		assert_int_equal(rl_configure(rl, &config, 1, 0, NULL, &o), 0);
		assert_int_equal(rl_rule_info(rl, 0, &info), 1);
		assert_int_equal(info.limit_count, RL_LIMITS_MAX);
		assert_true(info.limits[0].window_ns == (3 + i) * HOUR);
		assert_true(info.limits[7].window_ns == HOUR);
		audit_assert_whole(rl);
	}
	assert_int_equal(check(rl, 0, "k", T0, NULL), RL_ALLOWED);
	assert_int_equal(check(rl, 0, "k", T0, NULL), RL_ALLOWED);
	assert_int_equal(check(rl, 0, "k", T0, NULL), RL_DENIED); /* by those that go on */
	rl_close(rl);
}

/* Another handle, as of another process, that has used the row before. */
static void
test_what_a_process_knew_of_a_row(void **state)
{
	const struct rl_options options = {.keys = 20, .rules = 1};
	struct rl *one, *other;
	struct rl_result r;

	(void)state;
	rl_unlink(test_segment_name());
	assert_int_equal(rl_open(test_segment_name(), &options, &one), 0);
	assert_int_equal(rl_open(test_segment_name(), &options, &other), 0);
	for (uint64_t i = 0; i < 100; i++) {
		assert_int_equal(define(one, "r", HOUR + i), 0);
		for (int n = 0; n < 5; n++)
			assert_int_equal(check(n % 2 ? one : other, 0, "k", T0, &r), RL_ALLOWED);
		assert_int_equal(check(other, 0, "k", T0, &r), RL_DENIED);
		assert_int_equal(check(one, 0, "k", T0, &r), RL_DENIED);
	}
	/* its name is gone: there is no turn to take any more */
	assert_int_equal(rl_unlink(test_segment_name()), 0);
	assert_int_equal(define(one, "r", 2 * HOUR), RL_ELIMITS);
	assert_int_equal(check(one, 0, "k", T0, &r), RL_DENIED);
	rl_close(one);
	rl_close(other);
}

/*
 * What a process charges that slept through so many incarnations is no fault, nobody's, and swept
 * in the end.
 */
static void
sleep_through(unsigned incarnations)
{
	struct rl *rl = open_one(2);
	struct rl_compiled old;
	struct rl_candidates candidates;
	struct rl_slot slot;

	assert_int_equal(define(rl, "r", HOUR), 0);
	old = *rl_handle_limit(rl, 0);
	for (unsigned i = 0; i < incarnations; i++) {
		assert_int_equal(define(rl, "r", 2 * HOUR), 0);
		assert_int_equal(define(rl, "r", HOUR), 0);
	}
	rl_part_candidates(&rl->segment.table, &old, rl_hash_of_key(rl->segment.key_start, "k", 1),
	                   &candidates);
	assert_int_equal(rl_table_claim(&rl->segment.table, &candidates, &slot), RL_CLAIM_NEW);
	rl_record_write(&rl->segment, slot,
	                rl_hash_of_key(rl->segment.key_start, "k", 1) ^ old.salt, "k", 1);
	*rl_table_state(&rl->segment.table, slot.index) =
		(struct rl_u128){T0 / HOUR | UINT64_C(3) << RL_STATE_EPOCH_BITS,
	                         rl_tag_gen(slot.tag) | UINT64_C(1) << 40};
	audit_assert_whole(rl);
	assert_int_equal(remaining(rl, 0, "k", T0), 5);
	assert_int_equal(check(rl, 0, "k", T0, NULL), RL_ALLOWED);
	assert_int_equal(rl_fill(rl), 2);
	audit_assert_whole(rl);
	assert_int_equal(define(rl, "r", 2 * HOUR), 0);
	assert_int_equal(define(rl, "r", HOUR), 0);
	rl_sweep_at(rl, T0);
	assert_int_equal(rl_fill(rl), 0);
	rl_close(rl);
}

static void
test_what_a_sleeper_charges(void **state)
{
	(void)state;
	sleep_through(1);
	sleep_through(RL_TAG_INCARNATIONS);
}

/*
 * Damage does not fill the memory, and who changes limits at any pace of people's is never refused.
 */
static void
test_what_is_kept_of_earlier_limits(void **state)
{
	struct rl_rule rule = {.name = "r", .limit = {.capacity = 3, .window_ns = HOUR}};
	struct rl *rl = open_one(4);
	const uint64_t a_year = 366 * 24 * HOUR;

	(void)state;
	assert_int_equal(rl_define(rl, &rule), 0);
	rl->handle->compiled = UINT64_C(1) << 19;
	rule.limit.window_ns = 2 * HOUR;
	assert_int_equal(rl_define(rl, &rule), -ENOMEM);
	rl->handle->opened_ns -= a_year;
	rl->handle->compiled += 24 * 366 * 360; /* one each ten seconds */
	assert_int_equal(rl_define(rl, &rule), -ENOMEM);
	rl->handle->compiled--;
	assert_int_equal(rl_define(rl, &rule), 0);
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ten_years_of_other_windows),
		cmocka_unit_test(test_a_shape_taken_up_again_starts_anew),
		cmocka_unit_test(test_what_both_have_goes_on),
		cmocka_unit_test(test_what_is_referred_to_stays),
		cmocka_unit_test(test_what_a_process_knew_of_a_row),
		cmocka_unit_test(test_what_a_sleeper_charges),
		cmocka_unit_test(test_what_is_kept_of_earlier_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The sizes of what programs hand to the library, and where each field is, on 64-bit machines: what
 * a program was compiled with. Whatever changes here in a released version breaks its users: a
 * field is then added in another way, or the soname changes (CONTRIBUTING, A release).
 */
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "at.h"
#include "rl_http.h"
#include "testing.h"

struct place {
	const char *what;
	size_t is, was;
};

#define SIZE(name, bytes)                           \
	{                                           \
#name, sizeof(struct name), (bytes) \
	}
#define AT(name, field, offset)                                          \
	{                                                                \
#name "." #field, offsetof(struct name, field), (offset) \
	}

static const struct place places[] = {
	/* clang-format off */
	SIZE(rl_options, 88),
	AT(rl_options, keys, 0),
	AT(rl_options, ring, 4),
	AT(rl_options, key_bytes, 8),
	AT(rl_options, rules, 12),
	AT(rl_options, overrides, 16),
	AT(rl_options, bans, 20),
	AT(rl_options, holders, 24),
	AT(rl_options, on_full, 28),
	AT(rl_options, buffer_ns, 32),
	AT(rl_options, mode, 40),
	AT(rl_options, group, 44),
	AT(rl_options, flags, 48),
	AT(rl_options, cells, 52),
	AT(rl_options, reserves, 56),
	AT(rl_options, events, 60),
	AT(rl_options, changes, 64),
	AT(rl_options, reserved, 72),
	SIZE(rl_limit, 88),
	AT(rl_limit, algorithm, 0),
	AT(rl_limit, capacity, 4),
	AT(rl_limit, window_ns, 8),
	AT(rl_limit, granularity, 16),
	AT(rl_limit, hard, 20),
	AT(rl_limit, burst, 24),
	AT(rl_limit, undelayed, 28),
	AT(rl_limit, shadow, 32),
	AT(rl_limit, prefix_v4, 36),
	AT(rl_limit, prefix_v6, 37),
	AT(rl_limit, prefetch, 38),
	AT(rl_limit, count_denied, 40),
	AT(rl_limit, scope, 44),
	AT(rl_limit, away, 46),
	AT(rl_limit, blind, 48),
	AT(rl_limit, counts, 52),
	AT(rl_limit, wait_ns, 56),
	AT(rl_limit, reserved, 64),
	SIZE(rl_rule, 144),
	AT(rl_rule, name, 0),
	AT(rl_rule, limit, 8),
	AT(rl_rule, more, 96),
	AT(rl_rule, more_count, 104),
	AT(rl_rule, flags, 112),
	AT(rl_rule, needs, 120),
	AT(rl_rule, reserved, 128),
	SIZE(rl_hold, 32),
	AT(rl_hold, charge, 0),
	SIZE(rl_charge, 32),
	AT(rl_charge, key, 0),
	AT(rl_charge, epoch, 8),
	AT(rl_charge, cost, 16),
	AT(rl_charge, capacity, 20),
	AT(rl_charge, memory, 24),
	AT(rl_charge, limit, 28),
	AT(rl_charge, gen, 30),
	AT(rl_charge, place, 31),
	SIZE(rl_charges, 272),
	AT(rl_charges, count, 0),
	AT(rl_charges, settled, 4),
	AT(rl_charges, now_ns, 8),
	AT(rl_charges, charge, 16),
	SIZE(rl_result, 64),
	AT(rl_result, verdict, 0),
	AT(rl_result, error, 4),
	AT(rl_result, reason, 8),
	AT(rl_result, index, 12),
	AT(rl_result, limit, 16),
	AT(rl_result, remaining, 20),
	AT(rl_result, used, 24),
	AT(rl_result, is_shadow_denied, 28),
	AT(rl_result, retry_after_ns, 32),
	AT(rl_result, reset_after_ns, 40),
	AT(rl_result, delay_ns, 48),
	AT(rl_result, window_ns, 56),
	SIZE(rl_place, 448),
	AT(rl_place, path, 0),
	AT(rl_place, is_there, 192),
	AT(rl_place, is_own, 196),
	AT(rl_place, bytes, 200),
	AT(rl_place, room, 208),
	AT(rl_place, memory, 216),
	AT(rl_place, memory_by, 224),
	AT(rl_place, layout, 416),
	AT(rl_place, revision, 420),
	AT(rl_place, own_layout, 424),
	AT(rl_place, own_revision, 428),
	AT(rl_place, reserved, 432),
	SIZE(rl_info, 216),
	AT(rl_info, name, 0),
	AT(rl_info, layout, 8),
	AT(rl_info, bytes, 16),
	AT(rl_info, slots, 24),
	AT(rl_info, ring, 32),
	AT(rl_info, key_bytes, 36),
	AT(rl_info, rules, 40),
	AT(rl_info, limits, 44),
	AT(rl_info, overrides, 48),
	AT(rl_info, bans, 52),
	AT(rl_info, holders, 56),
	AT(rl_info, on_full, 60),
	AT(rl_info, buffer_ns, 64),
	AT(rl_info, created_ns, 72),
	AT(rl_info, owner, 80),
	AT(rl_info, group, 84),
	AT(rl_info, mode, 88),
	AT(rl_info, is_readonly, 92),
	AT(rl_info, generation, 96),
	AT(rl_info, heartbeat_ns, 104),
	AT(rl_info, sweeper, 112),
	AT(rl_info, huge_pages, 116),
	AT(rl_info, rules_used, 120),
	AT(rl_info, limits_used, 124),
	AT(rl_info, overrides_used, 128),
	AT(rl_info, keys, 136),
	AT(rl_info, holders_used, 144),
	AT(rl_info, cells, 148),
	AT(rl_info, reserves, 152),
	AT(rl_info, reserve_until_ns, 160),
	AT(rl_info, events, 156),
	AT(rl_info, events_told, 168),
	AT(rl_info, is_clustered, 176),
	AT(rl_info, slots_before, 184),
	AT(rl_info, table, 192),
	AT(rl_info, changes, 200),
	AT(rl_info, reserved, 208),
	SIZE(rl_rule_info, 808),
	AT(rl_rule_info, name, 0),
	AT(rl_rule_info, source, 64),
	AT(rl_rule_info, limit_count, 68),
	AT(rl_rule_info, limits, 72),
	AT(rl_rule_info, has_overrides, 776),
	AT(rl_rule_info, handle, 780),
	AT(rl_rule_info, needs, 784),
	AT(rl_rule_info, reserved, 792),
	SIZE(rl_algorithm_info, 40),
	AT(rl_algorithm_info, size, 0),
	AT(rl_algorithm_info, name, 8),
	AT(rl_algorithm_info, text, 16),
	AT(rl_algorithm_info, flags, 24),
	AT(rl_algorithm_info, capacity_max, 28),
	AT(rl_algorithm_info, ring_per_unit, 32),
	SIZE(rl_item, 104),
	AT(rl_item, rule, 0),
	AT(rl_item, key, 8),
	AT(rl_item, key_len, 16),
	AT(rl_item, cost, 24),
	AT(rl_item, now_ns, 32),
	AT(rl_item, capacity, 40),
	AT(rl_item, burst, 44),
	AT(rl_item, undelayed, 48),
	AT(rl_item, flags, 52),
	AT(rl_item, charges, 56),
	AT(rl_item, leave, 64),
	AT(rl_item, reserved, 72),
	SIZE(rl_counter_item, 64),
	AT(rl_counter_item, space, 0),
	AT(rl_counter_item, key, 8),
	AT(rl_counter_item, key_len, 16),
	AT(rl_counter_item, amount, 24),
	AT(rl_counter_item, lifetime_ns, 32),
	AT(rl_counter_item, now_ns, 40),
	AT(rl_counter_item, reserved, 48),
	SIZE(rl_count, 24),
	AT(rl_count, value, 0),
	AT(rl_count, expires_after_ns, 8),
	AT(rl_count, is_new, 16),
	AT(rl_count, reserved, 20),
	SIZE(rl_pattern, 24),
	AT(rl_pattern, match, 0),
	AT(rl_pattern, key, 8),
	AT(rl_pattern, key_len, 16),
	SIZE(rl_reset_counts, 32),
	AT(rl_reset_counts, forgotten, 0),
	AT(rl_reset_counts, unknown, 8),
	AT(rl_reset_counts, reserved, 16),
	SIZE(rl_http_policy, 48),
	AT(rl_http_policy, name, 0),
	AT(rl_http_policy, quota, 8),
	AT(rl_http_policy, window_ns, 16),
	AT(rl_http_policy, unit, 24),
	AT(rl_http_policy, partition, 32),
	AT(rl_http_policy, partition_len, 40),
	SIZE(rl_http_limit, 32),
	AT(rl_http_limit, name, 0),
	AT(rl_http_limit, result, 8),
	AT(rl_http_limit, partition, 16),
	AT(rl_http_limit, partition_len, 24),
	SIZE(rl_http_triple, 36),
	AT(rl_http_triple, limit, 0),
	AT(rl_http_triple, remaining, 12),
	AT(rl_http_triple, reset, 24),
	SIZE(rl_http_network, 40),
	AT(rl_http_network, address, 0),
	AT(rl_http_network, mask, 16),
	AT(rl_http_network, family, 32),
	SIZE(rl_http_trust, 32),
	AT(rl_http_trust, networks, 0),
	AT(rl_http_trust, count, 8),
	AT(rl_http_trust, field, 16),
	AT(rl_http_trust, prefix_v4, 20),
	AT(rl_http_trust, prefix_v6, 24),
	SIZE(rl_http_value, 16),
	AT(rl_http_value, text, 0),
	AT(rl_http_value, len, 8),
	SIZE(rl_http_client, 56),
	AT(rl_http_client, address, 0),
	AT(rl_http_client, end, 48),
	AT(rl_http_client, hops, 52),
	/* clang-format on */
};

static void
test_sizes_and_offsets(void **state)
{
	(void)state;
	if (sizeof(void *) != 8)
		skip();
	for (size_t i = 0; i < sizeof places / sizeof places[0]; i++)
		if (places[i].is != places[i].was)
			fail_msg("%s: %zu, was %zu", places[i].what, places[i].is, places[i].was);
}

static void
assert_refused(struct rl *rl, const struct rl_rule *rule, const char *sentence)
{
	char text[RL_RULE_TEXT_SIZE];

	assert_int_equal(rl_rule_check(rule, NULL, text, sizeof text), -EINVAL);
	assert_string_equal(text, sentence);
	assert_int_equal(rl_define(rl, rule), -EINVAL);
	assert_int_equal(rl_find(rl, rule->name), -ENOENT);
}

/* What a program asks of a later library is refused by this one, and not passed over. */
static void
test_what_is_not_known_yet(void **state)
{
	const struct rl_limit limit = {.capacity = 1, .window_ns = RL_SECOND};
	struct rl *rl = test_private(10), *other;

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct rl_options o = {.keys = 10};
		struct rl_place place;

		o.reserved[i] = 1;
		assert_int_equal(rl_open_private(&o, &other), -EINVAL);
		assert_int_equal(rl_open(test_segment_name(), &o, &other), -EINVAL);
		assert_int_equal(rl_place(test_segment_name(), &o, &place), -EINVAL);
	}
	for (int i = 0; i < 2; i++) {
		struct rl_limit later = limit;
		struct rl_rule rule = {.name = "r", .limit = limit};
		static const char known[] =
			"not 0: this version of the library knows nothing that stands there";
		static const char scope[] = "scope: 2 is none that there is; they are 0 to 1";
		char sentence[RL_RULE_TEXT_SIZE];

		if (i == 0)
			later.reserved[0] = UINT64_C(1) << 63;
		else
			later.scope = 2;
		rule.reserved[i] = 1;
		snprintf(sentence, sizeof sentence, "reserved: %s", known);
		assert_refused(rl, &rule, sentence);
		rule = (struct rl_rule){.name = "r", .limit = later};
		snprintf(sentence, sizeof sentence, "limit.%s%s", i == 0 ? "reserved: " : scope,
		         i == 0 ? known : "");
		assert_refused(rl, &rule, sentence);
		rule = (struct rl_rule){
			.name = "r", .limit = limit, .more = &later, .more_count = 1};
		snprintf(sentence, sizeof sentence, "more[0].%s%s", i == 0 ? "reserved: " : scope,
		         i == 0 ? known : "");
		assert_refused(rl, &rule, sentence);
	}
	rl_close(rl);
}

static void
assert_zero(const void *bytes, size_t size)
{
	const unsigned char *at = bytes;

	for (size_t i = 0; i < size; i++)
		assert_int_equal(at[i], 0);
}

/* A program of a later version finds nothing where this library has nothing to tell. */
static void
test_what_is_not_told_yet(void **state)
{
	struct rl *rl = test_private(10);
	int rule = test_rule(rl, "r", 1, RL_SECOND, 0, false);
	int space = rl_define_counters(rl, "space");
	struct rl_info info;
	struct rl_rule_info of_rule;
	struct rl_place place;
	struct rl_count count;
	struct rl_reset_counts counts;

	(void)state;
	memset(&info, 0xff, sizeof info);
	memset(&of_rule, 0xff, sizeof of_rule);
	memset(&place, 0xff, sizeof place);
	memset(&count, 0xff, sizeof count);
	memset(&counts, 0xff, sizeof counts);
	rl_info(rl, &info);
	assert_zero(info.reserved, sizeof info.reserved);
	assert_int_equal(rl_rule_info(rl, rule, &of_rule), 1);
	assert_zero(of_rule.reserved, sizeof of_rule.reserved);
	assert_zero(of_rule.limits[0].reserved, sizeof of_rule.limits[0].reserved);
	assert_int_equal(rl_place(test_segment_name(), NULL, &place), 0);
	assert_zero(place.reserved, sizeof place.reserved);
	assert_int_equal(at_counter_add(rl, space, "k", 1, 1, RL_SECOND, rl_now(rl), &count), 1);
	assert_int_equal(count.reserved, 0);
	memset(&count, 0xff, sizeof count);
	assert_int_equal(at_counter_get(rl, space, "none", 4, rl_now(rl), &count), 0);
	assert_int_equal(count.reserved, 0);
	assert_int_equal(rl_reset_matching(rl, rule, NULL, &counts), 0);
	assert_zero(counts.reserved, sizeof counts.reserved);
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sizes_and_offsets),
		cmocka_unit_test(test_what_is_not_known_yet),
		cmocka_unit_test(test_what_is_not_told_yet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* What tools are shown: entries, names, totals; and what damage does to them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "at.h"
#include "rule/handle.h"
#include "segment/record.h"
#include "shared/layout.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)

struct seen {
	unsigned entries, named;
	uint64_t used;
	struct rl_entry last;
	char key[64];
};

static int
see(const struct rl_entry *e, void *arg)
{
	struct seen *seen = arg;

	seen->entries++;
	seen->named += e->key != NULL;
	seen->used += e->used;
	seen->last = *e;
	if (e->key && e->key_kept < sizeof seen->key)
		memcpy(seen->key, e->key, e->key_kept);
	return 0;
}

static int
stop(const struct rl_entry *e, void *arg)
{
	(void)e;
	++*(int *)arg;
	return 42;
}

static void
test_walk_shows_every_key_once(void **state)
{
	struct rl *rl = test_private(4000); /* no key lacks a slot */
	int rule = test_rule(rl, "r", 10, 10 * RL_SECOND, 4, false);
	struct seen seen = {0};
	int stops = 0;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++)
		at_check(rl, rule, &i, sizeof i, 1 + i % 10, T0, NULL);
	assert_int_equal(rl_walk(rl, T0, NULL, see, &seen), 0);
	assert_int_equal(seen.entries, 1000);
	assert_int_equal(seen.named, 1000);
	assert_int_equal(seen.used, 5500);
	assert_int_equal(rl_fill(rl), 1000);
	assert_int_equal(rl_walk(rl, T0, NULL, stop, &stops), 42);
	assert_int_equal(stops, 1);
	rl_close(rl);
}

static void
test_lookup_explains(void **state)
{
	struct rl *rl = test_private(100);
	int rule = test_rule(rl, "r", 10, 10 * RL_SECOND, 5, false);
	struct seen seen = {0};

	(void)state;
	at_check(rl, rule, "key", 3, 3, T0, NULL);
	at_check(rl, rule, "key", 3, 2, T0 + 2 * RL_SECOND, NULL);
	at_check(rl, rule, "key", 3, 1, T0 + 6 * RL_SECOND, NULL);
	assert_int_equal(rl_lookup(rl, rule, "key", 3, T0 + 8 * RL_SECOND, see, &seen), 0);
	assert_int_equal(seen.entries, 1);
	assert_memory_equal(seen.key, "key", 3);
	assert_int_equal(seen.last.key_len, 3);
	const uint32_t counts[] = {0, 1, 0, 2, 3, 0};
	assert_int_equal(seen.last.buckets, 6);
	assert_memory_equal(seen.last.bucket, counts, sizeof counts);
	assert_true(seen.last.bucket_ns == 2 * RL_SECOND);
	assert_true(seen.last.bucket_end_ns == T0 + 10 * RL_SECOND);
	assert_int_equal(seen.last.used, 6);
	assert_false(seen.last.is_limited);
	assert_false(seen.last.is_stale);
	assert_int_equal(rl_lookup(rl, rule, "nokey", 5, T0, see, &seen), -ENOENT);
	assert_int_equal(rl_lookup(rl, rule + 1, "key", 3, T0, see, &seen), -EINVAL);
	assert_int_equal(seen.entries, 1);
	rl_close(rl);
}

static void
test_stale_entries_are_marked(void **state)
{
	struct rl *rl = test_private(100);
	int rule = test_rule(rl, "r", 1, 10 * RL_SECOND, 1, true);
	struct seen seen = {0};

	(void)state;
	at_check(rl, rule, "k", 1, 1, T0, NULL);
	rl_lookup(rl, rule, "k", 1, T0 + 20 * RL_SECOND - 1, see, &seen);
	assert_true(seen.last.is_limited);
	rl_lookup(rl, rule, "k", 1, T0 + 20 * RL_SECOND, see, &seen);
	assert_false(seen.last.is_limited || seen.last.is_stale);
	rl_lookup(rl, rule, "k", 1, T0 + 30 * RL_SECOND, see, &seen);
	assert_true(seen.last.is_stale);
	rl_close(rl);
}

static void
test_long_keys_are_kept_in_part(void **state)
{
	struct rl_options o = {.keys = 10, .ring = 64, .key_bytes = 13};
	char key[300];
	struct seen seen = {0};
	struct rl_info info;
	struct rl *rl;

	(void)state;
	memset(key, 'x', sizeof key);
	assert_int_equal(rl_open_private(&o, &rl), 0);
	rl_info(rl, &info);
	assert_int_equal(info.key_bytes, 16); /* whole words */
	int rule = test_rule(rl, "r", 1, RL_SECOND, 1, true);
	for (size_t len = 1; len <= sizeof key; len += 7) {
		at_check(rl, rule, key, len, 1, T0, NULL);
		assert_int_equal(rl_lookup(rl, rule, key, len, T0, see, &seen), 0);
		assert_int_equal(seen.last.key_len, len);
		assert_int_equal(seen.last.key_kept, len < 16 ? len : 16);
		assert_memory_equal(seen.key, key, seen.last.key_kept);
		rl_reset(rl, rule, key, len);
	}
	rl_close(rl);
}

static int
no_name(const struct rl_ban_info *ban, void *arg)
{
	*(int *)arg += ban->pattern.key == NULL;
	return 0;
}

/* What counts needs no names: limits, bans, lookups, the audit. */
static void
test_no_names(void **state)
{
	struct rl_options o = {.keys = 100, .ring = 64, .key_bytes = RL_KEY_BYTES_NONE};
	struct seen seen = {0};
	struct rl_audit counts;
	struct rl_info info;
	struct rl *rl;
	char key[8];
	int bans = 0;

	(void)state;
	assert_int_equal(rl_open_private(&o, &rl), 0);
	rl_info(rl, &info);
	assert_int_equal(info.key_bytes, 0);
	int rule = test_rule(rl, "r", 2, RL_SECOND, 1, true);
	for (int i = 0; i < 100; i++) {
		int len = snprintf(key, sizeof key, "k%d", i);
		assert_int_equal(at_check(rl, rule, key, (size_t)len, 1, T0, NULL), RL_ALLOWED);
	}
	assert_int_equal(rl_lookup(rl, rule, "k99", 3, T0, see, &seen), 0);
	assert_null(seen.last.key);
	assert_int_equal(seen.last.key_len, 0);
	assert_int_equal(seen.last.used, 1);
	assert_int_equal(
		rl_ban(rl, rule, &(struct rl_pattern){RL_MATCH_PREFIX, "k9", 2}, RL_NEVER_NS), 0);
	assert_int_equal(at_check(rl, rule, "k99", 3, 1, T0, NULL), RL_DENIED);
	assert_int_equal(rl_bans_walk(rl, T0, no_name, &bans), 0);
	assert_int_equal(bans, 1);
	assert_int_equal(rl_audit(rl, NULL, NULL, &counts), 0);
	assert_int_equal(counts.live, 100);
	rl_close(rl);
}

/* Any changed bit of a record, and any record of another slot, is no name at all. */
static void
test_names_are_never_wrong(void **state)
{
	struct rl *rl = test_private(10);
	int rule = test_rule(rl, "r", 1, RL_SECOND, 1, true);
	struct seen seen = {0};
	const size_t bytes = 24 + 24;

	(void)state;
	at_check(rl, rule, "a key of twenty bytes", 21, 1, T0, NULL);
	rl_lookup(rl, rule, "a key of twenty bytes", 21, T0, see, &seen);
	assert_int_equal(seen.named, 1);
	unsigned char *record = (unsigned char *)rl_segment_record(&rl->segment, seen.last.slot);
	for (size_t bit = 0; bit < bytes * 8; bit++) {
		bool is_room = bit / 8 >= 12 && bit / 8 < 24; /* denials, and the tier */
		bool is_padding = bit / 8 >= 24 + 21;
		seen.named = 0;
		record[bit / 8] ^= (unsigned char)(1u << bit % 8);
		rl_lookup(rl, rule, "a key of twenty bytes", 21, T0, see, &seen);
		record[bit / 8] ^= (unsigned char)(1u << bit % 8);
		assert_int_equal(seen.named, is_room || is_padding);
	}
	/* the record of an earlier incarnation of the same slot */
	struct rl_slot slot = {.index = seen.last.slot,
	                       .tag = *rl_table_tag(&rl->segment.table, seen.last.slot)};
	struct rl_record_copy copy;
	assert_true(rl_record_read(&rl->segment, slot, &copy));
	slot.tag += UINT64_C(1) << RL_TAG_GEN_SHIFT;
	assert_false(rl_record_read(&rl->segment, slot, &copy));
	rl_close(rl);
}

static void
test_a_damaged_rule_name_is_no_name(void **state)
{
	struct rl *rl = test_private(10);
	int rule = test_rule(rl, "login", 1, RL_SECOND, 1, true);
	struct rl_rule_info info;

	(void)state;
	rl_rule_info(rl, rule, &info);
	assert_string_equal(info.name, "login");
	rl->segment.rows[rule].name[0] ^= 1;
	rl_rule_info(rl, rule, &info);
	assert_string_equal(info.name, "");
	/* the next definer fixes it */
	assert_int_equal(test_rule(rl, "login", 1, RL_SECOND, 1, true), rule);
	rl_rule_info(rl, rule, &info);
	assert_string_equal(info.name, "login");
	rl_close(rl);
}

/* A definer killed between its steps: the rule is not found until another completes it. */
static void
test_a_rule_left_half_defined(void **state)
{
	struct rl *rl = test_private(10);
	int rule = test_rule(rl, "r", 9, RL_SECOND, 1, true);

	(void)state;
	memset(rl->segment.rows[rule].limits, 0, sizeof rl->segment.rows[rule].limits);
	memset(rl->segment.rows[rule].name, 0, sizeof rl->segment.rows[rule].name);
	assert_int_equal(rl_find(rl, "r"), -ENOENT);
	assert_int_equal(test_rule(rl, "r", 9, RL_SECOND, 1, true), rule);
	assert_int_equal(rl_find(rl, "r"), rule);
	rl_close(rl);
}

/* What killed processes leave: sweeping frees it, and workers never stumble over it. */
static void
test_sweep_frees_what_the_dead_left(void **state)
{
	struct rl *rl = test_private(10);
	int rule = test_rule(rl, "r", 1, RL_SECOND, 1, true);
	struct rl_bucket *b = &rl->segment.table.bucket[0];
	uint64_t key = (uint64_t)rule << RL_TAG_LIMIT_SHIFT | 12345;

	(void)state;
	b->tag[0] = rl_tag_make(RL_TAG_TENT, 3, key);     /* a claim not finished */
	b->tag[3] = rl_tag_make(RL_TAG_LIVE, 3, key + 1); /* claimed, not charged */
	b->tag[5] = rl_tag_make(RL_TAG_LIVE, 3, key + 2); /* half retired */
	b->state[5].hi = RL_STATE_DEAD | 3;
	b->tag[6] =
		rl_tag_make(RL_TAG_LIVE, 3, UINT64_C(1020) << RL_TAG_LIMIT_SHIFT); /* no limit */
	b->tag[7] = UINT64_C(3) << RL_TAG_STATUS_SHIFT;                            /* no status */
	assert_int_equal(rl_fill(rl), 5);
	assert_int_equal(rl_sweep_at(rl, T0), 5);
	assert_int_equal(rl_fill(rl), 0);
	rl_close(rl);
}

/* In memory never used before, a slot claimed but not charged holds no count either. */
static void
test_first_claim_of_new_memory(void **state)
{
	struct rl *rl = test_private(10);
	int rule = test_rule(rl, "r", 1, RL_SECOND, 1, true);

	(void)state;
	at_check(rl, rule, "k", 1, 1, T0, NULL);
	for (uint64_t i = 0; i < 16; i++)
		*rl_table_state(&rl->segment.table, i) = (struct rl_u128){0};
	assert_int_equal(rl_reset(rl, rule, "k", 1), 0);
	assert_int_equal(rl_sweep_at(rl, T0), 1);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_retired), 0);
	rl_close(rl);
}

static void
test_counters_describe_themselves(void **state)
{
	(void)state;
	for (int i = 0; i < RL_COUNTERS; i++) {
		const struct rl_counter_info *info = rl_counter_info(i);
		assert_true(strlen(info->name) > 0);
		assert_true(strlen(info->unit) > 0);
		assert_true(info->text[strlen(info->text) - 1] == '.');
	}
	assert_string_equal(rl_counter_info(RL_COUNT_allowed)->name, "allowed");
	assert_null(rl_counter_info(RL_COUNTERS));
	assert_null(rl_counter_info(-1));
}

/* What rl_open_private() and rl_define() say of a limit, completed with what it must have. */
static int
define_limit(struct rl_limit limit)
{
	struct rl_options options = {.ring = RL_RING_MAX};
	struct rl *rl;
	int rule;

	limit.capacity = limit.capacity ? limit.capacity : 10;
	limit.window_ns = RL_SECOND;
	assert_int_equal(rl_open_private(&options, &rl), 0);
	rule = rl_define(rl, &(struct rl_rule){.name = "r", .limit = limit});
	rl_close(rl);
	return rule < 0 ? rule : 0;
}

static int
wanted(unsigned flags, unsigned flag)
{
	return flags & flag ? 0 : -EINVAL;
}

/* The ring that a limit needs, by trying. */
static uint32_t
ring_of(struct rl_limit limit)
{
	for (uint32_t ring = 1;; ring++) {
		struct rl_options options = {.ring = ring};
		struct rl *rl;
		int rule;

		assert_int_equal(rl_open_private(&options, &rl), 0);
		rule = rl_define(rl, &(struct rl_rule){.name = "r", .limit = limit});
		rl_close(rl);
		if (rule >= 0)
			return ring;
		assert_int_equal(rule, RL_ERING);
	}
}

static void
see_algorithm(enum rl_algorithm a, const struct rl_algorithm_info *info)
{
	unsigned flags = info->flags;
	struct rl_limit ten = {.algorithm = a, .capacity = 10, .window_ns = RL_SECOND};

	assert_int_equal(info->size, sizeof(*info));
	assert_true(info->text[strlen(info->text) - 1] == '.');
	assert_int_equal(!(flags & RL_HAS_BURST), !(flags & RL_IS_BUCKET));
	assert_int_equal(define_limit((struct rl_limit){.algorithm = a, .granularity = 2}),
	                 wanted(flags, RL_HAS_GRANULARITY));
	assert_int_equal(define_limit((struct rl_limit){.algorithm = a, .hard = 1}),
	                 wanted(flags, RL_HAS_GRANULARITY));
	assert_int_equal(define_limit((struct rl_limit){.algorithm = a, .burst = 5}),
	                 wanted(flags, RL_HAS_BURST));
	assert_int_equal(
		define_limit((struct rl_limit){.algorithm = a, .burst = 5, .undelayed = 1}),
		wanted(flags, RL_HAS_UNDELAYED));
	assert_int_equal(
		define_limit((struct rl_limit){.algorithm = a, .capacity = info->capacity_max}), 0);
	assert_true(define_limit((struct rl_limit){.algorithm = a,
	                                           .capacity = info->capacity_max + 1}) < 0);
	assert_int_equal(ring_of(ten), info->ring_per_unit ? 10 * info->ring_per_unit : 1);
}

static void
test_algorithms_are_what_is_known_of_them(void **state)
{
	const struct rl_algorithm_info *info;
	int count = 0;

	(void)state;
	for (; (info = rl_algorithm_info((enum rl_algorithm)count)); count++)
		see_algorithm((enum rl_algorithm)count, info);
	assert_true(count > RL_LEAKY_BUCKET);
	assert_string_equal(rl_algorithm_info(RL_SLIDING_LOG)->name, "sliding_log");
	assert_null(rl_algorithm_info((enum rl_algorithm) - 1));
	assert_int_equal(define_limit((struct rl_limit){.algorithm = (enum rl_algorithm)count}),
	                 -EINVAL);
}

/* By what an idle key may take at once, and by who can book ahead. */
static void
test_bursts_and_reservations_are_what_is_known_of_them(void **state)
{
	const struct rl_algorithm_info *info;

	(void)state;
	for (int a = 0; (info = rl_algorithm_info((enum rl_algorithm)a)); a++) {
		struct rl_limit limit = {
			.algorithm = (enum rl_algorithm)a, .capacity = 10, .window_ns = RL_SECOND};
		bool is_filled =
			!(info->flags & RL_IS_BUCKET) || info->flags & RL_BURST_IS_CAPACITY;
		struct rl_result r;
		struct rl *rl;
		int rule;

		assert_int_equal(rl_open_private(&(struct rl_options){.ring = 64}, &rl), 0);
		rule = rl_define(rl, &(struct rl_rule){.name = "r", .limit = limit});
		assert_true(rule >= 0);
		rl_peek(rl, rule, "k", 1, &r);
		assert_int_equal(r.limit, is_filled ? 10 : 1);
		rl_reserve(rl, rule, "k", 1, 1, RL_SECOND, &r);
		assert_int_equal(r.error, info->flags & RL_IS_BUCKET ? 0 : -EINVAL);
		rl_close(rl);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_walk_shows_every_key_once),
		cmocka_unit_test(test_lookup_explains),
		cmocka_unit_test(test_stale_entries_are_marked),
		cmocka_unit_test(test_long_keys_are_kept_in_part),
		cmocka_unit_test(test_no_names),
		cmocka_unit_test(test_names_are_never_wrong),
		cmocka_unit_test(test_a_damaged_rule_name_is_no_name),
		cmocka_unit_test(test_a_rule_left_half_defined),
		cmocka_unit_test(test_sweep_frees_what_the_dead_left),
		cmocka_unit_test(test_first_claim_of_new_memory),
		cmocka_unit_test(test_counters_describe_themselves),
		cmocka_unit_test(test_algorithms_are_what_is_known_of_them),
		cmocka_unit_test(test_bursts_and_reservations_are_what_is_known_of_them),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

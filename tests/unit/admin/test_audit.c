/* SPDX-License-Identifier: BSD-2-Clause */
/* An audit finds each fault that there can be, once and where it is, and none in what is whole. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "at.h"
#include "rule/handle.h"
#include "segment/record.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define LONG_KEY \
	"a key of which not all bytes are kept, for it has more of them than there is room for"

static const struct rl_options options = {.keys = 200, .ring = 18, .rules = 16, .key_bytes = 24};

enum rule_of {
	HARD,
	SHARE,
	FIXED,
	LOG,
	TOKEN,
	LEAKY,
	NETWORK,
	HELD,
	RULES
};

static const struct rl_rule rules[RULES] = {
	[HARD] = {.name = "hard",
                  .limit = {.capacity = 50,
                            .window_ns = 8 * RL_SECOND,
                            .granularity = 8,
                            .hard = 1}},
	[SHARE] = {.name = "share",
                   .limit = {.capacity = 50, .window_ns = 8 * RL_SECOND, .granularity = 1}},
	[FIXED] = {.name = "fixed",
                   .limit = {.algorithm = RL_FIXED_WINDOW, .capacity = 50, .window_ns = RL_SECOND}},
	[LOG] = {.name = "log",
                 .limit = {.algorithm = RL_SLIDING_LOG, .capacity = 9, .window_ns = RL_SECOND}},
	[TOKEN] = {.name = "token",
                   .limit = {.algorithm = RL_TOKEN_BUCKET, .capacity = 9, .window_ns = RL_SECOND}},
	[LEAKY] = {.name = "leaky",
                   .limit = {.algorithm = RL_LEAKY_BUCKET,
                             .capacity = 9,
                             .window_ns = RL_SECOND,
                             .burst = 9}},
	[NETWORK] = {.name = "network",
                     .limit = {.capacity = 9, .window_ns = RL_SECOND, .prefix_v4 = 24}},
	[HELD] = {.name = "held", .limit = {.algorithm = RL_IN_FLIGHT, .capacity = 9}},
};

static struct rl *rl;

struct told {
	unsigned faults;
	enum rl_fault fault;
	uint64_t at;
};

static int
note(enum rl_fault fault, uint64_t at, void *arg)
{
	struct told *told = arg;

	told->faults++;
	told->fault = fault;
	told->at = at;
	return 0;
}

/* Every algorithm has counted; the windows hold several sub-buckets. */
static void
prepare(void)
{
	struct rl_charges charges;

	assert_int_equal(rl_open_private(&options, &rl), 0);
	for (int rule = 0; rule < RULES; rule++) {
		const char *key = rule == NETWORK ? "192.0.2.1" : "key";

		assert_int_equal(rl_define(rl, &rules[rule]), rule);
		for (unsigned i = 0; i < 6; i++)
			test_check_at(rl, rule, key, strlen(key), 1, T0 + i * RL_SECOND, NULL,
			              &charges);
	}
	at_check(rl, HARD, LONG_KEY, strlen(LONG_KEY), 1, T0, NULL);
}

static void
assert_whole(struct rl_audit *counts)
{
	struct told told = {0};

	assert_int_equal(rl_audit(rl, note, &told, counts), 0);
	if (told.faults > 0)
		fail_msg("%u faults, the last at %d: %s", told.faults, (int)told.at,
		         rl_fault_text(told.fault));
}

static void
test_whole(void **state)
{
	struct rl_audit counts;

	(void)state;
	prepare();
	assert_whole(&counts);
	assert_int_equal(counts.live, RULES + 1);
	assert_int_equal(counts.named, RULES + 1);
	assert_int_equal(counts.claimed + counts.retiring + counts.unsettled, 0);
	rl_close(rl);
}

/* A write would fault here. */
static void
test_nothing_is_written(void **state)
{
	struct rl_options readonly = {.flags = RL_OPEN_READONLY | RL_OPEN_EXISTING};
	struct rl_audit counts;
	struct rl *writer;

	(void)state;
	prepare();
	assert_int_equal(mprotect(rl->segment.header, rl->segment.bytes, PROT_READ), 0);
	assert_whole(&counts);
	assert_int_equal(mprotect(rl->segment.header, rl->segment.bytes, PROT_READ | PROT_WRITE),
	                 0);
	rl_close(rl); /* which gives up its seat */
	assert_int_equal(rl_open(test_segment_name(), &options, &writer), 0);
	assert_int_equal(rl_define(writer, &rules[HARD]), 0);
	assert_int_equal(at_check(writer, 0, "key", 3, 1, T0, NULL), RL_ALLOWED);
	assert_int_equal(rl_open(test_segment_name(), &readonly, &rl), 0);
	assert_whole(&counts);
	assert_int_equal(counts.named, 1);
	rl_close(rl);
	rl_close(writer);
	assert_int_equal(rl_unlink(test_segment_name()), 0);
}

static int
keep_slot(const struct rl_entry *e, void *arg)
{
	*(uint64_t *)arg = e->slot;
	return 0;
}

static struct rl_slot
slot_of(int rule, const char *key)
{
	struct rl_slot slot = {0};

	assert_int_equal(rl_lookup(rl, rule, key, strlen(key), T0, keep_slot, &slot.index), 0);
	slot.tag = *rl_table_tag(&rl->segment.table, slot.index);
	return slot;
}

/* A free slot in the bucket that is so many behind that of `index`. */
static uint64_t
free_place(uint64_t index, uint64_t buckets)
{
	const struct rl_table *t = &rl->segment.table;
	uint64_t bucket = (index / RL_BUCKET_SLOTS + buckets) % t->buckets, i = 0;

	while (rl_tag_status(t->bucket[bucket].tag[i]) != RL_TAG_FREE)
		i++;
	assert_true(i < RL_BUCKET_SLOTS);
	return bucket * RL_BUCKET_SLOTS + i;
}

static void
set_tag(uint64_t index, uint64_t tag)
{
	*rl_table_tag(&rl->segment.table, index) = tag;
}

static void
test_left_over(void **state)
{
	struct rl_audit counts;
	struct rl_slot slot;
	struct rl_u128 *word;

	(void)state;
	prepare();
	slot = slot_of(TOKEN, "key");
	word = rl_table_state(&rl->segment.table, slot.index);
	*word = rl_state_retired(*word, rl_tag_gen(slot.tag));
	set_tag(free_place(0, 0), rl_tag_make(RL_TAG_TENT, 3, 42));
	rl_segment_record(&rl->segment, slot_of(LOG, "key").index)->bytes[0] ^= 1;
	assert_whole(&counts);
	assert_int_equal(counts.live, RULES + 1);
	assert_int_equal(counts.named, RULES);
	assert_int_equal(counts.claimed, 1);
	assert_int_equal(counts.retiring, 1);
	rl_close(rl);
}

/* A retirement that was left between its last two steps: no fault, and a sweep finishes it. */
static void
test_left_leaving(void **state)
{
	struct rl_audit counts;
	struct rl_slot slot;
	struct rl_u128 *word;

	(void)state;
	prepare();
	slot = slot_of(TOKEN, "key");
	word = rl_table_state(&rl->segment.table, slot.index);
	*word = rl_state_retired(*word, rl_tag_gen(slot.tag));
	set_tag(slot.index,
	        rl_tag_make(RL_TAG_FREE, rl_tag_gen(slot.tag), slot.tag & RL_TAG_KEY_MASK));
	assert_whole(&counts);
	assert_int_equal(counts.retiring, 1);
	assert_int_equal(rl_sweep_at(rl, T0), 1);
	assert_whole(&counts);
	assert_int_equal(counts.retiring, 0);
	rl_close(rl);
}

/* The faults, each made in a segment that is whole; they return where it is to be found. */

static uint64_t
make_status(void)
{
	uint64_t at = free_place(0, 0);

	set_tag(at, UINT64_C(3) << RL_TAG_STATUS_SHIFT);
	return at;
}

static uint64_t
make_free_with_key(void)
{
	uint64_t at = free_place(0, 1);

	set_tag(at, rl_tag_make(RL_TAG_FREE, 7, 42));
	return at;
}

static uint64_t
make_no_limit(void)
{
	uint64_t at = free_place(0, 0);

	set_tag(at, rl_tag_make(RL_TAG_LIVE, 0, RL_TAG_LIMIT_MASK << RL_TAG_LIMIT_SHIFT));
	return at;
}

static uint64_t
make_limit_without_row(void)
{
	uint64_t at = free_place(0, 0);

	set_tag(at, rl_tag_make(RL_TAG_LIVE, 0, (uint64_t)RULES << RL_TAG_LIMIT_SHIFT));
	return at;
}

static uint64_t
hash_at(struct rl_slot slot)
{
	struct rl_record_copy copy;

	assert_true(rl_record_read(&rl->segment, slot, &copy));
	return copy.key_hash;
}

static uint64_t
make_name(void)
{
	struct rl_slot slot = slot_of(SHARE, "key");

	rl_record_write(&rl->segment, slot, hash_at(slot), "other", 5);
	return slot.index;
}

/* In a bucket that is none of the key's. */
static uint64_t
make_wrong_slot(void)
{
	struct rl_slot slot = slot_of(HARD, "key"), moved = slot;
	uint64_t hash = rl_hash_of_key(rl->segment.key_start, "key", 3);
	const struct rl_compiled *limit = rl_handle_limit(rl, HARD);
	struct rl_candidates p =
		rl_table_candidates(&rl->segment.table, limit->owner, hash ^ limit->salt);

	assert_true(p.key == (slot.tag & RL_TAG_KEY_MASK));
	for (uint64_t i = 1; moved.index / 8 * 8 == p.first[0] || moved.index / 8 * 8 == p.first[1];
	     i++)
		moved.index = free_place(slot.index, i);
	set_tag(slot.index, rl_tag_make(RL_TAG_FREE, 1, 0));
	set_tag(moved.index, moved.tag);
	rl_record_write(&rl->segment, moved, hash ^ limit->salt, "key", 3);
	return moved.index;
}

/* The ring's entry of the sub-bucket before the newest. */
static uint64_t *
newest_entry(struct rl_slot slot)
{
	uint64_t epoch = T0 / RL_SECOND + 4;

	return &rl_segment_ring(&rl->segment, slot.index)[epoch % 8];
}

static uint64_t
make_ring(void)
{
	struct rl_slot slot = slot_of(HARD, "key");

	*newest_entry(slot) ^= 1;
	return slot.index;
}

static uint64_t
make_sum(void)
{
	struct rl_slot slot = slot_of(HARD, "key");

	*newest_entry(slot) += UINT64_C(1) << 36;
	return slot.index;
}

static uint64_t
make_sum_of_none(void)
{
	struct rl_slot slot = slot_of(FIXED, "key");

	rl_table_state(&rl->segment.table, slot.index)->hi |= UINT64_C(1) << 40;
	return slot.index;
}

static uint64_t
make_order(void)
{
	struct rl_slot slot = slot_of(LOG, "key");

	rl_segment_ring(&rl->segment, slot.index)[4] += RL_SECOND * 3;
	return slot.index;
}

/* The total, which is one too many. */
static uint64_t
make_total(void)
{
	struct rl_slot slot = slot_of(HELD, "key");

	rl_table_state(&rl->segment.table, slot.index)->hi += UINT64_C(1) << 44;
	return slot.index;
}

/* A seat that is not there. */
static uint64_t
make_no_seat(void)
{
	struct rl_slot slot = slot_of(HELD, "key");

	rl_table_state(&rl->segment.table, slot.index)->lo |= UINT64_C(0xfff) << 44;
	return slot.index;
}

/* A second tally of the same process, and the total says both. */
static uint64_t
make_two_places(void)
{
	struct rl_slot slot = slot_of(HELD, "key");
	struct rl_u128 *state = rl_table_state(&rl->segment.table, slot.index);

	rl_segment_ring(&rl->segment, slot.index)[1] = state->lo;
	state->hi += UINT64_C(6) << 44 | UINT64_C(1) << 31;
	return slot.index;
}

/* The newest tally stands at none; what is at the one that there is adds up. */
static uint64_t
make_no_place(void)
{
	struct rl_slot slot = slot_of(HELD, "key");

	rl_segment_ring(&rl->segment, slot.index)[0] =
		rl_table_state(&rl->segment.table, slot.index)->lo;
	rl_table_state(&rl->segment.table, slot.index)->hi |= UINT64_C(1) << 19;
	return slot.index;
}

static uint64_t
put_twice(struct rl_slot slot, const char *key)
{
	struct rl_slot second = slot;

	second.index = free_place(slot.index, 0);
	set_tag(second.index, second.tag);
	if (key)
		rl_record_write(&rl->segment, second, hash_at(slot), key, strlen(key));
	return second.index > slot.index ? second.index : slot.index;
}

static uint64_t
make_twice(void)
{
	return put_twice(slot_of(HARD, "key"), "key");
}

static uint64_t
make_twice_without_name(void)
{
	return put_twice(slot_of(HARD, LONG_KEY), NULL);
}

static uint64_t
make_reference(void)
{
	struct rl_refs refs = {.count = 2, .limit = {LOG, HARD}};

	rl_rules_set_refs(&rl->segment, LOG, RL_BANK_B, &refs);
	return LOG;
}

static uint64_t
make_rule_twice(void)
{
	rl->segment.rows[RULES].name_hash = rl->segment.rows[1].name_hash;
	return RULES;
}

static uint64_t
make_rule_beyond_a_gap(void)
{
	rl->segment.rows[RULES + 1].name_hash = 42;
	return RULES + 1;
}

static uint64_t
make_limit_twice(void)
{
	rl->segment.limits[RULES].identity = rl->segment.limits[2].identity;
	return RULES;
}

static uint64_t
make_limit_beyond_a_gap(void)
{
	rl->segment.limits[RULES + 2].identity.lo = 1;
	return RULES + 2;
}

static const struct {
	enum rl_fault fault;
	uint64_t (*make)(void);
} faults[] = {
	{RL_FAULT_STATUS, make_status},
	{RL_FAULT_FREE, make_free_with_key},
	{RL_FAULT_NO_LIMIT, make_no_limit},
	{RL_FAULT_NO_LIMIT, make_limit_without_row},
	{RL_FAULT_NAME, make_name},
	{RL_FAULT_SLOT, make_wrong_slot},
	{RL_FAULT_RING, make_ring},
	{RL_FAULT_SUM, make_sum},
	{RL_FAULT_SUM, make_sum_of_none},
	{RL_FAULT_ORDER, make_order},
	{RL_FAULT_TWICE, make_twice},
	{RL_FAULT_TWICE, make_twice_without_name},
	{RL_FAULT_TALLY, make_total},
	{RL_FAULT_TALLY, make_no_seat},
	{RL_FAULT_TALLY, make_two_places},
	{RL_FAULT_TALLY, make_no_place},
	{RL_FAULT_REFERENCE, make_reference},
	{RL_FAULT_RULE, make_rule_twice},
	{RL_FAULT_RULE, make_rule_beyond_a_gap},
	{RL_FAULT_LIMIT, make_limit_twice},
	{RL_FAULT_LIMIT, make_limit_beyond_a_gap},
};

static void
test_each_fault(void **state)
{
	bool is_made[RL_FAULTS] = {false};

	(void)state;
	for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
		struct told told = {0};
		struct rl_audit counts;
		uint64_t at;

		prepare();
		at = faults[i].make();
		assert_int_equal(rl_audit(rl, note, &told, &counts), 0);
		if (told.faults != 1 || told.fault != faults[i].fault || told.at != at)
			fail_msg("%s, at %d: %u faults, %s, at %d", rl_fault_text(faults[i].fault),
			         (int)at, told.faults, rl_fault_text(told.fault), (int)told.at);
		assert_int_equal(counts.unsettled, 0);
		is_made[told.fault] = true;
		rl_close(rl);
	}
	for (int fault = 0; fault < RL_FAULTS; fault++)
		assert_true(is_made[fault] && rl_fault_text((enum rl_fault)fault));
	assert_null(rl_fault_text(RL_FAULTS));
}

/* What two keys have in common is some bits of hash, and their names tell that they are two. */
static void
test_two_keys_of_one_hash(void **state)
{
	struct rl_audit counts;

	(void)state;
	prepare();
	put_twice(slot_of(HARD, LONG_KEY), "the other key of these bits, and as long as that");
	assert_whole(&counts);
	assert_int_equal(counts.named, RULES + 2);
	rl_close(rl);
}

static int
stop(enum rl_fault fault, uint64_t at, void *arg)
{
	(void)at;
	(void)arg;
	return 42 + (int)fault;
}

static void
test_a_visit_ends_it(void **state)
{
	struct rl_audit counts;

	(void)state;
	for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
		prepare();
		faults[i].make();
		make_limit_beyond_a_gap();
		assert_int_equal(rl_audit(rl, stop, NULL, &counts), 42 + (int)faults[i].fault);
		rl_close(rl);
	}
}

#define THREADS 3
#define REQUESTS 20000
#define KEYS 60

static uint64_t finished;

/* Of few keys in a small table: they meet, are evicted, forgotten, swept and given back. */
static void *
work(void *arg)
{
	uint64_t seed = (uint64_t)(uintptr_t)arg, now = T0;

	for (int i = 0; i < REQUESTS; i++) {
		char key[24];
		size_t len = (size_t)sprintf(key, "192.0.%u.1", (unsigned)test_below(&seed, KEYS));
		int rule = (int)test_below(&seed, RULES);
		struct rl_charges c;

		now += test_below(&seed, RL_SECOND);
		if (test_check_at(rl, rule, key, len, 1, now, NULL, &c) == RL_ALLOWED && i % 5 == 0)
			at_refund(rl, &c, now);
		if (i % 7 == 0)
			rl_reset(rl, rule, key, len);
		if (i % 1000 == 0)
			rl_sweep_at(rl, now);
	}
	rl_atomic_add(&finished, 1);
	return NULL;
}

/* At the first fault all keys go to another table. */
static int
note_and_move(enum rl_fault fault, uint64_t at, void *arg)
{
	struct rl_moving moving = {0};

	if (((struct told *)arg)->faults == 0) {
		assert_int_equal(rl_resize(rl, &(struct rl_resize){.keys = 1000}, 0), 0);
		assert_int_equal(rl_move_slots_at(rl, 0, UINT64_MAX, T0, &moving), 0);
	}
	return note(fault, at, arg);
}

/* What moves meanwhile is no fault: the audit goes on in the table that it has begun with. */
static void
test_a_table_that_is_left_meanwhile(void **state)
{
	const uint64_t no_limits = rl_tag_make(RL_TAG_LIVE, 0, RL_TAG_KEY_MASK);
	struct told told = {0};
	struct rl_audit counts;

	(void)state;
	assert_int_equal(rl_open(test_segment_name(), &options, &rl), 0);
	assert_int_equal(rl_define(rl, &rules[HARD]), 0);
	for (uint32_t key = 0; key < 100; key++)
		at_check(rl, 0, &key, sizeof key, 1, T0, NULL);
	*rl_table_tag(&rl->segment.table, 0) = no_limits;
	assert_int_equal(rl_audit(rl, note_and_move, &told, &counts), 0);
	assert_int_equal(told.fault, RL_FAULT_NO_LIMIT);
	assert_int_equal(told.faults, 1);
	rl_close(rl);
	assert_int_equal(rl_unlink(test_segment_name()), 0);
}

/* Of what is under way nothing is a fault. */
static void
test_while_others_work(void **state)
{
	pthread_t threads[THREADS];
	struct rl_audit counts;
	unsigned audits = 0;

	(void)state;
	prepare();
	finished = 0;
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, work, (void *)(i + 1)), 0);
	do {
		assert_whole(&counts);
		audits++;
	} while (rl_atomic_load(&finished) < THREADS);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_whole(&counts);
	assert_int_equal(counts.claimed + counts.retiring + counts.unsettled, 0);
	assert_int_equal(counts.live, rl_fill(rl));
	print_message("           %u audits meanwhile\n", audits);
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_nothing_is_written),
		cmocka_unit_test(test_left_over),
		cmocka_unit_test(test_left_leaving),
		cmocka_unit_test(test_each_fault),
		cmocka_unit_test(test_two_keys_of_one_hash),
		cmocka_unit_test(test_a_visit_ends_it),
		cmocka_unit_test(test_while_others_work),
		cmocka_unit_test_teardown(test_a_table_that_is_left_meanwhile, test_unlink),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* The table alone: slots, claims, what the dead leave behind, retirement. */
#include <stdlib.h>
#include <string.h>

#include "table/table.h"
#include "testing.h"

static struct rl_table
table_of(uint32_t buckets)
{
	struct rl_table t = {.buckets = buckets};
	size_t bytes = buckets * sizeof t.bucket[0];

	t.bucket = aligned_alloc(64, bytes);
	assert_true(t.bucket != NULL);
	memset(t.bucket, 0, bytes);
	return t;
}

static void
table_free(struct rl_table *t)
{
	free(t->bucket);
}

static struct rl_candidates
candidates_of(const struct rl_table *t, uint64_t key)
{
	return rl_table_candidates(
		t, rl_tag_owner(3, 0),
		rl_hash_of_key(rl_sip_start64((struct rl_hash_key){1, 2}), &key, sizeof key));
}

static unsigned
tags_with(const struct rl_table *t, enum rl_tag_status status)
{
	unsigned count = 0;

	for (uint64_t i = 0; i < (uint64_t)t->buckets * RL_BUCKET_SLOTS; i++)
		count += rl_tag_status(*rl_table_tag(t, i)) == status;
	return count;
}

static void
test_two_lines_for_every_key(void **state)
{
	struct rl_table t = table_of(2);

	(void)state;
	for (uint32_t buckets = 2; buckets < 40; buckets++) {
		struct rl_table other = {.buckets = buckets};
		for (uint64_t key = 0; key < 1000; key++) {
			struct rl_candidates p = candidates_of(&other, key);
			assert_true(p.first[0] != p.first[1]);
			assert_true(p.first[0] / RL_BUCKET_SLOTS < buckets);
			assert_true(p.first[1] / RL_BUCKET_SLOTS < buckets);
		}
	}
	table_free(&t);
}

static void
test_claim_then_find(void **state)
{
	struct rl_table t = table_of(64);
	struct rl_slot a, b;

	(void)state;
	for (uint64_t key = 0; key < 300; key++) {
		struct rl_candidates p = candidates_of(&t, key);
		assert_false(rl_table_find(&t, &p, &a));
		assert_int_equal(rl_table_claim(&t, &p, &a), RL_CLAIM_NEW);
		assert_true(rl_table_find(&t, &p, &b));
		assert_true(a.index == b.index && a.tag == b.tag);
		assert_int_equal(rl_table_claim(&t, &p, &b), RL_CLAIM_FOUND);
		assert_true(a.index == b.index);
		assert_int_equal(rl_tag_limit(a.tag), 3);
	}
	assert_int_equal(tags_with(&t, RL_TAG_LIVE), 300);
	assert_int_equal(tags_with(&t, RL_TAG_TENT), 0);
	table_free(&t);
}

/* A claimer that died at TENT: the next user of the key completes it, in the same slot. */
static void
test_claim_left_by_the_dead(void **state)
{
	struct rl_table t = table_of(2);
	struct rl_candidates p = candidates_of(&t, 1);
	uint64_t orphan = rl_table_candidate(&p, 11);
	struct rl_slot slot;

	(void)state;
	*rl_table_tag(&t, orphan) = rl_tag_make(RL_TAG_TENT, 9, p.key);
	assert_false(rl_table_find(&t, &p, &slot));
	assert_int_equal(rl_table_claim(&t, &p, &slot), RL_CLAIM_NEW);
	assert_int_equal(slot.index, orphan);
	assert_int_equal(rl_tag_gen(slot.tag), 9);
	assert_int_equal(tags_with(&t, RL_TAG_LIVE), 1);
	table_free(&t);
}

/* Several dead claimers of one key: exactly one LIVE comes of them, the lowest slot. */
static void
test_claims_left_in_many_slots(void **state)
{
	(void)state;
	for (unsigned set = 1; set < 1u << RL_CANDIDATES; set += 37) {
		struct rl_table t = table_of(2);
		struct rl_candidates p = candidates_of(&t, 1);
		struct rl_slot slot;
		uint64_t lowest = UINT64_MAX;
		for (unsigned i = 0; i < RL_CANDIDATES; i++) {
			uint64_t at = rl_table_candidate(&p, i);
			if (!(set >> i & 1))
				continue;
			*rl_table_tag(&t, at) = rl_tag_make(RL_TAG_TENT, 1, p.key);
			lowest = at < lowest ? at : lowest;
		}
		assert_int_equal(rl_table_claim(&t, &p, &slot), RL_CLAIM_NEW);
		assert_int_equal(slot.index, lowest);
		assert_int_equal(tags_with(&t, RL_TAG_LIVE), 1);
		assert_int_equal(tags_with(&t, RL_TAG_TENT), 0);
		table_free(&t);
	}
}

/* A claimer finds a LIVE one beside its TENT: it gives way. */
static void
test_tent_gives_way_to_live(void **state)
{
	struct rl_table t = table_of(2);
	struct rl_candidates p = candidates_of(&t, 1);
	struct rl_slot slot;

	(void)state;
	*rl_table_tag(&t, rl_table_candidate(&p, 2)) = rl_tag_make(RL_TAG_TENT, 4, p.key);
	*rl_table_tag(&t, rl_table_candidate(&p, 9)) = rl_tag_make(RL_TAG_LIVE, 7, p.key);
	assert_int_equal(rl_table_claim(&t, &p, &slot), RL_CLAIM_FOUND);
	assert_int_equal(slot.index, rl_table_candidate(&p, 9));
	table_free(&t);
}

/* A slot that is LEAVING: its key's still if it was not retired, and else room for anyone. */
static void
test_leaving_left_by_the_dead(void **state)
{
	(void)state;
	for (int is_dead = 0; is_dead < 2; is_dead++) {
		struct rl_table t = table_of(2);
		struct rl_candidates p = candidates_of(&t, 1);
		struct rl_slot slot, again;
		struct rl_u128 *word;
		assert_int_equal(rl_table_claim(&t, &p, &slot), RL_CLAIM_NEW);
		word = rl_table_state(&t, slot.index);
		*word = (struct rl_u128){.lo = 77, .hi = rl_tag_gen(slot.tag)};
		if (is_dead)
			*word = rl_state_retired(*word, rl_tag_gen(slot.tag));
		for (uint64_t key = 2; key <= RL_CANDIDATES; key++) {
			struct rl_candidates other = candidates_of(&t, key);
			assert_int_equal(rl_table_claim(&t, &other, &again), RL_CLAIM_NEW);
		}
		*rl_table_tag(&t, slot.index) &= ~(UINT64_C(3) << RL_TAG_STATUS_SHIFT);
		assert_true(rl_tag_is_leaving(*rl_table_tag(&t, slot.index)));
		struct rl_candidates new = candidates_of(&t, 99);
		assert_int_equal(rl_table_claim(&t, &new, &again),
		                 is_dead ? RL_CLAIM_NEW : RL_CLAIM_FULL);
		assert_int_equal(tags_with(&t, RL_TAG_LIVE), RL_CANDIDATES);
		assert_int_equal(rl_table_find(&t, &p, &again), !is_dead);
		assert_true(is_dead || again.tag == slot.tag);
		table_free(&t);
	}
}

static void
test_full_pair(void **state)
{
	struct rl_table t = table_of(2);
	struct rl_slot slot;

	(void)state;
	for (uint64_t key = 0; key < RL_CANDIDATES; key++) {
		struct rl_candidates p = candidates_of(&t, key);
		assert_int_equal(rl_table_claim(&t, &p, &slot), RL_CLAIM_NEW);
	}
	struct rl_candidates p = candidates_of(&t, 99);
	assert_int_equal(rl_table_claim(&t, &p, &slot), RL_CLAIM_FULL);
	assert_int_equal(tags_with(&t, RL_TAG_LIVE), RL_CANDIDATES);
	table_free(&t);
}

static void
test_retire(void **state)
{
	struct rl_table t = table_of(2);
	struct rl_candidates p = candidates_of(&t, 1);
	struct rl_u128 seen = {.lo = 77, .hi = UINT64_C(5) << 40 | 99};
	struct rl_slot slot, again;
	struct rl_u128 *word;

	(void)state;
	assert_int_equal(rl_table_claim(&t, &p, &slot), RL_CLAIM_NEW);
	word = rl_table_state(&t, slot.index);
	*word = seen;
	/* somebody was admitted after the judgement: nothing is retired */
	word->lo = 78;
	assert_false(rl_table_retire(&t, slot, seen));
	assert_true(rl_table_find(&t, &p, &again));
	/* unchanged: retired, the time kept, and dead for whoever still holds the slot */
	seen.lo = 78;
	assert_true(rl_table_retire(&t, slot, seen));
	assert_false(rl_table_find(&t, &p, &again));
	assert_true(rl_state_is_dead(*word));
	assert_int_equal(word->lo, 78);
	assert_int_equal(word->hi >> 12, seen.hi >> 12);
	assert_int_equal(rl_state_gen(*word), rl_tag_gen(slot.tag));
	assert_int_equal(rl_tag_gen(*rl_table_tag(&t, slot.index)),
	                 (uint8_t)(rl_tag_gen(slot.tag) + 1));
	assert_false(rl_table_free(&t, slot));
	/* the next claim of the slot is another incarnation, whose state reads as zero */
	assert_int_equal(rl_table_claim(&t, &p, &again), RL_CLAIM_NEW);
	assert_int_equal(again.index, slot.index);
	assert_int_not_equal(rl_tag_gen(again.tag), rl_state_gen(*word));
	table_free(&t);
}

/* The same word does not come back with the gen: 256 retirements later another serial has. */
static void
test_words_of_a_slot_differ(void **state)
{
	enum {
		CYCLE = 256 * RL_STATE_SERIALS
	};
	struct rl_u128 first = {.lo = 5, .hi = UINT64_C(1) << 40}, word = first;

	(void)state;
	for (int i = 1; i <= CYCLE; i++) {
		word = rl_state_retired(word, (uint8_t)(i - 1));
		assert_true(rl_state_is_dead(word));
		/* the next incarnation is charged the same again */
		word = (struct rl_u128){.lo = first.lo,
		                        .hi = first.hi | rl_state_slot_bits(word, (uint8_t)i)};
		assert_int_equal(rl_u128_equal(word, first), i == CYCLE);
	}
}

/* At a load of 3/4 about one key in 100,000 finds no slot; allow ten times that. */
static void
test_load_of_three_quarters(void **state)
{
	struct rl_table t = table_of(1 << 14);
	uint64_t keys = (uint64_t)t.buckets * RL_BUCKET_SLOTS * 3 / 4;
	unsigned full = 0;
	struct rl_slot slot;

	(void)state;
	for (uint64_t key = 0; key < keys; key++) {
		struct rl_candidates p = candidates_of(&t, key);
		full += rl_table_claim(&t, &p, &slot) == RL_CLAIM_FULL;
	}
	assert_true(full <= keys / 10000);
	table_free(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_lines_for_every_key),
		cmocka_unit_test(test_claim_then_find),
		cmocka_unit_test(test_claim_left_by_the_dead),
		cmocka_unit_test(test_claims_left_in_many_slots),
		cmocka_unit_test(test_tent_gives_way_to_live),
		cmocka_unit_test(test_leaving_left_by_the_dead),
		cmocka_unit_test(test_full_pair),
		cmocka_unit_test(test_retire),
		cmocka_unit_test(test_words_of_a_slot_differ),
		cmocka_unit_test(test_load_of_three_quarters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* What a key takes of a segment, all included; and that the manual pages say so. */
#include <stdio.h>
#include <string.h>

#include "rule/handle.h"
#include "segment/geometry.h"
#include "testing.h"

#define MIB (1024.0 * 1024)
#define MANY 10000000 /* keys, beside which all else is little */

/* All of a segment, and what of it are counters of rules, which each CPU has its own of. */
static uint64_t
bytes_of(const struct rl_options *o)
{
	struct rl_place place;

	assert_int_equal(rl_place(test_segment_name(), o, &place), 0);
	return place.bytes;
}

#define COUNTERS (sizeof(struct rl_stat) + sizeof(struct rl_denials)) /* of a rule and a CPU */

static uint64_t
bytes_but_counters(const struct rl_options *o)
{
	struct rl_geometry g;

	assert_int_equal(rl_geometry_from(o, &g), 0);
	return bytes_of(o) - (uint64_t)g.stripes * g.rules * COUNTERS;
}

/* Of a rule of one sub-bucket or a bucket, with names of 32 bytes. */
static struct rl_options
least(uint32_t keys)
{
	return (struct rl_options){
		.keys = keys, .ring = 1, .key_bytes = 32, .on_full = RL_FULL_DENY};
}

static uint64_t
slots_of(uint32_t keys)
{
	const struct rl_options o = least(keys);
	struct rl_geometry g;

	assert_int_equal(rl_geometry_from(&o, &g), 0);
	return (uint64_t)g.buckets * RL_BUCKET_SLOTS;
}

/*
 * The whole segment: tags, states, rings, names, denials, tiers, rules, bans, and free slots for
 * the table to work in; of ten million keys also what each of a thousand CPUs counts.
 */
static void
test_a_key_takes_160_bytes_at_most(void **state)
{
	static const uint32_t keys[] = {100000, 1000000, MANY, 100000000, RL_KEYS_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		const struct rl_options o = least(keys[i]);

		assert_true(bytes_but_counters(&o) <= (uint64_t)keys[i] * 160);
		assert_true(keys[i] < MANY || bytes_of(&o) <= (uint64_t)keys[i] * 160);
	}
}

/* What the overflow area is at least: to a small table a crowd is more. */
static uint64_t
small_tables_reserve(uint32_t keys)
{
	uint64_t bytes = 128 * slots_of(keys);

	return bytes < 4 * 1048576 ? bytes : 4 * 1048576;
}

/*
 * What nobody has to ask for: rings of one entry, names of 48 bytes and the overflow area, but for
 * what a small table's is more. Beside few keys the rules, bans, events and counters are what there
 * is.
 */
static void
test_a_key_takes_200_bytes_by_default(void **state)
{
	static const uint32_t keys[] = {3000,    24576,   50000, 100000,    300000,
	                                1000000, 3000000, MANY,  100000000, RL_KEYS_MAX};
	const uint64_t beside = bytes_but_counters(&(struct rl_options){.keys = 1});

	(void)state;
	assert_true((double)beside < 2 * MIB);
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		const struct rl_options o = {.keys = keys[i]};
		uint64_t bytes = bytes_but_counters(&o);

		assert_true(bytes - beside <=
		            (uint64_t)keys[i] * 200 + small_tables_reserve(keys[i]));
		assert_true(keys[i] < 1000000 || bytes <= (uint64_t)keys[i] * 200);
	}
}

/* For keys without a slot there is so much more, and no more. */
static void
test_the_reserve_takes_a_seventh_or_four_mib_at_most(void **state)
{
	static const uint32_t keys[] = {3000, 24576, 100000, 1000000, MANY, RL_KEYS_MAX};

	(void)state;
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		for (uint32_t ring = 1; ring <= 64; ring *= 8) {
			struct rl_options without = least(keys[i]), with = without;
			uint64_t most, reserve;

			without.ring = with.ring = ring;
			with.on_full = RL_FULL_RESERVE;
			most = slots_of(keys[i]) * (24 + 8 * ring + 24 + 32) / 7;
			if (most < small_tables_reserve(keys[i]))
				most = small_tables_reserve(keys[i]);
			reserve = bytes_of(&with) - bytes_of(&without);
			assert_true(reserve <=
			            most + RL_AREA_ALIGN + sizeof(struct rl_overflow_head));
			assert_true(reserve > most / 2 ||
			            reserve >= 16 * RL_CELLS_MAX * sizeof(struct rl_u128));
		}
	}
}

/* Who is of no cluster has no byte for it; else a hash, a wish and little more for each slot. */
static void
test_what_a_cluster_takes(void **state)
{
	static const uint32_t keys[] = {10, 24576, 1000000, MANY};

	(void)state;
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
		struct rl_options o = least(keys[i]);
		uint64_t slots = slots_of(keys[i]), alone = bytes_of(&o), more;
		struct rl_geometry g;
		struct rl_areas a;

		assert_int_equal(rl_geometry_from(&o, &g), 0);
		assert_int_equal(g.record_bytes, sizeof(struct rl_record) + 32);
		a = rl_areas_of(&g);
		assert_int_equal(a.wishes, a.overflow); /* of no length */
		o.flags = RL_OPEN_CLUSTER;
		more = bytes_of(&o) - alone;
		assert_true(more >= slots * (RL_RECORD_HASH_BYTES + 4));
		assert_true(more <= slots * (RL_RECORD_HASH_BYTES + 4) + slots / 512 + slots / 8 +
		                            2 * RL_SLOTS_PER_ENTRY * RL_BANS_DEFAULT *
		                                    RL_RECORD_HASH_BYTES +
		                            3 * RL_AREA_ALIGN);
	}
}

/* Of the algorithms, a log alone needs more of a ring. */
static void
test_what_a_ring_of_one_is_for(void **state)
{
	const struct rl_options o = least(1000);

	(void)state;
	for (int algorithm = 0; algorithm < test_algorithm_count(); algorithm++) {
		const struct rl_rule rule = {.name = "r",
		                             .limit = {.algorithm = (enum rl_algorithm)algorithm,
		                                       .capacity = 1000,
		                                       .window_ns = RL_SECOND}};

		assert_int_equal(rl_rule_check(&rule, &o, NULL, 0),
		                 algorithm == RL_SLIDING_LOG ? RL_ERING : 0);
	}
}

/* What is opened is what was said, and can hold the keys. */
static void
test_it_is_the_segment_that_is_made(void **state)
{
	const struct rl_options o = least(300000);
	struct rl_info info;
	struct rl *rl;

	(void)state;
	assert_int_equal(rl_open_private(&o, &rl), 0);
	rl_info(rl, &info);
	assert_true(info.bytes == bytes_of(&o));
	assert_true(info.slots == slots_of(o.keys));
	assert_true(info.keys >= o.keys);
	assert_true(info.slots <= (o.keys * UINT64_C(5) + 2) / 3 + RL_BUCKET_SLOTS);
	rl_close(rl);
}

/*
 * A further entry of the ring is 8 bytes for each slot: five for three keys, so 13.3 a key and not
 * 8.
 */
static void
test_a_sub_bucket_takes_8_bytes_a_slot(void **state)
{
	(void)state;
	for (uint32_t ring = 1; ring < 128; ring++) {
		struct rl_options o = least(MANY), longer = o;
		uint64_t more;

		o.ring = ring;
		longer.ring = ring + 1;
		more = bytes_of(&longer) - bytes_of(&o);
		assert_true(more >= 8 * slots_of(MANY) - RL_AREA_ALIGN &&
		            more <= 8 * slots_of(MANY) + RL_AREA_ALIGN);
	}
}

/* A manual page as one line: words, with a blank between any two. */
static void
read_page(const char *path, char *text, size_t size)
{
	FILE *page = fopen(path, "re");
	size_t len;

	assert_non_null(page);
	len = fread(text, 1, size - 1, page);
	assert_true(len < size - 1);
	text[len] = '\0';
	fclose(page);
	for (char *at = text; *at; at++)
		*at = *at == '\n' ? ' ' : *at;
}

static void
says(const char *path, const char *sentence)
{
	static char text[65536];

	read_page(path, text, sizeof text);
	if (!strstr(text, sentence))
		fail_msg("%s does not say: %s", path, sentence);
}

/* As of very many keys, in whole bytes rounded up. */
static unsigned
bytes_a_key(uint32_t ring, uint32_t key_bytes)
{
	struct rl_options few = least(3 * MANY), many = least(6 * MANY);

	few.ring = many.ring = ring;
	few.key_bytes = many.key_bytes = key_bytes;

	return (unsigned)((bytes_of(&many) - bytes_of(&few) + 3 * MANY - 1) / (3 * MANY));
}

static void
test_the_manual_says_what_it_takes(void **state)
{
	struct rl_options small = least(0);
	char sentence[256];

	(void)state;
	snprintf(sentence, sizeof sentence,
	         "With the defaults a segment takes %.1f MiB, and 24 KiB for each CPU: %u bytes "
	         "for each key, and %u MiB for the overflow area. Of many keys that is up to %u "
	         "bytes more for each.",
	         (double)bytes_but_counters(&(struct rl_options){0}) / MIB, bytes_a_key(0, 0),
	         (unsigned)(small_tables_reserve(RL_KEYS_DEFAULT) >> 20),
	         (bytes_a_key(0, 0) + 6) / 7);
	says("man/rl_open.3", sentence);
	snprintf(sentence, sizeof sentence, "With 60 sub-buckets it is %u.", bytes_a_key(60, 0));
	says("man/rl_open.3", sentence);
	small.on_full = RL_FULL_RESERVE;
	snprintf(sentence, sizeof sentence, "it takes %.1f MiB, and %u bytes for each key.",
	         (double)bytes_but_counters(&small) / MIB, bytes_a_key(1, 32));
	says("man/rl_open.3", sentence);
	assert_int_equal(RL_RULES_DEFAULT * COUNTERS, 24 * 1024);
	snprintf(sentence, sizeof sentence, "and takes %u bytes a key less than one with 60.",
	         bytes_a_key(60, 0) - bytes_a_key(1, 0));
	says("man/rl.json.5", sentence);
}

/*
 * As much as fits the 64 MiB that containers are given, in whole thousands: with eight CPUs or
 * none.
 */
static void
test_the_manual_says_what_fits_a_container(void **state)
{
	struct rl_options o = {.keys = 1000};
	char sentence[64];

	(void)state;
	while (bytes_but_counters(&o) <= 64 * UINT64_C(1048576) - 8 * 16384)
		o.keys += 1000;
	snprintf(sentence, sizeof sentence, "room for some %u,000 keys", o.keys / 1000 - 1);
	says("man/rl.7", sentence);
}

/* Who says how many counters a set has, or how many sets, keeps his numbers. */
static void
test_sets_that_are_said_are_kept(void **state)
{
	static const struct {
		uint32_t cells, reserves, sets;
	} said[] = {
		{64, 0, RL_RESERVES_OF_CELLS}, {0, 5, 5}, {64, 5, 5}, {0, 0, RL_RESERVES_DEFAULT}};
	struct rl_geometry g;

	(void)state;
	for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
		const struct rl_options o = {.cells = said[i].cells, .reserves = said[i].reserves};

		assert_int_equal(rl_geometry_from(&o, &g), 0);
		assert_int_equal(g.reserves, said[i].sets);
		if (said[i].cells > 0)
			assert_int_equal(g.cells, said[i].cells);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_key_takes_160_bytes_at_most),
		cmocka_unit_test(test_a_key_takes_200_bytes_by_default),
		cmocka_unit_test(test_the_reserve_takes_a_seventh_or_four_mib_at_most),
		cmocka_unit_test(test_what_a_cluster_takes),
		cmocka_unit_test(test_what_a_ring_of_one_is_for),
		cmocka_unit_test(test_it_is_the_segment_that_is_made),
		cmocka_unit_test(test_a_sub_bucket_takes_8_bytes_a_slot),
		cmocka_unit_test(test_the_manual_says_what_it_takes),
		cmocka_unit_test(test_the_manual_says_what_fits_a_container),
		cmocka_unit_test(test_sets_that_are_said_are_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

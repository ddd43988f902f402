/* SPDX-License-Identifier: BSD-2-Clause */
/* What a segment is, beside what was asked: in words, and by a program that insists. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "rl_admin.h"
#include "rl_fields.h"
#include "shared/atomic.h"
#include "testing.h"

static const struct rl_info some = {.keys = 24576,
                                    .ring = 64,
                                    .key_bytes = 48,
                                    .rules = 64,
                                    .overrides = 1024,
                                    .bans = 1024,
                                    .buffer_ns = 10 * RL_SECOND};

static void
expect(const struct rl_info *is, const struct rl_options *asked, const char *sentence)
{
	int error = sentence[0] ? RL_ELESS : 0;
	char text[RL_OPEN_TEXT_SIZE], cut[RL_OPEN_TEXT_SIZE];
	const size_t most = 39;

	memset(text, 'x', sizeof text);
	memset(cut, 'x', sizeof cut);
	assert_int_equal(rl_open_compare(is, asked, text, sizeof text), error);
	assert_string_equal(text, sentence);
	assert_int_equal(rl_open_compare(is, asked, NULL, 0), error);
	assert_int_equal(rl_open_compare(is, asked, cut, most + 1), error);
	assert_int_equal(strlen(cut), strlen(sentence) < most ? strlen(sentence) : most);
	assert_memory_equal(cut, sentence, strlen(cut));
	for (size_t i = most + 1; i < sizeof cut; i++)
		assert_int_equal(cut[i], 'x');
}

#define ASKED(...) (&(struct rl_options){__VA_ARGS__})

static void
test_sentences(void **state)
{
	(void)state;
	expect(&some, NULL, "");
	expect(&some, ASKED(0), "");
	expect(&some, ASKED(.keys = 24576, .buffer_ns = 1, .key_bytes = 48, .on_full = 0), "");
	expect(&some, ASKED(.keys = 24577), "keys: 24576, and 24577 were asked for");
	expect(&some, ASKED(.ring = 1000, .keys = 1000000),
	       "keys: 24576, and 1000000 were asked for; ring: 64, and 1000 were asked for");
	expect(&some, ASKED(.key_bytes = 49), "key_bytes: 48, and 49 were asked for");
	expect(&some, ASKED(.key_bytes = RL_KEY_BYTES_NONE),
	       "key_bytes: 48, and none were asked for");
	expect(&some, ASKED(.rules = 65), "rules: 64, and 65 were asked for");
	expect(&some, ASKED(.overrides = 1025), "overrides: 1024, and 1025 were asked for");
	expect(&some, ASKED(.bans = 1025), "bans: 1024, and 1025 were asked for");
	expect(&some, ASKED(.on_full = RL_FULL_DENY), "on_full: reserve, and deny was asked for");
	expect(&some, ASKED(.on_full = RL_FULL_ALLOW), "on_full: reserve, and allow was asked for");
	expect(&some, ASKED(.buffer_ns = 11 * RL_SECOND),
	       "buffer_ns: 10000000000, and 11000000000 were asked for");
	expect(&some, ASKED(.mode = 0666, .group = 7, .flags = ~(unsigned)RL_OPEN_CLUSTER), "");
	expect(&some, ASKED(.flags = RL_OPEN_CLUSTER),
	       "flags: not made for a cluster, and that was asked for");
}

/* An option that is not told of a segment is 0 here; only these may be. */
static bool
may_be_zero(const struct rl_field *field)
{
	return field->offset == offsetof(struct rl_options, on_full) ||
	       field->offset == offsetof(struct rl_options, group);
}

static void
expect_same(const struct rl_options *o, bool is_whole)
{
	const struct rl_field *field;
	struct rl_options has, again;
	struct rl_info is;
	struct rl *rl;

	assert_int_equal(rl_open_private(o, &rl), 0);
	rl_info(rl, &is);
	rl_info_options(&is, &has);
	rl_close(rl);
	assert_int_equal(rl_open_private(&has, &rl), 0);
	rl_info(rl, &is);
	rl_info_options(&is, &again);
	rl_close(rl);
	for (size_t i = 0; (field = rl_field(RL_OF_OPTIONS, i)); i++) {
		uint64_t number = rl_field_get(field, &has);

		assert_int_equal(number, rl_field_get(field, &again));
		if (is_whole && !may_be_zero(field))
			assert_int_not_equal(number, 0);
		if (field->offset != offsetof(struct rl_options, mode))
			assert_true(number >= rl_field_get(field, o));
	}
}

static void
test_a_segment_like_another(void **state)
{
	(void)state;
	expect_same(ASKED(.flags = RL_OPEN_HUGE_PAGES | RL_OPEN_CLUSTER), true);
	expect_same(ASKED(.keys = 5000, .ring = 7, .key_bytes = 24, .rules = 3, .overrides = 9,
	                  .bans = 11, .holders = 13, .events = 128, .changes = 7, .cells = 64,
	                  .reserves = 5, .buffer_ns = 3 * RL_SECOND, .flags = RL_OPEN_HUGE_PAGES),
	            true);
	expect_same(ASKED(.on_full = RL_FULL_DENY, .key_bytes = RL_KEY_BYTES_NONE,
	                  .events = RL_EVENTS_NONE),
	            false);
}

/* Whatever the numbers are. */
static void
test_the_longest_sentence(void **state)
{
	const struct rl_info least = {.keys = UINT64_MAX - 1,
	                              .ring = UINT32_MAX - 2,
	                              .key_bytes = UINT32_MAX - 2,
	                              .rules = UINT32_MAX - 2,
	                              .overrides = UINT32_MAX - 2,
	                              .bans = UINT32_MAX - 2,
	                              .on_full = (enum rl_on_full)7,
	                              .buffer_ns = UINT64_MAX - 1};
	const struct rl_options most = {.keys = UINT32_MAX,
	                                .ring = UINT32_MAX,
	                                .key_bytes = UINT32_MAX - 1,
	                                .rules = UINT32_MAX,
	                                .overrides = UINT32_MAX,
	                                .bans = UINT32_MAX,
	                                .on_full = (enum rl_on_full)9,
	                                .buffer_ns = UINT64_MAX};
	char text[2 * RL_OPEN_TEXT_SIZE];

	(void)state;
	assert_int_equal(rl_open_compare(&least, &most, text, sizeof text), RL_ELESS);
	assert_true(strlen(text) > 300 && strlen(text) < RL_OPEN_TEXT_SIZE);
	assert_non_null(strstr(text, "buffer_ns: 18446744073709551614, and 18446744073709551615"));
}

static uint32_t
near(uint64_t *seed, uint32_t value)
{
	const uint32_t values[] = {0, 0, 0, 1, value - 1, value, value + 1, UINT32_MAX - 1};

	return values[test_below(seed, 8)];
}

static bool
is_less(uint64_t is, uint64_t asked)
{
	return asked > 0 && is < asked;
}

/* By definition, field by field. */
static bool
suffices(const struct rl_info *is, const struct rl_options *o)
{
	if (is_less(is->keys, o->keys) || is_less(is->ring, o->ring))
		return false;
	if (is_less(is->rules, o->rules) || is_less(is->overrides, o->overrides))
		return false;
	if (is_less(is->bans, o->bans) || is_less(is->buffer_ns, o->buffer_ns))
		return false;
	if (o->key_bytes == RL_KEY_BYTES_NONE ? is->key_bytes != 0
	                                      : is_less(is->key_bytes, o->key_bytes))
		return false;
	return o->on_full == RL_FULL_RESERVE || o->on_full == is->on_full;
}

static void
test_by_definition(void **state)
{
	uint64_t seed = 7, sufficed = 0, rounds = test_scaled(200000);

	(void)state;
	for (uint64_t i = 0; i < rounds; i++) {
		struct rl_info is = some;
		struct rl_options o = {.keys = near(&seed, 24576),
		                       .ring = near(&seed, 64),
		                       .key_bytes = near(&seed, 48),
		                       .rules = near(&seed, 64),
		                       .overrides = near(&seed, 1024),
		                       .bans = near(&seed, 1024),
		                       .buffer_ns = near(&seed, 8) * RL_SECOND,
		                       .on_full = (enum rl_on_full)test_below(&seed, 4)};
		is.on_full = (enum rl_on_full)test_below(&seed, 4);
		if (test_below(&seed, 4) == 0)
			is.key_bytes = 0;
		if (test_below(&seed, 8) == 0)
			o.key_bytes = RL_KEY_BYTES_NONE;
		sufficed += suffices(&is, &o);
		assert_int_equal(rl_open_compare(&is, &o, NULL, 0),
		                 suffices(&is, &o) ? 0 : RL_ELESS);
	}
	assert_true(sufficed > rounds / 100 && sufficed < rounds - rounds / 100);
}

/* Sizes are rounded up when a segment is made, never down. */
static void
test_what_was_made_as_asked_suffices(void **state)
{
	uint64_t seed = 3;

	(void)state;
	for (uint64_t i = 0; i < test_scaled(400); i++) {
		struct rl_options o = {.keys = (uint32_t)test_below(&seed, 3000),
		                       .ring = (uint32_t)test_below(&seed, 70),
		                       .key_bytes = (uint32_t)test_below(&seed, 100),
		                       .rules = (uint32_t)test_below(&seed, 30),
		                       .overrides = (uint32_t)test_below(&seed, 100),
		                       .bans = (uint32_t)test_below(&seed, 100),
		                       .buffer_ns = test_below(&seed, 9),
		                       .on_full = (enum rl_on_full)test_below(&seed, 3),
		                       .flags = RL_OPEN_AT_LEAST};
		struct rl_info is;
		struct rl *rl;
		if (test_below(&seed, 8) == 0)
			o.key_bytes = RL_KEY_BYTES_NONE;
		assert_int_equal(rl_open_private(&o, &rl), 0);
		rl_info(rl, &is);
		expect(&is, &o, "");
		rl_close(rl);
		if (i % 16 > 0)
			continue;
		assert_int_equal(test_open_error(&o), 0); /* made */
		assert_int_equal(test_open_error(&o), 0); /* found */
		assert_int_equal(rl_unlink(test_segment_name()), 0);
	}
}

/* How often this process has the segment mapped. */
static int
mappings(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	int count = 0;

	assert_non_null(maps);
	while (fgets(line, sizeof line, maps))
		count += strstr(line, test_segment_name()) != NULL;
	fclose(maps);
	return count;
}

static void
test_insisting(void **state)
{
	const struct rl_options made = {
		.keys = 100, .ring = 8, .key_bytes = 16, .rules = 4, .overrides = 8, .bans = 8};
	const struct rl_options asked[] = {
		{.keys = 100}, {.keys = 90, .ring = 8, .key_bytes = 16, .rules = 4},
		{.keys = 166}, {.ring = 9},
		{.rules = 5},  {.overrides = 9},
		{.bans = 9},   {.key_bytes = 17},
		{.bans = 8},   {.key_bytes = RL_KEY_BYTES_NONE},
		{0},           {.on_full = RL_FULL_DENY},
		{.keys = 1},   {.buffer_ns = RL_BUFFER_DEFAULT + 1},
	};
	struct rl_info is;
	struct rl *rl;

	(void)state;
	assert_int_equal(rl_open(test_segment_name(), &made, &rl), 0);
	rl_info(rl, &is);
	rl_close(rl);
	assert_true(is.keys >= 100 && is.keys < 120); /* and 166 slots */
	for (size_t i = 0; i < sizeof asked / sizeof asked[0]; i++) {
		static const unsigned flags[] = {0, RL_OPEN_EXISTING, RL_OPEN_READONLY};
		struct rl_options o = asked[i];
		int error = suffices(&is, &o) ? 0 : RL_ELESS;
		for (size_t f = 0; f < 3; f++) {
			o.flags = flags[f];
			assert_int_equal(test_open_error(&o), 0);
			o.flags |= RL_OPEN_AT_LEAST;
			assert_int_equal(test_open_error(&o), error);
		}
		assert_int_equal(mappings(), 0);
	}
}

static void
test_a_refusal_has_its_words(void **state)
{
	(void)state;
	assert_string_not_equal(rl_strerror(RL_ELESS), rl_strerror(-EINVAL));
	assert_non_null(strstr(rl_strerror(RL_ELESS), "less than was asked for"));
}

enum {
	CREATORS = 6
};

struct race {
	uint64_t arrived;
	uint64_t round;
	int error[CREATORS];
};

/* Each wants another number of keys; who wants the most takes turns. */
static uint32_t
keys_of(const struct race *race, int i)
{
	return 200 * (1 + (uint32_t)((uint64_t)i + race->round) % CREATORS);
}

static int
create_and_insist(void *arg, int i)
{
	struct race *race = arg;
	const struct rl_options o = {.keys = keys_of(race, i), .flags = RL_OPEN_AT_LEAST};

	rl_atomic_add(&race->arrived, 1);
	while (rl_atomic_load(&race->arrived) < CREATORS)
		sched_yield();
	race->error[i] = test_open_error(&o);
	return 0;
}

/* Whoever wins, the segment is as large as who has opened it asked. */
static void
test_creators_who_insist(void **state)
{
	struct race *race = test_shared(sizeof *race);
	int refused = 0;

	(void)state;
	for (uint64_t round = 0; round < test_scaled(80); round++) {
		struct rl_info is;
		struct rl *rl;
		*race = (struct race){.round = round};
		test_fork(CREATORS, create_and_insist, race);
		assert_int_equal(rl_open(test_segment_name(), NULL, &rl), 0);
		rl_info(rl, &is);
		rl_close(rl);
		for (int i = 0; i < CREATORS; i++) {
			assert_int_equal(race->error[i],
			                 keys_of(race, i) <= is.keys ? 0 : RL_ELESS);
			refused += race->error[i] < 0;
		}
		assert_int_equal(rl_unlink(test_segment_name()), 0);
	}
	assert_true(refused > 0);
	munmap(race, sizeof *race);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_teardown(name, test_unlink)
		TEST(test_sentences),
		TEST(test_a_segment_like_another),
		TEST(test_the_longest_sentence),
		TEST(test_by_definition),
		TEST(test_what_was_made_as_asked_suffices),
		TEST(test_insisting),
		TEST(test_a_refusal_has_its_words),
		TEST(test_creators_who_insist),
#undef TEST
	};

	test_segment_name(); /* of this process, before any child asks */
	return cmocka_run_group_tests(tests, NULL, NULL);
}

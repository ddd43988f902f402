/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What one call may cost, counted in accesses to shared words, whatever they say and however
 * often somebody changes them: an adversary comes before each access.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "at.h"
#include "decide/request.h"
#include "rule/handle.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define ANY_COST 100000000 /* a call that has not ended by then never does */
#define ADDRESS "2001:db8:1234:5678:9abc:def0:1234:5678"

void rl_atomic_hook(void);

static long accesses;
static void (*adversary)(void);
static struct rl *of;
static bool is_at_work;

void
rl_atomic_hook(void)
{
	if (is_at_work)
		return;
	if (++accesses > ANY_COST) {
		adversary = NULL;
		fail_msg("a call has no end");
	}
	is_at_work = true;
	if (adversary)
		adversary();
	is_at_work = false;
}

static struct rl *
open_one(uint32_t overrides, uint32_t bans, uint32_t keys)
{
	const struct rl_options options = {
		.keys = keys, .ring = 64, .rules = 2, .overrides = overrides, .bans = bans};
	struct rl *rl;

	assert_int_equal(rl_open_private(&options, &rl), 0);
	of = rl;
	return rl;
}

static enum rl_verdict
check_at(struct rl *rl, int rule, const char *key, uint64_t now, struct rl_result *r)
{
	accesses = 0;
	return at_check(rl, rule, key, strlen(key), 1, now, r);
}

static void
set_all(struct rl_lengths *l)
{
	*l = (struct rl_lengths){.text = UINT64_MAX, .v4 = UINT64_MAX};
	l->v6[0] = l->v6[1] = UINT64_MAX;
}

static void
fill_filter(const struct rl_filter *f, unsigned bank)
{
	memset(f->bank[bank], 0xff, f->words * sizeof f->bank[bank][0]);
}

/* Lookups that have everything to look for, and nowhere an end. */
static void
fill_lookups(struct rl *rl, bool with_overrides, bool with_bans)
{
	const struct rl_segment *s = &rl->segment;

	for (uint32_t i = 0; with_overrides && i < 2 * s->geometry.override_slots; i++)
		s->overrides[i].hash = UINT64_MAX;
	for (uint32_t i = 0; with_bans && i < s->geometry.ban_slots; i++)
		s->bans[i] = (struct rl_u128){UINT64_MAX - 1, 0};
	for (unsigned bank = 0; bank < 2; bank++) {
		fill_filter(&s->override_filter, bank);
		fill_filter(&s->ban_filter, bank);
	}
	if (with_bans)
		set_all(&s->header->any_bans);
	for (uint32_t i = 0; i < s->geometry.rules; i++) {
		s->rows[i].flags = (with_overrides ? 3u : 0u) | (with_bans ? RL_ROW_BANS : 0u);
		set_all(&s->rows[i].overrides[0]);
		set_all(&s->rows[i].overrides[1]);
		set_all(&s->rows[i].bans);
	}
}

static struct rl *
with_rule(struct rl *rl)
{
	const struct rl_config_rule rule = {
		.rule = {.name = "r", .limit = {.capacity = 100, .window_ns = 60 * RL_SECOND}}};

	assert_int_equal(rl_configure(rl, &rule, 1, 0, NULL, NULL), 0);
	return rl;
}

/* Bytes that stand as they are: no more than the lookups' budget, and a hundred or two. */
static void
test_full_lookups(void **state)
{
	struct rl_result r;

	(void)state;
	for (int kind = 1; kind <= 3; kind++) {
		struct rl *rl = with_rule(open_one(8192, 8192, 100));
		fill_lookups(rl, kind & 1, kind & 2);
		assert_int_equal(check_at(rl, 0, ADDRESS, T0, &r), RL_UNDECIDED);
		assert_int_equal(r.error, RL_ECOST);
		assert_true(accesses <= RL_LOOKUP_STEPS + 500);
		rl_close(rl);
	}
}

static void
move_generation(void)
{
	of->segment.header->generation++;
}

static void
test_a_generation_that_moves(void **state)
{
	struct rl_item items[RL_ITEMS_MAX];
	struct rl_result r, all[RL_ITEMS_MAX];
	struct rl *rl = with_rule(open_one(8192, 8192, 100));

	(void)state;
	for (int i = 0; i < RL_ITEMS_MAX; i++)
		items[i] = (struct rl_item){.key = ADDRESS, .key_len = strlen(ADDRESS), .cost = 1};
	for (int is_full = 0; is_full < 2; is_full++) {
		if (is_full)
			fill_lookups(rl, true, true);
		adversary = move_generation;
		assert_int_equal(check_at(rl, 0, ADDRESS, T0, &r), RL_UNDECIDED);
		assert_int_equal(r.error, RL_ECOST);
		assert_true(accesses <= RL_LOOKUP_STEPS + 500);
		accesses = 0;
		at_check_all(rl, items, RL_ITEMS_MAX, T0, all, NULL);
		assert_int_equal(all[RL_ITEMS_MAX - 1].error, RL_ECOST);
		assert_true(accesses <= RL_ITEMS_MAX * (RL_LOOKUP_STEPS + 500));
		adversary = NULL;
	}
	rl_close(rl);
}

/* Every slot's state changes before every n-th access. */
static int often;

static void
move_states(void)
{
	const struct rl_segment *s = &of->segment;

	if (accesses % often != 0)
		return;
	for (uint64_t i = 0; i < rl_segment_slots(s); i++)
		rl_table_state(&s->table, i)->lo += UINT64_C(1) << RL_STATE_EPOCH_BITS;
}

/* Every tag is another key's, or half claimed, in turn. */
static void
move_tags(void)
{
	const struct rl_segment *s = &of->segment;

	move_states();
	if (accesses % often != 0)
		return;
	for (uint64_t i = 0; i < rl_segment_slots(s); i++)
		*rl_table_tag(&s->table, i) ^= UINT64_C(3) << RL_TAG_STATUS_SHIFT;
}

/* What deciding is at most: its budget, and what looking at one word again may add to a step. */
#define DECIDED_BY (4 * RL_DECIDE_STEPS)

static void (*const adversaries[])(void) = {move_states, move_tags, move_generation};

static void
test_slots_that_move(void **state)
{
	struct rl *rl = open_one(16, 16, 12);
	struct rl_limit more[RL_LIMITS_MAX - 1];
	struct rl_rule rule = {.name = "r", .more = more};
	struct rl_result r;
	long most = 0;

	(void)state;
	for (int algorithm = 0; rl_algorithm_info((enum rl_algorithm)algorithm); algorithm++) {
		rule.limit = (struct rl_limit){.algorithm = (enum rl_algorithm)algorithm,
		                               .capacity = 30,
		                               .window_ns = 64 * RL_SECOND};
		if (algorithm == RL_SLIDING_WINDOW)
			rule.limit.granularity = 64;
		rule.more_count = algorithm % 2 == 0 ? RL_LIMITS_MAX - 1 : 0;
		for (size_t i = 0; i < rule.more_count; i++)
			more[i] = rule.limit;
		int id = rl_define(rl, &rule);
		assert_int_equal(id, 0);
		for (often = 1; often < 60; often++) {
			uint64_t now = T0 + (uint64_t)often * 3 * RL_SECOND;
			char key[16];
			adversary = adversaries[often % 3];
			snprintf(key, sizeof key, "%d", often % 20);
			check_at(rl, id, key, now, &r);
			most = accesses > most ? accesses : most;
			check_at(rl, id, "one", now, &r);
			most = accesses > most ? accesses : most;
		}
		adversary = NULL;
	}
	print_message("at most %ld accesses\n", most);
	assert_true(most <= RL_LOOKUP_STEPS + DECIDED_BY);
	rl_close(rl);
}

/* The same of counters by key. */
static void
test_counters_that_move(void **state)
{
	struct rl *rl = open_one(1, 1, 10);
	int space = rl_define_counters(rl, "c");
	long most = 0;

	(void)state;
	for (often = 1; often < 200; often++) {
		uint64_t now = T0 + (uint64_t)often * RL_SECOND;
		char key[16];
		int len = snprintf(key, sizeof key, "%d", often % 20);

		adversary = adversaries[often % 3];
		accesses = 0;
		at_counter_add(rl, space, key, (size_t)len, 1, 9 * RL_SECOND, now, NULL);
		at_counter_drop(rl, space, "one", 3, now);
		most = accesses > most ? accesses : most;
		adversary = NULL;
	}
	assert_true(most <= 2 * (RL_LOOKUP_STEPS + DECIDED_BY));
	rl_close(rl);
}

/*
 * Each state says that much is held, by whoever its bytes name; and another one does at each
 * change.
 */
static void
move_holders(void)
{
	const struct rl_segment *s = &of->segment;

	if (accesses % often != 0)
		return;
	for (uint64_t i = 0; i < rl_segment_slots(s); i++) {
		struct rl_u128 *state = rl_table_state(&s->table, i);

		state->lo += UINT64_C(0x1100001000001);
		state->hi = (state->hi & 0xfff) | UINT64_C(0x7fff) << 44 | UINT64_C(0x1fff) << 31;
	}
}

/* The same of units in flight: to take them, to look for the dead, to give them back, to sweep. */
static void
test_units_that_move(void **state)
{
	const struct rl_limit in_flight = {.algorithm = RL_IN_FLIGHT, .capacity = 30};
	struct rl *rl = open_one(1, 1, 10);
	int rule = rl_define(rl, &(struct rl_rule){.name = "r", .limit = in_flight});
	void (*const each[])(void) = {move_states, move_tags, move_holders};
	long most = 0;

	(void)state;
	for (often = 1; often < 200; often++) {
		struct rl_charges charges;
		char key[16];

		snprintf(key, sizeof key, "%d", often % 20);
		adversary = NULL;
		test_check_at(rl, rule, key, strlen(key), 1, T0, NULL, &charges);
		adversary = each[often % 3];
		accesses = 0;
		at_refund(rl, &charges, T0);
		most = accesses > most ? accesses : most;
		accesses = 0;
		test_check_at(rl, rule, key, strlen(key), 1, T0, NULL, &charges);
		most = accesses > most ? accesses : most;
		accesses = 0;
		rl_sweep_at(rl, T0);
		assert_true(accesses <= (long)rl_segment_slots(&rl->segment) * DECIDED_BY);
	}
	adversary = NULL;
	print_message("at most %ld accesses\n", most);
	assert_true(most <= RL_LOOKUP_STEPS + DECIDED_BY);
	rl_close(rl);
}

/* A real table as full as it may be, with patterns of all lengths there are, has no such end. */

static size_t
pattern(char *text, size_t room, unsigned i)
{
	unsigned length = i % 192 + 1;

	if (length <= 128)
		return (size_t)snprintf(text, room, "%x:%x::/%u", i << 4 & 0xffff, i, length);
	return (size_t)snprintf(text, room, "%0*x*", (int)(length - 128), i);
}

static void
ban(struct rl *rl, unsigned i)
{
	char text[128];
	struct rl_pattern p = rl_pattern_of(text, pattern(text, sizeof text, i));

	if (p.match == RL_MATCH_PREFIX && p.key_len > 63)
		p.key_len = 63;
	assert_true(rl_ban(rl, RL_ANY_RULE, &p, RL_NEVER_NS) >= 0);
	assert_true(rl_ban(rl, 0, &p, RL_NEVER_NS) >= 0);
}

static void
override_all(struct rl *rl, unsigned count)
{
	struct rl_override *o = calloc(count, sizeof *o);
	char(*text)[128] = calloc(count, sizeof *text);
	unsigned made = 0;

	for (unsigned i = 0; i < count; i++) {
		o[made].pattern = rl_pattern_of(text[i], pattern(text[i], sizeof text[i], i));
		if (i % 192 < 12)
			continue; /* networks that are one */
		o[made].capacity[0] = 5;
		made += o[made].pattern.key_len <= 63;
	}
	struct rl_config_rule rule = {
		.rule = {.name = "r", .limit = {.capacity = 100, .window_ns = 60 * RL_SECOND}},
		.overrides = o,
		.override_count = made};
	assert_int_equal(rl_configure(rl, &rule, 1, 0, NULL, NULL), 0);
	free(o);
	free(text);
}

static void
test_dense_tables_are_read_whole(void **state)
{
	struct rl *rl = open_one(4096, 4096, 3000);
	uint64_t seed = 5;
	struct rl_result r;
	char key[64];
	long most = 0;

	(void)state;
	override_all(rl, 4096);
	for (unsigned i = 0; i < 2000; i++)
		ban(rl, i);
	for (int i = 0; i < 2000; i++) {
		snprintf(key, sizeof key, "fd00:%x:%x:%x:%x:%x:1:1",
		         (unsigned)test_below(&seed, 65536), (unsigned)test_below(&seed, 65536),
		         (unsigned)test_below(&seed, 65536), (unsigned)test_below(&seed, 65536),
		         (unsigned)test_below(&seed, 65536));
		check_at(rl, 0, key, T0, &r);
		assert_int_equal(r.error, 0);
		most = accesses > most ? accesses : most;
	}
	assert_true(most <= RL_LOOKUP_STEPS / 2);
	rl_close(rl);
}

/* Words that somebody changes all the time hold up no administrator for ever. */

static void
flip_masks(void)
{
	const struct rl_segment *s = &of->segment;

	s->header->any_bans.text += 8;
	s->rows[0].flags += 8;
	s->rows[0].overrides[accesses % 2].text += 8;
	s->rows[0].bans.text += 8;
}

static void
flip_rows(void)
{
	const struct rl_segment *s = &of->segment;

	for (int bank = 0; bank < RL_BANKS; bank++) {
		s->limits[0].quota[bank].lo += 8;
		s->rows[0].limits[bank].lo += 1 << 16;
	}
}

static void
test_words_that_change_have_an_end(void **state)
{
	const struct rl_pattern p = {RL_MATCH_PREFIX, "u", 1};
	const struct rl_pattern other = {RL_MATCH_PREFIX, "uv", 2};
	const struct rl_override o = {.pattern = p, .capacity = {3}};
	const struct rl_rule rule = {.name = "r", .limit = {.capacity = 7, .window_ns = RL_SECOND}};
	struct rl_config_rule config = {.rule = rule, .overrides = &o, .override_count = 1};
	struct rl *rl = open_one(16, 16, 100);

	(void)state;
	assert_int_equal(rl_define(rl, &rule), 0);
	for (int i = 0; i < 4; i++) {
		adversary = i % 2 ? flip_masks : flip_rows;
		accesses = 0;
		config.rule.limit.capacity = 8 + (uint32_t)i;
		rl_ban(rl, RL_ANY_RULE, &p, RL_NEVER_NS);
		rl_ban(rl, 0, &p, RL_NEVER_NS);
		assert_true(rl_define(rl, &config.rule) <= 0);
		assert_true(rl_configure(rl, &config, 1, 0, NULL, NULL) <= 0);
		assert_true(accesses < 1000000);
		adversary = NULL;
	}
	adversary = flip_masks;
	assert_int_equal(rl_ban(rl, RL_ANY_RULE, &other, RL_NEVER_NS), -EBUSY);
	adversary = flip_rows;
	assert_int_equal(rl_define(rl, &rule), -EBUSY);
	adversary = NULL;
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_full_lookups),
		cmocka_unit_test(test_a_generation_that_moves),
		cmocka_unit_test(test_slots_that_move),
		cmocka_unit_test(test_counters_that_move),
		cmocka_unit_test(test_units_that_move),
		cmocka_unit_test(test_dense_tables_are_read_whole),
		cmocka_unit_test(test_words_that_change_have_an_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

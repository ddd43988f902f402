/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A walk: what a prefilter says of a key is true of its entry, and who is not wanted is not
 * visited.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "at.h"
#include "rule/handle.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define KEYS 60

/* A prefilter, and the entry that is visited after it. */
struct pair {
	struct rl_prefilter prefilter;
	uint64_t denied_most;
	char key[RL_KEY_MAX];
	size_t kept, key_len;
	unsigned visits, limited, used, stale, named;
};

static int
prefilter_of(const struct rl_prefilter *prefilter, void *arg)
{
	struct pair *pair = arg;

	pair->prefilter = *prefilter;
	pair->denied_most = rl_prefilter_denied_most(prefilter);
	pair->kept = rl_prefilter_key(prefilter, pair->key, &pair->key_len);
	return 1;
}

static int
compare(const struct rl_entry *e, void *arg)
{
	struct pair *pair = arg;
	const struct rl_prefilter *g = &pair->prefilter;

	assert_int_equal(g->rule, e->rule);
	assert_int_equal(g->limit, e->limit);
	assert_true(g->slot == e->slot);
	assert_int_equal(g->is_stale, e->is_stale);
	assert_true(g->used_most >= e->used);
	assert_true(g->remaining_least <= e->peek.remaining);
	assert_true(pair->denied_most >= e->denied);
	if (e->key) {
		assert_int_equal(pair->kept, e->key_kept);
		assert_int_equal(pair->key_len, e->key_len);
		assert_memory_equal(pair->key, e->key, e->key_kept);
	}
	pair->visits++;
	pair->limited += e->is_limited != 0;
	pair->used += e->used > 0;
	pair->stale += e->is_stale != 0;
	pair->named += e->key != NULL;
	return 0;
}

static struct rl_limit
any_limit(uint64_t *seed)
{
	struct rl_limit l = {
		.algorithm = (enum rl_algorithm)test_below(seed, (uint64_t)test_algorithm_count()),
		.capacity = (uint32_t)(1 + test_below(seed, 40)),
		.window_ns = RL_SECOND + test_below(seed, 10 * RL_SECOND)};

	if (l.algorithm == RL_SLIDING_WINDOW) {
		l.granularity = (uint32_t)(1 + test_below(seed, 6));
		l.hard = (int)test_below(seed, 2);
	}
	if (l.algorithm == RL_LEAKY_BUCKET)
		l.burst = (uint32_t)test_below(seed, 30);
	return l;
}

/*
 * Times go back now and then: clocks of processes differ. Of some rules no request has a tier, of
 * others half of them have.
 */
static void
ask_at_random(struct rl *rl, int rule, uint64_t *seed, uint64_t *now)
{
	bool has_tiers = test_below(seed, 2);

	for (int i = 0; i < 200; i++) {
		char key[16];
		int len = sprintf(key, "key%02u", (unsigned)test_below(seed, KEYS));
		struct rl_item item = {.rule = rule,
		                       .key = key,
		                       .key_len = (size_t)len,
		                       .cost = 1 + test_below(seed, 4)};

		if (has_tiers && test_below(seed, 2))
			item.capacity = (uint32_t)(1 + test_below(seed, 60));
		*now += test_below(seed, RL_SECOND / 4);
		at_check_item(rl, &item, *now - test_below(seed, RL_SECOND), NULL);
	}
}

static void
walk_at_random(struct rl *rl, uint64_t *seed, uint64_t now, struct pair *pair)
{
	for (int i = 0; i < 10; i++, now += test_below(seed, 4 * RL_SECOND))
		assert_int_equal(rl_walk(rl, now, prefilter_of, compare, pair), 0);
}

/* With a ring for any of the limits, and any override of one. */
static struct rl *
open_roomy(void)
{
	struct rl *rl;

	assert_int_equal(rl_open_private(&(struct rl_options){.keys = KEYS, .ring = 128}, &rl), 0);
	return rl;
}

static void
test_a_prefilter_bounds_its_entry(void **state)
{
	struct pair pair = {0};
	uint64_t seed = 7;

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct rl *rl = open_roomy();
		const struct rl_limit more = any_limit(&seed);
		const struct rl_rule rule = {
			.name = "r", .limit = any_limit(&seed), .more = &more, .more_count = 1};
		uint64_t now = T0;
		int id = rl_define(rl, &rule);

		assert_true(id >= 0);
		ask_at_random(rl, id, &seed, &now);
		walk_at_random(rl, &seed, now, &pair);
		rl_close(rl);
	}
	assert_true(pair.visits > 10000 && pair.limited > 300 && pair.used > 1000 &&
	            pair.stale > 1000 && pair.named == pair.visits);
}

/* What an override makes of a key, only its name can tell. */
static void
test_a_prefilter_knows_of_overrides(void **state)
{
	struct pair pair = {0};
	uint64_t seed = 8;

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct rl *rl = open_roomy();
		const struct rl_override own = {
			.pattern = rl_pattern_of("key1*", 5),
			.capacity = {(uint32_t)(1 + test_below(&seed, 60))}};
		struct rl_config_rule rule = {.rule = {.name = "r", .limit = any_limit(&seed)},
		                              .overrides = &own,
		                              .override_count = 1};
		struct rl_config_outcome outcome;
		uint64_t now = T0;

		assert_int_equal(rl_configure(rl, &rule, 1, 0, NULL, &outcome), 0);
		ask_at_random(rl, rl_find(rl, "r"), &seed, &now);
		walk_at_random(rl, &seed, now, &pair);
		rl_close(rl);
	}
	assert_true(pair.limited > 300 && pair.used > 1000);
}

/* Entries beside what a request is told, and how many of each state there were. */
struct told {
	struct rl *rl;
	uint64_t now;
	unsigned states[RL_ENTRY_SHADOW + 1];
	unsigned tiers; /* that had one */
};

static enum rl_entry_state
state_of(const struct rl_result *r)
{
	if (r->reason != RL_BY_LIMIT)
		return r->reason == RL_BY_BAN ? RL_ENTRY_BANNED : RL_ENTRY_EXEMPT;
	if (r->verdict == RL_DENIED)
		return RL_ENTRY_LIMITED;
	return r->is_shadow_denied ? RL_ENTRY_SHADOW : RL_ENTRY_OPEN;
}

static int
compare_told(const struct rl_entry *e, void *arg)
{
	struct told *told = arg;
	const struct rl_item item = {
		.rule = e->rule, .key = e->key, .key_len = e->key_len, .capacity = e->tier};
	struct rl_result r;

	at_check_item(told->rl, &item, told->now, &r);
	told->tiers += e->tier > 0;
	assert_int_equal(r.verdict, e->peek.verdict);
	assert_int_equal(r.reason, e->peek.reason);
	assert_int_equal(r.limit, e->peek.limit);
	assert_int_equal(r.remaining, e->peek.remaining);
	assert_true(r.retry_after_ns == e->peek.retry_after_ns);
	assert_true(r.reset_after_ns == e->peek.reset_after_ns);
	assert_true(r.window_ns == e->peek.window_ns);
	assert_int_equal(e->state, state_of(&r));
	assert_true(e->is_state_known);
	assert_int_equal(e->is_limited, r.verdict == RL_DENIED);
	told->states[e->state]++;
	return 0;
}

static void
order_at_random(struct rl *rl, int rule, uint64_t *seed, uint64_t now)
{
	static const char *const texts[] = {"key0*", "key03", "key2*", "key31", "key*", "key4*"};

	for (int i = 0; i < 3; i++) {
		const char *text = texts[test_below(seed, 6)];
		const struct rl_pattern pattern = rl_pattern_of(text, strlen(text));
		int under = test_below(seed, 2) ? rule : RL_ANY_RULE;
		uint64_t until = now + test_below(seed, 20 * RL_SECOND);
		int error = (test_below(seed, 3) ? rl_ban : rl_allow)(rl, under, &pattern, until);

		assert_int_equal(error, 0);
	}
}

/*
 * With tiers, bans, exemptions, overrides and shadows at random, in rules that have them or have
 * not.
 */
static void
test_an_entry_is_what_a_request_is_told(void **state)
{
	struct told told = {0};
	struct pair pair = {0};
	uint64_t seed = 9;

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct rl_override own[] = {
			{.pattern = rl_pattern_of("key1*", 5), .kind = RL_OVERRIDE_BANNED},
			{.pattern = rl_pattern_of("key5*", 5), .kind = RL_OVERRIDE_UNLIMITED},
			{.pattern = rl_pattern_of("key25", 5), .capacity = {7}}};
		struct rl_config_rule rule = {.rule = {.name = "r", .limit = any_limit(&seed)},
		                              .overrides = own,
		                              .override_count = test_below(&seed, 4)};
		struct rl_config_outcome outcome;
		uint64_t now = T0;
		int id;

		told.rl = test_private(KEYS);
		rule.rule.limit.shadow = test_below(&seed, 4) == 0;
		rule.rule.limit.window_ns += 30 * RL_SECOND;
		rule.rule.limit.capacity = (uint32_t)(1 + test_below(&seed, 5));
		assert_int_equal(rl_configure(told.rl, &rule, 1, 0, NULL, &outcome), 0);
		id = rl_find(told.rl, "r");
		ask_at_random(told.rl, id, &seed, &now);
		if (test_below(&seed, 3) > 0)
			order_at_random(told.rl, id, &seed, now);
		told.now = now;
		assert_int_equal(rl_walk(told.rl, now, NULL, compare_told, &told), 0);
		walk_at_random(told.rl, &seed, now, &pair);
		rl_close(told.rl);
	}
	for (int i = 0; i <= RL_ENTRY_SHADOW; i++)
		assert_true(told.states[i] > 100);
	assert_true(told.tiers > 1000);
}

static int
keep_state(const struct rl_entry *e, void *arg)
{
	assert_true(e->is_state_known);
	*(enum rl_entry_state *)arg = e->state;
	return 0;
}

static void
is_state(struct rl *rl, int rule, const char *network, enum rl_entry_state wanted)
{
	enum rl_entry_state state = RL_ENTRY_OPEN;

	rl_lookup(rl, rule, network, strlen(network), T0, keep_state, &state);
	assert_int_equal(state, wanted);
}

/* Of a network, what holds for all of it: not for one address, nor for a network in it. */
static void
test_the_state_of_a_network(void **state)
{
	const struct rl_rule rule = {
		.name = "r",
		.limit = {.capacity = 9, .window_ns = RL_SECOND, .prefix_v4 = 24, .prefix_v6 = 48}};
	static const char *const addresses[] = {"10.0.1.7", "10.0.2.7",    "10.1.0.7",
	                                        "10.2.0.0", "2001:db8::1", "2001:db9::1"};
	static const char *const banned[] = {"10.0.1.0/24", "10.0.2.0/25", "10.1.0.0/16",
	                                     "10.2.0.0",    "10.2.0.0/32", "2001:db8::/47"};
	struct rl *rl = test_private(100);
	int id = rl_define(rl, &rule);

	(void)state;
	for (int i = 0; i < 6; i++) {
		const struct rl_pattern p = rl_pattern_of(banned[i], strlen(banned[i]));

		at_check(rl, id, addresses[i], strlen(addresses[i]), 1, T0, NULL);
		assert_int_equal(rl_ban(rl, RL_ANY_RULE, &p, RL_NEVER_NS), 0);
	}
	is_state(rl, id, "10.0.1.0/24", RL_ENTRY_BANNED);
	is_state(rl, id, "10.0.2.0/24", RL_ENTRY_OPEN);
	is_state(rl, id, "10.1.0.0/24", RL_ENTRY_BANNED);
	is_state(rl, id, "10.2.0.0/24", RL_ENTRY_OPEN);
	is_state(rl, id, "2001:db8::/48", RL_ENTRY_BANNED);
	is_state(rl, id, "2001:db9::/48", RL_ENTRY_OPEN);
	rl_close(rl);
}

static int
is_unknown(const struct rl_entry *e, void *arg)
{
	assert_int_equal(e->state, RL_ENTRY_LIMITED);
	*(int *)arg = !e->is_state_known;
	return 1;
}

/* A ban may be of a key whose name is cut, so it is not said that there is none. */
static void
test_a_cut_name_has_no_sure_state(void **state)
{
	const struct rl_options options = {.keys = 100, .ring = 64, .key_bytes = 4};
	const struct rl_pattern other = rl_pattern_of("other", 5);
	int rule, unknown = 1;
	struct rl *rl;

	(void)state;
	assert_int_equal(rl_open_private(&options, &rl), 0);
	rule = test_rule(rl, "r", 1, RL_SECOND, 1, false);
	at_check(rl, rule, "a long name", 11, 1, T0, NULL);
	assert_int_equal(rl_walk(rl, T0, NULL, is_unknown, &unknown), 1);
	assert_int_equal(unknown, 0);
	assert_int_equal(rl_ban(rl, rule, &other, RL_NEVER_NS), 0);
	assert_int_equal(rl_walk(rl, T0, NULL, is_unknown, &unknown), 1);
	assert_int_equal(unknown, 1);
	rl_close(rl);
}

struct picky {
	unsigned seen, visits;
	uint64_t wanted; /* slot */
};

static int
wants_every_third(const struct rl_prefilter *prefilter, void *arg)
{
	struct picky *picky = arg;

	picky->wanted = prefilter->slot;
	return picky->seen++ % 3 == 0;
}

static int
visit_wanted(const struct rl_entry *e, void *arg)
{
	struct picky *picky = arg;

	assert_true(e->slot == picky->wanted);
	return ++picky->visits == 7 ? 42 : 0;
}

static void
test_only_the_wanted_are_visited(void **state)
{
	struct rl *rl = test_private(4000);
	int rule = test_rule(rl, "r", 10, 10 * RL_SECOND, 4, false);
	struct picky picky = {0};

	(void)state;
	for (uint32_t i = 0; i < 1000; i++)
		at_check(rl, rule, &i, sizeof i, 1, T0, NULL);
	assert_int_equal(rl_walk(rl, T0, wants_every_third, visit_wanted, &picky), 42);
	assert_int_equal(picky.seen, 19);
	assert_int_equal(rl_walk(rl, T0, wants_every_third, visit_wanted, &picky), 0);
	assert_int_equal(picky.seen, 1019);
	assert_int_equal(picky.visits, 340);
	rl_close(rl);
}

struct parts {
	uint64_t first, count, visits;
};

static int
visit_part(const struct rl_entry *e, void *arg)
{
	struct parts *parts = arg;

	assert_true(e->slot >= parts->first && e->slot - parts->first < parts->count);
	parts->visits++;
	return 0;
}

/* Slices of any length, also within a bucket, show each key once. */
static void
test_slices_make_a_whole(void **state)
{
	struct rl *rl = test_private(4000);
	int rule = test_rule(rl, "r", 10, 10 * RL_SECOND, 4, false);
	struct parts parts = {0};
	uint64_t seed = 3;
	struct rl_info info;

	(void)state;
	for (uint32_t i = 0; i < 1000; i++)
		at_check(rl, rule, &i, sizeof i, 1, T0, NULL);
	rl_info(rl, &info);
	for (parts.first = 0; parts.first < info.slots; parts.first += parts.count) {
		parts.count = 1 + test_below(&seed, 50);
		assert_int_equal(
			rl_walk_slots(rl, parts.first, parts.count, T0, NULL, visit_part, &parts),
			0);
	}
	assert_int_equal(parts.visits, 1000);
	assert_int_equal(rl_walk_slots(rl, 0, 0, T0, NULL, visit_part, &parts), 0);
	assert_int_equal(rl_walk_slots(rl, info.slots, 1, T0, NULL, visit_part, &parts), -EINVAL);
	parts = (struct parts){.count = UINT64_MAX};
	assert_int_equal(rl_walk_slots(rl, 0, UINT64_MAX, T0, NULL, visit_part, &parts), 0);
	assert_int_equal(parts.visits, 1000);
	rl_close(rl);
}

#define RULES 200

static int
count_rule(const struct rl_entry *e, void *arg)
{
	unsigned *counts = arg;

	counts[e->rule]++;
	assert_int_equal(e->peek.limit, e->rule + 1);
	return 0;
}

/* More limits than a walk keeps in mind at a time, each with a capacity of its own. */
static void
test_many_limits(void **state)
{
	const struct rl_options options = {.keys = 40000, .ring = 8, .rules = RULES};
	unsigned counts[RULES] = {0};
	struct rl *rl;

	(void)state;
	assert_int_equal(rl_open_private(&options, &rl), 0);
	for (int i = 0; i < RULES; i++) {
		char name[16];
		sprintf(name, "r%d", i);
		int rule = test_rule(rl, name, (uint32_t)i + 1, 8 * RL_SECOND, 4, true);
		assert_int_equal(rule, i);
		for (int key = 0; key < KEYS; key++)
			at_check(rl, rule, &key, sizeof key, 1, T0, NULL);
	}
	assert_int_equal(rl_walk(rl, T0, NULL, count_rule, counts), 0);
	for (int i = 0; i < RULES; i++)
		assert_int_equal(counts[i], KEYS);
	rl_close(rl);
}

/* A write would fault here. */
static void
test_a_walk_writes_nothing(void **state)
{
	struct rl *rl = test_private(100);
	int rule = test_rule(rl, "r", 3, 8 * RL_SECOND, 4, false);
	struct pair pair = {0};
	uint64_t seed = 10, now = T0;

	(void)state;
	ask_at_random(rl, rule, &seed, &now);
	assert_int_equal(mprotect(rl->segment.header, rl->segment.bytes, PROT_READ), 0);
	walk_at_random(rl, &seed, now, &pair);
	assert_int_equal(mprotect(rl->segment.header, rl->segment.bytes, PROT_READ | PROT_WRITE),
	                 0);
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_prefilter_bounds_its_entry),
		cmocka_unit_test(test_a_prefilter_knows_of_overrides),
		cmocka_unit_test(test_an_entry_is_what_a_request_is_told),
		cmocka_unit_test(test_the_state_of_a_network),
		cmocka_unit_test(test_a_cut_name_has_no_sure_state),
		cmocka_unit_test(test_only_the_wanted_are_visited),
		cmocka_unit_test(test_slices_make_a_whole),
		cmocka_unit_test(test_many_limits),
		cmocka_unit_test(test_a_walk_writes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

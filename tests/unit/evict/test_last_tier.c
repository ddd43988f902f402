/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tier of a key's last request: who leaves it, who sees it, and that it decides about nothing.
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "at.h"
#include "rule/handle.h"
#include "segment/record.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define HOUR (3600 * RL_SECOND)
#define KEYS 20

static const struct rl_limit second = {.capacity = 25, .window_ns = 2 * HOUR};

static int
define(struct rl *rl, const char *name, const struct rl_limit *limit, bool has_second)
{
	const struct rl_rule rule = {
		.name = name, .limit = *limit, .more = &second, .more_count = has_second};
	int id = rl_define(rl, &rule);

	assert_true(id >= 0);
	return id;
}

static struct rl_item
item_of(int rule, const char *key, uint64_t cost, uint32_t capacity)
{
	return (struct rl_item){.rule = rule,
	                        .key = key,
	                        .key_len = strlen(key),
	                        .cost = cost,
	                        .capacity = capacity};
}

static enum rl_verdict
ask(struct rl *rl, int rule, const char *key, uint64_t cost, uint32_t capacity)
{
	const struct rl_item item = item_of(rule, key, cost, capacity);

	return at_check_item(rl, &item, T0, NULL);
}

/* What an entry is to say, of each of a rule's limits. */
struct seen {
	uint32_t tier, limit;
	unsigned entries;
	enum rl_entry_state state;
};

static int
see(const struct rl_entry *e, void *arg)
{
	struct seen *seen = (struct seen *)arg + e->limit;

	*seen = (struct seen){e->tier, e->peek.limit, seen->entries + 1, e->state};
	return 0;
}

static struct seen
look(struct rl *rl, int rule, const char *key)
{
	struct seen seen[RL_LIMITS_MAX] = {{0}};

	rl_lookup(rl, rule, key, strlen(key), T0, see, seen);
	assert_int_equal(seen[1].tier, 0);
	return seen[0];
}

/* Who leaves a tier, by each way there is to ask, beside what one would note down by hand. */
static void
ask_at_random(struct rl *rl, int rule, uint64_t *seed, uint32_t last[KEYS], unsigned *kept)
{
	for (int i = 0; i < 400; i++) {
		unsigned k = (unsigned)test_below(seed, KEYS);
		struct rl_result r, results[RL_LIMITS_MAX];
		struct rl_item item;
		size_t count;
		char key[16];

		sprintf(key, "key%u", k);
		item = item_of(rule, key, test_below(seed, 5),
		               test_below(seed, 2) ? 1 + (uint32_t)test_below(seed, 30) : 0);
		switch (test_below(seed, 5)) {
		case 0:
			at_check_item(rl, &item, T0, &r);
			break;
		case 1:
			at_check_limits(rl, &item, T0, &r, &count, results);
			break;
		case 2:
			at_check_all(rl, &item, 1, T0, &r, NULL);
			break;
		case 3:
			at_check_many(rl, &item, 1, T0, &r);
			break;
		default:
			if (test_below(seed, 8) == 0 && rl_reset(rl, rule, key, strlen(key)) == 1)
				last[k] = 0;
			at_refund_key(rl, &item, T0);
			continue;
		}
		assert_int_not_equal(r.verdict, RL_UNDECIDED);
		if (item.capacity > 0 && item.cost > 0 && r.verdict != RL_NEVER) {
			last[k] = item.capacity;
			++*kept;
		}
		assert_int_equal(look(rl, rule, key).tier, last[k]);
	}
}

static void
test_the_last_request_with_a_tier_leaves_it(void **state)
{
	uint64_t seed = 21;
	unsigned kept = 0;

	(void)state;
	for (int algorithm = 0; algorithm < test_algorithm_count(); algorithm++) {
		for (int limits = 1; limits <= 2; limits++) {
			const struct rl_limit limit = {.algorithm = (enum rl_algorithm)algorithm,
			                               .capacity = 20,
			                               .window_ns = HOUR,
			                               .burst = algorithm == RL_LEAKY_BUCKET ? 4
			                                                                     : 0};
			uint32_t last[KEYS] = {0};
			struct rl *rl = test_private(200);

			ask_at_random(rl, define(rl, "r", &limit, limits == 2), &seed, last, &kept);
			rl_close(rl);
		}
	}
	assert_true(kept > 500);
}

/* A key whose slot was another's begins without a tier. */
static void
test_a_new_key_has_none(void **state)
{
	struct rl *rl;
	int rule;

	(void)state;
	assert_int_equal(
		rl_open_private(&(struct rl_options){.keys = 1, .ring = 1, .on_full = RL_FULL_DENY},
	                        &rl),
		0);
	rule = test_rule(rl, "r", 100, HOUR, 0, false);
	for (int i = 0; i < 200; i++) {
		char key[16];

		sprintf(key, "k%d", i);
		assert_int_equal(ask(rl, rule, key, 1, i % 2 ? 50 : 0), RL_ALLOWED);
		assert_int_equal(look(rl, rule, key).tier, i % 2 ? 50 : 0);
		assert_int_equal(rl_reset(rl, rule, key, strlen(key)), 1);
	}
	assert_int_equal(test_counter(rl, rule, RL_COUNT_inserted), 200);
	rl_close(rl);
}

static void
test_an_entry_is_judged_by_its_tier(void **state)
{
	struct rl *rl = test_private(100);
	int rule = test_rule(rl, "r", 400, HOUR, 0, false);

	(void)state;
	assert_int_equal(ask(rl, rule, "alice", 50, 50), RL_ALLOWED);
	assert_int_equal(ask(rl, rule, "alice", 1, 50), RL_DENIED);
	assert_int_equal(look(rl, rule, "alice").state, RL_ENTRY_LIMITED);
	assert_int_equal(look(rl, rule, "alice").limit, 50);
	/* without a tier it is decided by the rule, and what it left before stays */
	assert_int_equal(ask(rl, rule, "alice", 1, 0), RL_ALLOWED);
	assert_int_equal(look(rl, rule, "alice").tier, 50);
	assert_int_equal(ask(rl, rule, "alice", 1, 60), RL_ALLOWED);
	assert_int_equal(look(rl, rule, "alice").limit, 60);
	assert_int_equal(look(rl, rule, "alice").state, RL_ENTRY_OPEN);
	rl_close(rl);
}

/* An override of the first limit goes before a tier, one of another limit does not. */
static void
test_overrides_go_before_it(void **state)
{
	const struct rl_override own[] = {
		{.pattern = rl_pattern_of("own", 3), .capacity = {7}},
		{.pattern = rl_pattern_of("other", 5), .capacity = {0, 9}}};
	struct rl_config_rule rule = test_config_rule("r", 400, HOUR);
	struct rl *rl = test_private(100);
	int id;

	(void)state;
	rule.rule.more = &second;
	rule.rule.more_count = 1;
	rule.overrides = own;
	rule.override_count = 2;
	assert_int_equal(rl_configure(rl, &rule, 1, 0, NULL, NULL), 0);
	id = rl_find(rl, "r");
	ask(rl, id, "own", 1, 50);
	ask(rl, id, "other", 1, 50);
	assert_int_equal(look(rl, id, "own").tier, 50);
	assert_int_equal(look(rl, id, "own").limit, 7);
	assert_int_equal(look(rl, id, "other").limit, 50);
	rl_close(rl);
}

/* Is there one in any slot's record, whoever is shown it? */
static bool
is_kept_anywhere(const struct rl_segment *s)
{
	for (uint64_t i = 0; i < rl_segment_slots(s); i++)
		if (rl_record_tier(s, i) > 0)
			return true;
	return false;
}

/*
 * A tier is of the first limit: not of one that takes its place for an address, nor of one that was
 * the first.
 */
static void
test_it_is_the_first_limits(void **state)
{
	const struct rl_limit six = {.capacity = 25, .window_ns = HOUR, .prefix_v6 = 48};
	const struct rl_rule addresses = {
		.name = "addresses",
		.limit = {.capacity = 400, .window_ns = HOUR, .prefix_v4 = 24},
		.more = &six,
		.more_count = 1};
	const struct rl_limit first = {.capacity = 400, .window_ns = HOUR};
	const struct rl_rule turned = {
		.name = "r", .limit = second, .more = &first, .more_count = 1};
	struct rl *rl = test_private(100);
	int rule = rl_define(rl, &addresses);

	(void)state;
	assert_int_equal(ask(rl, rule, "2001:db8::1", 1, 50), RL_ALLOWED);
	assert_false(is_kept_anywhere(&rl->segment));
	rule = define(rl, "r", &first, true);
	assert_int_equal(ask(rl, rule, "alice", 1, 50), RL_ALLOWED);
	assert_int_equal(look(rl, rule, "alice").tier, 50);
	assert_int_equal(rl_define(rl, &turned), rule);
	assert_true(is_kept_anywhere(&rl->segment));
	assert_int_equal(look(rl, rule, "alice").limit, 25); /* which looks at the other one, too */
	rl_close(rl);
}

/* A name need not be kept for it. */
static int
see_first(const struct rl_entry *e, void *arg)
{
	assert_null(e->key);
	return see(e, arg);
}

static void
test_without_names(void **state)
{
	const struct rl_options o = {.keys = 100, .ring = 64, .key_bytes = RL_KEY_BYTES_NONE};
	struct seen seen[RL_LIMITS_MAX] = {{0}};
	struct rl *rl;

	(void)state;
	assert_int_equal(rl_open_private(&o, &rl), 0);
	ask(rl, test_rule(rl, "r", 400, HOUR, 0, false), "alice", 50, 50);
	assert_int_equal(rl_walk(rl, T0, NULL, see_first, seen), 0);
	assert_int_equal(seen[0].entries, 1);
	assert_int_equal(seen[0].tier, 50);
	assert_int_equal(seen[0].state, RL_ENTRY_LIMITED);
	rl_close(rl);
}

static int
scribble(const struct rl_entry *e, void *arg)
{
	const struct rl *rl = arg;

	rl_segment_record(&rl->segment, e->slot)->last = UINT64_MAX - 17;
	return 0;
}

/*
 * Whatever the word says, requests are decided as ever; a log shows none that is beyond its ring.
 */
static void
test_a_wrong_word_decides_nothing(void **state)
{
	static const struct rl_limit log = {
		.algorithm = RL_SLIDING_LOG, .capacity = 2, .window_ns = HOUR};
	struct rl *rl = test_private(100);
	int window = test_rule(rl, "window", 2, HOUR, 0, false);
	int rule = define(rl, "log", &log, false);

	(void)state;
	assert_int_equal(ask(rl, window, "alice", 2, 0), RL_ALLOWED);
	assert_int_equal(ask(rl, rule, "alice", 2, 0), RL_ALLOWED);
	rl_walk(rl, T0, NULL, scribble, rl);
	assert_int_equal(look(rl, window, "alice").tier, RL_CAPACITY_MAX - 17);
	assert_int_equal(look(rl, rule, "alice").tier, 0);
	assert_int_equal(look(rl, rule, "alice").state, RL_ENTRY_LIMITED);
	assert_int_equal(ask(rl, window, "alice", 1, 0), RL_DENIED);
	assert_int_equal(ask(rl, rule, "alice", 1, 0), RL_DENIED);
	assert_int_equal(ask(rl, window, "alice", 1, 2), RL_DENIED);
	assert_int_equal(look(rl, window, "alice").tier, 2);
	rl_close(rl);
}

/* The only slot that has a tier. */
static struct rl_slot
slot_with_tier(const struct rl_segment *s)
{
	struct rl_slot slot = {.index = 0};

	while (rl_record_tier(s, slot.index) == 0)
		assert_true(++slot.index < rl_segment_slots(s));
	return slot;
}

/* The same tier again writes nothing, nor does a handle that may only read: both would fault. */
static void
test_what_writes_nothing(void **state)
{
	struct rl *rl = test_private(100);
	int rule = define(rl, "r", &(struct rl_limit){.capacity = 400, .window_ns = HOUR}, true);
	struct rl_segment *s = &rl->segment;

	(void)state;
	assert_int_equal(ask(rl, rule, "alice", 2, 2), RL_ALLOWED);
	assert_int_equal(mprotect(s->header, s->bytes, PROT_READ), 0);
	rl_record_keep_tier(s, slot_with_tier(s), 2);
	s->is_writable = false;
	assert_int_equal(ask(rl, rule, "alice", 1, 1), RL_DENIED);
	s->is_writable = true;
	assert_int_equal(mprotect(s->header, s->bytes, PROT_READ | PROT_WRITE), 0);
	assert_int_equal(look(rl, rule, "alice").tier, 2);
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_last_request_with_a_tier_leaves_it),
		cmocka_unit_test(test_a_new_key_has_none),
		cmocka_unit_test(test_an_entry_is_judged_by_its_tier),
		cmocka_unit_test(test_overrides_go_before_it),
		cmocka_unit_test(test_it_is_the_first_limits),
		cmocka_unit_test(test_without_names),
		cmocka_unit_test(test_a_wrong_word_decides_nothing),
		cmocka_unit_test(test_what_writes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The filters never hide a ban or an override, and seldom name one that is not there: see filter.h.
 */
#include <stdio.h>
#include <string.h>

#include "at.h"
#include "rule/address.h"
#include "rule/ban.h"
#include "rule/filter.h"
#include "rule/handle.h"
#include "segment/change.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define PATTERNS 240
#define KEYS 60
#define TEXT 48

static uint64_t seed;

static struct rl *
open_one(uint32_t bans, uint32_t overrides)
{
	const struct rl_options options = {.keys = 1000, .bans = bans, .overrides = overrides};
	struct rl *rl;

	assert_int_equal(rl_open_private(&options, &rl), 0);
	return rl;
}

/* One of few, so that they meet: keys, and patterns of all kinds that match some of them. */
static void
random_key(char text[static TEXT])
{
	unsigned a = (unsigned)test_below(&seed, 3), b = (unsigned)test_below(&seed, 6);

	switch (test_below(&seed, 4)) {
	case 0:
		snprintf(text, TEXT, "10.%u.%u.7", a, b);
		return;
	case 1:
		snprintf(text, TEXT, "2001:db8:%u::%u", a, b);
		return;
	case 2:
		snprintf(text, TEXT, "user%u:with a long name %u", a, b);
		return;
	default:
		snprintf(text, TEXT, "k%u%u", a, b);
	}
}

static void
random_pattern(char text[static TEXT])
{
	char key[TEXT];
	size_t len;

	random_key(key);
	len = strlen(key);
	memcpy(text, key, sizeof key);
	if (strchr(key, '.') && test_below(&seed, 2))
		snprintf(text, TEXT, "%.40s/%u", key, (unsigned)(8 + test_below(&seed, 25)));
	else if (strchr(key, ':') && key[0] == '2' && test_below(&seed, 2))
		snprintf(text, TEXT, "%.40s/%u", key,
		         (unsigned)(test_below(&seed, 4) > 0 ? 40 + test_below(&seed, 88) : 128));
	else if (test_below(&seed, 2))
		snprintf(text, TEXT, "%.*s*", (int)(2 + test_below(&seed, len - 2)), key);
}

static struct {
	char text[PATTERNS][TEXT];
	bool stands[PATTERNS];
	char key[KEYS][TEXT];
} model;

static bool
is_banned(const char *key)
{
	for (int i = 0; i < PATTERNS; i++) {
		struct rl_pattern p = rl_pattern_of(model.text[i], strlen(model.text[i]));
		if (model.stands[i] && rl_pattern_matches(&p, key, strlen(key)) > 0)
			return true;
	}
	return false;
}

/* The same pattern, if in other words. */
static bool
are_one(const struct rl *rl, const char *a, const char *b)
{
	const struct rl_pattern p = rl_pattern_of(a, strlen(a)), q = rl_pattern_of(b, strlen(b));
	struct rl_normal_pattern n, m;

	rl_normal_pattern_of(&p, &n);
	rl_normal_pattern_of(&q, &m);
	return rl_normal_pattern_hash(&rl->segment, &n).a ==
	       rl_normal_pattern_hash(&rl->segment, &m).a;
}

static void
change_one(struct rl *rl)
{
	int i = (int)test_below(&seed, PATTERNS);
	struct rl_pattern p = rl_pattern_of(model.text[i], strlen(model.text[i]));
	bool stands = test_below(&seed, 8) == 0;

	if (stands)
		assert_int_equal(rl_ban(rl, RL_ANY_RULE, &p, RL_NEVER_NS), 0);
	else
		assert_true(rl_unban(rl, RL_ANY_RULE, &p) >= 0);
	for (int j = 0; j < PATTERNS; j++)
		if (are_one(rl, model.text[i], model.text[j]))
			model.stands[j] = stands;
}

/* One limit of whole keys, so that the filter alone is asked; and two, where it is asked later. */
static void
test_like_the_table(void **state)
{
	struct rl *rl = open_one(1000, 1);
	const struct rl_limit second = {.capacity = 9, .window_ns = 2 * RL_SECOND};
	struct rl_rule two = {.name = "two", .limit = second, .more = &second, .more_count = 1};
	int rules[2] = {test_rule(rl, "one", 1000000, RL_SECOND, 1, false), rl_define(rl, &two)};
	uint64_t rebuilds = 0;

	(void)state;
	seed = 3;
	memset(&model, 0, sizeof model);
	for (int i = 0; i < PATTERNS; i++)
		random_pattern(model.text[i]);
	for (int i = 0; i < KEYS; i++)
		random_key(model.key[i]);
	for (uint64_t n = 0; n < test_scaled(40000); n++) {
		const char *key = model.key[test_below(&seed, KEYS)];
		int rule = rules[test_below(&seed, 2)];
		struct rl_result r;

		if (test_below(&seed, 4) == 0)
			change_one(rl);
		if (test_below(&seed, 50) == 0) {
			rl_ban_rebuild(&rl->segment, rl_now(rl));
			rebuilds++;
		}
		rl_check(rl, rule, key, strlen(key), 0, &r);
		assert_int_equal(r.error, 0);
		assert_int_equal(r.reason == RL_BY_BAN, is_banned(key));
	}
	assert_true(rebuilds > 0);
	assert_int_equal(*rl->segment.ban_epoch, rebuilds);
	rl_close(rl);
}

/* Patterns that differ by little, as those of real lists do. */
static void
similar(char text[static TEXT], int kind, unsigned n)
{
	switch (kind) {
	case 0:
		snprintf(text, TEXT, "%u", n);
		return;
	case 1:
		snprintf(text, TEXT, "user:%08u@example.org", n);
		return;
	case 2:
		snprintf(text, TEXT, "10.%u.%u.%u/32", n >> 16, n >> 8 & 255, n & 255);
		return;
	case 3:
		snprintf(text, TEXT, "2001:db8:%x:%x::/64", n >> 8, n & 255);
		return;
	case 4:
		snprintf(text, TEXT, "customer-%06u", n);
		return;
	case 5:
		snprintf(text, TEXT, "2001:db8::%x/128", n);
		return;
	default:
		snprintf(text, TEXT, "%06u:*", n);
	}
}

#define FULL 4096
#define KINDS 7

static unsigned
false_positives(const struct rl *rl, const struct rl_filter_ask *ask, int kind)
{
	unsigned count = 0;
	char text[TEXT];

	for (unsigned n = FULL; n < 3 * FULL; n++) {
		struct rl_address address;
		size_t len;

		similar(text, kind, n);
		len = strcspn(text, "/*");
		count +=
			rl_filter_may_have(&rl->segment, ask, text, len,
		                           rl_hash_of_key(rl->segment.key_start, text, len),
		                           rl_address_parse(text, len, &address) ? &address : NULL);
	}
	return count;
}

static void
fill(struct rl *rl, int kind, unsigned count)
{
	char text[TEXT];

	for (unsigned n = 0; n < count; n++) {
		similar(text, kind, n);
		struct rl_pattern p = rl_pattern_of(text, strlen(text));
		assert_int_equal(rl_ban(rl, RL_ANY_RULE, &p, RL_NEVER_NS), 0);
	}
}

/*
 * One pattern under all scopes, and patterns of the same bytes, and what all of them are hashed by.
 */
static void
test_scopes(void **state)
{
	static const enum rl_match kinds[] = {RL_MATCH_KEY, RL_MATCH_PREFIX};
	struct rl *rl = open_one(1, 1);
	uint64_t seen[2][RL_RULES_MAX + 1];
	unsigned eighths[2][8] = {{0}};

	(void)state;
	for (int kind = 0; kind < 2; kind++) {
		const struct rl_pattern p = {.match = kinds[kind], .key = "user", .key_len = 4};
		struct rl_normal_pattern n;

		assert_int_equal(rl_normal_pattern_of(&p, &n), 0);
		for (int row = -1; row < RL_RULES_MAX; row++) {
			struct rl_hash hash = rl_normal_pattern_hash_in(&rl->segment, row, &n);
			assert_int_equal(hash.a & 1, 1);
			eighths[kind][hash.b >> 61]++;
			seen[kind][row + 1] = hash.a;
			for (int other = 0; other <= row; other++)
				assert_true(seen[kind][other] != hash.a);
			assert_true(kind == 0 || seen[0][row + 1] != hash.a);
		}
		for (int i = 0; i < 8; i++)
			assert_in_range(eighths[kind][i], RL_RULES_MAX / 8 - 4,
			                RL_RULES_MAX / 8 + 4);
		assert_int_equal(rl_normal_pattern_hash(&rl->segment, &n).a ==
		                         rl_hash_of_key(rl->segment.key_start, "user", 4),
		                 kind == 0);
	}
	rl_close(rl);
}

/* Each segment has a secret of its own; the worst of many is judged, too. */
static void
test_false_positives(void **state)
{
	(void)state;
	for (int kind = 0; kind < KINDS; kind++) {
		unsigned all = 0, worst = 0, segments = (unsigned)test_scaled(24);
		for (unsigned i = 0; i < segments; i++) {
			struct rl *rl = open_one(FULL, 1);
			struct rl_filter_ask ask = {.kinds = RL_FILTER_BANS | RL_FILTER_NETWORKS |
			                                     RL_FILTER_BEGINNINGS};
			unsigned found;

			fill(rl, kind, FULL);
			ask.lengths = rl_lengths_load(&rl->segment.header->any_bans);
			found = false_positives(rl, &ask, kind);
			all += found;
			worst = found > worst ? found : worst;
			assert_false(rl_ban_is_crowded(&rl->segment));
			rl_close(rl);
		}
		print_message("           kind %d: %.1f in 100, at worst %.1f\n", kind,
		              100.0 * all / segments / (2 * FULL), 100.0 * worst / (2 * FULL));
		assert_true(all < 6 * segments * 2 * FULL / 100);
		assert_true(worst < 12 * 2 * FULL / 100);
	}
}

/* What was lifted stays in the filter until a sweep finds that it is crowded. */
static void
test_a_sweep_clears_up(void **state)
{
	struct rl *rl = open_one(64, 1);
	const struct rl_pattern stays = rl_pattern_of("stays", 5), over = rl_pattern_of("over", 4);
	int rule = test_rule(rl, "r", 1000000, RL_SECOND, 1, false);
	uint64_t now = rl_now(rl);
	char text[TEXT];

	(void)state;
	assert_int_equal(rl_ban(rl, rule, &stays, RL_NEVER_NS), 0);
	assert_int_equal(rl_ban(rl, rule, &over, now + RL_SECOND), 0);
	for (unsigned n = 0; n < 1000; n++) {
		similar(text, 0, n);
		struct rl_pattern p = rl_pattern_of(text, strlen(text));
		assert_int_equal(rl_ban(rl, rule, &p, RL_NEVER_NS), 0);
		assert_int_equal(rl_unban(rl, rule, &p), 1);
	}
	assert_true(rl_ban_is_crowded(&rl->segment));
	assert_true(rl_sweep_at(rl, now + 2 * RL_SECOND) >= 0);
	assert_false(rl_ban_is_crowded(&rl->segment));
	assert_int_equal(*rl->segment.ban_epoch, 1);
	for (int i = 0; i < 2; i++) { /* by a clock that was read before, too */
		assert_int_equal(at_check(rl, rule, "stays", 5, 1, now, NULL), RL_DENIED);
		assert_int_equal(at_check(rl, rule, "over", 4, 1, now, NULL), RL_DENIED);
		assert_int_equal(at_check(rl, rule, "7", 1, 1, now, NULL), RL_ALLOWED);
	}
	rl_close(rl);
}

static void
lose_bits(const struct rl_segment *s)
{
	rl_filter_clear(&s->ban_filter, 0);
	rl_filter_clear(&s->ban_filter, 1);
}

/*
 * An entry without its bits, as one leaves who is killed: nobody asks the filter, and a sweep
 * mends.
 */
static void
test_killed_before_the_bits(void **state)
{
	struct rl *rl = open_one(64, 1);
	const struct rl_pattern p = rl_pattern_of("k", 1);
	int rule = test_rule(rl, "r", 1000000, RL_SECOND, 1, false);
	uint64_t version, now = rl_now(rl);
	struct rl_change killed;

	(void)state;
	assert_int_equal(rl_ban(rl, rule, &p, RL_NEVER_NS), 0);
	for (int is_open = 1; is_open >= 0; is_open--) {
		if (is_open)
			assert_true(rl_change_begin(&rl->segment, &killed));
		lose_bits(&rl->segment);
		for (int i = 0; i < 3 && is_open; i++)
			assert_int_equal(at_check(rl, rule, "k", 1, 1, now, NULL), RL_DENIED);
		for (int i = 1; i <= 2; i++)
			assert_int_equal(rl_sweep_slots_at(rl, (uint64_t)is_open, 1,
			                                   now + (uint64_t)i * 10 * RL_SECOND,
			                                   &(struct rl_swept){0}),
			                 0);
		assert_true(rl_change_is_quiet(&rl->segment, &version));
		for (int i = 0; i < 3; i++)
			assert_int_equal(at_check(rl, rule, "k", 1, 1, now, NULL), RL_DENIED);
		now += 30 * RL_SECOND;
	}
	rl_close(rl);
}

/* Overrides have a filter in each bank, and the one in force is asked. */

#define OVERRIDES 504

static void
configure(struct rl *rl, unsigned first)
{
	static char text[OVERRIDES][TEXT];
	static struct rl_override o[OVERRIDES];
	struct rl_config_rule rules[2] = {test_config_rule("one", 5, RL_SECOND),
	                                  test_config_rule("two", 6, RL_SECOND)};

	for (unsigned i = 0; i < OVERRIDES; i++) {
		similar(text[i], (int)(i % KINDS), first + i);
		o[i] = (struct rl_override){.pattern = rl_pattern_of(text[i], strlen(text[i])),
		                            .capacity = {100 + i}};
	}
	rules[0].overrides = o;
	rules[0].override_count = OVERRIDES;
	assert_int_equal(rl_configure(rl, rules, 2, 0, NULL, NULL), 0);
}

static uint32_t
limit_of(struct rl *rl, const char *rule, unsigned n)
{
	struct rl_result r;
	char text[TEXT];

	similar(text, (int)(n % KINDS), n);
	at_check(rl, rl_find(rl, rule), text, strcspn(text, "/*") + (strchr(text, '*') != NULL), 0,
	         T0, &r);
	return r.limit;
}

static void
test_overrides(void **state)
{
	struct rl *rl = open_one(1, OVERRIDES);

	(void)state;
	for (unsigned round = 0; round < 5; round++) {
		unsigned first = KINDS * 17 * round;
		configure(rl, first);
		for (unsigned n = 0; n < OVERRIDES + 1000; n++) {
			bool is_in = n >= first && n < first + OVERRIDES;
			assert_int_equal(limit_of(rl, "one", n), is_in ? 100 + n - first : 5);
			assert_int_equal(limit_of(rl, "two", n), 6);
		}
	}
	rl_close(rl);
}

/* What a bank had before is not in its filter any more. */
static void
test_overrides_leave_nothing(void **state)
{
	struct rl *rl = open_one(1, OVERRIDES);
	const struct rl_filter *f = &rl->segment.override_filter;
	uint64_t first[2] = {0}, last[2] = {0};

	(void)state;
	for (unsigned round = 0; round < 20; round++) {
		uint64_t *set = round < 2 ? first : last;
		configure(rl, OVERRIDES * round);
		for (unsigned bank = 0; bank < 2; bank++) {
			set[bank] = 0;
			for (uint32_t i = 0; i < f->words; i++)
				set[bank] += (uint64_t)__builtin_popcountll(f->bank[bank][i]);
		}
	}
	for (unsigned bank = 0; bank < 2; bank++)
		assert_in_range(last[bank], first[bank] * 3 / 4, first[bank] * 4 / 3);
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_like_the_table),
		cmocka_unit_test(test_false_positives),
		cmocka_unit_test(test_scopes),
		cmocka_unit_test(test_a_sweep_clears_up),
		cmocka_unit_test(test_killed_before_the_bits),
		cmocka_unit_test(test_overrides),
		cmocka_unit_test(test_overrides_leave_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

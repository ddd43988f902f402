/* SPDX-License-Identifier: BSD-2-Clause */
#include "exercise.h"
#include "at.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rule/rules.h"
#include "testing.h"

const struct rl_options exercise_options = {.keys = 20,
                                            .ring = 12,
                                            .rules = 9,
                                            .bans = 8,
                                            .overrides = 8,
                                            .key_bytes = 24,
                                            .holders = 6,
                                            .events = 8};

static const struct rl_limit second = {.capacity = 9, .window_ns = 60 * RL_SECOND};

static const struct rl_rule rules[EXERCISE_RULES] = {
	{.name = "hard",
         .limit = {.capacity = 5, .window_ns = 8 * RL_SECOND, .granularity = 8, .hard = 1}},
	{.name = "share",
         .limit = {.capacity = 5, .window_ns = 8 * RL_SECOND, .granularity = 4},
         .more = &second,
         .more_count = 1},
	{.name = "log",
         .limit = {.algorithm = RL_SLIDING_LOG, .capacity = 6, .window_ns = RL_SECOND}},
	{.name = "token",
         .limit = {.algorithm = RL_TOKEN_BUCKET, .capacity = 6, .window_ns = RL_SECOND}},
	{.name = "leaky",
         .limit = {.algorithm = RL_LEAKY_BUCKET,
                   .capacity = 6,
                   .window_ns = RL_SECOND,
                   .burst = 4,
                   .undelayed = 1}},
	{.name = "net",
         .limit = {.algorithm = RL_FIXED_WINDOW,
                   .capacity = 7,
                   .window_ns = RL_SECOND,
                   .prefix_v4 = 24,
                   .prefix_v6 = 48}},
	{.name = "flight",
         .limit = {.algorithm = RL_IN_FLIGHT, .capacity = 4},
         .more = &second,
         .more_count = 1},
};

static void
require(bool is_so, const char *what)
{
	if (is_so)
		return;
	fprintf(stderr, "an answer that cannot be: %s\n", what);
	abort();
}

/* Of all tables that fit a test's file, which others may change in between. */
#define SLOTS_MOST (UINT64_C(1) << 20)

#define REQUIRE(claim) require(claim, #claim)

/* Some text that may be a key: names, addresses, networks, control bytes, long ones. */
static size_t
some_key(uint64_t *seed, char text[static RL_KEY_MAX])
{
	unsigned n = (unsigned)test_below(seed, 24);

	switch (test_below(seed, 6)) {
	case 0:
		return (size_t)sprintf(text, "192.0.2.%u", n);
	case 1:
		return (size_t)sprintf(text, "2001:db8:%x::%x", n, n);
	case 2:
		return (size_t)sprintf(text, "192.0.%u.0/24", n);
	case 3:
		memset(text, 'x', 200);
		return 1 + 8 * n;
	case 4:
		return (size_t)sprintf(text, "\x1b[31m%u\n", n);
	default:
		return (size_t)sprintf(text, "user:%u", n);
	}
}

/* What adapters do with those that are too long, here with any. */
static size_t
some_digest(uint64_t *seed, char text[static RL_KEY_MAX])
{
	char key[RL_KEY_MAX];
	size_t len = some_key(seed, key), digest_len = rl_key_digest(key, len, text);

	REQUIRE(digest_len == RL_KEY_DIGEST_SIZE - 1 && strlen(text) == digest_len);
	return digest_len;
}

static void
check_result(enum rl_verdict verdict, const struct rl_result *r)
{
	REQUIRE(verdict == r->verdict && verdict <= RL_UNDECIDED);
	REQUIRE(verdict != RL_UNDECIDED || r->error != 0);
	REQUIRE(r->remaining <= r->limit);
	REQUIRE(rl_strerror(r->error) != NULL);
}

/* Of a row that there is, in any incarnation; or of no rule. */
static bool
is_handle(int rule)
{
	return rule < 0 || (uint32_t)rl_rule_row(rule) < exercise_options.rules;
}

/* Reads every byte that it is told of. */
static int
see_entry(const struct rl_entry *e, void *arg)
{
	uint64_t *sum = arg;

	REQUIRE(e->count
	                ? e->count->value <= RL_COUNT_MAX
	                : e->used <= (e->peek.window_ns == 0 ? RL_IN_FLIGHT_MAX : RL_CAPACITY_MAX));
	/* beyond the limit nothing remains, but of a key that is exempt */
	REQUIRE(e->count || e->peek.window_ns == 0 || e->used <= e->peek.limit ||
	        e->peek.remaining == 0 || e->state == RL_ENTRY_EXEMPT);
	REQUIRE(is_handle(e->rule) && e->limit < RL_LIMITS_MAX);
	REQUIRE(e->buckets <= RL_GRANULARITY_MAX + 1 && e->charge_entries <= RL_LOG_MAX + 1);
	REQUIRE(e->key_kept <= RL_KEY_MAX && e->key_kept <= e->key_len);
	for (size_t i = 0; i < e->key_kept; i++)
		*sum += ((const unsigned char *)e->key)[i];
	for (size_t i = 0; i < e->charge_entries; i++)
		*sum += e->charge_entry[i].at_ns + e->charge_entry[i].cost;
	for (uint32_t i = 0; i < e->buckets; i++)
		*sum += e->bucket[i];
	return 0;
}

/* And of its prefilter. */
static int
prefilter_of(const struct rl_prefilter *prefilter, void *arg)
{
	unsigned char key[RL_KEY_MAX];
	size_t key_len, kept = rl_prefilter_key(prefilter, key, &key_len);
	uint64_t *sum = arg;

	REQUIRE(kept <= RL_KEY_MAX && kept <= key_len);
	for (size_t i = 0; i < kept; i++)
		*sum += key[i];
	*sum += rl_prefilter_denied_most(prefilter) + prefilter->used_most +
	        prefilter->remaining_least;
	return 1;
}

static int
see_ban(const struct rl_ban_info *b, void *arg)
{
	uint64_t *sum = arg;

	REQUIRE(b->pattern.key == NULL || b->pattern.key_len <= RL_KEY_MAX);
	for (size_t i = 0; b->pattern.key && i < b->pattern.key_len; i++)
		*sum += ((const unsigned char *)b->pattern.key)[i];
	return 0;
}

static void
check_charges(const struct rl_charges charges[], size_t items)
{
	for (size_t i = 0; i < items; i++) {
		REQUIRE(charges[i].count <= RL_LIMITS_MAX);
		for (unsigned c = 0; c < charges[i].count; c++)
			REQUIRE(charges[i].charge[c].cost > 0);
	}
}

/* They are the caller's memory, and may be anything, too. */
static void
spoil(struct rl_charges *charges, uint64_t *seed)
{
	unsigned char *bytes = (unsigned char *)charges->charge;

	if (test_below(seed, 4) == 0)
		charges->count = (unsigned)test_below(seed, 12);
	if (test_below(seed, 4) == 0)
		bytes[test_below(seed, sizeof charges->charge)] ^= (unsigned char)test_random(seed);
}

/* Some of what is in flight; the rest is refunded. What is left stays held, by this process. */
static void
release(struct rl *rl, struct rl_charges *charges, uint64_t *seed)
{
	struct rl_hold holds[RL_LIMITS_MAX];
	size_t count = rl_holds(charges, holds, test_below(seed, 3));

	REQUIRE(count <= 2);
	if (test_below(seed, 4) > 0)
		REQUIRE(rl_release(rl, holds, count) <= 1);
}

static int
see_overflow(const struct rl_overflow_info *info, void *arg)
{
	REQUIRE(is_handle(info->rule) && info->limit < RL_LIMITS_MAX);
	REQUIRE(info->cells_full <= info->cells_used && info->used_most <= RL_CAPACITY_MAX &&
	        info->denied_ppm <= 1000000);
	*(uint64_t *)arg += info->until_ns;
	return 0;
}

static int
see_holder(const struct rl_holder *holder, void *arg)
{
	REQUIRE(holder->units > 0 && holder->units <= RL_IN_FLIGHT_MAX);
	REQUIRE(holder->limit < RL_LIMITS_MAX);
	*(uint64_t *)arg += (uint64_t)holder->pid + holder->state;
	return 0;
}

static void
decide(struct rl *rl, uint64_t *seed, uint64_t now)
{
	char text[RL_KEY_MAX], other[RL_KEY_MAX];
	struct rl_item items[2] = {{.key = text}, {.key = other}};
	struct rl_result r = {0}, results[2] = {0}, each[RL_LIMITS_MAX];
	struct rl_charges charges[2] = {0};
	size_t count;

	items[0].key_len = some_key(seed, text);
	items[1].key_len = test_below(seed, 8) ? some_key(seed, other) : some_digest(seed, other);
	for (int i = 0; i < 2; i++) {
		items[i].rule = (int)test_below(seed, EXERCISE_RULES + 3) - 1;
		items[i].cost = test_below(seed, 4);
		items[i].capacity = test_below(seed, 4) == 0 ? (uint32_t)test_below(seed, 9) : 0;
		items[i].burst = (uint32_t)test_below(seed, 9);
		items[i].undelayed = (uint32_t)test_below(seed, 9);
		items[i].flags = test_below(seed, 4) == 0 ? (unsigned)test_below(seed, 5) : 0;
		items[i].charges = test_below(seed, 4) ? &charges[i] : NULL;
	}
	check_result(at_check_item(rl, &items[0], now, &r), &r);
	check_result(at_check_limits(rl, &items[1], now, &r, &count, each), &r);
	REQUIRE(count <= RL_LIMITS_MAX);
	at_check_all(rl, items, 2, now, results, &count);
	REQUIRE(count <= 2);
	check_charges(charges, 2);
	at_check_many(rl, items, 2, now, results);
	check_charges(charges, 2);
	check_result(at_reserve_item(rl, &items[0], RL_SECOND, now, &r), &r);
	check_charges(charges, 2);
	for (int i = 0; i < 2; i++) {
		spoil(&charges[i], seed);
		if (test_below(seed, 2))
			REQUIRE(at_settle(rl, &charges[i], test_below(seed, 9), now) <= 1);
		release(rl, &charges[i], seed);
		at_refund(rl, &charges[i], now);
	}
	at_reserve_all(rl, items, 2, RL_SECOND, now, results, &count);
	REQUIRE(count <= 2);
	REQUIRE(at_refund_key(rl, &items[0], now) <= (int)items[0].cost);
	check_result(at_peek(rl, items[1].rule, other, items[1].key_len, now, &r), &r);
}

/* Whatever an answer is, it says the same: a value has a lifetime, and none has none. */
static void
check_count(int done, const struct rl_count *c)
{
	REQUIRE(done <= 1 && (done >= 0 || rl_strerror(done) != NULL));
	REQUIRE(c->value <= RL_COUNT_MAX && (c->value == 0 || c->expires_after_ns > 0));
	REQUIRE(done >= 0 || (c->value == 0 && c->expires_after_ns == 0));
}

static void
count(struct rl *rl, uint64_t *seed, uint64_t now)
{
	int space = (int)test_below(seed, EXERCISE_RULES + 3) - 1;
	uint64_t lifetime = test_below(seed, 3) * RL_SECOND;
	struct rl_count c;
	char text[RL_KEY_MAX];
	size_t len = some_key(seed, text);

	space = test_below(seed, 2) ? EXERCISE_RULES : space;
	switch (test_below(seed, 7)) {
	case 0:
		check_count(at_counter_get(rl, space, text, len, now, &c), &c);
		break;
	case 1:
		check_count(at_counter_set(rl, space, text, len, 7, lifetime, now, &c), &c);
		break;
	case 2:
		check_count(at_counter_set_new(rl, space, text, len, 7, lifetime + 1, now, &c), &c);
		break;
	case 4:
		check_count(at_counter_touch(rl, space, text, len, lifetime + 1, now, &c), &c);
		break;
	case 3:
		REQUIRE(at_counter_drop(rl, space, text, len, now) <= 1);
		break;
	default:
		check_count(at_counter_add(rl, space, text, len, (int64_t)test_below(seed, 5) - 1,
		                           lifetime, now, &c),
		            &c);
	}
}

/* As it is, or refused where it differs. */
static void
define_one(struct rl *rl, uint64_t *seed)
{
	struct rl_rule rule = rules[test_below(seed, EXERCISE_RULES)];

	if (test_below(seed, 2)) {
		rule.flags = RL_DEFINE_KEEP;
		rule.limit.capacity += (uint32_t)test_below(seed, 2);
	}
	rl_define(rl, &rule);
}

static void
reset_many(struct rl *rl, int rule, const struct rl_pattern *pattern)
{
	struct rl_reset_counts counts;
	int error = rl_reset_matching(rl, rule, pattern, &counts);

	REQUIRE(error <= 0 && rl_strerror(error) != NULL);
	REQUIRE(counts.forgotten <= SLOTS_MOST && counts.unknown <= SLOTS_MOST);
}

static int
see_event(const struct rl_event *e, void *arg)
{
	const unsigned char *bytes = e->key;
	uint64_t *sum = arg;

	REQUIRE(e->rule >= -1 && e->rule < 1 << 30 && e->limit < 8 && e->one_in > 0);
	REQUIRE(e->key_kept <= RL_KEY_MAX && e->key_kept <= e->key_len);
	REQUIRE(bytes || e->key_kept == 0);
	for (size_t i = 0; i < e->key_kept; i++)
		*sum += bytes[i];
	return 0;
}

/* What is told, from anywhere on; and what has been. */
static void
look_back(struct rl *rl, uint64_t *seed, uint64_t now, uint64_t *sum)
{
	struct rl_events_cursor cursor = {.next = test_below(seed, 4) ? 0 : *seed};
	int rule = (int)test_below(seed, EXERCISE_RULES + 3) - 1;
	struct rl_history_span spans[RL_HISTORY_QUARTERS];
	uint64_t denied, shadow_denied;
	int quarters;

	for (int i = 0; i < 3; i++)
		REQUIRE(rl_events_read(rl, &cursor, see_event, sum) <= 0);
	rl_events_now(rl, &cursor);
	REQUIRE(rl_history_minutes(rl, rule, now, spans) <= RL_HISTORY_MINUTES);
	quarters = rl_history_quarters(rl, rule, now, spans);
	REQUIRE(quarters <= RL_HISTORY_QUARTERS);
	for (int i = 0; i < quarters; i++)
		REQUIRE(spans[i].banned <= spans[i].denied &&
		        spans[i].full <= spans[i].denied - spans[i].banned);
	REQUIRE(rl_limit_stats(rl, rule, (unsigned)test_below(seed, 9), &denied, &shadow_denied) <=
	        0);
	*sum += denied + shadow_denied + spans[0].denied;
}

static void
administer(struct rl *rl, uint64_t *seed, uint64_t now, uint64_t *sum)
{
	char text[RL_KEY_MAX];
	size_t len = some_key(seed, text);
	int rule = (int)test_below(seed, EXERCISE_RULES + 3) - 1;
	struct rl_pattern pattern = rl_pattern_of(text, len);

	switch (test_below(seed, 8)) {
	case 0:
		rl_reset(rl, rule, text, len);
		break;
	case 6:
		reset_many(rl, rule, test_below(seed, 4) ? &pattern : NULL);
		break;
	case 1:
		rl_ban(rl, rule, &pattern, now + RL_SECOND);
		break;
	case 2:
		rl_allow(rl, rule, &pattern, RL_NEVER_NS);
		break;
	case 3:
		rl_unban(rl, rule, &pattern);
		rl_auto_ban_forget(rl, rule, text, len);
		rl_override(rl, rule, (unsigned)test_below(seed, RL_LIMITS_MAX + 1), text, len,
		            (uint32_t)test_below(seed, 9), now + RL_SECOND);
		break;
	case 4:
		rl_restore_at(rl, rule, (unsigned)test_below(seed, 3), text, len, 2, now);
		break;
	case 5:
		define_one(rl, seed);
		rl_define_counters(rl, test_below(seed, 2) ? "counted" : rules[0].name);
		break;
	default:
		rl_lookup(rl, rule, text, len, now, see_entry, sum);
		break;
	}
}

static int
configure(struct rl *rl, uint32_t capacity)
{
	const struct rl_override overrides[] = {
		{.pattern = {.key = "user:1", .key_len = 6}, .capacity = {capacity + 1}},
		{.pattern = rl_pattern_of("192.0.2.0/24", 12), .kind = RL_OVERRIDE_BANNED},
		{.pattern = rl_pattern_of("x*", 2), .kind = RL_OVERRIDE_UNLIMITED},
	};
	struct rl_config_rule rule = {
		.rule = rules[1], .overrides = overrides, .override_count = 3};

	rule.rule.limit.capacity = capacity;
	return rl_configure(rl, &rule, 1, 0, NULL, NULL);
}

static int
see_fault(enum rl_fault fault, uint64_t at, void *sum)
{
	REQUIRE(rl_fault_text(fault));
	*(uint64_t *)sum += at;
	return 0;
}

static void
inspect(struct rl *rl, uint64_t *seed, uint64_t now, uint64_t *sum)
{
	const struct rl_pattern pattern = {.key = "user:1", .key_len = 6};
	uint64_t counters[RL_COUNTERS];
	struct rl_override override;
	struct rl_rule_info rule;
	struct rl_audit counts;
	char text[RL_OPEN_TEXT_SIZE];
	struct rl_info info;

	rl_info(rl, &info);
	REQUIRE((rl_open_compare(&info, &exercise_options, text, sizeof text) == 0) ==
	        (text[0] == '\0'));
	*sum += strlen(info.name) + info.slots + rl_fill(rl);
	for (int i = -1; i < (int)info.rules + 1; i++) {
		rl_stats(rl, i, counters, RL_COUNTERS);
		rl_ban_of(rl, i, rules[0].name, 1, now, see_ban, sum);
		if (rl_rule_info(rl, i, &rule) == 1)
			REQUIRE(rule.limit_count <= RL_LIMITS_MAX);
		rl_override_info(rl, i, &pattern, &override);
		*sum += rl_override_count(rl, i);
	}
	rl_find(rl, rules[test_below(seed, EXERCISE_RULES)].name);
	rl_walk(rl, now, prefilter_of, see_entry, sum);
	rl_bans_walk(rl, now, see_ban, sum);
	rl_overrides_walk(rl, now, see_ban, sum);
	REQUIRE(rl_overflow_walk(rl, now, see_overflow, sum) == 0);
	for (int i = -1; i < EXERCISE_RULES; i++)
		rl_holders_walk(rl, i, pattern.key, pattern.key_len, see_holder, sum);
	REQUIRE(rl_audit(rl, see_fault, sum, &counts) <= 0);
}

/* Another table, or a few keys to it; or it is all there is. */
static void
resize(struct rl *rl, uint64_t *seed, uint64_t now)
{
	struct rl_resize r = {.keys = (uint32_t)test_below(seed, 64),
	                      .ring = (uint32_t)test_below(seed, 2) * 14};
	struct rl_moving moving = {0};
	int error = 0;

	switch (test_below(seed, 4)) {
	case 0:
		error = rl_resize(rl, &r, test_below(seed, 4) ? 0 : RL_RESIZE_DRY);
		break;
	case 1:
		error = rl_move_end(rl);
		break;
	default:
		error = rl_move_slots_at(rl, test_below(seed, 40), 40, now, &moving);
		REQUIRE(moving.left <= moving.seen);
	}
	REQUIRE(error <= 1 && rl_strerror(error) != NULL);
}

void
exercise_calls(struct rl *rl, uint64_t *seed)
{
	uint64_t now = EXERCISE_NOW + test_below(seed, 64) * RL_SECOND / 4, sum = 0;

	for (int i = 0; i < 4; i++)
		decide(rl, seed, now + (uint64_t)i * RL_SECOND / 2);
	for (int i = 0; i < 3; i++)
		administer(rl, seed, now, &sum);
	for (int i = 0; i < 3; i++)
		count(rl, seed, now);
	look_back(rl, seed, now, &sum);
	if (test_below(seed, 4) == 0)
		inspect(rl, seed, now, &sum);
	if (test_below(seed, 8) == 0)
		configure(rl, 1 + (uint32_t)test_below(seed, 9));
	if (test_below(seed, 4) == 0)
		resize(rl, seed, now);
	if (test_below(seed, 8) == 0)
		rl_sweep_at(rl, now + test_below(seed, 2) * 1000 * RL_SECOND);
}

void
exercise_fill(struct rl *rl)
{
	const struct rl_pattern banned = {.key = "user:9", .key_len = 6};
	const struct rl_pattern network = rl_pattern_of("2001:db8::/32", 13);
	uint64_t seed = 1, now = EXERCISE_NOW;

	for (int i = 0; i < EXERCISE_RULES; i++)
		REQUIRE(rl_define(rl, &rules[i]) == i);
	REQUIRE(rl_define_counters(rl, "counted") == EXERCISE_RULES);
	REQUIRE(configure(rl, 4) == 0);
	REQUIRE(rl_ban(rl, 0, &banned, RL_NEVER_NS) == 0);
	REQUIRE(rl_allow(rl, RL_ANY_RULE, &network, RL_NEVER_NS) == 0);
	for (int i = 0; i < 60; i++) {
		decide(rl, &seed, now += RL_SECOND / 8);
		count(rl, &seed, now);
	}
}

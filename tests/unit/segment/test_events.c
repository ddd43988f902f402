/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is told to people: the ring of events, the denials of a key, what a limit has denied, and a
 * rule's history. Time is made up. What a damaged ring makes of it is tests/fuzz's.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <errno.h>

#include "at.h"
#include "rule/handle.h"
#include "segment/event.h"
#include "segment/staged.h"
#include "testing.h"

#define MANY 512

/* A whole minute, some years after 1970. */
#define T0 (UINT64_C(29000000) * 60 * RL_SECOND)
#define MINUTE (60 * RL_SECOND)

struct heard {
	size_t count;
	struct rl_event event[MANY];
	char key[MANY][RL_KEY_MAX + 1];
};

static struct heard heard;
static struct rl_events_cursor cursor;

static int
hear(const struct rl_event *event, void *arg)
{
	struct heard *h = arg;
	size_t i = h->count;

	assert_true(i < MANY);
	h->event[i] = *event;
	memset(h->key[i], 0, sizeof h->key[i]);
	if (event->key)
		memcpy(h->key[i], event->key, event->key_kept);
	h->count++;
	return 0;
}

/* What was told since the last call, but for definitions; how many. */
static size_t
read_events(struct rl *rl)
{
	heard.count = 0;
	assert_int_equal(rl_events_read(rl, &cursor, hear, &heard), 0);
	return heard.count;
}

static struct rl *
begin(uint32_t events, uint32_t capacity, int *rule)
{
	const struct rl_options o = {.keys = 1000, .ring = 64, .events = events};
	struct rl *rl;

	assert_int_equal(rl_open_private(&o, &rl), 0);
	*rule = test_rule(rl, "r", capacity, RL_WINDOW_MAX, 0, false);
	cursor = (struct rl_events_cursor){0};
	if (events != RL_EVENTS_NONE)
		rl_events_now(rl, &cursor);
	return rl;
}

static enum rl_verdict
check(struct rl *rl, int rule, const char *key, uint64_t now_ns)
{
	return at_check(rl, rule, key, strlen(key), 1, now_ns, NULL);
}

static void
deny(struct rl *rl, int rule, const char *key, uint64_t now_ns)
{
	assert_int_equal(check(rl, rule, key, now_ns), RL_DENIED);
}

static int
copy_entry(const struct rl_entry *entry, void *arg)
{
	*(struct rl_entry *)arg = *entry;
	return 0;
}

static struct rl_entry
entry_of(struct rl *rl, int rule, const char *key, uint64_t now_ns)
{
	struct rl_entry entry = {0};

	assert_int_equal(rl_lookup(rl, rule, key, strlen(key), now_ns, copy_entry, &entry), 0);
	return entry;
}

static void
test_the_first_denial_in_a_minute_is_told(void **state)
{
	int rule;
	struct rl *rl = begin(64, 1, &rule);
	const struct rl_event *e = &heard.event[0];

	(void)state;
	assert_int_equal(check(rl, rule, "a key", T0), RL_ALLOWED);
	assert_int_equal(read_events(rl), 0);
	for (int i = 0; i < 50; i++)
		deny(rl, rule, "a key", T0 + (uint64_t)i * RL_SECOND);
	assert_int_equal(read_events(rl), 1);
	assert_int_equal(e->kind, RL_EVENT_DENIED);
	assert_int_equal(e->rule, rule);
	assert_int_equal(e->limit, 0);
	assert_int_equal(e->time_ns, T0);
	assert_int_equal(e->one_in, 1);
	assert_string_equal(heard.key[0], "a key");
	assert_int_equal(e->key_len, 5);
	assert_true(e->retry_after_ns > 0 && e->retry_after_ns <= RL_WINDOW_MAX * 2);
	deny(rl, rule, "a key", T0 + MINUTE);
	deny(rl, rule, "a key", T0 + 30 * MINUTE);
	deny(rl, rule, "a key", T0 + 30 * MINUTE + 59 * RL_SECOND);
	assert_int_equal(read_events(rl), 2);
	assert_int_equal(heard.event[1].time_ns, T0 + 30 * MINUTE);
	rl_close(rl);
}

/* Also of those that are not told or counted; no clock that is late takes it back. */
static void
test_the_last_denial_is_known(void **state)
{
	int rule;
	struct rl *rl = begin(64, 1, &rule);
	struct rl_events_cursor start = cursor;

	(void)state;
	check(rl, rule, "k", T0);
	for (unsigned i = 0; i < 3; i++) {
		deny(rl, rule, "k", T0 + i * 20 * RL_SECOND);
		cursor = start;
		assert_int_equal(read_events(rl), 1);
		assert_int_equal(heard.event[0].time_ns, T0);
		assert_int_equal(heard.event[0].last_ns, T0 + i * 20 * RL_SECOND);
	}
	for (unsigned i = 0; i < 2000; i++) /* by now one in 64 is counted */
		deny(rl, rule, "k", T0 + 45 * RL_SECOND + i);
	for (unsigned i = 46; i < 50; i++) {
		deny(rl, rule, "k", T0 + i * RL_SECOND);
		deny(rl, rule, "k", T0 + (i - 1) * RL_SECOND);
		cursor = start;
		read_events(rl);
		assert_int_equal(heard.event[0].last_ns, T0 + i * RL_SECOND);
	}
	rl_close(rl);
}

/* Whose address it was is nobody's to know. */
static void
test_a_network_that_is_denied_is_told(void **state)
{
	const struct rl_limit limit = {
		.capacity = 1, .window_ns = RL_WINDOW_MAX, .prefix_v4 = 24, .prefix_v6 = 48};
	int rule;
	struct rl *rl = begin(64, 1, &rule);

	(void)state;
	rule = rl_define(rl, &(struct rl_rule){.name = "networks", .limit = limit});
	assert_int_equal(check(rl, rule, "192.0.2.1", T0), RL_ALLOWED);
	assert_int_equal(check(rl, rule, "2001:db8::1", T0), RL_ALLOWED);
	read_events(rl);
	deny(rl, rule, "192.0.2.7", T0);
	deny(rl, rule, "2001:db8:0:9::7", T0);
	assert_int_equal(read_events(rl), 2);
	assert_string_equal(heard.key[0], "192.0.2.0/24");
	assert_string_equal(heard.key[1], "2001:db8::/48");
	rl_close(rl);
}

/* Also of a denial that takes a look at several sub-buckets, and whose result nobody wanted. */
static void
test_when_it_may_ask_again_is_told(void **state)
{
	int rule;
	struct rl *rl = begin(64, 1, &rule);
	struct rl_result r;

	(void)state;
	rule = test_rule(rl, "s", 2, 4 * RL_SECOND, 4, false);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(check(rl, rule, "k", T0 + i * RL_SECOND), RL_ALLOWED);
	read_events(rl);
	deny(rl, rule, "k", T0 + 2 * RL_SECOND);
	at_peek(rl, rule, "k", 1, T0 + 2 * RL_SECOND, &r);
	assert_int_equal(read_events(rl), 1);
	assert_true(r.retry_after_ns > 0 && heard.event[0].retry_after_ns == r.retry_after_ns);
	rl_close(rl);
}

/* Two limits: the one that denies is told, and what it is about. */
static void
test_which_limit_denies(void **state)
{
	const struct rl_limit second = {.capacity = 2, .window_ns = RL_WINDOW_MAX};
	const struct rl_rule two = {.name = "two",
	                            .limit = {.capacity = 1, .window_ns = RL_SECOND},
	                            .more = &second,
	                            .more_count = 1};
	uint64_t denied, shadow;
	int unused;
	struct rl *rl = begin(64, 1, &unused);
	int rule = rl_define(rl, &two);

	(void)state;
	read_events(rl);
	assert_int_equal(check(rl, rule, "k", T0), RL_ALLOWED);
	deny(rl, rule, "k", T0 + 1);
	assert_int_equal(check(rl, rule, "k", T0 + 5 * RL_SECOND), RL_ALLOWED);
	deny(rl, rule, "k", T0 + 10 * RL_SECOND);
	deny(rl, rule, "k", T0 + 12 * RL_SECOND);
	assert_int_equal(rl_limit_stats(rl, rule, 0, &denied, &shadow), 0);
	assert_int_equal(denied, 1);
	assert_int_equal(shadow, 0);
	assert_int_equal(rl_limit_stats(rl, rule, 1, &denied, &shadow), 0);
	assert_int_equal(denied, 2);
	assert_int_equal(rl_limit_stats(rl, rule, 2, &denied, &shadow), -EINVAL);
	assert_int_equal(rl_limit_stats(rl, 12345, 0, &denied, &shadow), -EINVAL);
	assert_int_equal(read_events(rl), 2);
	assert_int_equal(heard.event[0].limit, 0);
	assert_int_equal(heard.event[1].limit, 1);
	rl_close(rl);
}

static const struct rl_limit places[] = {
	{.capacity = 1, .window_ns = RL_SECOND},
	{.capacity = 2, .window_ns = RL_WINDOW_MAX},
	{.capacity = 9, .window_ns = RL_SECOND, .granularity = 5, .hard = 1},
};

/* A rule of those of the limits above, in that order; the last is a shadow. */
static int
define_in_order(struct rl *rl, const char *order)
{
	struct rl_limit of[3];
	size_t count = strlen(order);

	for (size_t i = 0; i < count; i++) {
		of[i] = places[order[i] - '0'];
		of[i].shadow = order[i] == '2';
	}
	return rl_define(rl, &(struct rl_rule){.name = "order",
	                                       .limit = of[0],
	                                       .more = of + 1,
	                                       .more_count = count - 1});
}

static void
expect_denied(struct rl *rl, int rule, unsigned index, uint64_t expected)
{
	uint64_t denied, shadow;

	assert_int_equal(rl_limit_stats(rl, rule, index, &denied, &shadow), 0);
	assert_int_equal(denied, expected);
	assert_int_equal(shadow, 0);
}

/*
 * Wherever a limit stands in its rule; one that comes back begins with none. What the rule denied
 * is the sum of all.
 */
static void
test_a_limit_takes_its_denials_along(void **state)
{
	int unused;
	struct rl *rl = begin(64, 1, &unused);
	int rule = define_in_order(rl, "01");

	(void)state;
	assert_int_equal(check(rl, rule, "k", T0), RL_ALLOWED);
	for (int i = 0; i < 3; i++)
		deny(rl, rule, "k", T0 + 1);
	assert_int_equal(check(rl, rule, "k", T0 + 5 * RL_SECOND), RL_ALLOWED);
	deny(rl, rule, "k", T0 + 10 * RL_SECOND);
	expect_denied(rl, rule, 0, 3);
	expect_denied(rl, rule, 1, 1);
	assert_int_equal(define_in_order(rl, "10"), rule);
	deny(rl, rule, "k", T0 + 20 * RL_SECOND);
	expect_denied(rl, rule, 0, 2);
	expect_denied(rl, rule, 1, 3);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_denied), 5);
	assert_int_equal(define_in_order(rl, "201"), rule);
	deny(rl, rule, "k", T0 + 30 * RL_SECOND);
	expect_denied(rl, rule, 0, 0);
	expect_denied(rl, rule, 1, 3);
	expect_denied(rl, rule, 2, 3);
	assert_int_equal(define_in_order(rl, "0"), rule);
	expect_denied(rl, rule, 0, 3);
	assert_int_equal(define_in_order(rl, "10"), rule);
	expect_denied(rl, rule, 0, 0);
	assert_int_equal(check(rl, rule, "k", T0 + 40 * RL_SECOND), RL_ALLOWED);
	expect_denied(rl, rule, 1, 3);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_denied), 6);
	rl_close(rl);
}

static void
test_a_shadow_is_counted_by_its_limit(void **state)
{
	const struct rl_rule shadow_rule = {
		.name = "s", .limit = {.capacity = 1, .window_ns = RL_WINDOW_MAX, .shadow = 1}};
	uint64_t denied, shadow;
	int unused;
	struct rl *rl = begin(64, 1, &unused);
	int rule = rl_define(rl, &shadow_rule);

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(check(rl, rule, "k", T0), RL_ALLOWED);
	assert_int_equal(rl_limit_stats(rl, rule, 0, &denied, &shadow), 0);
	assert_int_equal(denied, 0);
	assert_int_equal(shadow, 3);
	rl_close(rl);
}

/*
 * So many in a second, then one in so many, which say so: the sum is about what there was. It is
 * taken of many seconds, where chance is some 590 of 6,000.
 */
static void
test_a_flood_is_told_in_parts(void **state)
{
	const unsigned keys = 150, seconds = 40;
	int rule;
	struct rl *rl = begin(64, 1, &rule);
	uint64_t sum = 0, plain = 0;
	char key[32];

	(void)state;
	read_events(rl);
	for (unsigned i = 0; i < keys * seconds; i++) {
		snprintf(key, sizeof key, "%u", i % keys);
		if (i < keys)
			check(rl, rule, key, T0);
		deny(rl, rule, key, T0 + i / keys * MINUTE + i % keys);
		read_events(rl);
		if (heard.count == 0)
			continue;
		assert_int_equal(heard.count, 1);
		sum += heard.event[0].one_in;
		plain += heard.event[0].one_in == 1;
	}
	assert_int_equal(plain, seconds * RL_EVENTS_A_SECOND);
	assert_in_range(sum, keys * seconds - 3500, keys * seconds + 3500);
	rl_close(rl);
}

static void
test_what_was_written_over_is_counted(void **state)
{
	int rule;
	struct rl *rl = begin(8, 1, &rule);
	struct rl_events_cursor late = cursor, fresh = {0};

	(void)state;
	check(rl, rule, "k", T0);
	for (int i = 0; i < 20; i++)
		deny(rl, rule, "k", T0 + (uint64_t)i * MINUTE);
	cursor = late;
	assert_int_equal(read_events(rl), 8);
	assert_int_equal(cursor.lost, 12);
	assert_int_equal(heard.event[0].time_ns, T0 + 12 * MINUTE);
	cursor = fresh; /* who has just come has lost nothing */
	assert_int_equal(read_events(rl), 8);
	assert_int_equal(cursor.lost, 0);
	assert_int_equal(read_events(rl), 0);
	rl_close(rl);
}

/* As a killed writer leaves it: passed by, and counted, once it was met twice. */
static void
test_an_unfinished_entry_is_passed_by(void **state)
{
	int rule;
	struct rl *rl = begin(16, 1, &rule);

	(void)state;
	check(rl, rule, "k", T0);
	deny(rl, rule, "k", T0);
	rl_atomic_take(&rl->segment.events->next, 1);
	deny(rl, rule, "k", T0 + MINUTE);
	assert_int_equal(read_events(rl), 1);
	assert_int_equal(cursor.lost, 0);
	assert_int_equal(read_events(rl), 1);
	assert_int_equal(cursor.lost, 1);
	assert_int_equal(heard.event[0].time_ns, T0 + MINUTE);
	rl_close(rl);
}

/* No byte of an entry can be another and it be believed. */
static void
test_a_torn_entry_is_not_believed(void **state)
{
	int rule;
	struct rl *rl = begin(16, 1, &rule);
	struct rl_events_cursor start = cursor;
	unsigned char *bytes =
		(unsigned char *)rl_event_at(rl_event_ring(&rl->segment), start.next);

	(void)state;
	check(rl, rule, "k", T0);
	deny(rl, rule, "k", T0);
	for (size_t i = 0; i < sizeof(struct rl_event_entry); i++) {
		bytes[i] ^= 0x10;
		cursor = start;
		assert_int_equal(read_events(rl), 0);
		bytes[i] ^= 0x10;
	}
	cursor = start;
	assert_int_equal(read_events(rl), 1);
	rl_close(rl);
}

/* A key that is gone is shown by what the entry itself has of it. */
static void
test_a_key_that_is_gone(void **state)
{
	const char *key = "a key of more than sixteen bytes";
	int rule;
	struct rl *rl = begin(16, 1, &rule);
	struct rl_events_cursor start = cursor;

	(void)state;
	check(rl, rule, key, T0);
	deny(rl, rule, key, T0);
	assert_int_equal(read_events(rl), 1);
	assert_string_equal(heard.key[0], key);
	rl_segment_record(&rl->segment, entry_of(rl, rule, key, T0).slot)->check ^= 1;
	assert_int_equal(rl_reset(rl, rule, key, strlen(key)), 1);
	cursor = start;
	assert_int_equal(read_events(rl), 2);
	assert_string_equal(heard.key[0], "a key of more th");
	assert_int_equal(heard.event[0].key_len, strlen(key));
	assert_int_equal(heard.event[1].kind, RL_EVENT_RESET);
	assert_string_equal(heard.key[1], "a key of more than sixte");
	rl_close(rl);
}

static void
test_changes_are_told_with_who(void **state)
{
	const struct rl_pattern p = {RL_MATCH_PREFIX, "user:", 5};
	const struct rl_config_rule rules[] = {
		{.rule = {.name = "c", .limit = {.capacity = 1, .window_ns = RL_SECOND}}}};
	static const enum rl_event_kind kinds[] = {
		RL_EVENT_BAN_SET,    RL_EVENT_BAN_LIFTED, RL_EVENT_EXEMPTION_SET,
		RL_EVENT_CONFIGURED, RL_EVENT_DEFINED,    RL_EVENT_FORGOTTEN,
	};
	int rule;
	struct rl *rl = begin(16, 1, &rule);

	(void)state;
	assert_int_equal(rl_ban(rl, rule, &p, rl_now(rl) + RL_SECOND), 0);
	assert_int_equal(rl_unban(rl, rule, &p), 1);
	assert_int_equal(rl_unban(rl, rule, &p), 0);
	assert_int_equal(rl_allow(rl, RL_ANY_RULE, &p, RL_NEVER_NS), 0);
	assert_int_equal(rl_configure(rl, rules, 1, 0, NULL, NULL), 0);
	assert_int_equal(rl_configure(rl, rules, 1, 0, NULL, NULL), 0); /* nothing new */
	test_rule(rl, "r", 2, RL_WINDOW_MAX, 0, false);
	test_rule(rl, "r", 2, RL_WINDOW_MAX, 0, false); /* as it is */
	assert_int_equal(rl_forget(rl, "r"), 1);
	assert_int_equal(read_events(rl), sizeof kinds / sizeof kinds[0]);
	for (size_t i = 0; i < heard.count; i++) {
		assert_int_equal(heard.event[i].kind, kinds[i]);
		assert_int_equal(heard.event[i].author, getuid());
		assert_non_null(rl_event_name(heard.event[i].kind));
	}
	assert_string_equal(heard.key[0], "user:");
	assert_in_range(heard.event[0].retry_after_ns, RL_SECOND / 2, RL_SECOND);
	assert_int_equal(heard.event[2].rule, -1);
	assert_true(heard.event[2].retry_after_ns == RL_NEVER_NS);
	assert_int_equal(heard.event[3].generation, 1);
	assert_null(rl_event_name((enum rl_event_kind)0));
	assert_null(rl_event_name((enum rl_event_kind)(RL_EVENT_LAST + 1)));
	rl_close(rl);
}

static void
test_bans_that_hit_are_told(void **state)
{
	const struct rl_pattern p = {RL_MATCH_KEY, "2001:db8:1:2::3", 15};
	int rule;
	struct rl *rl = begin(64, 9, &rule);

	(void)state;
	assert_int_equal(rl_ban(rl, rule, &p, rl_now(rl) + MINUTE), 0);
	assert_int_equal(check(rl, rule, "2001:db8:1:2::3", rl_now(rl)), RL_DENIED);
	assert_int_equal(read_events(rl), 2);
	assert_int_equal(heard.event[1].kind, RL_EVENT_BANNED);
	assert_int_equal(heard.event[1].id, 0);
	assert_string_equal(heard.key[1], "2001:db8:1:2::3");
	assert_in_range(heard.event[1].retry_after_ns, 1, MINUTE + RL_MILLISECOND);
	rl_close(rl);
}

/*
 * However often it asks: a flood of one that is banned leaves the ring to others. One after the
 * other, for two of them may share a word.
 */
static void
test_a_banned_key_is_told_once_a_minute(void **state)
{
	const struct rl_pattern p = {RL_MATCH_PREFIX, "user:", 5};
	char key[32];
	int rule;
	struct rl *rl = begin(256, 9, &rule);
	struct rl_events_cursor start;

	(void)state;
	assert_int_equal(rl_ban(rl, rule, &p, RL_NEVER_NS), 0);
	read_events(rl);
	start = cursor;
	for (int k = 0; k < 4; k++) {
		sprintf(key, "user:%d", k);
		for (int i = 0; i < 1000; i++)
			deny(rl, rule, key, T0 + (uint64_t)i * MINUTE / 2000);
		assert_int_equal(read_events(rl), 1);
		assert_string_equal(heard.key[0], key);
		assert_int_equal(heard.event[0].time_ns, T0);
		assert_int_equal(heard.event[0].last_ns, T0 + 29 * RL_SECOND);
		assert_int_equal(heard.event[0].author, 0);
	}
	deny(rl, rule, "user:3", T0 + 40 * RL_SECOND);
	assert_int_equal(read_events(rl), 0);
	deny(rl, rule, "user:3", T0 + MINUTE);
	assert_int_equal(read_events(rl), 1);
	cursor = start;
	assert_int_equal(read_events(rl), 5);
	assert_int_equal(heard.event[3].last_ns, T0 + MINUTE);
	rl_close(rl);
}

static struct rl_events_cursor changes_cursor;

static size_t
read_changes(struct rl *rl)
{
	heard.count = 0;
	assert_int_equal(rl_changes_read(rl, &changes_cursor, hear, &heard), 0);
	return heard.count;
}

/* All of them, also of many at once, and what denials there are between writes over none. */
static void
test_changes_are_kept_apart(void **state)
{
	const struct rl_pattern p = {RL_MATCH_PREFIX, "user:", 5};
	char key[32];
	int rule;
	struct rl *rl = begin(16, 1, &rule);

	(void)state;
	changes_cursor = (struct rl_events_cursor){0};
	read_changes(rl);
	for (int i = 0; i < 90; i++)
		assert_int_equal(rl_ban(rl, rule, &p, RL_NEVER_NS), 0);
	for (int i = 0; i < 100; i++) {
		sprintf(key, "k%d", i);
		check(rl, rule, key, T0 + (uint64_t)i * RL_SECOND);
		deny(rl, rule, key, T0 + (uint64_t)i * RL_SECOND);
	}
	assert_int_equal(read_changes(rl), 90);
	for (size_t i = 0; i < heard.count; i++) {
		assert_int_equal(heard.event[i].kind, RL_EVENT_BAN_SET);
		assert_int_equal(heard.event[i].one_in, 1);
		assert_int_equal(heard.event[i].match, RL_MATCH_PREFIX);
		assert_int_equal(heard.event[i].author, getuid());
		assert_string_equal(heard.key[i], "user:");
	}
	assert_true(read_events(rl) <= 16);
	assert_int_equal(rl_unban(rl, rule, &p), 1);
	assert_int_equal(read_changes(rl), 1);
	assert_int_equal(heard.event[0].kind, RL_EVENT_BAN_LIFTED);
	rl_close(rl);
}

static size_t
count_of(enum rl_event_kind kind)
{
	size_t count = 0;

	for (size_t i = 0; i < heard.count; i++)
		count += heard.event[i].kind == kind;
	return count;
}

/* As many as are asked for, whatever is behind them: the words of banned keys are. */
static void
test_so_many_changes_are_kept(void **state)
{
	const struct rl_options o = {.keys = 100, .events = 16, .changes = 5};
	const struct rl_options too_many = {.changes = RL_CHANGES_MAX + 1};
	const struct rl_pattern p = {RL_MATCH_PREFIX, "user:", 5};
	struct rl_info info;
	struct rl *rl;
	int rule;

	(void)state;
	assert_int_equal(rl_open_private(&too_many, &rl), -EINVAL);
	assert_int_equal(rl_open_private(&o, &rl), 0);
	rl_info(rl, &info);
	assert_int_equal(info.changes, 5);
	rule = test_rule(rl, "r", 1, RL_WINDOW_MAX, 0, false);
	for (int i = 0; i < 90; i++)
		assert_int_equal(rl_ban(rl, rule, &p, RL_NEVER_NS), 0);
	changes_cursor = (struct rl_events_cursor){0};
	check(rl, rule, "user:1", T0);
	assert_int_equal(read_changes(rl), 5);
	check(rl, rule, "user:1", T0 + 1);
	assert_int_equal(read_changes(rl), 0);
	cursor = (struct rl_events_cursor){0};
	read_events(rl);
	assert_int_equal(count_of(RL_EVENT_BANNED), 1);
	rl_close(rl);
}

static void
test_a_full_table_is_told(void **state)
{
	const struct rl_options o = {
		.keys = 16, .ring = 64, .events = 256, .on_full = RL_FULL_DENY};
	struct rl *rl;
	char key[32];
	int rule;

	(void)state;
	assert_int_equal(rl_open_private(&o, &rl), 0);
	rule = test_rule(rl, "r", 9, RL_WINDOW_MAX, 0, false);
	cursor = (struct rl_events_cursor){0};
	for (int i = 0; i < 200; i++) {
		snprintf(key, sizeof key, "%d", i);
		check(rl, rule, key, T0);
	}
	read_events(rl);
	assert_true(count_of(RL_EVENT_FULL) >= RL_EVENTS_A_SECOND);
	rl_close(rl);
}

static void
test_without_events_nothing_is_told(void **state)
{
	int rule;
	struct rl *rl = begin(RL_EVENTS_NONE, 1, &rule);
	struct rl_info info;

	(void)state;
	check(rl, rule, "k", T0);
	deny(rl, rule, "k", T0);
	assert_int_equal(rl_events_read(rl, &cursor, hear, &heard), -ENOENT);
	rl_info(rl, &info);
	assert_int_equal(info.events, 0);
	assert_int_equal(info.events_told, 0);
	rl_close(rl);
}

/*
 * While it is read, a writer takes back how many there are: the same events come again and again.
 */
static int
take_back(const struct rl_event *event, void *arg)
{
	struct rl *rl = arg;

	rl_atomic_store(&rl->segment.events->next, event->number > 0 ? event->number - 1 : 8);
	return ++heard.count > MANY;
}

static void
test_a_reading_has_an_end(void **state)
{
	int rule;
	struct rl *rl = begin(8, 1, &rule);

	(void)state;
	while (rl_atomic_load(&rl->segment.events->next) < 8)
		rl_event_report_change(&rl->segment, RL_EVENT_RESET, rule, NULL, 0, 0);
	cursor = (struct rl_events_cursor){0};
	heard.count = 0;
	assert_int_equal(rl_events_read(rl, &cursor, take_back, rl), 0);
	assert_in_range(heard.count, 1, 8);
	rl_close(rl);
}

/* Each one up to 64; beyond that about as many as the error says. */
static void
test_denials_are_exact_while_they_are_few(void **state)
{
	int rule;
	struct rl *rl = begin(64, 1, &rule);
	struct rl_entry e;

	(void)state;
	check(rl, rule, "k", T0);
	for (unsigned i = 1; i <= 100000; i++) {
		deny(rl, rule, "k", T0);
		if (i > 64 && i != 301 && i != 1000 && i != 100000)
			continue;
		e = entry_of(rl, rule, "k", T0);
		assert_true(llabs((long long)e.denied - i) <= 8 * (long long)e.denied_error);
		assert_int_equal(e.denied_error == 0, i <= 64);
		assert_true(e.denied_error <= 8 + e.denied / 7);
		if (i <= 1000)
			assert_int_equal(e.denied_recent, e.denied);
		else
			assert_in_range(e.denied_recent, i / 2, 2 * i);
	}
	rl_close(rl);
}

static void
test_denials_of_late(void **state)
{
	int rule;
	struct rl *rl = begin(64, 1, &rule);
	struct rl_entry e;

	(void)state;
	check(rl, rule, "k", T0);
	for (int i = 0; i < 30; i++)
		deny(rl, rule, "k", T0);
	e = entry_of(rl, rule, "k", T0 + 5 * RL_SECOND);
	assert_int_equal(e.denied_recent, 30);
	assert_int_equal(e.denied_recent_ns, 5 * RL_SECOND);
	e = entry_of(rl, rule, "k", T0 + 15 * RL_SECOND);
	assert_int_equal(e.denied_recent, 30);
	assert_int_equal(e.denied_recent_ns, 15 * RL_SECOND);
	assert_int_equal(entry_of(rl, rule, "k", T0 + 20 * RL_SECOND).denied_recent, 0);
	deny(rl, rule, "k", T0 + 10 * RL_SECOND);
	deny(rl, rule, "k", T0 + 10 * RL_SECOND - 1); /* a clock that is late */
	assert_int_equal(entry_of(rl, rule, "k", T0 + 10 * RL_SECOND).denied_recent, 2);
	deny(rl, rule, "k", T0 + 90 * RL_SECOND); /* the same three bits */
	e = entry_of(rl, rule, "k", T0 + 90 * RL_SECOND);
	assert_int_equal(e.denied_recent, 1);
	assert_int_equal(e.denied_recent_ns, RL_SECOND);
	assert_int_equal(e.denied, 33);
	rl_close(rl);
}

/* Stages end where staged.h draws them. */
static void
test_stages(void **state)
{
	static const struct {
		uint64_t steps, number;
	} at[] = {{0, 0}, {64, 64}, {65, 68}, {112, 256}, {160, 1024}, {208, 4096}, {256, 16384}};
	uint64_t variance;

	(void)state;
	for (size_t i = 0; i < sizeof at / sizeof at[0]; i++)
		assert_int_equal(rl_staged_number(at[i].steps, 10, &variance), at[i].number);
	assert_int_equal(rl_staged_number(256, 3, &variance), 1024 + 96 * 64);
	assert_int_equal(rl_staged_stage(63, 3), 0);
	assert_int_equal(rl_staged_stage(64, 3), 1);
	assert_int_equal(rl_staged_stage(1000, 3), 3);
}

static void
test_history_by_minutes(void **state)
{
	struct rl_history_span spans[RL_HISTORY_MINUTES];
	int rule;
	struct rl *rl = begin(64, 3, &rule);

	(void)state;
	for (int i = 0; i < 5; i++)
		check(rl, rule, "k", T0 + (uint64_t)i * RL_SECOND);
	check(rl, rule, "k", T0 + MINUTE);
	for (int i = 0; i < 7; i++)
		check(rl, rule, "k", T0 + 10 * MINUTE + 1);
	assert_int_equal(rl_history_minutes(rl, rule, T0 + 12 * MINUTE + 5, spans),
	                 RL_HISTORY_MINUTES);
	for (int i = 0; i < RL_HISTORY_MINUTES; i++) {
		int minute = i - (RL_HISTORY_MINUTES - 1) + 12;

		assert_int_equal(spans[i].start_ns, T0 + (uint64_t)minute * MINUTE);
		assert_int_equal(spans[i].allowed, minute == 0 ? 3 : 0);
		assert_int_equal(spans[i].denied, minute == 0    ? 2
		                                  : minute == 1  ? 1
		                                  : minute == 10 ? 7
		                                                 : 0);
	}
	assert_int_equal(rl_history_minutes(rl, rule, T0 + 60 * MINUTE, spans), RL_HISTORY_MINUTES);
	assert_int_equal(spans[0].denied, 1); /* the first minute is over */
	assert_int_equal(rl_history_minutes(rl, 12345, T0, spans), -EINVAL);
	rl_close(rl);
}

static void
test_history_by_quarters(void **state)
{
	struct rl_history_span spans[RL_HISTORY_QUARTERS];
	const uint64_t t = T0 / (15 * MINUTE) * (15 * MINUTE);
	int rule;
	struct rl *rl = begin(64, 1, &rule);

	(void)state;
	check(rl, rule, "k", t);
	for (uint64_t minute = 0; minute < 30; minute++)
		deny(rl, rule, "k", t + minute * MINUTE);
	assert_int_equal(rl_history_quarters(rl, rule, t + 40 * MINUTE, spans),
	                 RL_HISTORY_QUARTERS);
	assert_int_equal(spans[RL_HISTORY_QUARTERS - 1].denied, 0);
	assert_int_equal(spans[RL_HISTORY_QUARTERS - 2].denied, 15);
	assert_int_equal(spans[RL_HISTORY_QUARTERS - 3].denied, 15);
	assert_int_equal(spans[RL_HISTORY_QUARTERS - 3].allowed, 1);
	assert_int_equal(spans[RL_HISTORY_QUARTERS - 3].start_ns, t);
	assert_int_equal(spans[0].denied, 0);
	rl_close(rl);
}

/* Ask for so many keys once each; how many were denied. */
static unsigned
crowd(struct rl *rl, int rule, unsigned keys, uint64_t now_ns)
{
	unsigned denied = 0;
	char key[32];

	for (unsigned i = 0; i < keys; i++) {
		snprintf(key, sizeof key, "key%u", i);
		denied += check(rl, rule, key, now_ns) == RL_DENIED;
	}
	return denied;
}

/* In the first minute by all three causes, in the second by a ban alone, in the third by none. */
static void
history_tells_causes(enum rl_on_full on_full)
{
	const struct rl_options o = {.keys = 16, .ring = 64, .on_full = on_full};
	const struct rl_pattern p = {.match = RL_MATCH_KEY, .key = "banned", .key_len = 6};
	struct rl_history_span spans[RL_HISTORY_QUARTERS], *last = &spans[RL_HISTORY_MINUTES - 1];
	unsigned full;
	struct rl *rl;
	int rule;

	assert_int_equal(rl_open_private(&o, &rl), 0);
	rule = test_rule(rl, "r", 1, RL_WINDOW_MAX, 0, false);
	assert_int_equal(rl_ban(rl, rule, &p, RL_NEVER_NS), 0);
	check(rl, rule, "k", T0);
	deny(rl, rule, "k", T0);
	deny(rl, rule, "k", T0);
	for (int i = 0; i < 3; i++)
		deny(rl, rule, "banned", T0);
	full = crowd(rl, rule, 500, T0);
	assert_in_range(full, 1, 499);
	deny(rl, rule, "banned", T0 + MINUTE);
	assert_int_equal(rl_sweep_at(rl, T0 + 2 * MINUTE) >= 0, true);
	rl_history_minutes(rl, rule, T0 + 2 * MINUTE, spans);
	assert_int_equal(last[-2].denied, 2 + 3 + full);
	assert_int_equal(last[-2].banned, 3);
	assert_int_equal(last[-2].full, full);
	assert_int_equal(last[-1].denied, 1);
	assert_int_equal(last[-1].banned, 1);
	assert_int_equal(last[-1].full + last[0].denied + last[0].banned, 0);
	rl_history_quarters(rl, rule, T0 + 2 * MINUTE, spans);
	assert_int_equal(spans[RL_HISTORY_QUARTERS - 1].banned, 4);
	assert_int_equal(spans[RL_HISTORY_QUARTERS - 1].full, full);
	rl_close(rl);
}

static void
test_history_tells_causes(void **state)
{
	(void)state;
	history_tells_causes(RL_FULL_DENY);
	history_tells_causes(RL_FULL_RESERVE);
}

/* Causes are noted on their own, and damage may be in them: never more than what was denied. */
static void
test_causes_are_part_of_what_was_denied(void **state)
{
	struct rl_history_span spans[RL_HISTORY_MINUTES], *last = &spans[RL_HISTORY_MINUTES - 1];
	int rule;
	struct rl *rl = begin(64, 1, &rule);
	struct rl_stat *stat = rl->segment.stats;

	(void)state;
	check(rl, rule, "k", T0);
	deny(rl, rule, "k", T0);
	deny(rl, rule, "k", T0);
	rl_atomic_store(&stat[rl_rule_row(rule)].counter[RL_COUNT_full_denied], 7);
	rl_history_minutes(rl, rule, T0, spans);
	assert_int_equal(last->denied, 2);
	assert_int_equal(last->banned, 0);
	assert_int_equal(last->full, 2);
	rl_close(rl);
}

/* A sweep notes minutes that have no decision, so that its successor's counts are not theirs. */
static void
test_a_sweep_notes(void **state)
{
	struct rl_history_span spans[RL_HISTORY_MINUTES];
	int rule;
	struct rl *rl = begin(64, 9, &rule);

	(void)state;
	check(rl, rule, "k", T0);
	assert_true(rl_sweep_at(rl, T0 + MINUTE) >= 0);
	check(rl, rule, "k", T0 + MINUTE - 1); /* by a clock that is late */
	rl_history_minutes(rl, rule, T0 + MINUTE, spans);
	assert_int_equal(spans[RL_HISTORY_MINUTES - 2].allowed, 1);
	assert_int_equal(spans[RL_HISTORY_MINUTES - 1].allowed, 1);
	rl_close(rl);
}

/* The row of a rule that is gone, given to another one. */
static void
test_history_of_a_row_begins_anew(void **state)
{
	struct rl_history_span spans[RL_HISTORY_MINUTES];
	const struct rl_options o = {.keys = 100, .ring = 64, .rules = 1};
	uint64_t denied, shadow;
	struct rl *rl;
	int rule;

	(void)state;
	assert_int_equal(rl_open_private(&o, &rl), 0);
	rule = test_rule(rl, "old", 1, RL_WINDOW_MAX, 0, false);
	check(rl, rule, "k", T0);
	deny(rl, rule, "k", T0);
	check(rl, rule, "k", T0 + MINUTE);
	assert_int_equal(rl_forget(rl, "old"), 1);
	rule = test_rule(rl, "new", 1, RL_WINDOW_MAX, 0, false);
	rl_history_minutes(rl, rule, T0 + MINUTE, spans);
	for (int i = 0; i < RL_HISTORY_MINUTES; i++)
		assert_int_equal(spans[i].allowed + spans[i].denied, 0);
	assert_int_equal(rl_limit_stats(rl, rule, 0, &denied, &shadow), 0);
	assert_int_equal(denied, 0);
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_first_denial_in_a_minute_is_told),
		cmocka_unit_test(test_the_last_denial_is_known),
		cmocka_unit_test(test_when_it_may_ask_again_is_told),
		cmocka_unit_test(test_a_network_that_is_denied_is_told),
		cmocka_unit_test(test_which_limit_denies),
		cmocka_unit_test(test_a_limit_takes_its_denials_along),
		cmocka_unit_test(test_a_shadow_is_counted_by_its_limit),
		cmocka_unit_test(test_a_flood_is_told_in_parts),
		cmocka_unit_test(test_what_was_written_over_is_counted),
		cmocka_unit_test(test_an_unfinished_entry_is_passed_by),
		cmocka_unit_test(test_a_torn_entry_is_not_believed),
		cmocka_unit_test(test_a_key_that_is_gone),
		cmocka_unit_test(test_changes_are_told_with_who),
		cmocka_unit_test(test_bans_that_hit_are_told),
		cmocka_unit_test(test_a_banned_key_is_told_once_a_minute),
		cmocka_unit_test(test_changes_are_kept_apart),
		cmocka_unit_test(test_so_many_changes_are_kept),
		cmocka_unit_test(test_a_full_table_is_told),
		cmocka_unit_test(test_without_events_nothing_is_told),
		cmocka_unit_test(test_a_reading_has_an_end),
		cmocka_unit_test(test_denials_are_exact_while_they_are_few),
		cmocka_unit_test(test_denials_of_late),
		cmocka_unit_test(test_stages),
		cmocka_unit_test(test_history_by_minutes),
		cmocka_unit_test(test_history_by_quarters),
		cmocka_unit_test(test_history_tells_causes),
		cmocka_unit_test(test_causes_are_part_of_what_was_denied),
		cmocka_unit_test(test_a_sweep_notes),
		cmocka_unit_test(test_history_of_a_row_begins_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

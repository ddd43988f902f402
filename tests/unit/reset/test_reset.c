/* SPDX-License-Identifier: BSD-2-Clause */
/* rl_reset_matching() beside a naive one: a list of what each name has used under each limit. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "at.h"
#include "rule/handle.h"
#include "segment/record.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define NAME_ROOM 128
#define ENTRIES 256
#define ADDRESS_TEXT 49 /* "IPv6 with dots/128" */

enum {
	ONE,
	TWO,
	LOG,
	TOKEN,
	NET,
	RULES,
	SPACE = RULES,
	TARGETS
};

static const struct rl_limit second = {.capacity = 1000, .window_ns = 100000 * RL_SECOND};
static const struct rl_limit wide = {
	.capacity = 1000, .window_ns = 86400 * RL_SECOND, .prefix_v4 = 16};

static const struct rl_rule defined[RULES] = {
	[ONE] = {.name = "one",
                 .limit = {.capacity = 1000,
                           .window_ns = 86400 * RL_SECOND,
                           .granularity = 4,
                           .hard = 1}},
	[TWO] = {.name = "two",
                 .limit = {.algorithm = RL_FIXED_WINDOW,
                           .capacity = 1000,
                           .window_ns = 86400 * RL_SECOND},
                 .more = &second,
                 .more_count = 1},
	[LOG] = {.name = "log",
                 .limit = {.algorithm = RL_SLIDING_LOG,
                           .capacity = 500,
                           .window_ns = 86400 * RL_SECOND}},
	[TOKEN] = {.name = "token",
                   .limit = {.algorithm = RL_TOKEN_BUCKET,
                             .capacity = 1000,
                             .window_ns = 86400 * RL_SECOND}},
	[NET] = {.name = "net",
                 .limit = {.capacity = 1000, .window_ns = 86400 * RL_SECOND, .prefix_v4 = 24},
                 .more = &wide,
                 .more_count = 1},
};

static const char *const keys[] = {
	"a",
	"ab",
	"abc",
	"user:1",
	"user:12",
	"user:2",
	"user:a-name-that-is-not-all-kept",
	"user:a-name-that-is-not-all-kept-either",
	"user:a-name-of-more-than-forty-nine-bytes-as-no-address-has",
	"user:a-name-of-more-than-forty-nine-bytes-as-no-address-has:and-more",
	"10.0.0.1",
	"10.0.0.2",
	"10.0.1.1",
	"10.1.0.1",
	"11.0.0.1",
	"10.0.0.0/24",
};
#define KEYS (sizeof keys / sizeof keys[0])

static const struct {
	enum rl_match match;
	const char *text;
} patterns[] = {
	{RL_MATCH_PREFIX, "a"},
	{RL_MATCH_PREFIX, "user:"},
	{RL_MATCH_PREFIX, "user:1"},
	{RL_MATCH_PREFIX, "user:a-name-that-is-not"},
	{RL_MATCH_PREFIX, "user:b"},
	{RL_MATCH_PREFIX, "user:a-name-of-more-than-forty-nine-bytes-as-no-address-has:a"},
	{RL_MATCH_PREFIX, "10.0."},
	{RL_MATCH_PREFIX, "zzzzzzzzzzzzzzzzzzzzzzzzz"},
	{RL_MATCH_NETWORK, "10.0.0.0/24"},
	{RL_MATCH_NETWORK, "10.0.0.0/28"},
	{RL_MATCH_NETWORK, "10.0.0.0/16"},
	{RL_MATCH_NETWORK, "10.0.0.2"},
	{RL_MATCH_NETWORK, "0.0.0.0/0"},
	{RL_MATCH_NETWORK, "2001:db8::/32"},
	{RL_MATCH_KEY, "user:1"},
	{RL_MATCH_KEY, "10.0.0.1"},
	{RL_MATCH_KEY, "user:a-name-of-more-than-forty-nine-bytes-as-no-address-has"},
};
#define PATTERNS (sizeof patterns / sizeof patterns[0])

/* By definition: what a name has used under one limit. */
struct naive_entry {
	int target;
	unsigned limit;
	char name[NAME_ROOM];
	uint64_t used;
};

struct naive {
	size_t kept; /* bytes of a name that are kept */
	size_t count;
	struct naive_entry entry[ENTRIES];
};

static int ids[TARGETS];

static unsigned
limits_of(int target)
{
	return target == TWO || target == NET ? 2 : 1;
}

/* "a.b.c.d" or "a.b.c.d/bits". */
static bool
read_network(const char *text, uint32_t *address, unsigned *bits)
{
	unsigned a, b, c, d;
	int end = 0;

	*bits = 32;
	if (sscanf(text, "%u.%u.%u.%u%n/%u%n", &a, &b, &c, &d, &end, bits, &end) < 4)
		return false;
	*address = a << 24 | b << 16 | c << 8 | d;
	return text[end] == '\0';
}

static uint32_t
masked(uint32_t address, unsigned bits)
{
	return bits == 0 ? 0 : address >> (32 - bits) << (32 - bits);
}

/* What a limit calls the key; false: it does not count it. */
static bool
name_under(int target, unsigned limit, const char *key, char name[static NAME_ROOM])
{
	unsigned bits, prefix = limit == 0 ? 24 : 16;
	uint32_t a;

	snprintf(name, NAME_ROOM, "%s", key);
	if (target != NET)
		return true;
	if (!read_network(key, &a, &bits) || bits < 32)
		return false;
	a = masked(a, prefix);
	snprintf(name, NAME_ROOM, "%u.%u.%u.%u/%u", a >> 24, a >> 16 & 255, a >> 8 & 255, a & 255,
	         prefix);
	return true;
}

static struct naive_entry *
entry_of(struct naive *n, int target, unsigned limit, const char *name)
{
	struct naive_entry *e;

	for (size_t i = 0; i < n->count; i++) {
		e = &n->entry[i];
		if (e->target == target && e->limit == limit && strcmp(e->name, name) == 0)
			return e;
	}
	assert_true(n->count < ENTRIES);
	e = &n->entry[n->count++];
	*e = (struct naive_entry){.target = target, .limit = limit};
	snprintf(e->name, sizeof e->name, "%s", name);
	return e;
}

enum judged {
	MEANT,
	ANOTHER,
	UNKNOWN
};

static enum judged
judge_prefix(const struct naive *n, const char *name, const char *prefix)
{
	bool may_be = strlen(name) >= strlen(prefix);

	for (size_t i = 0; may_be && prefix[i] != '\0' && i < n->kept; i++)
		may_be = name[i] == prefix[i];
	if (!may_be)
		return ANOTHER;
	return strlen(prefix) <= n->kept ? MEANT : UNKNOWN;
}

static enum judged
judge_network(const struct naive *n, const char *name, const char *network)
{
	uint32_t inner, outer;
	unsigned inner_bits, outer_bits;

	if (strlen(name) > n->kept)
		return strlen(name) <= ADDRESS_TEXT ? UNKNOWN : ANOTHER;
	return read_network(network, &outer, &outer_bits) &&
	                       read_network(name, &inner, &inner_bits) &&
	                       inner_bits >= outer_bits && masked(inner, outer_bits) == outer
	               ? MEANT
	               : ANOTHER;
}

static enum judged
judge(const struct naive *n, const struct naive_entry *e, const struct rl_pattern *p)
{
	char name[NAME_ROOM];

	if (!p)
		return MEANT;
	if (p->match == RL_MATCH_PREFIX)
		return judge_prefix(n, e->name, p->key);
	if (p->match == RL_MATCH_NETWORK)
		return judge_network(n, e->name, p->key);
	return name_under(e->target, e->limit, p->key, name) && strcmp(name, e->name) == 0
	               ? MEANT
	               : ANOTHER;
}

/* `target` TARGETS: any. */
static struct rl_reset_counts
naive_reset(struct naive *n, int target, const struct rl_pattern *p)
{
	struct rl_reset_counts counts = {0};

	for (size_t i = 0; i < n->count; i++) {
		struct naive_entry *e = &n->entry[i];
		if (e->used == 0 || (target != TARGETS && e->target != target))
			continue;
		enum judged judged = judge(n, e, p);
		counts.unknown += judged == UNKNOWN;
		counts.forgotten += judged == MEANT;
		if (judged == MEANT)
			e->used = 0;
	}
	return counts;
}

static void
charge(struct rl *rl, struct naive *n, int target, const char *key)
{
	char name[NAME_ROOM];

	for (unsigned i = 0; i < limits_of(target); i++) {
		if (!name_under(target, i, key, name))
			return; /* no address */
		entry_of(n, target, i, name)->used++;
	}
	if (target == SPACE)
		assert_int_equal(at_counter_add(rl, ids[SPACE], key, strlen(key), 1,
		                                86400 * RL_SECOND, T0, NULL),
		                 1);
	else
		assert_int_equal(at_check(rl, ids[target], key, strlen(key), 1, T0, NULL),
		                 RL_ALLOWED);
}

static int
see(const struct rl_entry *e, void *used)
{
	((uint64_t *)used)[e->limit] = e->count ? e->count->value : e->used;
	return 0;
}

static void
assert_same(struct rl *rl, struct naive *n)
{
	char name[NAME_ROOM];

	for (int target = 0; target < TARGETS; target++) {
		for (size_t k = 0; k < KEYS; k++) {
			uint64_t used[RL_LIMITS_MAX] = {0};
			rl_lookup(rl, ids[target], keys[k], strlen(keys[k]), T0, see, used);
			for (unsigned i = 0; i < limits_of(target); i++)
				if (name_under(target, i, keys[k], name))
					assert_int_equal(used[i],
					                 entry_of(n, target, i, name)->used);
		}
	}
}

static bool
is_address(const char *text)
{
	uint32_t address;
	unsigned bits;

	return read_network(text, &address, &bits) && bits == 32;
}

static void
reset_some(struct rl *rl, struct naive *n, uint64_t *seed)
{
	int target = (int)test_below(seed, TARGETS + 1);
	int id = target == TARGETS ? RL_ANY_RULE : ids[target];
	size_t which = test_below(seed, PATTERNS + 1);
	struct rl_pattern p = {0};
	struct rl_reset_counts counts, expected;

	if (which < PATTERNS)
		p = (struct rl_pattern){patterns[which].match, patterns[which].text,
		                        strlen(patterns[which].text)};
	if (target == NET && p.match == RL_MATCH_KEY && p.key && !is_address(p.key)) {
		assert_int_equal(rl_reset_matching(rl, id, &p, &counts), RL_EADDRESS);
		return;
	}
	assert_int_equal(rl_reset_matching(rl, id, p.key ? &p : NULL, &counts), 0);
	expected = naive_reset(n, target, p.key ? &p : NULL);
	assert_int_equal(counts.forgotten, expected.forgotten);
	assert_int_equal(counts.unknown, expected.unknown);
}

static void
define_all(struct rl *rl)
{
	for (int i = 0; i < RULES; i++) {
		ids[i] = rl_define(rl, &defined[i]);
		assert_true(ids[i] >= 0);
	}
	ids[SPACE] = rl_define_counters(rl, "space");
	assert_true(ids[SPACE] >= 0);
}

static struct rl *
open_one(uint32_t key_bytes, bool is_shared)
{
	const struct rl_options o = {.keys = 1000, .ring = 1000, .key_bytes = key_bytes};
	struct rl *rl;

	assert_int_equal(
		is_shared ? rl_open(test_segment_name(), &o, &rl) : rl_open_private(&o, &rl), 0);
	define_all(rl);
	return rl;
}

static void
play(uint32_t key_bytes, bool is_shared, uint64_t *seed)
{
	struct rl *rl = open_one(key_bytes, is_shared);
	static struct naive n;
	struct rl_info info;

	rl_info(rl, &info);
	n.kept = info.key_bytes;
	n.count = 0;
	for (int round = 0; round < (int)test_scaled(200); round++) {
		for (int i = (int)test_below(seed, 60); i > 0; i--)
			charge(rl, &n, (int)test_below(seed, TARGETS),
			       keys[test_below(seed, KEYS)]);
		reset_some(rl, &n, seed);
		assert_same(rl, &n);
	}
	rl_close(rl);
	if (is_shared)
		test_unlink(NULL);
}

static void
test_like_a_naive_one(void **state)
{
	static const uint32_t key_bytes[] = {RL_KEY_BYTES_NONE, 8, 24, 48, 200};
	uint64_t seed = 7;

	(void)state;
	for (size_t i = 0; i < sizeof key_bytes / sizeof key_bytes[0]; i++) {
		play(key_bytes[i], false, &seed);
		play(key_bytes[i], true, &seed);
	}
}

static struct rl_pattern
prefix(const char *text)
{
	return (struct rl_pattern){RL_MATCH_PREFIX, text, strlen(text)};
}

static struct rl_pattern
network(const char *text)
{
	return (struct rl_pattern){RL_MATCH_NETWORK, text, strlen(text)};
}

static uint32_t
used_of(struct rl *rl, int rule, const char *key)
{
	struct rl_result r;

	at_peek(rl, rule, key, strlen(key), T0, &r);
	return r.limit - r.remaining;
}

static void
spend(struct rl *rl, int rule, const char *key)
{
	assert_int_equal(at_check(rl, rule, key, strlen(key), 1, T0, NULL), RL_ALLOWED);
}

static void
assert_reset(struct rl *rl, int rule, const struct rl_pattern *p, uint64_t forgotten,
             uint64_t unknown)
{
	struct rl_reset_counts counts;

	assert_int_equal(rl_reset_matching(rl, rule, p, &counts), 0);
	assert_int_equal(counts.forgotten, forgotten);
	assert_int_equal(counts.unknown, unknown);
}

static void
test_errors(void **state)
{
	char long_prefix[65];
	struct rl *rl = test_private(100);
	int rule = test_rule(rl, "r", 9, RL_SECOND, 0, false);
	struct rl_pattern p = prefix(""), net = network("10.0.0.0/33");
	struct rl_reset_counts counts = {.forgotten = 7, .unknown = 7};

	(void)state;
	memset(long_prefix, 'x', sizeof long_prefix);
	assert_int_equal(rl_reset_matching(rl, rule + 1, NULL, &counts), -EINVAL);
	assert_int_equal(counts.forgotten + counts.unknown, 0);
	assert_int_equal(rl_reset_matching(rl, -2, NULL, NULL), -EINVAL);
	assert_int_equal(rl_reset_matching(rl, rule, &p, NULL), -EINVAL);
	p = (struct rl_pattern){RL_MATCH_PREFIX, long_prefix, 64};
	assert_int_equal(rl_reset_matching(rl, rule, &p, NULL), -EINVAL);
	p.key_len = 63;
	assert_int_equal(rl_reset_matching(rl, rule, &p, NULL), 0);
	p.match = (enum rl_match)7;
	assert_int_equal(rl_reset_matching(rl, rule, &p, NULL), -EINVAL);
	assert_int_equal(rl_reset_matching(rl, rule, &net, NULL), RL_EADDRESS);
	rl_close(rl);
}

static void
test_read_only(void **state)
{
	const struct rl_options read_only = {.flags = RL_OPEN_READONLY};
	const struct rl_pattern p = prefix("k"), key = {RL_MATCH_KEY, "k", 1};
	struct rl *rl = open_one(0, true), *reader;

	(void)state;
	spend(rl, ids[ONE], "k");
	assert_int_equal(rl_open(test_segment_name(), &read_only, &reader), 0);
	assert_int_equal(rl_reset_matching(reader, ids[ONE], NULL, NULL), -EROFS);
	assert_int_equal(rl_reset_matching(reader, RL_ANY_RULE, &p, NULL), -EROFS);
	assert_int_equal(rl_reset_matching(reader, RL_ANY_RULE, &key, NULL), -EROFS);
	assert_int_equal(used_of(rl, ids[ONE], "k"), 1);
	rl_close(reader);
	rl_close(rl);
}

/* IPv6, and IPv4 written as IPv6: addresses as everywhere. */
static void
test_addresses(void **state)
{
	const struct rl_pattern v4 = network("192.0.2.0/24"), v6 = network("2001:db8::/32");
	const struct rl_pattern all_v6 = network("::/0"), mapped = network("::ffff:10.0.0.0/104");
	struct rl *rl = open_one(0, false);

	(void)state;
	spend(rl, ids[ONE], "2001:db8::1");
	spend(rl, ids[ONE], "2001:0DB8:0::2");
	spend(rl, ids[ONE], "2001:db9::1");
	spend(rl, ids[ONE], "::ffff:192.0.2.1");
	spend(rl, ids[ONE], "192.0.2.2");
	spend(rl, ids[ONE], "10.1.1.1");
	assert_reset(rl, ids[ONE], &v6, 2, 0);
	assert_reset(rl, ids[ONE], &v4, 2, 0);
	assert_reset(rl, ids[ONE], &all_v6, 1, 0);
	assert_reset(rl, ids[ONE], &mapped, 1, 0);
	rl_close(rl);
}

static uint64_t
slot_of(struct rl *rl)
{
	for (uint64_t i = 0; i < rl_segment_slots(&rl->segment); i++)
		if (rl_tag_status(*rl_table_tag(&rl->segment.table, i)) == RL_TAG_LIVE)
			return i;
	fail();
	return 0;
}

/* A record that is torn is no name: unknown, until nothing counts; and a whole rule needs none. */
static void
test_torn(void **state)
{
	const struct rl_pattern p = prefix("k"), net = network("10.0.0.0/8");
	struct rl *rl = open_one(0, false);
	uint64_t slot;

	(void)state;
	spend(rl, ids[ONE], "k");
	slot = slot_of(rl);
	rl_segment_record(&rl->segment, slot)->check ^= 1;
	assert_reset(rl, RL_ANY_RULE, &p, 0, 1);
	assert_reset(rl, ids[ONE], &net, 0, 1);
	assert_reset(rl, ids[TWO], &p, 0, 0);
	assert_reset(rl, ids[ONE], NULL, 1, 0);
	spend(rl, ids[ONE], "k");
	slot = slot_of(rl);
	rl_segment_record(&rl->segment, slot)->check ^= 1;
	*rl_table_state(&rl->segment.table, slot) = (struct rl_u128){0}; /* claimed, not charged */
	*rl_table_tag(&rl->segment.table, slot) += UINT64_C(1) << RL_TAG_GEN_SHIFT;
	assert_reset(rl, RL_ANY_RULE, &p, 0, 0);
	assert_reset(rl, RL_ANY_RULE, NULL, 0, 0);
	rl_close(rl);
}

/* What others have left half done, or do just now. */
static void
test_half_done(void **state)
{
	struct rl *rl = open_one(0, false);
	const struct rl_table *t = &rl->segment.table;
	uint64_t slot, tag;

	(void)state;
	spend(rl, ids[ONE], "k");
	slot = slot_of(rl);
	tag = *rl_table_tag(t, slot);
	/* LEAVING, and not DEAD: the key keeps its slot, and what it counts. */
	*rl_table_tag(t, slot) = rl_tag_make(RL_TAG_FREE, rl_tag_gen(tag), tag & RL_TAG_KEY_MASK);
	assert_reset(rl, ids[ONE], NULL, 1, 0);
	assert_true(rl_tag_is_free(*rl_table_tag(t, slot)));
	/* DEAD: forgotten already. */
	spend(rl, ids[ONE], "k");
	slot = slot_of(rl);
	tag = *rl_table_tag(t, slot);
	*rl_table_state(t, slot) = rl_state_retired(*rl_table_state(t, slot), rl_tag_gen(tag));
	assert_reset(rl, ids[ONE], NULL, 0, 0);
	assert_int_equal(rl_fill(rl), 0);
	/* A claim under way is its owner's. */
	tag = rl_tag_make(RL_TAG_TENT, 3, tag & RL_TAG_KEY_MASK);
	*rl_table_tag(t, slot) = tag;
	assert_reset(rl, RL_ANY_RULE, NULL, 0, 0);
	assert_true(*rl_table_tag(t, slot) == tag);
	rl_close(rl);
}

/* A limit that the rule has no longer is the rule's, as long as its row says so. */
static void
test_limits_of_before(void **state)
{
	struct rl *rl = test_private(100);
	int rule = test_rule(rl, "r", 9, 60 * RL_SECOND, 0, false);
	int other = test_rule(rl, "other", 9, 60 * RL_SECOND, 0, false);

	(void)state;
	spend(rl, rule, "k");
	spend(rl, other, "k");
	assert_int_equal(test_rule(rl, "r", 9, 120 * RL_SECOND, 0, false), rule);
	spend(rl, rule, "k");
	assert_reset(rl, rule, NULL, 2, 0);
	assert_int_equal(used_of(rl, other, "k"), 1);
	spend(rl, rule, "k");
	assert_int_equal(rl_forget(rl, "r"), 1);
	assert_reset(rl, rule, NULL, 1, 0);
	rl_close(rl);
}

/* A handle of a rule that is gone forgets nothing of the one that has its row. */
static void
test_a_row_of_another(void **state)
{
	const struct rl_options o = {.keys = 100, .rules = 1};
	struct rl *rl;
	int rule, next;

	(void)state;
	assert_int_equal(rl_open_private(&o, &rl), 0);
	rule = test_rule(rl, "r", 9, 60 * RL_SECOND, 0, false);
	assert_int_equal(rl_forget(rl, "r"), 1);
	next = test_rule(rl, "next", 9, 60 * RL_SECOND, 0, false);
	assert_int_equal(rl_rule_row(rule), rl_rule_row(next));
	spend(rl, next, "k");
	assert_int_equal(rl_reset_matching(rl, rule, NULL, NULL), -EINVAL);
	assert_int_equal(used_of(rl, next, "k"), 1);
	assert_reset(rl, next, NULL, 1, 0);
	rl_close(rl);
}

static void
test_exceptions_stay(void **state)
{
	const struct rl_pattern banned = prefix("bad"), exempt = prefix("good");
	struct rl *rl = open_one(0, false);
	struct rl_result r;

	(void)state;
	assert_int_equal(rl_ban(rl, ids[ONE], &banned, RL_NEVER_NS), 0);
	assert_int_equal(rl_allow(rl, RL_ANY_RULE, &exempt, RL_NEVER_NS), 0);
	assert_reset(rl, RL_ANY_RULE, NULL, 0, 0);
	assert_int_equal(at_check(rl, ids[ONE], "bad1", 4, 1, T0, &r), RL_DENIED);
	assert_int_equal(r.reason, RL_BY_BAN);
	assert_int_equal(at_check(rl, ids[ONE], "good1", 5, 1, T0, &r), RL_ALLOWED);
	assert_int_equal(r.reason, RL_BY_EXEMPTION);
	rl_close(rl);
}

/* Each forgotten slot is one of its rule's statistics. */
static void
test_statistics(void **state)
{
	const struct rl_pattern key = {RL_MATCH_KEY, "k", 1};
	struct rl *rl = open_one(0, false);

	(void)state;
	for (int rule = 0; rule < NET; rule++)
		spend(rl, ids[rule], "k");
	spend(rl, ids[ONE], "other");
	assert_reset(rl, RL_ANY_RULE, &key, 5, 0);
	assert_int_equal(test_counter(rl, ids[ONE], RL_COUNT_reset), 1);
	assert_int_equal(test_counter(rl, ids[TWO], RL_COUNT_reset), 1);
	spend(rl, ids[TWO], "k");
	assert_reset(rl, RL_ANY_RULE, NULL, 3, 0);
	assert_int_equal(test_counter(rl, ids[ONE], RL_COUNT_reset), 2);
	assert_int_equal(test_counter(rl, ids[TWO], RL_COUNT_reset), 3);
	assert_int_equal(test_counter(rl, ids[NET], RL_COUNT_reset), 0);
	rl_close(rl);
}

/* Units that were prefetched are void: the next request is charged to the table. */
static void
test_prefetched(void **state)
{
	struct rl *rl = test_private(100);
	int rule = rl_define(rl, &(struct rl_rule){.name = "prefetched",
	                                           .limit = {.algorithm = RL_FIXED_WINDOW,
	                                                     .capacity = 100000,
	                                                     .window_ns = 86400 * RL_SECOND,
	                                                     .prefetch = 64}});

	(void)state;
	assert_true(rule >= 0);
	for (int i = 0; i < 10; i++)
		spend(rl, rule, "k");
	assert_true(used_of(rl, rule, "k") > 10);
	assert_reset(rl, rule, NULL, 1, 0);
	assert_int_equal(used_of(rl, rule, "k"), 0);
	spend(rl, rule, "k");
	assert_true(used_of(rl, rule, "k") > 0);
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_like_a_naive_one, test_unlink),
		cmocka_unit_test(test_errors),
		cmocka_unit_test_teardown(test_read_only, test_unlink),
		cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_torn),
		cmocka_unit_test(test_half_done),
		cmocka_unit_test(test_limits_of_before),
		cmocka_unit_test(test_a_row_of_another),
		cmocka_unit_test(test_exceptions_stay),
		cmocka_unit_test(test_statistics),
		cmocka_unit_test(test_prefetched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

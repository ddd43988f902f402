/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A limit of a cluster on one host: what it admits by its share. What it asks for is
 * test_wishes.c's, what counts while its share changes test_share_counts.c's, and larger tables are
 * test_share_moves.c's.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "rule/handle.h"
#include "shares.h"

static void
test_strict_admits_its_share(void **state)
{
	struct rl *rl = clustered_segment(64, RL_FULL_RESERVE);
	int rule = define(rl, "r", window(10, 0));
	struct rl_result r;
	struct found found;

	(void)state;
	assert_int_equal(check(rl, rule, T0, &r), RL_DENIED);
	assert_int_equal(r.limit, 10);
	assert_int_equal(r.remaining, 0);
	assert_int_equal(r.used, 0);
	assert_int_equal(r.retry_after_ns, 0);
	found = wishes(rl, T0);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.share.share, 0);
	assert_int_equal(found.share.shared, 10);
	assert_int_equal(found.share.hold_ns, RL_SECOND + RL_SECOND / 4);
	assert_int_equal(wishes(rl, T0).count, 0);

	set(rl, &found.share, 6, T0);
	assert_int_equal(admitted(rl, rule, 20, T0), 0); /* no lease yet */
	assert_int_equal(rl_share_advance(rl, FOREVER), 0);
	assert_int_equal(admitted(rl, rule, 20, T0), 6);
	assert_int_equal(check(rl, rule, T0, &r), RL_DENIED);
	assert_int_equal(r.limit, 10);
	assert_int_equal(r.used, 6);
	assert_int_equal(rl_share_advance(rl, 1), 0); /* never back */
	assert_int_equal(admitted(rl, rule, 20, T0 + 2 * RL_SECOND), 6);
	rl_close(rl);
}

static int
admitted_away(unsigned away, uint32_t hosts, uint64_t until)
{
	struct rl *rl = clustered_segment(64, RL_FULL_RESERVE);
	struct rl_limit limit = window(100, 2);
	struct rl_share share;
	int rule, count;

	limit.away = (uint16_t)away;
	rule = define(rl, "r", limit);
	if (hosts > 0)
		assert_int_equal(rl_cluster_hosts(rl, hosts), 0);
	assert_int_equal(admitted(rl, rule, 3, T0), away == RL_AWAY_OPEN                       ? 3
	                                            : hosts > 0 && away == RL_AWAY_LOCAL_SHARE ? 3
	                                                                                       : 2);
	share = wishes(rl, T0).share;
	if (share.of.tag != 0)
		set(rl, &share, 30, T0);
	assert_int_equal(rl_share_advance(rl, until), 0);
	count = admitted(rl, rule, 200, T0 + 10 * RL_SECOND);
	rl_close(rl);
	return count;
}

static void
test_without_a_lease_it_is_as_said(void **state)
{
	const uint64_t over = T0 + 10 * RL_SECOND, lasts = over + 1;

	(void)state;
	assert_int_equal(admitted_away(RL_AWAY_CLOSED, 4, lasts), 32);
	assert_int_equal(admitted_away(RL_AWAY_CLOSED, 4, over), 2);
	assert_int_equal(admitted_away(RL_AWAY_KEEP, 4, over), 32);
	assert_int_equal(admitted_away(RL_AWAY_OPEN, 4, over), 100);
	assert_int_equal(admitted_away(RL_AWAY_LOCAL_SHARE, 4, over), 27);
	assert_int_equal(admitted_away(RL_AWAY_LOCAL_SHARE, 0, over), 2);
	assert_int_equal(admitted_away(RL_AWAY_LOCAL_SHARE, 1000, over), 3);
}

/* A share is the incarnation's: after a reset there is none, and the old one is gone. */
static void
start_anew(enum rl_on_full on_full)
{
	struct rl *rl = clustered_segment(64, on_full);
	int rule = define(rl, "r", window(10, 1));
	struct rl_share share, now;

	assert_int_equal(rl_share_advance(rl, FOREVER), 0);
	assert_int_equal(admitted(rl, rule, 5, T0), 1);
	share = wishes(rl, T0).share;
	set(rl, &share, 9, T0);
	assert_int_equal(admitted(rl, rule, 20, T0), 9);
	assert_int_equal(rl_reset(rl, rule, "k", 1), 1);
	assert_int_equal(rl_share_read(rl, &share.of, T0, &now), -ESTALE);
	assert_int_equal(rl_share_set(rl, &share.of, 9, T0, &now), -ESTALE);
	assert_int_equal(rl_share_lower(rl, &share.of, 0, T0, &now), -ESTALE);
	assert_int_equal(rl_share_end(rl, &share.of, T0, &now), -ESTALE);
	assert_int_equal(admitted(rl, rule, 20, T0), 1);
	now = wishes(rl, T0).share;
	assert_int_equal(now.share, 0);
	assert_true(now.of.slot != share.of.slot || now.number != share.number);
	for (int i = 0; i < 40; i++) { /* every slot it may have is one that had a share */
		set(rl, &now, 9, T0);
		assert_int_equal(rl_reset(rl, rule, "k", 1), 1);
		assert_int_equal(at_check(rl, rule, "k", 1, 5, T0, NULL), RL_DENIED);
		assert_int_equal(admitted(rl, rule, 20, T0), 1);
		now = wishes(rl, T0).share;
	}
	rl_close(rl);
}

static void
test_another_incarnation_has_no_share(void **state)
{
	(void)state;
	start_anew(RL_FULL_RESERVE);
	start_anew(RL_FULL_DENY);
}

/* What a request has cost beyond its charge counts here, beyond the share, and holds it. */
static void
test_debts(void **state)
{
	struct rl_limit limits[] = {window(16, 8), window(16, 8)};

	(void)state;
	limits[1].algorithm = RL_TOKEN_BUCKET;
	limits[1].granularity = 0;
	limits[1].hard = 0;
	for (int i = 0; i < 2; i++) {
		struct rl *rl = clustered_segment(64, RL_FULL_RESERVE);
		int rule = define(rl, "r", limits[i]);
		struct rl_charges charges;
		struct rl_share share;
		struct rl_result r;

		assert_int_equal(rl_share_advance(rl, FOREVER), 0);
		assert_int_equal(test_check_at(rl, rule, "k", 1, 7, T0, NULL, &charges),
		                 RL_ALLOWED);
		share = wishes(rl, T0).share;
		set(rl, &share, 4, T0);
		assert_int_equal(at_settle(rl, &charges, 30, T0), 1);
		assert_int_equal(check(rl, rule, T0, &r), RL_DENIED);
		assert_int_equal(r.remaining, 0);
		assert_true(r.used >= 30); /* and what is not lent here counts as used */
		assert_int_equal(rl_share_lower(rl, &share.of, 0, T0, &share), 0);
		assert_int_equal(share.share, 4);
		at_peek(rl, rule, "k", 1, T0 + 10 * RL_SECOND, &r);
		assert_int_equal(r.verdict, RL_ALLOWED);
		rl_close(rl);
	}
}

/* A blind part that follows the number of hosts: until then, and by as many. */
static void
test_blind_by_hosts(void **state)
{
	struct rl *rl = clustered_segment(64, RL_FULL_RESERVE);
	int rule = define(rl, "r", window(1000, RL_BLIND_AUTO));
	struct rl_cluster_info cluster;
	struct rl_rule_info info;

	(void)state;
	assert_int_equal(rl_rule_info(rl, rule, &info), 1);
	assert_true(info.limits[0].blind == RL_BLIND_AUTO);
	assert_int_equal(admitted(rl, rule, 9, T0), 0);
	assert_int_equal(wishes(rl, T0).share.blind, 0);
	assert_int_equal(rl_cluster_blind(rl, 3, T0), -EINVAL);
	assert_int_equal(rl_cluster_blind(rl, 0, T0), -EINVAL);
	assert_int_equal(rl_cluster_blind(rl, 4, T0 + RL_SECOND), 0);
	assert_int_equal(rl_cluster_info(rl, &cluster), 0);
	assert_int_equal(cluster.blind_hosts, 4);
	assert_in_range(cluster.blind_until_ns, T0 + RL_SECOND - 63, T0 + RL_SECOND);
	assert_int_equal(rl_share_advance(rl, FOREVER), 0);
	assert_int_equal(admitted(rl, rule, 99, T0), 12); /* 1,000 / 20 / 4 */
	assert_int_equal(wishes(rl, T0).share.blind, 12);
	assert_int_equal(rl_cluster_blind(rl, 1, T0 + RL_SECOND), 0);
	assert_int_equal(admitted(rl, rule, 99, T0), 38);
	assert_int_equal(admitted(rl, rule, 1, T0 + 10 * RL_SECOND), 0);
	rl_close(rl);
	rl = clustered_segment(64, RL_FULL_RESERVE);
	rule = define(rl, "few", window(19, RL_BLIND_AUTO));
	assert_int_equal(rl_cluster_blind(rl, 1, T0 + RL_SECOND), 0);
	assert_int_equal(admitted(rl, rule, 9, T0), 0);
	rl_close(rl);
}

/* Of two limits, of which the cluster's denies: nothing stays charged, and the wish is noted. */
static void
test_beside_another_limit(void **state)
{
	struct rl *rl = clustered_segment(64, RL_FULL_RESERVE);
	struct rl_limit more = window(10, 0);
	struct rl_rule rule = {.name = "r",
	                       .limit = {.capacity = 5, .window_ns = RL_SECOND, .granularity = 1},
	                       .more = &more,
	                       .more_count = 1};
	struct rl_result r;
	struct found found;
	int id;

	(void)state;
	more.scope = RL_SCOPE_CLUSTER;
	id = rl_define(rl, &rule);
	assert_true(id >= 0);
	assert_int_equal(rl_share_advance(rl, FOREVER), 0);
	assert_int_equal(check(rl, id, T0, &r), RL_DENIED);
	assert_int_equal(r.index, 1);
	assert_int_equal(r.limit, 10);
	found = wishes(rl, T0);
	assert_int_equal(found.count, 1);
	assert_int_equal(found.share.limit, 1);
	set(rl, &found.share, 3, T0);
	assert_int_equal(admitted(rl, id, 9, T0), 3);
	assert_int_equal(rl_share_read(rl, &found.share.of, T0, &found.share), 0);
	assert_int_equal(found.share.load, 3);
	assert_int_equal(at_peek(rl, id, "k", 1, T0, &r), RL_DENIED);
	set(rl, &found.share, 10, T0);
	assert_int_equal(admitted(rl, id, 9, T0), 2); /* the other's 5 */
	assert_int_equal(rl_share_read(rl, &found.share.of, T0, &found.share), 0);
	assert_int_equal(found.share.load, 5);
	rl_close(rl);
}

/* The same on every host that has the secret; other than of another rule, limit, key or secret. */
static void
hash_of(unsigned char secret_byte, const char *name, uint32_t granularity, const char *key,
        uint64_t hash[2])
{
	struct rl *rl = clustered_segment(64, RL_FULL_RESERVE);
	struct rl_limit limit = window(10, 0);
	unsigned char secret[32];
	struct found found;
	int rule;

	memset(secret, secret_byte, sizeof secret);
	limit.granularity = granularity;
	define(rl, "other", window(3, 0)); /* rows differ from host to host */
	rule = define(rl, name, limit);
	at_check(rl, rule, key, strlen(key), 1, T0, NULL);
	found = wishes(rl, T0);
	assert_int_equal(found.count, 1);
	assert_false(found.share.has_hash);
	assert_int_equal(rl_cluster_secret(rl, secret), 0);
	at_check(rl, rule, key, strlen(key), 1, T0, NULL);
	found = wishes(rl, T0);
	assert_true(found.share.has_hash);
	memcpy(hash, found.share.hash, 16);
	secret[31]++;
	assert_int_equal(rl_cluster_secret(rl, secret), 0);
	assert_int_equal(rl_share_read(rl, &found.share.of, T0, &found.share), 0);
	assert_false(found.share.has_hash);
	rl_close(rl);
}

/* A rule of several limits is not decided at once: it is asked for its lease by itself. */
static void
test_a_lease_ends_beside_another_limit(void **state)
{
	struct rl *rl = clustered_segment(64, RL_FULL_RESERVE);
	const uint64_t over = T0 + RL_SECOND / 8;
	struct rl_limit more = window(10, 0);
	struct rl_rule rule = {.name = "r",
	                       .limit = {.capacity = 50, .window_ns = RL_SECOND, .granularity = 1},
	                       .more = &more,
	                       .more_count = 1};
	struct found found;
	int id;

	(void)state;
	more.scope = RL_SCOPE_CLUSTER;
	id = rl_define(rl, &rule);
	assert_true(id >= 0);
	assert_int_equal(check(rl, id, T0, NULL), RL_DENIED);
	found = wishes(rl, T0);
	set(rl, &found.share, 8, T0);
	assert_int_equal(admitted(rl, id, 2, T0), 0);
	assert_int_equal(rl_share_advance(rl, over), 0);
	assert_int_equal(admitted(rl, id, 2, over - 1), 2);
	assert_int_equal(at_peek(rl, id, "k", 1, over - 1, NULL), RL_ALLOWED);
	assert_int_equal(at_peek(rl, id, "k", 1, over, NULL), RL_DENIED);
	assert_int_equal(admitted(rl, id, 2, over), 0);
	assert_int_equal(rl_share_advance(rl, over + 1), 0);
	assert_int_equal(admitted(rl, id, 9, over), 6);
	rl_close(rl);
}

static void
test_a_key_has_one_hash_everywhere(void **state)
{
	char long_key[200] = "";
	uint64_t hash[7][2];

	(void)state;
	memset(long_key, 'x', sizeof long_key - 1);
	hash_of(1, "r", 4, "key", hash[0]);
	hash_of(1, "r", 4, "key", hash[1]);
	assert_memory_equal(hash[0], hash[1], 16);
	hash_of(1, "q", 4, "key", hash[1]);
	hash_of(1, "r", 2, "key", hash[2]);
	hash_of(1, "r", 4, "kez", hash[3]);
	hash_of(2, "r", 4, "key", hash[4]);
	hash_of(1, "r", 4, long_key, hash[5]);
	long_key[198] = 'y'; /* beyond what is kept of it */
	hash_of(1, "r", 4, long_key, hash[6]);
	for (int i = 0; i < 7; i++)
		for (int j = 0; j < i; j++)
			assert_memory_not_equal(hash[i], hash[j], 16);
}

/* What was admitted is charged again; the share is not there again. */
static void
test_restore_brings_no_share(void **state)
{
	struct rl *rl = clustered_segment(64, RL_FULL_RESERVE);
	static const struct rl_limit bucket = {.algorithm = RL_TOKEN_BUCKET,
	                                       .capacity = 10,
	                                       .window_ns = RL_SECOND,
	                                       .away = RL_AWAY_CLOSED};
	int rules[] = {define(rl, "w", window(10, 0)), define(rl, "b", bucket)};

	(void)state;
	assert_int_equal(rl_share_advance(rl, FOREVER), 0);
	for (int i = 0; i < 2; i++) {
		struct found found;

		assert_int_equal(rl_restore_at(rl, rules[i], 0, "k", 1, 7, T0), 0);
		assert_int_equal(check(rl, rules[i], T0, NULL), RL_DENIED);
		found = wishes(rl, T0);
		assert_int_equal(found.share.share, 0);
		assert_int_equal(found.share.load, 7);
		set(rl, &found.share, 9, T0);
		assert_int_equal(admitted(rl, rules[i], 20, T0), 2);
		wishes(rl, T0);
	}
	rl_close(rl);
}

/*
 * A share beyond what is exact is a little less, never more; and what it is lowered to is enough.
 */
static void
test_large_shares(void **state)
{
	static const uint32_t tokens[] = {0,       1,         4095,      4096,
	                                  8191,    8192,      8193,      65535,
	                                  1000001, 100000007, 134201344, RL_CAPACITY_MAX};
	struct rl *rl = clustered_segment(64, RL_FULL_RESERVE);
	int rule = define(rl, "r", window(RL_CAPACITY_MAX, 0));
	struct rl_share share;

	(void)state;
	check(rl, rule, T0, NULL);
	share = wishes(rl, T0).share;
	for (size_t i = 0; i < sizeof tokens / sizeof tokens[0]; i++) {
		assert_int_equal(rl_share_set(rl, &share.of, tokens[i], T0, &share), 0);
		assert_true(share.share <= tokens[i]);
		assert_true(share.share == tokens[i] || tokens[i] > 8191);
		assert_true(tokens[i] - share.share <= tokens[i] / 4096 ||
		            share.share == 134201344);
	}
	for (size_t i = sizeof tokens / sizeof tokens[0]; i-- > 0;) {
		uint32_t before = share.share;

		assert_int_equal(rl_share_lower(rl, &share.of, tokens[i], T0, &share), 0);
		assert_true(share.share >= tokens[i] || share.share == before);
		assert_true(share.share <= tokens[i] + tokens[i] / 4096);
	}
	rl_close(rl);
}

/* What a segment or a limit has no room for. */
static void
refused(struct rl_limit limit, int error, const char *text)
{
	const struct rl_options o = {.ring = 256, .flags = RL_OPEN_CLUSTER};
	struct rl *rl = clustered_segment(64, RL_FULL_RESERVE);
	char said[RL_RULE_TEXT_SIZE];
	struct rl_rule rule = {.name = "r", .limit = limit};

	assert_int_equal(rl_rule_check(&rule, &o, said, sizeof said), error);
	assert_string_equal(said, text);
	assert_int_equal(rl_define(rl, &rule), error);
	rl_close(rl);
}

#define TOO_LONG_FOR_AUTO                                                                     \
	"limit.blind: RL_BLIND_AUTO; only of a window, or of a bucket that fills, within 10 " \
	"minutes: a number is allowed"

static void
test_refusals(void **state)
{
	struct rl_limit l = window(10, 1), no;
	struct rl *rl = test_private(10);
	struct rl_share share = {.share = 0};
	struct rl_cluster_info info;
	struct rl_rule rule;
	char said[RL_RULE_TEXT_SIZE];
	uint64_t from = 0;

	(void)state;
	l.scope = RL_SCOPE_CLUSTER;
	rule = (struct rl_rule){.name = "r", .limit = l};
	assert_int_equal(rl_define(rl, &rule), RL_ECLUSTER);
	assert_int_equal(rl_rule_check(&rule, &(struct rl_options){.ring = 64}, said, sizeof said),
	                 RL_ECLUSTER);
	assert_string_equal(
		said, "options.flags: without RL_OPEN_CLUSTER (128) no limit is of a cluster");
	assert_int_equal(rl_cluster_info(rl, &info), RL_ECLUSTER);
	assert_int_equal(rl_cluster_hosts(rl, 1), RL_ECLUSTER);
	assert_int_equal(rl_share_advance(rl, T0), RL_ECLUSTER);
	assert_int_equal(rl_share_read(rl, &share.of, T0, &share), RL_ECLUSTER);
	assert_int_equal(rl_share_set(rl, &share.of, 1, T0, &share), RL_ECLUSTER);
	assert_int_equal(rl_share_scan(rl, 0, 1, T0, note, NULL), RL_ECLUSTER);
	assert_int_equal(rl_share_wishes(rl, &from, 1, T0, note, NULL), RL_ECLUSTER);
	rl_close(rl);

	no = l, no.blind = 11;
	refused(no, -EINVAL, "limit.blind: 11; at most the capacity is allowed, 10");
	no = l, no.blind = RL_BLIND_AUTO, no.window_ns = RL_BLIND_AUTO_MAX + 1;
	refused(no, -EINVAL, TOO_LONG_FOR_AUTO);
	no.algorithm = RL_TOKEN_BUCKET, no.granularity = 0, no.hard = 0;
	no.window_ns = 60 * RL_SECOND, no.burst = 101;
	refused(no, -EINVAL, TOO_LONG_FOR_AUTO);
	no.burst = 100; /* 10 a minute */
	assert_int_equal(rl_rule_check(&(struct rl_rule){.name = "r", .limit = no}, NULL, NULL, 0),
	                 0);
	no = l, no.away = 4;
	refused(no, -EINVAL, "limit.away: 4 is none that there is; they are 0 to 3");
	no = l, no.scope = RL_SCOPE_HOST;
	refused(no, -EINVAL, "limit.blind: 1; only a limit of a cluster has it, 0 is allowed");
	no = l, no.granularity = 9;
	refused(no, -EINVAL,
	        "limit.granularity: 9; a limit of a cluster has at most 8 sub-buckets");
	no = l, no.window_ns = RL_SECOND / 4;
	refused(no, -EINVAL,
	        "limit.window_ns: 250000000; a sub-bucket of a limit of a cluster takes 125000000 "
	        "(125 ms) at least");
	no = (struct rl_limit){.algorithm = RL_IN_FLIGHT, .capacity = 3, .scope = RL_SCOPE_CLUSTER};
	refused(no, -EINVAL,
	        "limit.scope: no limit of a cluster is in_flight, 0 (of the host) is allowed");
	no = (struct rl_limit){.algorithm = RL_ANCHORED_WINDOW,
	                       .capacity = 3,
	                       .window_ns = RL_SECOND,
	                       .scope = RL_SCOPE_CLUSTER};
	refused(no, -EINVAL,
	        "limit.scope: no limit of a cluster is anchored_window, 0 (of the host) is "
	        "allowed");
	no = (struct rl_limit){.algorithm = RL_FIXED_WINDOW,
	                       .capacity = 300,
	                       .window_ns = RL_SECOND,
	                       .scope = RL_SCOPE_CLUSTER};
	no.prefetch = 3;
	refused(no, -EINVAL, "limit.prefetch: 3; a limit of a cluster has none, 0 is allowed");
	no.prefetch = 0, no.count_denied = 1;
	refused(no, -EINVAL, "limit.count_denied: a limit of a cluster has none, 0 is allowed");
	no = (struct rl_limit){.algorithm = RL_TOKEN_BUCKET,
	                       .capacity = 1,
	                       .window_ns = 14 * UINT64_C(86400) * RL_SECOND,
	                       .scope = RL_SCOPE_CLUSTER};
	refused(no, -EINVAL,
	        "limit.burst: 1; a bucket of a cluster fills in 1125899906842624 ns (13 days) at "
	        "most");
}

/* Units that wait for others' are nobody's share. */
static void
test_no_booking(void **state)
{
	struct rl *rl = clustered_segment(64, RL_FULL_RESERVE);
	int rule = define(rl, "r",
	                  (struct rl_limit){.algorithm = RL_TOKEN_BUCKET,
	                                    .capacity = 3,
	                                    .window_ns = RL_SECOND,
	                                    .blind = 3});
	struct rl_result r;

	(void)state;
	assert_int_equal(at_reserve(rl, rule, "k", 1, 1, RL_SECOND, T0, &r), RL_UNDECIDED);
	assert_int_equal(r.error, -EINVAL);
	rl_close(rl);
}

/* What people are told of the rule, and that what is dumped is what was used here. */
static void
test_it_is_told(void **state)
{
	struct rl *rl = clustered_segment(64, RL_FULL_RESERVE);
	struct rl_limit limit = window(200000, 1500);
	struct rl_rule_info info;
	struct rl_cluster_info cluster;
	struct rl_info segment;
	int rule;

	(void)state;
	limit.away = RL_AWAY_KEEP;
	rule = define(rl, "r", limit);
	assert_int_equal(rl_rule_info(rl, rule, &info), 1);
	assert_int_equal(info.limits[0].scope, RL_SCOPE_CLUSTER);
	assert_int_equal(info.limits[0].blind, 1500);
	assert_int_equal(info.limits[0].away, RL_AWAY_KEEP);
	assert_int_equal(info.limits[0].prefetch, 0);
	limit.blind = 1501;
	rule = define(rl, "r", limit);
	assert_int_equal(rl_rule_info(rl, rule, &info), 1);
	assert_int_equal(info.limits[0].blind, 1500);
	rl_info(rl, &segment);
	assert_true(segment.is_clustered);
	assert_int_equal(rl_cluster_hosts(rl, 7), 0);
	assert_int_equal(rl_cluster_hosts(rl, 0), -EINVAL);
	assert_int_equal(rl_share_advance(rl, T0), 0);
	assert_int_equal(rl_cluster_info(rl, &cluster), 0);
	assert_int_equal(cluster.hosts, 7);
	assert_int_equal(cluster.shares_until_ns, T0);
	assert_false(cluster.has_secret);
	rl_close(rl);
}

/*
 * A full table: what a key is counted in its slot, and in the overflow counter that it shares when
 * it has none, is one bound. Without a share each key of an overflow counter has the blind part,
 * and eight times as much is admitted by one.
 */
static uint64_t
fill_table(struct rl *rl, int rule, uint64_t now)
{
	struct rl_info info;
	char key[24];
	uint64_t n;

	rl_info(rl, &info);
	for (n = 0; n < 40 * info.slots; n++) {
		snprintf(key, sizeof key, "%llu", (unsigned long long)n);
		at_check(rl, rule, key, strlen(key), 1, now, NULL);
	}
	assert_int_equal(rl_fill(rl), info.slots);
	return n;
}

static void
test_strangers_have_the_blind_part_each(void **state)
{
	for (uint32_t blind = 0; blind <= 3; blind += 3) {
		const struct rl_options o = {
			.keys = 10, .ring = 8, .cells = 1, .reserves = 2, .flags = RL_OPEN_CLUSTER};
		struct rl_result r;
		struct rl *rl;
		char key[16];
		uint32_t own = 0;
		int rule, strangers = 0;

		(void)state;
		assert_int_equal(rl_open_private(&o, &rl), 0);
		rule = define(rl, "r", window(10, blind));
		assert_int_equal(rl_share_advance(rl, FOREVER), 0);
		fill_table(rl, rule, T0);
		for (int i = 0; i < 1000; i++) {
			if (i % 10 == 0)
				own = 0;
			snprintf(key, sizeof key, "s%d", i / 10);
			at_check(rl, rule, key, strlen(key), 1, T0 + 4 * RL_SECOND, &r);
			assert_int_equal(r.limit, 10);
			own += r.reason == RL_BY_RESERVE && r.verdict == RL_ALLOWED;
			strangers += r.reason == RL_BY_RESERVE && r.verdict == RL_ALLOWED;
			assert_true(own <= blind);
		}
		assert_true(strangers <= 8 * (int)blind);
		assert_true(blind == 0 || strangers > 0);
		assert_int_equal(at_check(rl, rule, "s", 1, 11, T0, &r), RL_NEVER);
		assert_int_equal(at_check(rl, rule, "s", 1, 10, T0, &r), RL_DENIED);
		rl_close(rl);
	}
}

/*
 * Overflow counters of another rule are in use, and those of this one count nothing: they are in
 * nobody's way to a free slot.
 */
static void
test_a_free_slot_is_strict_keys_too(void **state)
{
	const uint64_t later = T0 + 3 * RL_SECOND / 2;
	const struct rl_options o = {
		.keys = 10, .ring = 8, .cells = 1, .buffer_ns = 1, .flags = RL_OPEN_CLUSTER};
	struct rl_result r;
	struct rl *rl;
	int rule, other;

	(void)state;
	assert_int_equal(rl_open_private(&o, &rl), 0);
	rule = define(rl, "r", window(10, 0));
	other = test_rule(rl, "o", 10, 3600 * RL_SECOND, 0, false);
	fill_table(rl, rule, T0);
	fill_table(rl, other, T0);
	rl_sweep_at(rl, later);
	assert_true(rl_fill(rl) < 16);
	assert_int_equal(check(rl, rule, later, &r), RL_DENIED);
	assert_int_equal(r.reason, RL_BY_LIMIT);
	assert_true(wishes(rl, later).count > 0);
	rl_close(rl);
}

/*
 * A key that gives way, and comes back, goes on with what it had: the bound is the host's and not
 * an incarnation's.
 */
static void
test_to_give_way_and_come_back(void **state)
{
	const struct rl_options o = {.keys = 10, .ring = 8, .cells = 1, .flags = RL_OPEN_CLUSTER};
	struct rl_share share;
	struct rl *rl;
	int rule, other;

	(void)state;
	assert_int_equal(rl_open_private(&o, &rl), 0);
	rule = define(rl, "r", window(100, 2));
	other = define(rl, "o", window(100, 2));
	assert_int_equal(rl_share_advance(rl, FOREVER), 0);
	assert_int_equal(check(rl, rule, T0, NULL), RL_ALLOWED);
	assert_int_equal(check(rl, rule, T0, NULL), RL_ALLOWED);
	share = wishes(rl, T0).share;
	set(rl, &share, 20, T0);
	assert_int_equal(admitted(rl, rule, 50, T0), 20);
	fill_table(rl, rule, T0);
	fill_table(rl, other, T0); /* takes its half of the slots */
	if (rl_share_read(rl, &share.of, T0, &share) == 0)
		assert_int_equal(share.load, 22); /* it was the most used of its rule */
	assert_int_equal(admitted(rl, rule, 50, T0), 0);
	assert_int_equal(admitted(rl, rule, 50, T0 + RL_SECOND), 0); /* until a window is over */
	rl_close(rl);
}

/* A bucket of a cluster has no overflow counter: its keys stay, and strangers have nothing. */
static void
test_a_bucket_does_not_give_way(void **state)
{
	const struct rl_options o = {.keys = 10, .ring = 8, .flags = RL_OPEN_CLUSTER};
	static const struct rl_limit bucket = {.algorithm = RL_TOKEN_BUCKET,
	                                       .capacity = 10,
	                                       .window_ns = 3600 * RL_SECOND,
	                                       .blind = 5};
	struct rl_share share;
	struct rl_result r;
	struct rl *rl;
	int rule, other;

	(void)state;
	assert_int_equal(rl_open_private(&o, &rl), 0);
	rule = define(rl, "r", bucket);
	other = define(rl, "o", window(100, 2));
	assert_int_equal(rl_share_advance(rl, FOREVER), 0);
	assert_int_equal(admitted(rl, rule, 9, T0), 5);
	share = wishes(rl, T0).share;
	fill_table(rl, rule, T0);
	fill_table(rl, other, T0);
	assert_int_equal(rl_share_read(rl, &share.of, T0, &share), 0);
	assert_int_equal(share.load, 5);
	assert_int_equal(test_counter(rl, rule, RL_COUNT_folded), 0);
	assert_int_equal(at_check(rl, rule, "stranger", 8, 1, T0, &r), RL_DENIED);
	assert_int_equal(r.error, -ENOSPC);
	rl_close(rl);
}

/* The wish that a denied request of the key leaves. */
static struct rl_share
wish_of(struct rl *rl, int rule, const char *key)
{
	struct found found;

	assert_int_equal(at_check(rl, rule, key, strlen(key), 1, T0, NULL), RL_DENIED);
	found = wishes(rl, T0);
	assert_int_equal(found.count, 1);
	assert_true(found.share.has_hash);
	return found.share;
}

/* All addresses of a network have one share, under one hash. */
static void
test_a_network_has_one_share(void **state)
{
	struct rl *rl = clustered_segment(64, RL_FULL_RESERVE);
	struct rl_limit limit = window(10, 0);
	const unsigned char secret[32] = {1};
	struct rl_share one, same, other;
	int rule;

	(void)state;
	limit.prefix_v4 = 24;
	rule = define(rl, "r", limit);
	assert_int_equal(rl_cluster_secret(rl, secret), 0);
	assert_int_equal(rl_share_advance(rl, FOREVER), 0);
	one = wish_of(rl, rule, "192.0.2.1");
	same = wish_of(rl, rule, "192.0.2.77");
	other = wish_of(rl, rule, "192.0.3.1");
	assert_memory_equal(&one.of, &same.of, sizeof one.of);
	assert_memory_equal(one.hash, same.hash, 16);
	assert_memory_not_equal(one.hash, other.hash, 16);
	set(rl, &one, 2, T0);
	assert_int_equal(at_check(rl, rule, "192.0.2.1", 9, 1, T0, NULL), RL_ALLOWED);
	assert_int_equal(at_check(rl, rule, "192.0.2.77", 10, 1, T0, NULL), RL_ALLOWED);
	assert_int_equal(at_check(rl, rule, "192.0.2.3", 9, 1, T0, NULL), RL_DENIED);
	assert_int_equal(at_check(rl, rule, "192.0.3.1", 9, 1, T0, NULL), RL_DENIED);
	rl_close(rl);
}

/* A reset ends the incarnation: its share is not used a second time. */
static void
test_a_reset_ends_the_share(void **state)
{
	struct rl *rl = clustered_segment(64, RL_FULL_RESERVE);
	int rule = define(rl, "r", window(10, 0));
	struct rl_share share;

	(void)state;
	assert_int_equal(rl_share_advance(rl, FOREVER), 0);
	assert_int_equal(admitted(rl, rule, 1, T0), 0);
	share = wishes(rl, T0).share;
	set(rl, &share, 4, T0);
	assert_int_equal(admitted(rl, rule, 9, T0), 4);
	assert_int_equal(rl_reset(rl, rule, "k", 1), 1);
	assert_int_equal(rl_share_read(rl, &share.of, T0, &share), -ESTALE);
	assert_int_equal(admitted(rl, rule, 9, T0), 0);
	rl_close(rl);
}

/* An override says what the store shares out for its keys. */
static void
test_an_override_is_what_is_shared(void **state)
{
	struct rl *rl = clustered_segment(64, RL_FULL_RESERVE);
	struct rl_override o = {.pattern = rl_pattern_of("k", 1), .kind = RL_OVERRIDE_CAPACITY};
	struct rl_config_rule r = {.rule = {.name = "r", .limit = window(10, 0)},
	                           .overrides = &o,
	                           .override_count = 1};
	struct rl_share share;
	int rule;

	(void)state;
	o.capacity[0] = 50;
	r.rule.limit.scope = RL_SCOPE_CLUSTER;
	assert_int_equal(rl_configure(rl, &r, 1, 0, NULL, NULL), 0);
	rule = rl_find(rl, "r");
	assert_int_equal(rl_share_advance(rl, FOREVER), 0);
	assert_int_equal(admitted(rl, rule, 1, T0), 0);
	share = wishes(rl, T0).share;
	assert_int_equal(share.shared, 50);
	set(rl, &share, 30, T0);
	assert_int_equal(admitted(rl, rule, 60, T0), 30);
	assert_int_equal(at_check(rl, rule, "j", 1, 11, T0, NULL), RL_NEVER);
	rl_close(rl);
}

/* The last event. */
struct told {
	struct rl_event event;
	char text[32];
};

static int
take_event(const struct rl_event *event, void *arg)
{
	struct told *t = arg;

	*t = (struct told){.event = *event};
	if (event->key_kept > 0)
		memcpy(t->text, event->key, event->key_kept);
	return 0;
}

/* A segment that keeps no keys tells all the same who has joined. */
static void
test_what_befalls_a_cluster_is_told(void **state)
{
	const struct rl_options o = {
		.keys = 64, .ring = 64, .key_bytes = RL_KEY_BYTES_NONE, .flags = RL_OPEN_CLUSTER};
	struct rl_events_cursor cursor = {0};
	struct told told;
	struct rl *rl;
	int rule;

	(void)state;
	assert_int_equal(rl_open_private(&o, &rl), 0);
	rule = define(rl, "r", window(10, 2));
	assert_int_equal(rl_cluster_report(rl, RL_EVENT_HOST_JOINED, RL_ANY_RULE, "a-host", 0, 0),
	                 0);
	assert_int_equal(rl_events_read(rl, &cursor, take_event, &told), 0);
	assert_int_equal(told.event.kind, RL_EVENT_HOST_JOINED);
	assert_int_equal(told.event.rule, -1);
	assert_string_equal(told.text, "a-host");
	assert_int_equal(rl_cluster_report(rl, RL_EVENT_ORDER, rule, "reset", 0, 4321), 0);
	assert_int_equal(rl_events_read(rl, &cursor, take_event, &told), 0);
	assert_int_equal(told.event.rule, rule);
	assert_int_equal(told.event.author, 4321);
	assert_int_equal(rl_cluster_report(rl, RL_EVENT_STORE_BACK, RL_ANY_RULE, NULL, 77, 0), 0);
	assert_int_equal(rl_events_read(rl, &cursor, take_event, &told), 0);
	assert_null(told.event.key);
	assert_int_equal(told.event.retry_after_ns, 77);
	assert_int_equal(rl_cluster_report(rl, RL_EVENT_RESET, rule, "a", 0, 0), -EINVAL);
	assert_int_equal(rl_cluster_report(rl, RL_EVENT_LAST + 1, rule, "a", 0, 0), -EINVAL);
	rl_close(rl);
}

/* The store gives one key more than its rule does, and says so by a share above the capacity. */
static void
above_the_capacity(struct rl_limit limit)
{
	struct rl *rl = clustered_segment(64, RL_FULL_RESERVE);
	int rule = define(rl, "r", limit);
	struct rl_result r;
	struct rl_share share;

	assert_int_equal(rl_share_advance(rl, T0 + 1), 0);
	admitted(rl, rule, 3, T0);
	share = wishes(rl, T0).share;
	set(rl, &share, limit.capacity * 3, T0);
	check(rl, rule, T0, &r);
	assert_int_equal(r.limit, limit.capacity * 3);
	assert_int_equal(r.used + r.remaining, limit.capacity * 3);
	assert_int_equal(wishes(rl, T0).count, 0);
	while (r.remaining > 0)
		assert_int_equal(check(rl, rule, T0, &r), RL_ALLOWED);
	assert_int_equal(wishes(rl, T0).count, 1);
	assert_int_equal(r.used + (uint32_t)admitted(rl, rule, 99, T0), limit.capacity * 3);
	assert_int_equal(check(rl, rule, T0, &r), RL_DENIED);
	assert_int_equal(r.limit, limit.capacity * 3);
	assert_int_equal(wishes(rl, T0).count, 1);
	assert_int_equal(check(rl, rule, T0 + 1, &r), RL_DENIED); /* the lease is over */
	assert_int_equal(r.limit, limit.capacity);
	rl_close(rl);
}

static void
test_a_share_above_the_capacity(void **state)
{
	(void)state;
	above_the_capacity(window(10, 0));
	above_the_capacity(window(10, 2));
	above_the_capacity((struct rl_limit){.algorithm = RL_TOKEN_BUCKET,
	                                     .capacity = 10,
	                                     .burst = 10,
	                                     .window_ns = RL_SECOND,
	                                     .blind = 2,
	                                     .away = RL_AWAY_CLOSED});
}

/* A log has no room for more times than its ring holds. */
static void
test_a_log_admits_what_its_ring_holds(void **state)
{
	struct rl *rl = clustered_segment(64, RL_FULL_RESERVE);
	int rule = define(rl, "r",
	                  (struct rl_limit){.algorithm = RL_SLIDING_LOG,
	                                    .capacity = 15,
	                                    .window_ns = RL_SECOND});
	struct rl_share share;
	struct rl_result r;

	(void)state;
	assert_int_equal(rl_share_advance(rl, FOREVER), 0);
	admitted(rl, rule, 1, T0);
	share = wishes(rl, T0).share;
	set(rl, &share, 1000, T0);
	assert_int_equal(admitted(rl, rule, 1000, T0), 128);
	assert_int_equal(check(rl, rule, T0, &r), RL_DENIED);
	assert_int_equal(r.limit, 128);
	assert_int_equal(r.used, 128);
	rl_close(rl);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_befalls_a_cluster_is_told),
		cmocka_unit_test(test_a_share_above_the_capacity),
		cmocka_unit_test(test_a_log_admits_what_its_ring_holds),
		cmocka_unit_test(test_strict_admits_its_share),
		cmocka_unit_test(test_without_a_lease_it_is_as_said),
		cmocka_unit_test(test_another_incarnation_has_no_share),
		cmocka_unit_test(test_debts),
		cmocka_unit_test(test_blind_by_hosts),
		cmocka_unit_test(test_beside_another_limit),
		cmocka_unit_test(test_a_lease_ends_beside_another_limit),
		cmocka_unit_test(test_a_key_has_one_hash_everywhere),
		cmocka_unit_test(test_restore_brings_no_share),
		cmocka_unit_test(test_large_shares),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_no_booking),
		cmocka_unit_test(test_it_is_told),
		cmocka_unit_test(test_strangers_have_the_blind_part_each),
		cmocka_unit_test(test_a_free_slot_is_strict_keys_too),
		cmocka_unit_test(test_to_give_way_and_come_back),
		cmocka_unit_test(test_a_bucket_does_not_give_way),
		cmocka_unit_test(test_a_network_has_one_share),
		cmocka_unit_test(test_a_reset_ends_the_share),
		cmocka_unit_test(test_an_override_is_what_is_shared),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

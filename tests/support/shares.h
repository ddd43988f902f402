/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SHARES_H
#define SHARES_H

/* A segment of a cluster, a rule of it, and the key "k", whose share a test sets as it likes. */

#include "at.h"
#include "rl_cluster.h"
#include "testing.h"

#define T0 (UINT64_C(1700000000) * RL_SECOND)
#define FOREVER (T0 * 2)

static inline struct rl *
clustered_segment(uint32_t keys, enum rl_on_full on_full)
{
	const struct rl_options o = {
		.keys = keys, .ring = 256, .on_full = on_full, .flags = RL_OPEN_CLUSTER};
	struct rl *rl;

	assert_int_equal(rl_open_private(&o, &rl), 0);
	return rl;
}

static inline int
define(struct rl *rl, const char *name, struct rl_limit limit)
{
	int rule;

	limit.scope = RL_SCOPE_CLUSTER;
	rule = rl_define(rl, &(struct rl_rule){.name = name, .limit = limit});
	assert_true(rule >= 0);
	return rule;
}

static inline struct rl_limit
window(uint32_t capacity, uint32_t blind)
{
	return (struct rl_limit){.algorithm = RL_SLIDING_WINDOW,
	                         .capacity = capacity,
	                         .window_ns = RL_SECOND,
	                         .granularity = 4,
	                         .hard = 1,
	                         .blind = blind,
	                         .away = RL_AWAY_CLOSED};
}

/* The last wish that was taken. */
struct found {
	int count;
	struct rl_share share;
};

static inline int
note(const struct rl_share *share, void *arg)
{
	struct found *found = arg;

	found->count++;
	found->share = *share;
	return 0;
}

static inline struct found
wishes(struct rl *rl, uint64_t now)
{
	struct found found = {0};
	uint64_t from = 0;

	assert_true(rl_share_wishes(rl, &from, UINT32_MAX, now, note, &found) >= 0);
	assert_int_equal(from, 0);
	return found;
}

static inline void
set(struct rl *rl, const struct rl_share *of, uint32_t to, uint64_t now)
{
	struct rl_share share;

	assert_int_equal(rl_share_set(rl, &of->of, to, now, &share), 0);
	assert_int_equal(share.share, to);
}

static inline enum rl_verdict
check(struct rl *rl, int rule, uint64_t now, struct rl_result *r)
{
	return at_check(rl, rule, "k", 1, 1, now, r);
}

static inline int
admitted(struct rl *rl, int rule, int tries, uint64_t now)
{
	int count = 0;

	for (int i = 0; i < tries; i++)
		count += check(rl, rule, now, NULL) == RL_ALLOWED;
	return count;
}

/* Adds up what rl_share_scan() tells of. */
static inline int
collect(const struct rl_share *share, void *arg)
{
	uint32_t *sum = arg;

	assert_true(share->share > 0);
	*sum += share->share;
	return 0;
}

#endif

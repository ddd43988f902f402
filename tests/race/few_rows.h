/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_FEW_ROWS_H
#define RL_FEW_ROWS_H

/* Rows of limits and of rules, so few of them that they are given to others. */

#include "at.h"
#include "audit.h"
#include "intrude.h"

static struct rl *
open_rows(int rules)
{
	struct rl *rl;

	assert_int_equal(rl_open_private(&(struct rl_options){.keys = 20,
	                                                      .rules = (uint32_t)rules,
	                                                      .overrides = 1,
	                                                      .bans = 1},
	                                 &rl),
	                 0);
	return rl;
}

static void
define_one(struct rl *rl, const char *name, uint32_t capacity, uint64_t window_ns, bool is_hard)
{
	const struct rl_rule r = {
		.name = name,
		.limit = {.capacity = capacity, .window_ns = window_ns, .hard = is_hard}};

	assert_true(rl_define(rl, &r) >= 0);
}

static struct rl_result told;

static void
check_and_tell(struct rl *rl, int rule)
{
	at_check(rl, rule, "k", 1, 1, T0, &told);
}

/* Whoever has the turn to give rows away keeps it until it goes on: then this comes later. */
static bool has_come;

static void
expect_limit(struct rl *rl, const char *name, uint32_t capacity, uint64_t window_ns)
{
	struct rl_rule_info info;
	int rule = rl_find(rl, name);

	assert_int_equal(rl_rule_info(rl, rule, &info), 1);
	assert_int_equal(info.limit_count, 1);
	assert_int_equal(info.limits[0].capacity, capacity);
	assert_true(info.limits[0].window_ns == window_ns);
	at_check(rl, rule, "k", 1, 1, T0, &told);
	assert_int_equal(told.error, 0);
	assert_int_equal(told.limit, capacity);
}

#endif

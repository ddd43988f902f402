/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_CLUSTER_RULE_SHARES_H
#define RLD_CLUSTER_RULE_SHARES_H

/* How much of each rule is lent to this host: how many shares, and their sum. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rule_share {
	int rule; /* handle */
	uint64_t shares, sum;
};

struct rule_shares {
	struct rule_share *of;
	size_t count, room;
	size_t last; /* what was found last */
};

/*
 * A key of the rule had a share of `before` and has one of `now`; 0: none. False without memory:
 * nothing is counted.
 */
bool rule_shares_change(struct rule_shares *l, int rule, uint32_t before, uint32_t now);

/* A rule that nothing is lent of: zeros. */
struct rule_share rule_shares_of(const struct rule_shares *l, int rule);

void rule_shares_free(struct rule_shares *l);

#endif

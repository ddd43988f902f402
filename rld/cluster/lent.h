/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_CLUSTER_LENT_H
#define RLD_CLUSTER_LENT_H

/* How much of each rule is lent to this host: how many shares, and their sum. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lent_rule {
	int rule; /* handle */
	uint64_t shares, sum;
};

struct lent {
	struct lent_rule *of;
	size_t count, room;
	size_t last; /* what was found last */
};

/* A key of the rule had a share of `before` and has one of `now`; 0: none. False without memory: nothing is counted. */
bool lent_change(struct lent *l, int rule, uint32_t before, uint32_t now);

/* A rule that nothing is lent of: zeros. */
struct lent_rule lent_of(const struct lent *l, int rule);

void lent_free(struct lent *l);

#endif

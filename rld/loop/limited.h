/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_LIMITED_H
#define RLD_LIMITED_H

/*
 * How many keys are denied now, by rule and limit: counted a slice at a time, beside the sweep,
 * which has just brought these slots' memory close.
 */

#include <rl_admin.h>
#include <stddef.h>

struct limited_limit {
	int rule;
	unsigned limit;
	uint64_t keys;
};

/* Sorted by rule and limit; what no key is denied by is not there. */
struct limited {
	struct limited_limit *limits;
	size_t count, room;
};

/* Add what is in these slots. Without memory some are left out. */
void limited_add(struct limited *limited, struct rl *rl, uint64_t first, uint64_t count,
                 uint64_t now_ns);

uint64_t limited_keys(const struct limited *limited, int rule, unsigned limit);

void limited_free(struct limited *limited);

#endif

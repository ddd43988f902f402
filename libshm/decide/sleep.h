/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_SLEEP_H
#define RL_SLEEP_H

/*
 * Callers that hold a worker (RL_ITEM_SLEEPS), denied for want of a share: they sleep, and try
 * again, as long as the limit says.
 */

#include <stdbool.h>
#include <stddef.h>

#include "rl.h"

struct rl_sleep {
	uint64_t whole_ns; /* 0: it has not begun */
	uint64_t began_ns;
	uint64_t slept_ns;
};

/*
 * A request of these items, which are the caller's own copies, was answered so: sleep till the next
 * try, and make its items. False: that is the answer.
 */
bool rl_sleep_on(struct rl_sleep *sleep, const struct rl *rl, struct rl_item *items, size_t count,
                 const struct rl_result *result);

/* Does the call sleep for one of them? With RL_ITEM_WAITS as well the caller does. */
static inline bool
rl_sleeps(const struct rl_item *items, size_t count)
{
	unsigned flags = 0;

	for (size_t i = 0; i < count; i++)
		flags |= items[i].flags;
	return (flags & (RL_ITEM_SLEEPS | RL_ITEM_WAITS)) == RL_ITEM_SLEEPS;
}

#endif

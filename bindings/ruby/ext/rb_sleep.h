/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RB_SLEEP_H
#define RB_SLEEP_H

/*
 * Who is denied for want of a share of a cluster's limit that says `wait` sleeps, and asks again,
 * while other threads run. Whoever is interrupted meanwhile was not charged.
 */
#include "rl.h"

#define RLR_SLEEPS (unsigned)(RL_ITEM_WAITS | RL_ITEM_SLEEPS) /* of an item */

struct rlr_sleep {
	uint64_t end_ns; /* 0: it has not begun */
};

static inline int
rlr_is_to_sleep(const struct rl_result *r)
{
	return __builtin_expect(r->reason == RL_BY_SHARE, 0) && r->delay_ns > 0;
}

/* Till the next try, of which these are the items; anything may happen meanwhile. */
void rlr_sleep(struct rlr_sleep *sleep, struct rl_item *items, size_t count,
               const struct rl_result *r);

#endif

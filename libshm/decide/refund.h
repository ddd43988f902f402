/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_REFUND_H
#define RL_REFUND_H

#include "segment/view.h"

/*
 * Take back what was charged to a slot: charge->cost, epoch and memory say what; of a bucket,
 * `quota` is the one it was charged under. `slot` is one of the segment's. How much; 0 if it is too
 * late: then it stays charged.
 */
uint32_t rl_refund_slot(const struct rl_segment *s, const struct rl_limiter *limiter,
                        const struct rl_quota *quota, struct rl_slot slot,
                        const struct rl_charge *charge, uint64_t now_ns);

/*
 * The same of what one limit charged a request, and of that `cost` units, at most charge->cost. How
 * many.
 */
uint32_t rl_refund_units(struct rl *rl, const struct rl_charge *charge, uint32_t cost,
                         uint64_t now_ns);

/*
 * The same of all of it; *charge is then none. 1; 0: too late; -EBUSY: units in flight are held
 * still, and *charge stays as it is.
 */
int rl_refund_charge(struct rl *rl, struct rl_charge *charge, uint64_t now_ns);

#endif

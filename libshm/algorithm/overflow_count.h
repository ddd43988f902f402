/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_OVERFLOW_COUNT_H
#define RL_OVERFLOW_COUNT_H

/*
 * The arithmetic of overflow counters: counters that keys without a slot share. Pure: no clock, and
 * of memory only the ring of a slot that is folded. Who uses them, and why none is admitted too
 * much, is in overflow/overflow.c.
 *
 * What one counts of a key is the state word of a counter without a ring, and so is decided about
 * as any other:
 *
 *	sliding window, log,      a sliding window of one closed sub-bucket, as long as the window
 *	                          of the
 *	anchored window           limit, and hard, whether the limit is or not
 *	fixed window, bucket      the same as a slot's
 *
 * It is never less than what the key has been admitted: overflow_word.h has the bytes that several
 * keys share.
 *
 * An overflow counter of a cluster's limit has no share: each of its keys is admitted `blind` at
 * most, and none of them where that is 0. A cluster's buckets have no overflow counters.
 *
 * Fold: a slot is to be freed, and its key, without one, is to find in the overflow counter what
 * the slot counted. The overflow counter becomes the larger of both, for each of its two epochs. It
 * is not the sum: the overflow counter may have what the slot began with. A slot's newest time is
 * kept by counting 1 in its epoch, if nothing counts there: it was given back, or whoever brought
 * the slot there was killed.
 *
 * Carry: a slot's first charge begins with what the overflow counter counts, and each part of that
 * leaves when it would have left the overflow counter: so it stands in the last sub-bucket of its
 * epoch E of the overflow counter, the epochs being `count` sub-buckets long.
 *
 *	overflow    |      E-1: sum     |       E: cur      |
 *	slot        |    |    |    | x  |    |    |    | x  |       count = 4
 *
 *	cur = 0     { epoch 4E-1, cur = sum }, frozen with a jump of 1: whoever charges closes it,
 *	            so that nothing is counted before E. Others may have brought the overflow
 *	            counter to E whose clocks are ahead of this one's, and then what was in E-2 is
 *	            forgotten
 *	cur > 0     { epoch 4E+3, cur = cur + sum }. Only a race makes it so, or a bucket
 *
 * A log has a time for a sub-bucket: the last nanosecond of E-1, or of E. An anchored window begins
 * now, or with E+1: that is longer, for in a span as long as the window no more than two of them
 * may meet.
 */

#include "algorithm/limiter.h"

/* By what its overflow counters judge: at most what is admitted at once, and no denial counts. */
struct rl_quota rl_overflow_quota(const struct rl_limiter *limiter, const struct rl_quota *quota);

/*
 * The limiter of a limit's overflow counters; false if it has none: what is in flight, counters, a
 * cluster's buckets.
 */
bool rl_overflow_limiter(const struct rl_limiter *limiter, struct rl_limiter *overflow);

/*
 * Does it count something that its keys have been charged in its newest epoch, at now_ns or later?
 * Of a bucket: anything.
 */
bool rl_overflow_is_open(const struct rl_limiter *overflow, struct rl_u128 count, uint64_t now_ns);

/*
 * The count after a slot was folded into it. The view is not zero, of a limiter that has overflow
 * counters, and the caller makes sure afterwards that state and ring belong together.
 */
struct rl_u128 rl_overflow_folded(const struct rl_limiter *limiter,
                                  const struct rl_limiter *overflow, const struct rl_view *view,
                                  struct rl_u128 count);

/* The word that a slot begins with if it is first charged at now_ns. False: nothing. */
bool rl_overflow_carried(const struct rl_limiter *limiter, const struct rl_limiter *overflow,
                         struct rl_u128 count, uint64_t now_ns, uint64_t slot_bits,
                         struct rl_u128 *word);

#endif

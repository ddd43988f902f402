/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_LIMITER_H
#define RL_LIMITER_H

/*
 * One face for all algorithms: what to do with a request, given a slot's words. Reads the ring
 * that it is shown and nothing else; the caller sees to it that state and ring belong together.
 */

#include <stdbool.h>
#include <stdint.h>

#include "layout.h"
#include "rl.h"
#include "rl_admin.h"
#include "window.h"

#define RL_MOMENTS_MAX (RL_RING_MAX + 1)

/* What a rule is, checked once. */
struct rl_limiter {
	enum rl_algorithm algorithm;
	uint64_t window_ns;
	uint32_t granularity;
	uint32_t ring_entries;   /* of the segment */
	struct rl_window window; /* sliding and fixed windows only */
};

/* What of a rule may change from one decision to the next. */
struct rl_quota {
	uint32_t capacity;
	uint32_t burst;
	uint32_t undelayed;
	bool is_shadow;
	bool is_booking; /* buckets only: may overdraw by what comes in within patience_ns */
	uint64_t patience_ns;
};

/* One slot's counter as it was at one instant, and its ring as it is. */
struct rl_view {
	struct rl_word16 word; /* what a CAS has to expect */
	uint8_t gen;
	uint64_t slot_bits; /* of a word that follows it */
	bool is_zero;       /* nothing was charged yet: the word is an older incarnation's */
	const uint64_t *ring;
};

struct rl_plan {
	enum rl_step step;
	bool charges;
	uint32_t entries; /* RL_STEP_CLOSE: how many to store */
	struct rl_word16 next;
};

/* What a request would be told, and what of it does not depend on the verdict. */
struct rl_outlook {
	uint32_t limit;     /* the largest cost that is ever admitted */
	uint32_t remaining; /* the largest that is admitted now */
	bool admits;        /* the cost asked for, now */
	uint64_t retry_at_ns;
	uint64_t reset_at_ns; /* 0 if nothing counts */
	uint64_t delay_ns;
};

/* The largest cost that is ever admitted at once. */
uint32_t rl_limiter_limit(const struct rl_limiter *limiter, const struct rl_quota *quota);

/* For 1 <= cost <= limit. */
struct rl_plan rl_limiter_decide(const struct rl_limiter *limiter, const struct rl_quota *quota,
                                 const struct rl_view *view, uint32_t cost, uint64_t now_ns);

/* The i-th entry that closing `view` stores: which place of the ring, and what. */
void rl_limiter_entry(const struct rl_limiter *limiter, const struct rl_view *view, uint32_t i,
                      uint32_t *place, uint64_t *value);

/* retry_at_ns is meaningful for a cost of 1..limit that is not admitted now; cost may be 0. */
void rl_limiter_outlook(const struct rl_limiter *limiter, const struct rl_quota *quota,
                        const struct rl_view *view, uint32_t cost, uint64_t now_ns,
                        struct rl_outlook *outlook);

/* The outlook right after a charge of `cost` that left `next`; `view` is what it found. */
void rl_limiter_after(const struct rl_limiter *limiter, const struct rl_quota *quota,
                      const struct rl_view *view, struct rl_word16 next, uint32_t cost,
                      uint64_t now_ns, struct rl_outlook *outlook);

/* True if what was read of the ring with state `seen` still holds with state `now`. */
bool rl_limiter_same_ring(const struct rl_limiter *limiter, struct rl_word16 seen,
                          struct rl_word16 now);

/* From when on the state counts nothing. Not for a zero view. */
uint64_t rl_limiter_idle_at(const struct rl_limiter *limiter, struct rl_word16 word);

/* What rl_charge.epoch remembers of a charge that left `next`. */
uint64_t rl_limiter_mark(const struct rl_limiter *limiter, struct rl_word16 next);

/* The state with a charge given back, or false if that is too late. */
bool rl_limiter_refund(const struct rl_limiter *limiter, const struct rl_quota *quota,
                       const struct rl_view *view, uint64_t mark, uint32_t cost, uint64_t now_ns,
                       struct rl_word16 *next);

/* What counts at now_ns, `used` of it, oldest first; returns how many moments. */
size_t rl_limiter_moments(const struct rl_limiter *limiter, const struct rl_view *view,
                          uint32_t used, uint64_t now_ns,
                          struct rl_moment moments[static RL_MOMENTS_MAX]);

/* The counts of a window's sub-buckets, for people; false for other algorithms. */
bool rl_limiter_history(const struct rl_limiter *limiter, const struct rl_view *view,
                        uint64_t now_ns, struct rl_history *history);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_LIMITER_H
#define RL_LIMITER_H

/*
 * Common interface of all algorithms: what to do with a request, given a slot's words. It reads
 * the ring that it is given and nothing else. The caller ensures that state and ring belong
 * together.
 */

#include <stdbool.h>
#include <stdint.h>

#include "algorithm/anchored.h"
#include "algorithm/gcra.h"
#include "algorithm/share.h"
#include "algorithm/window.h"
#include "rl.h"
#include "rl_admin.h"
#include "shared/layout.h"
#include "shared/layout_rows.h"

#define RL_CHARGE_ENTRIES_MAX (RL_LOG_MAX + 1)

/* The validated, immutable parameters of a limit. */
struct rl_limiter {
	const struct rl_algorithm_ops *own; /* its algorithm's row: rl_limiter_set() */
	const struct rl_algorithm_ops *ops; /* the same, or one around it: rl_limiter_share() */
	enum rl_algorithm algorithm;
	bool is_shared; /* of a cluster: a share stands beside the count */
	bool is_window; /* these five as its row says, to know them without a look there */
	bool is_anchored;
	bool limit_is_capacity;
	bool counts_denied;
	bool is_held;
	bool counts_requests; /* each request is one, whatever it costs */
	uint64_t window_ns;
	uint32_t granularity;
	uint32_t ring_entries;          /* of the segment */
	struct rl_window window;        /* sliding and fixed windows only */
	struct rl_gcra_divisor divisor; /* buckets only */
};

/* The most that a limit of a cluster admits on this host. */
struct rl_share_quota {
	uint32_t blind;
	uint32_t away; /* what a share is worth without a lease; RL_SHARE_KEEP: what it was */
};

#define RL_SHARE_KEEP UINT32_MAX

/* The parameters that may change between decisions. */
struct rl_quota {
	uint32_t capacity;
	uint32_t burst;
	uint32_t undelayed;
	bool is_shadow;
#define AS_MEMBER(in_limit, in_quota, bit) bool in_quota;
	RL_QUOTA_FLAGS(AS_MEMBER) /* counts_denied: see rl_limiter_counts_denied() */
#undef AS_MEMBER
	bool is_booking;   /* buckets only: may overdraw by what comes in within max_wait_ns */
	bool is_debt;      /* it is counted whatever there is: rl_quota_owe() */
	bool has_lease;    /* of a cluster: shares count now */
	bool is_auto;      /* of a cluster: share.blind is as large as the hosts let it be */
	uint16_t prefetch; /* windows only: units that a process may prefetch */
	uint8_t away;      /* of a cluster: of enum rl_away */
	uint16_t wait;     /* of a cluster: as rl_wait_pack() has it */
	uint32_t label;    /* in flight only: who takes the units; 0: it has no seat yet */
	uint64_t max_wait_ns;
	union {
		struct rl_gcra_rate rate;    /* buckets only, or all zero: see
		                                rl_limiter_keep_rate() */
		struct rl_share_quota share; /* of a cluster: rl_policy_share() */
	};
};

/* It has what only the general way of a decision looks at. */
static inline bool
rl_quota_is_other(const struct rl_quota *q)
{
#define OR_IS(in_limit, in_quota, bit) || q->in_quota
	return q->prefetch > 0 || q->is_shadow RL_QUOTA_FLAGS(OR_IS);
#undef OR_IS
}

/*
 * What was spent already is charged under a quota that admits whatever a word can count: of a
 * sliding window by an estimate half of that, so that its oldest sub-bucket, of which less and less
 * counts, fits beside the rest in full.
 */
void rl_quota_owe(const struct rl_limiter *limiter, struct rl_quota *quota);

/* Of a bucket, keep what its capacity and burst come to; a change of either makes that void. */
void rl_limiter_keep_rate(const struct rl_limiter *limiter, struct rl_quota *quota);

/* How long an empty bucket takes to fill. */
uint64_t rl_bucket_fill_ns(const struct rl_limit *complete);

/* One slot's counter as it was loaded, and its ring as it is now. */
struct rl_view {
	struct rl_u128 word; /* what a CAS has to expect */
	uint8_t gen;
	uint64_t slot_bits; /* of a word that follows it */
	bool is_zero;       /* nothing was charged yet: the word is an older incarnation's */
	const uint64_t *ring;
};

/* What a limiter is asked: under which quota, of which view of a slot, for what cost, and when. */
struct rl_ask {
	const struct rl_limiter *l;
	const struct rl_quota *q;
	const struct rl_view *v;
	uint32_t cost;
	bool is_asked; /* of a denial the decision is wanted, too */
	uint64_t now_ns;
};

/* The decision about a request; the limit, remaining and reset hold for every verdict. */
struct rl_decision {
	uint32_t limit;     /* the largest cost that is ever admitted */
	uint32_t remaining; /* the largest that is admitted now */
	uint32_t beyond; /* what counts above the limit, as a debt or what was denied does; modulo
	                    2^32, for of a cluster's what is not lent here is subtracted */
	bool admits;     /* the cost asked for, now */
	uint64_t retry_at_ns;
	uint64_t reset_at_ns; /* 0 if nothing counts */
	uint64_t delay_ns;
};

/* The next step to give back what was charged. */
enum rl_back_step {
	RL_BACK_LATE,  /* nothing, for it is too late, or nothing is left to be done */
	RL_BACK_WORD,  /* CAS16 to next: given */
	RL_BACK_ENTRY, /* CAS of the ring's entry: given; then CAS16 to next, or the sum becomes
	                  the ring's */
};

struct rl_back {
	uint32_t given; /* how much of it, 1 at least */
	struct rl_u128 next;
	uint32_t place;         /* RL_BACK_ENTRY: of the ring, */
	uint64_t seen, lowered; /* from what to what */
};

struct rl_plan {
	enum rl_step step;
	bool charges;
	uint32_t entries; /* RL_STEP_ROLL, RL_STEP_CLOSE: how many to store */
	struct rl_u128 next;
	uint64_t charge_id; /* if it charges: what rl_charge.epoch remembers */
	uint32_t memory;    /* and rl_charge.memory */
	/* The result if `step` succeeds, of a denial or right after a charge. Else not set. */
	struct rl_decision decision;
	struct rl_u128 frozen; /* RL_STEP_ROLL: what the entries are stored of */
};

/* Of this host alone, by its own row. */
void rl_limiter_set(struct rl_limiter *limiter, enum rl_algorithm algorithm);

/* Of a cluster; false: no limit of that algorithm is. */
bool rl_limiter_share(struct rl_limiter *limiter);

/* Of this host, or of a cluster. */
static inline bool
rl_limiter_has_window(const struct rl_limiter *l)
{
	return l->algorithm == RL_SLIDING_WINDOW || l->algorithm == RL_FIXED_WINDOW;
}

static inline bool
rl_limiter_has_bucket(const struct rl_limiter *l)
{
	return l->algorithm == RL_TOKEN_BUCKET || l->algorithm == RL_LEAKY_BUCKET;
}

/* Of this host alone. */
static inline bool
rl_limiter_is_bucket(const struct rl_limiter *l)
{
	return !l->is_shared && rl_limiter_has_bucket(l);
}

/* The count, from a decision. */
static inline uint32_t
rl_decision_used(const struct rl_decision *d)
{
	return d->limit - d->remaining + d->beyond;
}

/* Whatever the segment's bytes say, only what has one open count does. */
static inline bool
rl_limiter_counts_denied(const struct rl_limiter *l, const struct rl_quota *q)
{
	return q->counts_denied && l->counts_denied;
}

/* Does a denial by it write something? What a cluster's limit writes is a wish. */
static inline bool
rl_quota_writes_denied(const struct rl_limiter *l, const struct rl_quota *q)
{
	return q->counts_denied && (l->is_shared || rl_limiter_counts_denied(l, q));
}

/* A leaky bucket holds those that wait, and the one that goes. */
static inline uint32_t
rl_limiter_wished_burst(const struct rl_limiter *l, const struct rl_quota *q)
{
	return l->algorithm == RL_LEAKY_BUCKET ? q->burst + 1 : q->burst;
}

/* Is what was kept of a bucket of this capacity and burst? */
static inline bool
rl_limiter_has_rate(const struct rl_limiter *l, const struct rl_quota *q)
{
	return q->rate.capacity == q->capacity && q->rate.burst == rl_limiter_wished_burst(l, q);
}

/*
 * Of a limit of a cluster: what this host may have of it now, at a view's share. A decision is by
 * that in place of the capacity, and tells the capacity as its limit, or this where it is more.
 */
uint32_t rl_limiter_share_worth(const struct rl_limiter *limiter, const struct rl_quota *quota,
                                const struct rl_view *view);

/*
 * Its word with another share, and what counts as it was; of a view that is zero, one that counts
 * nothing. False: there is nothing to write. now_ns was read before the CAS, and after an answer
 * that it raises to.
 */
bool rl_limiter_set_share(const struct rl_ask *ask, uint32_t share, struct rl_u128 *next);

/*
 * A view as one of a limit of this host alone, and the other way round, with no share. Buckets
 * stay.
 */
struct rl_view rl_limiter_view_alone(const struct rl_limiter *limiter, const struct rl_view *view);
struct rl_u128 rl_limiter_word_of(const struct rl_limiter *limiter, struct rl_u128 alone);

#endif

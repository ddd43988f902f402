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

#define RL_CHARGE_ENTRIES_MAX (RL_LOG_MAX + 1)

/* The validated, immutable parameters of a limit. */
struct rl_limiter {
	const struct rl_algorithm_ops *own; /* its algorithm's row: rl_limiter_set() */
	const struct rl_algorithm_ops *ops; /* the same, or one around it: rl_limiter_share() */
	enum rl_algorithm algorithm;
	bool is_shared; /* of a cluster: a share stands beside the count */
	bool is_window; /* these five as its row says, to know them without a look there */
	bool limit_is_capacity;
	bool counts_denied;
	bool is_anchored;
	bool is_held;
	uint64_t window_ns;
	uint32_t granularity;
	uint32_t ring_entries;          /* of the segment */
	struct rl_window window;        /* sliding and fixed windows only */
	struct rl_gcra_divisor divisor; /* buckets only */
};

/* The most that a limit of a cluster admits on this host. */
struct rl_lent_quota {
	uint32_t blind;
	uint32_t away; /* what a share is worth without a lease; RL_LENT_KEEP: what it was */
};

#define RL_LENT_KEEP UINT32_MAX

/* The parameters that may change between decisions. */
struct rl_quota {
	uint32_t capacity;
	uint32_t burst;
	uint32_t undelayed;
	bool is_shadow;
	bool counts_denied; /* see rl_limiter_counts_denied(), and rl_quota_writes_denied() */
	bool is_booking;    /* buckets only: may overdraw by what comes in within max_wait_ns */
	bool has_lease;     /* of a cluster: shares count now */
	uint16_t prefetch;  /* windows only: units that a process may take ahead */
	uint8_t away;       /* of a cluster: of enum rl_away */
	uint64_t max_wait_ns;
	union {
		struct rl_gcra_rate
			rate; /* buckets only, or all zero: see rl_limiter_keep_rate() */
		struct rl_lent_quota lent; /* of a cluster: rl_policy_lend() */
	};
};

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

/* The decision about a request; the limit, remaining and reset hold for every verdict. */
struct rl_decision {
	uint32_t limit;     /* the largest cost that is ever admitted */
	uint32_t remaining; /* the largest that is admitted now */
	uint32_t beyond; /* what counts above the limit, of one that counts what it denies; modulo
	                       2^32, for of a cluster's what is not lent here is subtracted */
	bool admits;     /* the cost asked for, now */
	uint64_t retry_at_ns;
	uint64_t reset_at_ns; /* 0 if nothing counts */
	uint64_t delay_ns;
};

struct rl_plan {
	enum rl_step step;
	bool charges;
	uint32_t entries; /* RL_STEP_CLOSE: how many to store */
	struct rl_u128 next;
	uint64_t charge_id; /* if it charges: what rl_charge.epoch remembers */
	uint32_t memory;    /* and rl_charge.memory */
	/* The result if `step` succeeds, of a denial or right after a charge. Else not set. */
	struct rl_decision decision;
};

/* Of this host alone, by its own row. */
void rl_limiter_set(struct rl_limiter *limiter, enum rl_algorithm algorithm);

/* Of a cluster; false: no limit of that algorithm is. */
bool rl_limiter_share(struct rl_limiter *limiter);

/* Of this host alone. */
static inline bool
rl_limiter_is_window(const struct rl_limiter *l)
{
	return l->is_window;
}

static inline bool
rl_limiter_is_bucket(const struct rl_limiter *l)
{
	return !l->is_shared &&
	       (l->algorithm == RL_TOKEN_BUCKET || l->algorithm == RL_LEAKY_BUCKET);
}

static inline bool
rl_limiter_is_lent(const struct rl_limiter *l)
{
	return l->is_shared;
}

/* A slot's word alone is not enough to charge it: its units have holders, or its share is asked for. */
static inline bool
rl_limiter_is_special(const struct rl_limiter *l)
{
	return l->is_shared || l->is_held;
}

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

/* The same, of its row. */
uint32_t rl_limiter_other_limit(const struct rl_limiter *limiter, const struct rl_quota *quota);

/* The largest cost that is ever admitted at once. */
static inline uint32_t
rl_limiter_limit(const struct rl_limiter *l, const struct rl_quota *q)
{
	if (l->limit_is_capacity)
		return q->capacity;
	if (rl_limiter_is_bucket(l) && rl_limiter_has_rate(l, q))
		return q->rate.size;
	return rl_limiter_other_limit(l, q);
}

/*
 * For 1 <= cost <= limit. Unless `is_asked`, the plan says what to do and no more: of a denial the
 * decision is not set.
 */
void rl_limiter_decide(const struct rl_limiter *limiter, const struct rl_quota *quota,
                       const struct rl_view *view, uint32_t cost, uint64_t now_ns, bool is_asked,
                       struct rl_plan *plan);

/*
 * The same, for a window whose state only has to be added to: the usual case. False: nothing was
 * set, ask rl_limiter_decide().
 */
static inline __attribute__((always_inline)) bool
rl_limiter_adds(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v,
                uint32_t cost, uint64_t now_ns, struct rl_plan *p)
{
	const struct rl_window *w = &l->window;
	uint64_t epoch = rl_window_epoch(w, now_ns), used;
	uint32_t gone = 0;

	if (v->is_zero || !rl_window_adds(v->word, epoch, q->capacity, cost, &p->next, &used))
		return false;
	if (w->count == 1 && !w->is_hard) /* as rl_window_left() */
		gone = rl_window_share_gone(w, (uint32_t)(v->word.hi >> RL_STATE_SUM_SHIFT),
		                            now_ns - epoch * w->width_ns);
	p->charge_id = epoch;
	p->memory = 0;
	p->decision.limit = q->capacity;
	p->decision.remaining = q->capacity - (uint32_t)used - cost + gone;
	p->decision.beyond = 0;
	p->decision.reset_at_ns = (epoch + w->count + 1) * w->width_ns;
	p->decision.delay_ns = 0;
	return true;
}

/* The same for an anchored window that goes on. */
static inline bool
rl_limiter_adds_anchored(const struct rl_limiter *l, const struct rl_quota *q,
                         const struct rl_view *v, uint32_t cost, uint64_t now_ns, struct rl_plan *p)
{
	struct rl_anchored a = rl_anchored_unpack(v->word);

	if (v->is_zero || now_ns - a.start_ns >= l->window_ns ||
	    (uint64_t)a.cur + cost > q->capacity)
		return false;
	p->next = v->word;
	p->next.lo += (uint64_t)cost << RL_STATE_EPOCH_BITS;
	p->charge_id = a.start_ns;
	p->memory = 0;
	p->decision.limit = q->capacity;
	p->decision.remaining = q->capacity - a.cur - cost;
	p->decision.beyond = 0;
	p->decision.reset_at_ns = rl_anchored_end(a, l->window_ns);
	p->decision.delay_ns = 0;
	return true;
}

/* Fast check, without the ring: has one sub-bucket used up the window? Fills *d if so. */
static inline bool
rl_limiter_is_used_up(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v,
                      uint32_t cost, uint64_t now_ns, struct rl_decision *d)
{
	const struct rl_window *w = &l->window;
	struct rl_state s;

	if (v->is_zero)
		return false;
	s = rl_state_unpack(v->word, w);
	if (!rl_window_is_used_up(w, &s, rl_window_epoch(w, now_ns), q->capacity))
		return false;
	*d = (struct rl_decision){.limit = q->capacity};
	d->retry_at_ns = rl_window_used_up_until(w, &s, q->capacity, cost, &d->reset_at_ns);
	return true;
}

/*
 * What counts of a window whose state is of now's sub-bucket and says it exactly, without a look at
 * the ring: a hard or a fixed one, not frozen. False for all else.
 */
static inline bool
rl_limiter_counts(const struct rl_limiter *l, const struct rl_view *v, uint64_t now_ns,
                  uint64_t *used)
{
	const struct rl_window *w = &l->window;
	struct rl_u128 next;

	return !v->is_zero && (w->is_hard || w->count == 0) &&
	       rl_window_adds(v->word, rl_window_epoch(w, now_ns), UINT32_MAX, 0, &next, used);
}

/* The decision about `cost`, of which nothing is charged: that much of it counts already. */
static inline struct rl_decision
rl_limiter_decision(const struct rl_limiter *l, const struct rl_quota *q, uint32_t cost,
                    uint64_t used, uint64_t now_ns)
{
	const struct rl_window *w = &l->window;

	return (struct rl_decision){
		.limit = q->capacity,
		.remaining = used < q->capacity ? q->capacity - (uint32_t)used : 0,
		.admits = used + cost <= q->capacity,
		.reset_at_ns = (rl_window_epoch(w, now_ns) + w->count + 1) * w->width_ns,
	};
}

/*
 * Of a limit of a cluster: what this host may have of it now, at a view's share. A decision is by that in
 * place of the capacity, and tells the capacity as its limit, or this where it is more.
 */
uint32_t rl_limiter_lent(const struct rl_limiter *limiter, const struct rl_quota *quota,
                         const struct rl_view *view);

/*
 * What the share of a word is worth, and what is admitted beside it; at most `most`. A share above that is of a key to
 * which the store gives more than the rule does: all of it counts, and nothing beside it.
 */
static inline uint32_t
rl_limiter_lent_by(const struct rl_quota *q, struct rl_u128 word, uint32_t most)
{
	bool has_share = q->has_lease || q->lent.away == RL_LENT_KEEP;
	uint64_t worth = has_share ? rl_share_of(word) : q->lent.away;

	if (has_share && worth > most)
		return (uint32_t)worth;
	worth += q->lent.blind;
	return worth < most ? (uint32_t)worth : most;
}

/* rl_limiter_adds() of it. */
static inline __attribute__((always_inline)) bool
rl_limiter_lent_adds(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v,
                     uint32_t cost, uint64_t now_ns, struct rl_plan *p)
{
	const struct rl_window *w = &l->window;
	uint32_t lent, gone = 0;
	uint64_t epoch, used;

	if (v->is_zero || !rl_limiter_has_window(l))
		return false;
	lent = rl_limiter_lent_by(q, v->word, q->capacity);
	epoch = rl_window_epoch(w, now_ns);
	if (!rl_share_window_adds(v->word, epoch, lent, cost, &p->next, &used))
		return false;
	if (w->count == 1 && !w->is_hard) /* as rl_window_left() */
		gone = rl_window_share_gone(w, (uint32_t)(v->word.hi >> RL_STATE_SUM_SHIFT),
		                            now_ns - epoch * w->width_ns);
	p->charge_id = epoch;
	p->memory = 0;
	p->decision.limit = lent > q->capacity ? lent : q->capacity;
	p->decision.remaining = lent - (uint32_t)used - cost + gone;
	p->decision.beyond = lent - p->decision.limit;
	p->decision.reset_at_ns = (epoch + w->count + 1) * w->width_ns;
	p->decision.delay_ns = 0;
	return true;
}

/* Its count at now_ns: never less than an admission at that time or later sees. */
uint32_t rl_limiter_load(const struct rl_limiter *limiter, const struct rl_quota *quota,
                         const struct rl_view *view, uint64_t now_ns);

/*
 * Its word with another share, and what counts as it was; of a view that is zero, one that counts nothing.
 * False: there is nothing to write. now_ns was read before the CAS, and after an answer that it raises to.
 */
bool rl_limiter_lend(const struct rl_limiter *limiter, const struct rl_quota *quota,
                     const struct rl_view *view, uint32_t share, uint64_t now_ns,
                     struct rl_u128 *next);

/* A view as one of a limit of this host alone, and the other way round, with no share. Buckets stay. */
struct rl_view rl_limiter_view_alone(const struct rl_limiter *limiter, const struct rl_view *view);
struct rl_u128 rl_limiter_word_of(const struct rl_limiter *limiter, struct rl_u128 alone);

/* A word that is no older incarnation's, and counts nothing. */
struct rl_u128 rl_limiter_nothing(const struct rl_limiter *limiter, uint64_t now_ns,
                                  uint64_t slot_bits);

/* The i-th entry that closing `view` stores: which place of the ring, and what. */
void rl_limiter_entry(const struct rl_limiter *limiter, const struct rl_view *view, uint32_t i,
                      uint32_t *place, uint64_t *value);

/* retry_at_ns is meaningful for a cost of 1..limit that is not admitted now; cost may be 0. */
void rl_limiter_peek(const struct rl_limiter *limiter, const struct rl_quota *quota,
                     const struct rl_view *view, uint32_t cost, uint64_t now_ns,
                     struct rl_decision *decision);

/* True if what was read of the ring with state `seen` still holds with state `now`. */
bool rl_limiter_same_ring(const struct rl_limiter *limiter, struct rl_u128 seen,
                          struct rl_u128 now);

/* The timestamp from which the state counts nothing. Not for a zero view. */
uint64_t rl_limiter_idle_at(const struct rl_limiter *limiter, struct rl_u128 word);

/* The state with a charge given back, or false if that is too late. */
bool rl_limiter_refund(const struct rl_limiter *limiter, const struct rl_quota *quota,
                       const struct rl_view *view, const struct rl_charge *charge, uint64_t now_ns,
                       struct rl_u128 *next);

/* The state with as much of `cost` given back as is there, of what was charged last; how much. */
uint32_t rl_limiter_refund_newest(const struct rl_limiter *limiter, const struct rl_quota *quota,
                                  const struct rl_view *view, uint32_t cost, uint64_t now_ns,
                                  struct rl_u128 *next);

/* A timestamp as a limiter uses it. */
struct rl_limiter_time {
	uint64_t now_ns;
	struct rl_window_now window; /* windows only */
};

struct rl_limiter_time rl_limiter_time_of(const struct rl_limiter *limiter, uint64_t now_ns);

/* An upper bound of what counts then, by the state alone. */
uint32_t rl_limiter_used_most(const struct rl_limiter *limiter, const struct rl_quota *quota,
                              const struct rl_view *view, const struct rl_limiter_time *time);

/*
 * What counts at now_ns, oldest first; returns how many entries. `history` is of the same timestamp, if it is
 * a window's. `used` is how much of a log, or held; what a bucket has booked ahead counts, too.
 */
size_t rl_limiter_charge_entries(const struct rl_limiter *limiter, const struct rl_quota *quota,
                                 const struct rl_view *view, const struct rl_history *history,
                                 uint32_t used, uint64_t now_ns,
                                 struct rl_charge_entry charges[static RL_CHARGE_ENTRIES_MAX]);

/* The counts of a window's sub-buckets, for people; false for other algorithms. */
bool rl_limiter_history(const struct rl_limiter *limiter, const struct rl_view *view,
                        uint64_t now_ns, struct rl_history *history);

#endif

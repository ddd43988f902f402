/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_OPS_H
#define RL_OPS_H

/*
 * What an algorithm does with a slot's words: one row of functions for each, in its own file; and
 * how a limiter asks its row. All of it is pure but for the ring of the view. To add one: its
 * number in rl.h, its line in rl_algorithms.def, and a file with its row.
 */

#include "algorithm/limiter.h"

/*
 * What a slot counts, as its key's overflow counter counts it, and the other way round: what rows
 * say of overflow counters. See overflow_count.h.
 */

/* Epochs of an overflow counter, and what was counted in the newest and in the one before. */
struct rl_overflow_parts {
	uint64_t epoch;
	uint32_t cur;
	uint32_t sum;
};

static inline uint32_t
rl_overflow_limited(uint64_t count)
{
	return count < RL_CAPACITY_MAX ? (uint32_t)count : RL_CAPACITY_MAX;
}

/* Add what a slot was charged in an epoch to its parts, of which the newest is the first. */
static inline void
rl_overflow_add(struct rl_overflow_parts *p, uint64_t epoch, uint32_t count)
{
	if (epoch == p->epoch)
		p->cur = rl_overflow_limited((uint64_t)p->cur + count);
	else if (epoch + 1 == p->epoch)
		p->sum = rl_overflow_limited((uint64_t)p->sum + count);
}

/*
 * A slot that was brought on within an epoch, and counts nothing there, has forgotten what counted
 * before that: nothing may be counted there as if it were earlier. So its overflow counter is open
 * in that epoch.
 */
static inline void
rl_overflow_open_epoch(struct rl_overflow_parts *p, bool is_within)
{
	if (is_within && p->cur == 0)
		p->cur = 1;
}

#define RL_UNDAMAGED RL_FAULTS /* no fault is found */

struct rl_algorithm_ops {
	/* The largest cost that is ever admitted at once. Not asked where it is the capacity. */
	uint32_t (*limit)(const struct rl_limiter *l, const struct rl_quota *q);
	/*
	 * For 1 <= cost <= limit. Unless `is_asked`, the plan says what to do and no more: of a
	 * denial the decision is not set. Before, it has its limit, and nothing else; and so has
	 * the next one's. NULL: its limit is 0.
	 */
	void (*decide)(const struct rl_ask *a, struct rl_plan *p);
	/* retry_at_ns is meaningful for a cost of 1..limit that is not admitted; it may be 0. */
	void (*peek)(const struct rl_ask *a, struct rl_decision *d);
	/* The step that gives back the cost, of that charge. NULL: it is always too late. */
	enum rl_back_step (*refund)(const struct rl_ask *a, const struct rl_charge *charge,
	                            struct rl_back *back);
	/* The step that makes the sum what the ring has. NULL: none is needed. */
	enum rl_back_step (*sum_up)(const struct rl_ask *a, struct rl_back *back);
	/*
	 * The state with as much of the cost given back as is there, of what was charged last; how
	 * much. NULL: nothing.
	 */
	uint32_t (*refund_newest)(const struct rl_ask *a, struct rl_u128 *next);
	/* The timestamp from which the state counts nothing. Not for a zero view. */
	uint64_t (*idle_at)(const struct rl_limiter *l, struct rl_u128 word);
	/*
	 * An upper bound of what counts then, by the state alone, of a view that is not zero; `now`
	 * is the same time as a window of this host has it. NULL: as load,
	 */
	uint32_t (*used_most)(const struct rl_ask *a, const struct rl_window_now *now);
	/* A word that is no older incarnation's, and counts nothing. */
	struct rl_u128 (*nothing)(const struct rl_limiter *l, uint64_t now_ns, uint64_t slot_bits);
	/*
	 * What counts, oldest first; returns how many entries. `h` is of the same time, if it is a
	 * window's. `used` is how much of a log, or held; what a bucket has booked ahead counts,
	 * too. NULL: nothing does.
	 */
	size_t (*entries)(const struct rl_ask *a, const struct rl_history *h, uint32_t used,
	                  struct rl_charge_entry *entry);

	/* The counts of its sub-buckets, for people. NULL: it has none. */
	bool (*history)(const struct rl_ask *a, struct rl_history *h);
	/*
	 * The i-th entry that closing a view stores: which place of the ring, and what. NULL: none
	 * is stored.
	 */
	void (*entry)(const struct rl_limiter *l, const struct rl_view *v, uint32_t i,
	              uint32_t *place, uint64_t *value);
	/*
	 * Does what was read of the ring with state `seen` still hold with state `now`? NULL: as
	 * long as the word does.
	 */
	bool (*same_ring)(struct rl_u128 seen, struct rl_u128 now);
	/* What counts: never less than an admission then or later sees. NULL: as used_most. */
	uint32_t (*load)(const struct rl_ask *a);

	/*
	 * Of a cluster; NULL: it cannot be a cluster's. And how the share stands beside its count:
	 * share.c.
	 */
	const struct rl_algorithm_ops *shared;
	struct rl_u128 (*without_share)(struct rl_u128 word);
	struct rl_u128 (*with_share)(struct rl_u128 word, uint64_t share_bits);

	/* Does its word have room beside a share? NULL: no; `limit` is complete. */
	bool (*fits_share)(const struct rl_limit *limit);
	/*
	 * Is a view that is not zero what its algorithm's steps make? NULL: its word is all there
	 * is.
	 */
	enum rl_fault (*judge)(const struct rl_limiter *l, const struct rl_view *v,
	                       uint32_t holders);

	/*
	 * Of keys that have no slot: what a view that is not zero, and has no share, counts in its
	 * overflow counter's epochs; and the word that begins with what an overflow counter counts.
	 * NULL: it has no overflow counters, or a bucket's, which have the same word.
	 */
	struct rl_overflow_parts (*overflow_parts)(const struct rl_limiter *l,
	                                           const struct rl_limiter *overflow,
	                                           const struct rl_view *v);
	struct rl_u128 (*of_overflow)(const struct rl_limiter *l, const struct rl_limiter *overflow,
	                              const struct rl_overflow_parts *p, uint64_t now_ns,
	                              uint64_t slot_bits);

	bool is_window;         /* so rl_adds() knows it; */
	bool is_anchored;       /* it does of this, too */
	bool is_held;           /* its units have holders: holder/units.h */
	bool limit_is_capacity; /* `limit` need not be asked */
	bool counts_denied;     /* it can */
	bool overflow_is_alike; /* an overflow counter is a window of its own kind, and not a
	                           sliding one */
};

/* Of an algorithm that there is. */
const struct rl_algorithm_ops *rl_ops_of(enum rl_algorithm algorithm);

#define ALGORITHM(number, row, ...) extern const struct rl_algorithm_ops row;
#define UNNAMED ALGORITHM
#include "algorithm/rl_algorithms.def"
#undef UNNAMED
#undef ALGORITHM

/* A cluster's: around an algorithm's own row; and a bucket's, which has words of its own. */
extern const struct rl_algorithm_ops rl_share_ops, rl_share_bucket_ops;

/*
 * What several rows have: entries of a history, or of one number; a word that counts nothing; the
 * time of it.
 */
size_t rl_entries_of_history(const struct rl_ask *a, const struct rl_history *h, uint32_t used,
                             struct rl_charge_entry *entry);
size_t rl_entries_of_used(const struct rl_ask *a, const struct rl_history *h, uint32_t used,
                          struct rl_charge_entry *entry);
uint64_t rl_idle_at_of_time(const struct rl_limiter *l, struct rl_u128 word);
struct rl_u128 rl_nothing_but_one(const struct rl_limiter *l, uint64_t now_ns, uint64_t slot_bits);

/*
 * As people are told: the capacity is that of all hosts, or what is lent; what is not lent here is
 * not used here.
 */
static inline void
rl_share_fill(uint32_t limit, uint32_t worth, struct rl_decision *d)
{
	d->limit = worth > limit ? worth : limit;
	d->beyond += worth - d->limit;
}

/* A bucket's word with another share, to which what it owes is scaled; how long it fills. */
struct rl_u128 rl_share_bucket_scaled(const struct rl_ask *a, struct rl_u128 word);
uint64_t rl_share_bucket_fill_ns(const struct rl_limiter *l, const struct rl_quota *q);

static inline uint32_t
rl_limiter_limit(const struct rl_limiter *l, const struct rl_quota *q)
{
	if (l->limit_is_capacity)
		return q->capacity;
	if (rl_limiter_is_bucket(l) && rl_limiter_has_rate(l, q))
		return q->rate.size;
	return l->ops->limit(l, q);
}

static inline void
rl_limiter_decide(const struct rl_ask *a, struct rl_plan *p)
{
	p->decision = (struct rl_decision){.limit = rl_limiter_limit(a->l, a->q)};
	a->l->ops->decide(a, p);
}

static inline void
rl_limiter_peek(const struct rl_ask *a, struct rl_decision *d)
{
	*d = (struct rl_decision){.limit = rl_limiter_limit(a->l, a->q)};
	a->l->ops->peek(a, d);
}

static inline bool
rl_limiter_same_ring(const struct rl_limiter *l, struct rl_u128 seen, struct rl_u128 now)
{
	const struct rl_algorithm_ops *own = l->own;

	return own->same_ring ? own->same_ring(seen, now) : rl_u128_equal(seen, now);
}

static inline struct rl_window_now
rl_limiter_now(const struct rl_limiter *l, uint64_t now_ns)
{
	return rl_limiter_has_window(l) ? rl_window_now(&l->window, now_ns)
	                                : (struct rl_window_now){0};
}

/* `now` is of the same time. */
static inline uint32_t
rl_limiter_used_most(const struct rl_ask *a, const struct rl_window_now *now)
{
	if (a->v->is_zero)
		return 0;
	return a->l->ops->used_most ? a->l->ops->used_most(a, now) : a->l->ops->load(a);
}

uint32_t rl_limiter_load(const struct rl_ask *a);

/* What is told of a limiter's row without a look there. */
static inline void
rl_limiter_use(struct rl_limiter *l, const struct rl_algorithm_ops *ops)
{
	l->ops = ops;
	l->is_window = ops->is_window;
	l->limit_is_capacity = ops->limit_is_capacity;
	l->counts_denied = ops->counts_denied;
	l->is_anchored = ops->is_anchored;
	l->is_held = ops->is_held;
}

/*
 * What is counted above the capacity: a debt, what was denied and counts, or what a higher one
 * admitted. No word can count more than RL_CAPACITY_MAX, unless it is damaged.
 */
static inline uint32_t
rl_beyond(const struct rl_quota *q, uint64_t used)
{
	used = used < RL_CAPACITY_MAX ? used : RL_CAPACITY_MAX;
	return used > q->capacity ? (uint32_t)used - q->capacity : 0;
}

#endif

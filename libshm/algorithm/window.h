/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_WINDOW_H
#define RL_WINDOW_H

/*
 * The arithmetic of sliding and fixed windows: (shape, state, ring, now, cost) -> what to
 * do next. No clock; of memory only the ring is read; integers only.
 *
 * A window is `count` closed sub-buckets and the current one. Time t lies in sub-bucket
 * E = t / width. What counts at t:
 *
 *	     E-n       E-n+1    ...     E-1        E
 *	+----------+----------+-----+----------+----------+
 *	|  oldest  |          |     |          |  cur   t |
 *	+----------+----------+-----+----------+----------+
 *	 by its      \______ in full ______/
 *	 remaining
 *	 share; `hard`: in full                  n = count
 *
 * The state word holds cur and the sum of all closed ones, oldest included, so a request
 * in the same sub-bucket needs no loop and no ring. fixed_window is n = 0.
 *
 * When time has moved on to E > epoch (k = E - epoch):
 *	k > n    nothing counts any more: start from zero
 *	n = 1    sum becomes cur: one CAS
 *	n > 1    freeze: jump = k, so that cur can no longer change, and sum less what leaves;
 *	         store: ring[epoch] = cur, ring[epoch+1 .. epoch+jump-1] = 0;
 *	         close: one CAS to { epoch + jump, sum + cur }
 * Anyone may do the next step for anyone. Why no step can go wrong is in ring.h.
 */

#include <stdbool.h>
#include <stdint.h>

#include "rl.h"
#include "shared/layout.h"
#include "shared/lesser.h"

/* A rule's shape as the arithmetic wants it. */
struct rl_window {
	uint64_t width_ns; /* of a sub-bucket */
	uint64_t inverse;  /* 2^64 - 1 divided by it */
	uint32_t count;    /* n: closed sub-buckets that count; 0 for fixed_window */
	uint64_t count_inverse;
	bool is_hard;
};

/* A state word, unpacked, made sane for its window. */
struct rl_state {
	uint64_t epoch;
	uint32_t cur;
	uint32_t sum;
	uint32_t span;
	uint32_t jump;
};

enum rl_step {
	RL_STEP_DENY,  /* nothing to write */
	RL_STEP_COUNT, /* CAS to next: denied, and counted all the same */
	RL_STEP_ADMIT, /* CAS to next: charged */
	RL_STEP_ROLL,  /* CAS to frozen, and then as the next one from there */
	RL_STEP_CLOSE, /* store the ring, CAS to next; charged if `charges`, else decide again */
	RL_STEP_HOLD,  /* of a concurrency limit: see holder/units.h */
};

struct rl_move {
	enum rl_step step;
	bool charges;
	uint32_t entries; /* RL_STEP_ROLL, RL_STEP_CLOSE: the jump of the frozen state, so many are
	                     stored */
	uint32_t stays;   /* RL_STEP_ROLL: and its sum */
	struct rl_state next;
};

/*
 * A counter as a request at some time sees it. What it asks of the ring is read when it is asked,
 * oldest first, and no more than the answer takes: whoever is denied at a rate far above the limit
 * need not wait for all of it to leave. So the caller has to make sure afterwards that the ring
 * is the state's still.
 */
struct rl_window_at {
	const struct rl_window *window;
	const struct rl_state *state; /* NULL: nothing of it counts, or there is none */
	const uint64_t *ring;         /* `count` entries, which others may be changing */
	uint64_t start_ns;            /* of `epoch` */
	uint64_t now_ns;              /* not before it */
	uint64_t epoch;               /* the sub-bucket that the request is counted in */
	uint8_t gen;
};

/* The count at that time. */
struct rl_window_used {
	uint64_t all;    /* the oldest sub-bucket in full */
	uint32_t oldest; /* that one */
	uint64_t used;   /* it by its share */
};

/* Every sub-bucket that counts, newest first, for people. */
struct rl_history {
	uint32_t buckets;
	uint64_t width_ns; /* of each */
	uint64_t start_ns; /* of bucket[0] */
	uint64_t end_ns;   /* of it */
	uint32_t bucket[RL_GRANULARITY_MAX + 1];
};

/* For the two algorithms that are windows; granularity >= 1. */
struct rl_window rl_window_make(enum rl_algorithm algorithm, uint64_t window_ns,
                                uint32_t granularity, bool is_hard);

/* The same by its parts. */
struct rl_window rl_window_of(uint64_t width_ns, uint32_t count, bool is_hard);

/*
 * x / by without a division. With inverse = (2^64 - 1) / by, rounded down, the product's high half
 * is the quotient or one less: inverse is short of 2^64 / by by at most 1, so the product is
 * short of 2^64 * x / by by less than 2^64.
 */
static inline uint64_t
rl_quotient(uint64_t x, uint64_t by, uint64_t inverse)
{
	uint64_t q = (uint64_t)(((unsigned __int128)x * inverse) >> 64);

	return x - q * by >= by ? q + 1 : q;
}

/* The sub-bucket of a time; more widely, how many widths are in `ns`. */
static inline uint64_t
rl_window_epoch(const struct rl_window *w, uint64_t ns)
{
	return rl_quotient(ns, w->width_ns, w->inverse);
}

/* Where the ring has a sub-bucket; only with a count. */
static inline uint32_t
rl_window_place(const struct rl_window *w, uint64_t epoch)
{
	return (uint32_t)(epoch - rl_quotient(epoch, w->count, w->count_inverse) * w->count);
}

/* The share of `count` that has left with the `elapsed` part of a width, rounded down. */
static inline uint32_t
rl_window_share_gone(const struct rl_window *w, uint32_t count, uint64_t elapsed)
{
	uint64_t product;

	if (!__builtin_mul_overflow((uint64_t)count, elapsed, &product))
		return (uint32_t)rl_window_epoch(w, product);
	return (uint32_t)((unsigned __int128)count * elapsed / w->width_ns);
}

/* Where the state word has what: see layout.h. */
#define RL_STATE_EPOCH_HIGH_SHIFT 12
#define RL_STATE_EPOCH_HIGH_MASK UINT64_C(0x3ff)
#define RL_STATE_CUR_SHIFT RL_STATE_EPOCH_BITS
#define RL_STATE_SUM_SHIFT 36
#define RL_STATE_SPAN_SHIFT 29
#define RL_STATE_JUMP_SHIFT 22
#define RL_STATE_STEPS_MASK UINT64_C(0x7f) /* span and jump */

/* Part of every decision, as is packing: inline. */
static inline struct rl_state
rl_state_unpack(struct rl_u128 word, const struct rl_window *w)
{
	uint32_t span = (uint32_t)(word.hi >> RL_STATE_SPAN_SHIFT & RL_STATE_STEPS_MASK);
	uint32_t jump = (uint32_t)(word.hi >> RL_STATE_JUMP_SHIFT & RL_STATE_STEPS_MASK);
	uint64_t high = word.hi >> RL_STATE_EPOCH_HIGH_SHIFT & RL_STATE_EPOCH_HIGH_MASK;

	return (struct rl_state){
		.epoch = (word.lo & RL_STATE_EPOCH_MASK) | high << RL_STATE_EPOCH_BITS,
		.cur = (uint32_t)(word.lo >> RL_STATE_CUR_SHIFT),
		.sum = (uint32_t)(word.hi >> RL_STATE_SUM_SHIFT),
		.span = span < w->count ? span : w->count,
		.jump = jump < w->count ? jump : w->count,
	};
}

static inline struct rl_u128
rl_state_pack(struct rl_state s, uint64_t slot_bits)
{
	uint64_t high = s.epoch >> RL_STATE_EPOCH_BITS & RL_STATE_EPOCH_HIGH_MASK;

	return (struct rl_u128){
		.lo = (s.epoch & RL_STATE_EPOCH_MASK) | (uint64_t)s.cur << RL_STATE_CUR_SHIFT,
		.hi = (uint64_t)s.sum << RL_STATE_SUM_SHIFT |
	              (uint64_t)s.span << RL_STATE_SPAN_SHIFT |
	              (uint64_t)s.jump << RL_STATE_JUMP_SHIFT | high << RL_STATE_EPOCH_HIGH_SHIFT |
	              slot_bits,
	};
}

/* The same state, frozen. */
static inline struct rl_u128
rl_state_freeze(struct rl_u128 open, uint32_t jump, uint32_t sum)
{
	open.hi &= (UINT64_C(1) << RL_STATE_SUM_SHIFT) - 1;
	open.hi |= (uint64_t)sum << RL_STATE_SUM_SHIFT | (uint64_t)jump << RL_STATE_JUMP_SHIFT;
	return open;
}

uint64_t rl_ring_entry(uint64_t epoch, uint32_t count, uint8_t gen);
uint32_t rl_ring_count(uint64_t entry, uint64_t epoch, uint8_t gen); /* 0 if not that one */

/* `state` is NULL for a key that has none yet. */
struct rl_window_at rl_window_at(const struct rl_window *window, const struct rl_state *state,
                                 const uint64_t *ring, uint8_t gen, uint64_t now_ns);

/*
 * What to do with a request of `cost`, 1 <= cost <= capacity. RL_STEP_DENY has filled *used, on
 * which it rests.
 */
void rl_window_decide(const struct rl_window_at *at, uint32_t capacity, uint32_t cost,
                      struct rl_window_used *used, struct rl_move *move);

struct rl_window_used rl_window_count(const struct rl_window_at *at);

/* A state that was frozen with that jump and that sum, once it is closed and nothing charged. */
struct rl_state rl_window_closed(const struct rl_window *window, const struct rl_state *state,
                                 uint32_t jump, uint32_t stays);

/* What the ring has of the closed sub-buckets that a state's sum has; with a count of 2 or more. */
uint64_t rl_window_ring_sum(const struct rl_window *window, const struct rl_state *state,
                            const uint64_t *ring, uint8_t gen);

/* The largest cost that `capacity` admits then. */
uint32_t rl_window_remaining(const struct rl_window_used *used, uint32_t capacity);

/*
 * The first timestamp at which `cost` <= capacity, which is denied, is admitted, no one else
 * asking.
 */
uint64_t rl_window_retry_at(const struct rl_window_at *at, const struct rl_window_used *used,
                            uint32_t capacity, uint32_t cost);

/* The first timestamp at which nothing counts; 0 if nothing does then. */
uint64_t rl_window_reset_at(const struct rl_window_at *at);

void rl_window_history(const struct rl_window_at *at, struct rl_history *history);

/*
 * The commonest case of rl_window_decide(), on the words: the state is open, `epoch` is its
 * sub-bucket, and counting everything in full admits. Then a charge is an addition to cur. False
 * for all else. *used is what counted before.
 */
static inline __attribute__((always_inline)) bool
rl_window_adds(struct rl_u128 word, uint64_t epoch, uint32_t capacity, uint32_t cost,
               struct rl_u128 *next, uint64_t *used)
{
	const uint64_t moves = RL_STATE_STEPS_MASK << RL_STATE_JUMP_SHIFT |
	                       RL_STATE_EPOCH_HIGH_MASK << RL_STATE_EPOCH_HIGH_SHIFT;
	uint64_t high = epoch >> RL_STATE_EPOCH_BITS << RL_STATE_EPOCH_HIGH_SHIFT;

	*used = (word.lo >> RL_STATE_CUR_SHIFT) + (word.hi >> RL_STATE_SUM_SHIFT);
	next->lo = word.lo + ((uint64_t)cost << RL_STATE_CUR_SHIFT);
	next->hi = word.hi;
	return (word.lo & RL_STATE_EPOCH_MASK) == (epoch & RL_STATE_EPOCH_MASK) &&
	       (word.hi & moves) == high && *used + cost <= capacity;
}

/*
 * The commonest denial, without a look at the ring: what was admitted in the state's own
 * sub-bucket, which at `epoch` still counts in full, is all of `capacity`, and nothing else counts.
 * False for all else, a debt among it.
 */
static inline bool
rl_window_is_used_up(const struct rl_window *w, const struct rl_state *s, uint64_t epoch,
                     uint32_t capacity)
{
	uint64_t age = epoch - s->epoch; /* behind the state's: huge */

	return s->jump == 0 && s->sum == 0 && s->cur == capacity &&
	       (age < w->count || (age == w->count && (w->is_hard || w->count == 0)));
}

/* When a state that is used up admits `cost` again, and when nothing counts any more. */
struct rl_window_until {
	uint64_t retry_at_ns;
	uint64_t reset_at_ns;
};

/* Of a state's epoch and cur: words alone, so that the caller's stay in registers. */
struct rl_window_until rl_window_used_up_until(const struct rl_window *window, uint64_t epoch,
                                               uint32_t cur, uint32_t capacity, uint32_t cost);

/*
 * What remains right after a charge that left `state`, without a look at the ring: exact where
 * rl.h promises it, else the oldest sub-bucket counts in full.
 */
uint32_t rl_window_left(const struct rl_window *window, const struct rl_state *state,
                        uint32_t capacity, uint64_t now_ns);

/* One timestamp, as all states of a window use it. */
struct rl_window_now {
	uint64_t epoch;
	uint64_t oldest; /* how much of the oldest sub-bucket counts, in 2^-32, rounded up */
};

#define RL_OLDEST_WHOLE (UINT64_C(1) << 32)

struct rl_window_now rl_window_now(const struct rl_window *window, uint64_t now_ns);

/*
 * At most what counts, frozen or not: without a look at the ring, so of more than one sub-bucket
 * the oldest in full. In line, for a scan does little else.
 */
static inline uint32_t
rl_window_used_most(const struct rl_window *w, struct rl_u128 word, const struct rl_window_now *now)
{
	struct rl_state s = rl_state_unpack(word, w);
	uint64_t oldest = s.sum;

	if (now->epoch > s.epoch + w->count)
		return 0;
	if (w->count != 1 || s.epoch > now->epoch)
		return s.cur + s.sum;
	if (s.epoch < now->epoch) {
		oldest = s.cur;
		s.cur = 0;
	}
	return s.cur + (uint32_t)((oldest * now->oldest + RL_OLDEST_WHOLE - 1) / RL_OLDEST_WHOLE);
}

/* When the newest sub-bucket that can hold anything leaves the window. */
uint64_t rl_window_idle_at(const struct rl_window *window, const struct rl_state *state);

#endif

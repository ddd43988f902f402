/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_ADDS_H
#define RL_ADDS_H

/*
 * The usual charge of a limit whose word counts: an addition to it, without a look at the ring. Part of every decision,
 * so it is inline; the rows of these algorithms begin with it, too.
 */

#include "algorithm/limiter.h"

/* The rest of a plan of a window in its sub-bucket `epoch`, of which so much is left. */
static inline __attribute__((always_inline)) void
rl_adds_plan(const struct rl_window *w, uint64_t epoch, uint32_t limit, uint32_t remaining,
             struct rl_plan *p)
{
	p->step = RL_STEP_ADMIT;
	p->charges = true;
	p->charge_id = epoch;
	p->memory = 0;
	p->decision.limit = limit;
	p->decision.remaining = remaining;
	p->decision.beyond = 0;
	p->decision.reset_at_ns = (epoch + w->count + 1) * w->width_ns;
	p->decision.delay_ns = 0;
}

/* What of the sub-bucket before counts no more: as rl_window_left() says. */
static inline __attribute__((always_inline)) uint32_t
rl_adds_gone(const struct rl_window *w, struct rl_u128 word, uint64_t epoch, uint64_t now_ns)
{
	if (w->count != 1 || w->is_hard)
		return 0;
	return rl_window_share_gone(w, (uint32_t)(word.hi >> RL_STATE_SUM_SHIFT),
	                            now_ns - epoch * w->width_ns);
}

/* A window of this host. False, here and below: nothing was set, ask rl_limiter_decide(). */
static inline __attribute__((always_inline)) bool
rl_adds_to_window(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v,
                  uint32_t cost, uint64_t now_ns, struct rl_plan *p)
{
	const struct rl_window *w = &l->window;
	uint64_t epoch = rl_window_epoch(w, now_ns), used;

	if (v->is_zero || !rl_window_adds(v->word, epoch, q->capacity, cost, &p->next, &used))
		return false;
	rl_adds_plan(w, epoch, q->capacity,
	             q->capacity - (uint32_t)used - cost + rl_adds_gone(w, v->word, epoch, now_ns),
	             p);
	return true;
}

/*
 * What the share of a word is worth, and what is admitted beside it; at most `most`. A share above that is of a key to
 * which the store gives more than the rule does: all of it counts, and nothing beside it.
 */
static inline uint32_t
rl_share_worth(const struct rl_quota *q, struct rl_u128 word, uint32_t most)
{
	bool has_share = q->has_lease || q->lent.away == RL_LENT_KEEP;
	uint64_t worth = has_share ? rl_share_of(word) : q->lent.away;

	if (has_share && worth > most)
		return (uint32_t)worth;
	worth += q->lent.blind;
	return worth < most ? (uint32_t)worth : most;
}

/* A window of a cluster, by what this host may have of it. */
static inline __attribute__((always_inline)) bool
rl_adds_to_share(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v,
                 uint32_t cost, uint64_t now_ns, struct rl_plan *p)
{
	const struct rl_window *w = &l->window;
	uint64_t epoch = rl_window_epoch(w, now_ns), used;
	uint32_t lent = rl_share_worth(q, v->word, q->capacity);

	if (v->is_zero || !rl_share_window_adds(v->word, epoch, lent, cost, &p->next, &used))
		return false;
	rl_adds_plan(w, epoch, lent > q->capacity ? lent : q->capacity,
	             lent - (uint32_t)used - cost + rl_adds_gone(w, v->word, epoch, now_ns), p);
	p->decision.beyond = lent - p->decision.limit;
	return true;
}

/* An anchored window that goes on. */
static inline __attribute__((always_inline)) bool
rl_adds_to_anchored(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v,
                    uint32_t cost, uint64_t now_ns, struct rl_plan *p)
{
	struct rl_anchored a = rl_anchored_unpack(v->word);

	if (v->is_zero || now_ns - a.start_ns >= l->window_ns ||
	    (uint64_t)a.cur + cost > q->capacity)
		return false;
	p->step = RL_STEP_ADMIT;
	p->charges = true;
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

/* Is it one of them? */
static inline bool
rl_adds_knows(const struct rl_limiter *l)
{
	return l->is_window || (l->is_shared ? rl_limiter_has_window(l) : l->is_anchored);
}

/* Any of them; of another algorithm, false. */
static inline __attribute__((always_inline)) bool
rl_adds(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v,
        uint32_t cost, uint64_t now_ns, struct rl_plan *p)
{
	if (__builtin_expect(l->is_window, 1))
		return rl_adds_to_window(l, q, v, cost, now_ns, p);
	if (l->is_shared)
		return rl_limiter_has_window(l) && rl_adds_to_share(l, q, v, cost, now_ns, p);
	return l->is_anchored && rl_adds_to_anchored(l, q, v, cost, now_ns, p);
}

/* The commonest denial: one sub-bucket of a window of this host has used it up. Fills *d if so. */
static inline bool
rl_adds_nothing(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v,
                uint32_t cost, uint64_t now_ns, struct rl_decision *d)
{
	const struct rl_window *w = &l->window;
	struct rl_state s;

	if (v->is_zero || !l->is_window)
		return false;
	s = rl_state_unpack(v->word, w);
	if (!rl_window_is_used_up(w, &s, rl_window_epoch(w, now_ns), q->capacity))
		return false;
	*d = (struct rl_decision){.limit = q->capacity};
	d->retry_at_ns = rl_window_used_up_until(w, &s, q->capacity, cost, &d->reset_at_ns);
	return true;
}

#endif

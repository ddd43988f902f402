/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_ADDS_H
#define RL_ADDS_H

/*
 * The usual charge of a limit whose word counts: an addition to it, without a look at the ring.
 * Part of every decision, so it is inline; the rows of these algorithms begin with it, too.
 */

#include "algorithm/limiter.h"

/*
 * The rest of a plan to charge: of what it remembers, how much is left, and until when it counts.
 */
static inline __attribute__((always_inline)) void
rl_adds_plan(uint64_t charge_id, uint32_t limit, uint32_t remaining, uint64_t reset_at_ns,
             struct rl_plan *p)
{
	p->step = RL_STEP_ADMIT;
	p->charges = true;
	p->charge_id = charge_id;
	p->memory = 0;
	p->decision.limit = limit;
	p->decision.remaining = remaining;
	p->decision.beyond = 0;
	p->decision.reset_at_ns = reset_at_ns;
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
rl_adds_to_window(const struct rl_ask *a, struct rl_plan *p)
{
	const struct rl_window *w = &a->l->window;
	uint64_t epoch = rl_window_epoch(w, a->now_ns), used;
	uint32_t capacity = a->q->capacity;

	if (a->v->is_zero ||
	    __builtin_expect(!rl_window_adds(a->v->word, epoch, capacity, a->cost, &p->next, &used),
	                     0))
		return false;
	rl_adds_plan(epoch, capacity,
	             capacity - (uint32_t)used - a->cost +
	                     rl_adds_gone(w, a->v->word, epoch, a->now_ns),
	             (epoch + w->count + 1) * w->width_ns, p);
	return true;
}

/*
 * What the share of a word is worth, and what is admitted beside it; at most `most`. A share above
 * that is of a key to which the store gives more than the rule does: all of it counts, and nothing
 * beside it.
 */
static inline uint32_t
rl_share_worth(const struct rl_quota *q, struct rl_u128 word, uint32_t most)
{
	bool has_share = q->has_lease || q->share.away == RL_SHARE_KEEP;
	uint64_t worth = has_share ? rl_share_of(word) : q->share.away;

	if (has_share && worth > most)
		return (uint32_t)worth;
	worth += q->share.blind;
	return worth < most ? (uint32_t)worth : most;
}

/* A window of a cluster, by what this host may have of it. */
static inline __attribute__((always_inline)) bool
rl_adds_to_share(const struct rl_ask *a, struct rl_plan *p)
{
	const struct rl_window *w = &a->l->window;
	uint64_t epoch = rl_window_epoch(w, a->now_ns), used;
	uint32_t capacity = a->q->capacity, worth = rl_share_worth(a->q, a->v->word, capacity);

	if (a->v->is_zero ||
	    !rl_share_window_adds(a->v->word, epoch, worth, a->cost, &p->next, &used))
		return false;
	rl_adds_plan(epoch, worth > capacity ? worth : capacity,
	             worth - (uint32_t)used - a->cost +
	                     rl_adds_gone(w, a->v->word, epoch, a->now_ns),
	             (epoch + w->count + 1) * w->width_ns, p);
	p->decision.beyond = worth - p->decision.limit;
	return true;
}

/* An anchored window that goes on. */
static inline __attribute__((always_inline)) bool
rl_adds_to_anchored(const struct rl_ask *a, struct rl_plan *p)
{
	struct rl_anchored at = rl_anchored_unpack(a->v->word);
	uint32_t capacity = a->q->capacity;

	if (a->v->is_zero || a->now_ns - at.start_ns >= a->l->window_ns ||
	    (uint64_t)at.cur + a->cost > capacity)
		return false;
	p->next = a->v->word;
	p->next.lo += (uint64_t)a->cost << RL_STATE_EPOCH_BITS;
	rl_adds_plan(at.start_ns, capacity, capacity - at.cur - a->cost,
	             rl_anchored_end(at, a->l->window_ns), p);
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
rl_adds(const struct rl_ask *a, struct rl_plan *p)
{
	if (__builtin_expect(a->l->is_window, 1))
		return rl_adds_to_window(a, p);
	if (a->l->is_shared)
		return rl_limiter_has_window(a->l) && rl_adds_to_share(a, p);
	return a->l->is_anchored && rl_adds_to_anchored(a, p);
}

/*
 * The commonest denial: one sub-bucket of a window of this host has used it up, and no more than
 * that counts. Fills *d if so.
 */
static inline __attribute__((always_inline)) bool
rl_adds_nothing(const struct rl_ask *a, struct rl_decision *d)
{
	const struct rl_window *w = &a->l->window;
	struct rl_window_until until;
	struct rl_state s;

	if (a->v->is_zero || !a->l->is_window ||
	    (uint32_t)(a->v->word.lo >> RL_STATE_CUR_SHIFT) != a->q->capacity)
		return false;
	s = rl_state_unpack(a->v->word, w);
	if (!rl_window_is_used_up(w, &s, rl_window_epoch(w, a->now_ns), a->q->capacity))
		return false;
	*d = (struct rl_decision){.limit = a->q->capacity};
	until = rl_window_used_up_until(w, s.epoch, s.cur, a->q->capacity, a->cost);
	d->retry_at_ns = until.retry_at_ns;
	d->reset_at_ns = until.reset_at_ns;
	return true;
}

static inline __attribute__((always_inline)) void
rl_adds_report_level(const struct rl_level *level, uint32_t remaining, uint64_t now_ns,
                     struct rl_decision *d)
{
	uint64_t full_at = rl_gcra_full_at(level);

	d->remaining = remaining;
	d->reset_at_ns = full_at > now_ns ? full_at : 0;
}

/* What is owed beyond the burst, of a bucket that is not told to have any tokens. */
static inline __attribute__((always_inline)) void
rl_adds_report_debt(const struct rl_gcra *g, const struct rl_level *level, uint64_t now_ns,
                    struct rl_decision *d)
{
	rl_wide lacks = rl_gcra_shortage(g, level, now_ns), burst = rl_gcra_time(g, g->burst);

	d->beyond = lacks > burst ? rl_gcra_debt(g, lacks - burst) : 0;
}

/*
 * How long a charge that found a bucket at `before`, and left it at `after`, has to wait: for those
 * before it, not for itself.
 */
static inline __attribute__((always_inline)) uint64_t
rl_adds_delay(const struct rl_ask *a, const struct rl_gcra *g, const struct rl_level *before,
              const struct rl_level *after)
{
	uint64_t wait = g->wait_ns > 0 ? rl_gcra_wait(g, after, a->now_ns, g->burst) : 0;
	uint64_t queue = a->l->algorithm == RL_LEAKY_BUCKET
	                         ? rl_gcra_wait(g, before, a->now_ns, a->q->undelayed)
	                         : 0;

	return queue > wait ? queue : wait;
}

/* Take tokens of a bucket that is at *level. */
static inline __attribute__((always_inline)) bool
rl_adds_to_level(const struct rl_ask *a, const struct rl_gcra *g, const struct rl_level *level,
                 struct rl_plan *p)
{
	struct rl_gcra_charge charge;

	if (!rl_gcra_take(g, level, a->now_ns, a->cost, &charge))
		return false;
	p->next = rl_gcra_pack(g, &charge.after, a->v->slot_bits);
	rl_adds_plan(charge.after.ns, g->burst, charge.remaining, rl_gcra_full_at(&charge.after),
	             p);
	p->memory = charge.memory;
	p->decision.delay_ns = rl_adds_delay(a, g, level, &charge.after);
	return true;
}

/* A bucket as its rule has it. */
static inline __attribute__((always_inline)) bool
rl_adds_to_bucket(const struct rl_ask *a, struct rl_plan *p)
{
	const struct rl_gcra g = rl_gcra_of(a->l->window_ns, &a->l->divisor, &a->q->rate);
	const struct rl_level level = rl_gcra_unpack(&g, a->v->word);

	return !a->v->is_zero && rl_adds_to_level(a, &g, &level, p);
}

/* A bucket that lacks tokens for `cost`, and could have them. */
static inline __attribute__((always_inline)) void
rl_adds_deny_level(const struct rl_ask *a, const struct rl_gcra *g, const struct rl_level *level,
                   struct rl_decision *d)
{
	bool has_none =
		a->cost == 1 && g->most == g->burst; /* not one token, or it were admitted */

	rl_adds_report_level(level, has_none ? 0 : rl_gcra_remaining(g, level, a->now_ns),
	                     a->now_ns, d);
	rl_adds_report_debt(g, level, a->now_ns, d);
	d->retry_at_ns = rl_gcra_retry_at(g, level, a->cost);
}

/*
 * A bucket as its rule has it, to which rl_adds_to_bucket() did not add: false, if `cost` never is
 * added, or was not asked.
 */
static inline __attribute__((always_inline)) bool
rl_adds_nothing_to_bucket(const struct rl_ask *a, struct rl_decision *d)
{
	const struct rl_gcra g = rl_gcra_of(a->l->window_ns, &a->l->divisor, &a->q->rate);
	const struct rl_level level = rl_gcra_unpack(&g, a->v->word);

	if (a->v->is_zero || a->cost > g.burst)
		return false;
	*d = (struct rl_decision){.limit = g.burst};
	rl_adds_deny_level(a, &g, &level, d);
	return true;
}

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
/* Anchored windows, whose arithmetic is anchored.h's. */

#include "algorithm/adds.h"
#include "algorithm/ops.h"

/* The view's window, as the request finds it. */
static struct rl_anchored
anchored_at(const struct rl_ask *a)
{
	if (a->v->is_zero)
		return (struct rl_anchored){a->now_ns, 0};
	return rl_anchored_at(rl_anchored_unpack(a->v->word), a->l->window_ns, a->now_ns);
}

/* One from which all was given back goes on, too; one that begins now is none yet. */
static void
fill_anchored(const struct rl_ask *a, struct rl_anchored at, struct rl_decision *d)
{
	d->remaining = at.cur < a->q->capacity ? a->q->capacity - at.cur : 0;
	d->beyond = rl_beyond(a->q, at.cur);
	d->retry_at_ns = rl_anchored_end(at, a->l->window_ns);
	d->reset_at_ns = at.cur > 0 || at.start_ns < a->now_ns ? d->retry_at_ns : 0;
}

static void
peek_anchored(const struct rl_ask *a, struct rl_decision *d)
{
	fill_anchored(a, anchored_at(a), d);
	d->admits = a->cost <= d->remaining;
}

static void
decide_anchored(const struct rl_ask *a, struct rl_plan *p)
{
	struct rl_anchored at, after;

	if (rl_adds_to_anchored(a, p))
		return;
	at = anchored_at(a);
	after = rl_anchored_add(at, a->cost);
	p->charges = (uint64_t)at.cur + a->cost <= a->q->capacity;
	p->step = p->charges                             ? RL_STEP_ADMIT
	          : rl_limiter_counts_denied(a->l, a->q) ? RL_STEP_COUNT
	                                                 : RL_STEP_DENY;
	p->next = rl_anchored_pack(after, a->v->slot_bits);
	p->charge_id = at.start_ns;
	p->memory = 0;
	fill_anchored(a, p->step == RL_STEP_DENY ? at : after, &p->decision);
}

static enum rl_back_step
refund_anchored(const struct rl_ask *a, const struct rl_charge *charge, struct rl_back *back)
{
	struct rl_anchored at = rl_anchored_unpack(a->v->word);

	if (at.start_ns != charge->epoch || at.cur < a->cost)
		return RL_BACK_LATE;
	at.cur -= a->cost;
	back->given = a->cost;
	back->next = rl_anchored_pack(at, a->v->slot_bits);
	return RL_BACK_WORD;
}

static uint32_t
refund_newest_of_anchored(const struct rl_ask *a, struct rl_u128 *next)
{
	struct rl_anchored at = anchored_at(a);
	uint32_t given = rl_lesser(a->cost, at.cur);

	at.cur -= given;
	*next = rl_anchored_pack(at, a->v->slot_bits);
	return given;
}

static uint64_t
idle_at_of_anchored(const struct rl_limiter *l, struct rl_u128 word)
{
	return rl_anchored_end(rl_anchored_unpack(word), l->window_ns);
}

static uint32_t
used_most_of_anchored(const struct rl_ask *a, const struct rl_window_now *now)
{
	(void)now;
	return anchored_at(a).cur;
}

static struct rl_u128
nothing_of_anchored(const struct rl_limiter *l, uint64_t now_ns, uint64_t slot_bits)
{
	(void)l;
	return rl_anchored_pack((struct rl_anchored){.start_ns = now_ns}, slot_bits);
}

/* One sub-bucket, which is the window. */
static bool
history_of_anchored(const struct rl_ask *a, struct rl_history *h)
{
	struct rl_anchored at = anchored_at(a);

	h->buckets = 1;
	h->width_ns = a->l->window_ns;
	h->end_ns = rl_anchored_end(at, a->l->window_ns);
	h->start_ns = at.start_ns;
	h->bucket[0] = at.cur;
	return true;
}

/* Its count ends with its window, so it is counted where the window began. */
static struct rl_overflow_parts
overflow_parts_of_anchored(const struct rl_limiter *l, const struct rl_limiter *overflow,
                           const struct rl_view *v)
{
	struct rl_anchored a = rl_anchored_unpack(v->word);

	(void)l;
	return (struct rl_overflow_parts){.epoch = rl_window_epoch(&overflow->window, a.start_ns),
	                                  .cur = a.cur};
}

/*
 * No earlier than now: an end sooner than a window from now would let three windows meet one span.
 */
static struct rl_u128
anchored_of_overflow(const struct rl_limiter *l, const struct rl_limiter *overflow,
                     const struct rl_overflow_parts *p, uint64_t now_ns, uint64_t slot_bits)
{
	bool is_later = p->cur > 0 && overflow->window_ns != RL_NEVER_NS;
	uint64_t start_ns = (is_later ? p->epoch + 1 : p->epoch) * overflow->window.width_ns;

	(void)l;
	return rl_anchored_pack(
		(struct rl_anchored){.start_ns = start_ns > now_ns ? start_ns : now_ns,
	                             .cur = rl_overflow_limited((uint64_t)p->cur + p->sum)},
		slot_bits);
}

const struct rl_algorithm_ops rl_anchored_window_ops = {
	.decide = decide_anchored,
	.peek = peek_anchored,
	.refund = refund_anchored,
	.refund_newest = refund_newest_of_anchored,
	.idle_at = idle_at_of_anchored,
	.used_most = used_most_of_anchored,
	.nothing = nothing_of_anchored,
	.entries = rl_entries_of_history,
	.history = history_of_anchored,
	.overflow_parts = overflow_parts_of_anchored,
	.of_overflow = anchored_of_overflow,
	.is_anchored = true,
	.limit_is_capacity = true,
	.counts_denied = true,
};

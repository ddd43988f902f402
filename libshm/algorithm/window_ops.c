/* SPDX-License-Identifier: BSD-2-Clause */
/* Sliding and fixed windows, whose arithmetic is window.c's. */
#include "algorithm/adds.h"
#include "algorithm/ops.h"
#include "algorithm/window_refund.h"

/* The view of a window's word, in *space. */
static struct rl_window_at
window_at(const struct rl_ask *a, struct rl_state *space)
{
	const struct rl_view *v = a->v;

	*space = rl_state_unpack(v->word, &a->l->window);
	return rl_window_at(&a->l->window, v->is_zero ? NULL : space, v->ring, v->gen, a->now_ns);
}

static void
fill_window(const struct rl_ask *a, const struct rl_window_at *at, const struct rl_window_used *u,
            struct rl_decision *d)
{
	d->remaining = rl_window_remaining(u, a->q->capacity);
	d->beyond = rl_beyond(a->q, u->used);
	d->reset_at_ns = rl_window_reset_at(at);
	if (a->cost > d->remaining && a->cost <= d->limit)
		d->retry_at_ns = rl_window_retry_at(at, u, a->q->capacity, a->cost);
}

static uint32_t
limit_of_window(const struct rl_limiter *l, const struct rl_quota *q)
{
	(void)l;
	return q->capacity;
}

/*
 * What counts of a window whose state is of now's sub-bucket and says it exactly, without a look at
 * the ring: a hard one, a fixed one or one without parts, not frozen, in which something was
 * counted. False for all else.
 */
static bool
counts_exactly(const struct rl_ask *a, uint64_t *used)
{
	const struct rl_window *w = &a->l->window;
	uint64_t epoch = rl_window_epoch(w, a->now_ns);
	struct rl_u128 word = a->v->word, next;

	if (a->v->is_zero || !(w->is_hard || w->count <= 1) || word.lo >> RL_STATE_CUR_SHIFT == 0 ||
	    !rl_window_adds(word, epoch, UINT32_MAX, 0, &next, used))
		return false;
	*used -= rl_adds_gone(w, word, epoch, a->now_ns);
	return true;
}

/* Without a look at the ring. */
static bool
peek_at_once(const struct rl_ask *a, struct rl_decision *d)
{
	const struct rl_window *w = &a->l->window;
	uint32_t capacity = a->q->capacity;
	uint64_t used;

	if (a->v->is_zero) {
		d->remaining = capacity;
		d->admits = a->cost <= capacity;
		return true;
	}
	if (a->q->counts_denied || a->cost > capacity)
		return false;
	if (rl_adds_nothing(a, d))
		return true;
	if (!counts_exactly(a, &used) || used + a->cost > capacity)
		return false;
	d->remaining = capacity - (uint32_t)used;
	d->admits = true;
	d->reset_at_ns = (rl_window_epoch(w, a->now_ns) + w->count + 1) * w->width_ns;
	return true;
}

static void
peek_window(const struct rl_ask *a, struct rl_decision *d)
{
	struct rl_window_used u;
	struct rl_window_at at;
	struct rl_state space;

	if (peek_at_once(a, d))
		return;
	at = window_at(a, &space);
	u = rl_window_count(&at);
	fill_window(a, &at, &u, d);
	d->admits = a->cost <= d->remaining;
}

/* A fixed window has one sub-bucket, which is open. */
static void
count_denied_in_window(const struct rl_ask *a, struct rl_state *s, struct rl_plan *p)
{
	s->cur = a->cost < RL_CAPACITY_MAX - s->cur ? s->cur + a->cost : RL_CAPACITY_MAX;
	p->step = RL_STEP_COUNT;
	p->next = rl_state_pack(*s, a->v->slot_bits);
	p->decision.remaining = 0;
	p->decision.beyond = s->cur - a->q->capacity;
}

/* By the ring, too. */
static __attribute__((noinline)) void
decide_by_ring(const struct rl_ask *a, struct rl_plan *p)
{
	struct rl_state state;
	struct rl_window_at at = window_at(a, &state);
	struct rl_window_used used;
	struct rl_move move;

	rl_window_decide(&at, a->q->capacity, a->cost, &used, &move);
	p->step = move.step;
	p->charges = move.charges;
	if (move.step == RL_STEP_DENY) {
		if (a->is_asked)
			fill_window(a, &at, &used, &p->decision);
		if (rl_limiter_counts_denied(a->l, a->q))
			count_denied_in_window(a, &state, p);
		return;
	}
	if (move.step == RL_STEP_ROLL)
		p->frozen = rl_state_freeze(a->v->word, move.entries, move.stays);
	p->entries = move.entries;
	p->next = rl_state_pack(move.next, a->v->slot_bits);
	p->charge_id = move.next.epoch;
	p->memory = 0;
	p->decision.remaining =
		rl_window_left(&a->l->window, &move.next, a->q->capacity, a->now_ns);
	p->decision.reset_at_ns = rl_window_idle_at(&a->l->window, &move.next);
}

static void
decide_window(const struct rl_ask *a, struct rl_plan *p)
{
	if (rl_adds_to_window(a, p))
		return;
	if (!rl_limiter_counts_denied(a->l, a->q) && rl_adds_nothing(a, &p->decision)) {
		p->step = RL_STEP_DENY;
		p->charges = false;
		return;
	}
	decide_by_ring(a, p);
}

static enum rl_back_step
refund_window(const struct rl_ask *a, const struct rl_charge *charge, struct rl_back *back)
{
	return rl_window_refund(&a->l->window, a->v, charge->epoch, a->cost, back);
}

static enum rl_back_step
sum_up_window(const struct rl_ask *a, struct rl_back *back)
{
	return rl_window_sum_up(&a->l->window, a->v, back);
}

/* Of the sub-bucket that a request would be counted in, if the state is open in it. */
static uint32_t
refund_newest_of_window(const struct rl_ask *a, struct rl_u128 *next)
{
	struct rl_state s = rl_state_unpack(a->v->word, &a->l->window);
	uint32_t given = rl_lesser(a->cost, s.cur);

	if (s.jump > 0 || rl_window_epoch(&a->l->window, a->now_ns) > s.epoch)
		return 0;
	s.cur -= given;
	*next = rl_state_pack(s, a->v->slot_bits);
	return given;
}

static uint64_t
idle_at_of_window(const struct rl_limiter *l, struct rl_u128 word)
{
	struct rl_state state = rl_state_unpack(word, &l->window);

	return rl_window_idle_at(&l->window, &state);
}

static uint32_t
used_most_of_window(const struct rl_ask *a, const struct rl_window_now *now)
{
	return rl_window_used_most(&a->l->window, a->v->word, now);
}

static struct rl_u128
nothing_of_window(const struct rl_limiter *l, uint64_t now_ns, uint64_t slot_bits)
{
	return rl_state_pack((struct rl_state){.epoch = rl_window_epoch(&l->window, now_ns)},
	                     slot_bits);
}

static bool
history_of_window(const struct rl_ask *a, struct rl_history *h)
{
	struct rl_state space;
	struct rl_window_at at = window_at(a, &space);

	rl_window_history(&at, h);
	return true;
}

static void
entry_of_window(const struct rl_limiter *l, const struct rl_view *v, uint32_t i, uint32_t *place,
                uint64_t *value)
{
	struct rl_state s = rl_state_unpack(v->word, &l->window);

	*place = (uint32_t)((s.epoch + i) % l->window.count);
	*value = rl_ring_entry(s.epoch + i, i == 0 ? s.cur : 0, v->gen);
}

/* Charges do not touch the ring: cur may differ. */
static bool
same_ring_of_window(struct rl_u128 seen, struct rl_u128 now)
{
	return now.hi == seen.hi && ((now.lo ^ seen.lo) & RL_STATE_EPOCH_MASK) == 0;
}

/*
 * Sub-bucket e lies in epoch e / count of the overflow counter. As a request at the slot's own time
 * finds it.
 */
static struct rl_overflow_parts
overflow_parts_of_window(const struct rl_limiter *l, const struct rl_limiter *overflow,
                         const struct rl_view *v)
{
	const struct rl_window *w = &l->window;
	struct rl_state s = rl_state_unpack(v->word, w);
	uint32_t each = w->count > 0 ? w->count : 1;
	struct rl_window_at at;
	struct rl_history h;
	struct rl_overflow_parts p;

	(void)overflow;
	at = rl_window_at(w, &s, v->ring, v->gen, 0);
	rl_window_history(&at, &h);
	p = (struct rl_overflow_parts){.epoch = at.epoch / each};
	for (uint32_t i = 0; i < h.buckets && i <= at.epoch; i++)
		rl_overflow_add(&p, (at.epoch - i) / each, h.bucket[i]);
	rl_overflow_open_epoch(&p, at.epoch % each != 0);
	return p;
}

static struct rl_u128
window_of_overflow(const struct rl_limiter *l, const struct rl_limiter *overflow,
                   const struct rl_overflow_parts *p, uint64_t now_ns, uint64_t slot_bits)
{
	const struct rl_window *w = &l->window;
	struct rl_state s = {.epoch = p->epoch, .cur = p->cur, .sum = p->sum};

	(void)overflow, (void)now_ns;
	if (w->count > 1 && p->cur > 0) {
		s.epoch = (p->epoch + 1) * w->count - 1;
		s.cur = rl_overflow_limited((uint64_t)p->cur + p->sum);
		s.sum = 0;
	} else if (w->count > 1) {
		s.epoch = p->epoch * w->count - 1;
		s.cur = p->sum;
		s.sum = 0;
		s.jump = 1;
	}
	return rl_state_pack(s, slot_bits);
}

/*
 * Is `entry` what a closer of the frozen `s` has stored in the place of sub-bucket `epoch`? Of cur
 * something may have been given back since.
 */
static bool
is_stored(uint64_t entry, const struct rl_window *w, const struct rl_state *s, uint64_t epoch,
          uint8_t gen)
{
	uint64_t next = epoch + w->count;
	uint32_t count = rl_ring_count(entry, next, gen);

	return entry == rl_ring_entry(next, count, gen) &&
	       (next == s->epoch ? count >= s->cur : count == 0);
}

static enum rl_fault
judge_window(const struct rl_limiter *l, const struct rl_view *v, uint32_t holders)
{
	const struct rl_window *w = &l->window;
	struct rl_state s = rl_state_unpack(v->word, w);
	uint64_t sum = 0;

	(void)holders;
	if (w->count < 2)
		return w->count == 1 || s.sum == 0 ? RL_UNDAMAGED : RL_FAULT_SUM;
	for (uint32_t back = 1; back <= s.span; back++) {
		uint64_t epoch = s.epoch - back;
		uint64_t entry = rl_atomic_load(&v->ring[epoch % w->count]);
		uint32_t count = rl_ring_count(entry, epoch, v->gen);
		bool stays = back + s.jump <= w->count;

		if (entry != rl_ring_entry(epoch, count, v->gen) &&
		    (stays || !is_stored(entry, w, &s, epoch, v->gen)))
			return RL_FAULT_RING;
		sum += stays ? count : 0;
	}
	return sum <= s.sum ? RL_UNDAMAGED : RL_FAULT_SUM; /* more: ring.h, "sum" */
}

/* What its words have room for beside a share: share.h. */
static bool
window_fits_share(const struct rl_limit *l)
{
	return l->granularity <= RL_SHARE_GRANULARITY_MAX &&
	       l->window_ns / l->granularity >= RL_SHARE_WIDTH_MIN;
}

#define WINDOW_OPS                                                                                \
	.limit = limit_of_window, .decide = decide_window, .peek = peek_window,                   \
	.refund = refund_window, .sum_up = sum_up_window,                                         \
	.refund_newest = refund_newest_of_window, .idle_at = idle_at_of_window,                   \
	.used_most = used_most_of_window, .nothing = nothing_of_window,                           \
	.entries = rl_entries_of_history, .history = history_of_window, .entry = entry_of_window, \
	.same_ring = same_ring_of_window, .shared = &rl_share_ops,                                \
	.without_share = rl_share_window_alone, .with_share = rl_share_window,                    \
	.fits_share = window_fits_share, .judge = judge_window,                                   \
	.overflow_parts = overflow_parts_of_window, .of_overflow = window_of_overflow,            \
	.is_window = true, .limit_is_capacity = true

const struct rl_algorithm_ops rl_sliding_window_ops = {WINDOW_OPS};
const struct rl_algorithm_ops rl_fixed_window_ops = {WINDOW_OPS, .counts_denied = true,
                                                     .overflow_is_alike = true};

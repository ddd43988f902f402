/* SPDX-License-Identifier: BSD-2-Clause */
/* Token and leaky buckets, whose arithmetic is gcra.c's. */
#include "algorithm/adds.h"
#include "algorithm/ops.h"

void
rl_limiter_keep_rate(const struct rl_limiter *l, struct rl_quota *q)
{
	if (rl_limiter_is_bucket(l))
		q->rate = rl_gcra_rate(l->window_ns, q->capacity, rl_limiter_wished_burst(l, q));
}

/* The bucket that is kept; or *made anew, if the capacity or the burst has changed since. */
static const struct rl_gcra_rate *
rate_of(const struct rl_limiter *l, const struct rl_quota *q, struct rl_gcra_rate *made)
{
	if (rl_limiter_has_rate(l, q))
		return &q->rate;
	*made = rl_gcra_rate(l->window_ns, q->capacity, rl_limiter_wished_burst(l, q));
	return made;
}

static uint32_t
limit_of_gcra(const struct rl_limiter *l, const struct rl_quota *q)
{
	struct rl_gcra_rate made;

	return rate_of(l, q, &made)->size;
}

/*
 * Who books ahead waits for his tokens, but no longer than a bucket fills. A leaky bucket's waits
 * for the queue ahead of it, but for those that need not wait, and for room.
 */
RL_GCRA_INLINE struct rl_gcra
gcra_of(const struct rl_ask *a)
{
	const struct rl_limiter *l = a->l;
	const struct rl_quota *q = a->q;
	struct rl_gcra_rate made;
	struct rl_gcra g = rl_gcra_of(l->window_ns, &l->divisor, rate_of(l, q, &made));

	if (!q->is_booking)
		return g;
	g.wait_ns = q->max_wait_ns < RL_GCRA_FILL_MAX ? q->max_wait_ns : RL_GCRA_FILL_MAX;
	if (l->algorithm == RL_LEAKY_BUCKET && (uint64_t)q->undelayed + a->cost < g.burst)
		g.most = q->undelayed + a->cost;
	return g;
}

RL_GCRA_INLINE struct rl_level
level_of(const struct rl_gcra *g, const struct rl_view *v)
{
	return v->is_zero ? (struct rl_level){0} : rl_gcra_unpack(g, v->word);
}

uint64_t
rl_bucket_fill_ns(const struct rl_limit *l)
{
	uint64_t size = l->algorithm == RL_LEAKY_BUCKET ? l->burst + UINT64_C(1) : l->burst;
	unsigned __int128 fill = (unsigned __int128)l->window_ns * size / l->capacity;

	return fill < UINT64_MAX ? (uint64_t)fill : UINT64_MAX;
}

static void
peek_gcra(const struct rl_ask *a, struct rl_decision *d)
{
	const struct rl_gcra g = gcra_of(a);
	const struct rl_level level = level_of(&g, a->v);
	struct rl_gcra_charge charge;

	rl_adds_report_level(&level, rl_gcra_remaining(&g, &level, a->now_ns), a->now_ns, d);
	rl_adds_report_debt(&g, &level, a->now_ns, d);
	d->admits = rl_gcra_take(&g, &level, a->now_ns, a->cost, &charge);
	if (d->admits)
		d->delay_ns = rl_adds_delay(a, &g, &level, &charge.after);
	else if (a->cost <= d->limit)
		d->retry_at_ns = rl_gcra_retry_at(&g, &level, a->cost);
}

static void
decide_gcra(const struct rl_ask *a, struct rl_plan *p)
{
	const struct rl_gcra g = gcra_of(a);
	const struct rl_level level = level_of(&g, a->v);

	if (rl_adds_to_level(a, &g, &level, p)) {
		if (__builtin_expect(a->q->is_debt, 0)) /* nobody waits for it */
			p->next.hi =
				(p->next.hi & ~RL_GCRA_WAITS) | (level.waits ? RL_GCRA_WAITS : 0);
		return;
	}
	p->step = RL_STEP_DENY;
	p->charges = false;
	rl_adds_deny_level(a, &g, &level, &p->decision);
}

static enum rl_back_step
refund_gcra(const struct rl_ask *a, const struct rl_charge *charge, struct rl_back *back)
{
	const struct rl_gcra g = gcra_of(a);
	struct rl_level level = level_of(&g, a->v), after;

	back->given =
		rl_gcra_give(&g, &level, charge->epoch, charge->memory, a->now_ns, a->cost, &after);
	if (back->given == 0)
		return RL_BACK_LATE;
	back->next = rl_gcra_pack(&g, &after, a->v->slot_bits);
	return RL_BACK_WORD;
}

static uint32_t
refund_newest_of_gcra(const struct rl_ask *a, struct rl_u128 *next)
{
	const struct rl_gcra g = gcra_of(a);
	struct rl_level level = level_of(&g, a->v), after;
	uint32_t given = rl_gcra_give_newest(&g, &level, a->now_ns, a->cost, &after);

	if (given > 0)
		*next = rl_gcra_pack(&g, &after, a->v->slot_bits);
	return given;
}

static uint32_t
used_most_of_gcra(const struct rl_ask *a, const struct rl_window_now *now)
{
	(void)now;
	return rl_gcra_used_most(a->l->window_ns, a->q->capacity, a->v->word, a->now_ns);
}

/* The tokens that a bucket lacks: more than its burst where tokens are booked ahead. */
static uint32_t
lacks_of(const struct rl_ask *a)
{
	struct rl_gcra g = rl_gcra_make(a->l->window_ns, a->q->capacity, RL_CAPACITY_MAX - 1);
	struct rl_level level = level_of(&g, a->v);

	return g.burst - rl_gcra_remaining(&g, &level, a->now_ns);
}

static size_t
entries_of_gcra(const struct rl_ask *a, const struct rl_history *h, uint32_t used,
                struct rl_charge_entry *entry)
{
	(void)used;
	return rl_entries_of_used(a, h, lacks_of(a), entry);
}

static bool
bucket_fits_share(const struct rl_limit *l)
{
	return rl_bucket_fill_ns(l) <= RL_SHARE_FILL_MAX;
}

const struct rl_algorithm_ops rl_bucket_ops = {
	.limit = limit_of_gcra,
	.decide = decide_gcra,
	.peek = peek_gcra,
	.refund = refund_gcra,
	.refund_newest = refund_newest_of_gcra,
	.idle_at = rl_idle_at_of_time,
	.used_most = used_most_of_gcra,
	.nothing = rl_nothing_but_one, /* full in 1970 */
	.entries = entries_of_gcra,
	.shared = &rl_share_bucket_ops,
	.fits_share = bucket_fits_share,
};

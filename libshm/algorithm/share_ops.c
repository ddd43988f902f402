/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A limit of a cluster, around an algorithm's own row: a word is taken apart into the share and
 * what a limit of this host alone would have, that is decided about under what this host may admit,
 * and put together again. So no algorithm knows of shares but how they stand in its word; a bucket
 * has words of its own: share_bucket.c.
 */
#include "algorithm/adds.h"
#include "algorithm/ops.h"

/* What such a limit is without its share, of this host alone; and a view of its words. */
static struct rl_limiter
inner_of(const struct rl_limiter *l)
{
	struct rl_limiter own = *l;

	own.is_shared = false;
	rl_limiter_use(&own, l->own);
	return own;
}

static struct rl_view
view_without(const struct rl_limiter *l, const struct rl_view *v)
{
	struct rl_view own = *v;

	own.word = l->own->without_share(v->word);
	return own;
}

/* The same question about the word without its share, for which *view has room. */
static struct rl_ask
ask_without(const struct rl_ask *a, struct rl_view *view)
{
	struct rl_ask own = *a;

	*view = view_without(a->l, a->v);
	own.v = view;
	return own;
}

static uint64_t
share_bits_of(const struct rl_view *v)
{
	return v->is_zero ? 0 : v->word.hi & RL_STATE_SHARE_MASK;
}

struct shared {
	struct rl_limiter inner;
	struct rl_quota quota;
	struct rl_view view;
	struct rl_ask ask;
	uint32_t limit; /* the capacity of all hosts */
};

static void
share_of(const struct rl_ask *a, struct shared *s)
{
	s->inner = inner_of(a->l);
	s->quota = (struct rl_quota){
		.capacity =
			a->q->is_debt ? a->q->capacity : rl_limiter_share_worth(a->l, a->q, a->v)};
	s->ask = ask_without(a, &s->view);
	s->ask.l = &s->inner;
	s->ask.q = &s->quota;
	s->ask.is_asked = true;
	s->limit = rl_limiter_limit(a->l, a->q);
}

/* The most that the whole cluster admits at once. */
static uint32_t
limit_of_share(const struct rl_limiter *l, const struct rl_quota *q)
{
	return l->own->limit(l, q);
}

static void
peek_share(const struct rl_ask *a, struct rl_decision *d)
{
	struct shared shared;

	share_of(a, &shared);
	rl_limiter_peek(&shared.ask, d);
	rl_share_fill(shared.limit, shared.quota.capacity, d);
}

static void
decide_share(const struct rl_ask *a, struct rl_plan *p)
{
	uint64_t share_bits = share_bits_of(a->v);
	struct shared shared;

	if (rl_limiter_has_window(a->l) && rl_adds_to_share(a, p))
		return;
	share_of(a, &shared);
	if (a->cost > shared.quota.capacity) { /* whatever counts */
		rl_limiter_peek(a, &p->decision);
		p->step = RL_STEP_DENY;
		p->charges = false;
		return;
	}
	rl_limiter_decide(&shared.ask, p);
	p->next = a->l->own->with_share(p->next, share_bits);
	if (p->step == RL_STEP_ROLL)
		p->frozen = a->l->own->with_share(p->frozen, share_bits);
	rl_share_fill(shared.limit, shared.quota.capacity, &p->decision);
}

static enum rl_back_step
refund_share(const struct rl_ask *a, const struct rl_charge *charge, struct rl_back *back)
{
	struct rl_view view;
	const struct rl_ask own = ask_without(a, &view);
	enum rl_back_step step = a->l->own->refund(&own, charge, back);

	back->next = a->l->own->with_share(back->next, share_bits_of(a->v));
	return step;
}

static enum rl_back_step
sum_up_share(const struct rl_ask *a, struct rl_back *back)
{
	struct rl_view view;
	const struct rl_ask own = ask_without(a, &view);
	enum rl_back_step step = a->l->own->sum_up ? a->l->own->sum_up(&own, back) : RL_BACK_LATE;

	back->next = a->l->own->with_share(back->next, share_bits_of(a->v));
	return step;
}

static uint32_t
refund_newest_of_share(const struct rl_ask *a, struct rl_u128 *next)
{
	struct rl_view view;
	const struct rl_ask own = ask_without(a, &view);
	uint32_t given = a->l->own->refund_newest(&own, next);

	if (given > 0)
		*next = a->l->own->with_share(*next, share_bits_of(a->v));
	return given;
}

static uint64_t
idle_at_of_share(const struct rl_limiter *l, struct rl_u128 word)
{
	return l->own->idle_at(l, l->own->without_share(word));
}

static uint32_t
load_of_share(const struct rl_ask *a)
{
	const struct rl_limiter inner = inner_of(a->l);
	struct rl_view view;
	struct rl_ask own = ask_without(a, &view);

	own.l = &inner;
	return rl_limiter_load(&own);
}

static struct rl_u128
nothing_of_share(const struct rl_limiter *l, uint64_t now_ns, uint64_t slot_bits)
{
	return l->own->with_share(l->own->nothing(l, now_ns, slot_bits), 0);
}

static size_t
entries_of_share(const struct rl_ask *a, const struct rl_history *h, uint32_t used,
                 struct rl_charge_entry *entry)
{
	struct rl_view view;
	const struct rl_ask own = ask_without(a, &view);

	return a->l->own->entries(&own, h, used, entry);
}

static bool
history_of_share(const struct rl_ask *a, struct rl_history *h)
{
	struct rl_view view;
	const struct rl_ask own = ask_without(a, &view);

	return a->l->own->history && a->l->own->history(&own, h);
}

static void
entry_of_share(const struct rl_limiter *l, const struct rl_view *v, uint32_t i, uint32_t *place,
               uint64_t *value)
{
	const struct rl_view view = view_without(l, v);

	l->own->entry(l, &view, i, place, value);
}

static enum rl_fault
judge_share(const struct rl_limiter *l, const struct rl_view *v, uint32_t holders)
{
	const struct rl_view view = view_without(l, v);

	return l->own->judge ? l->own->judge(l, &view, holders) : RL_UNDAMAGED;
}

struct rl_view
rl_limiter_view_alone(const struct rl_limiter *l, const struct rl_view *v)
{
	return !l->is_shared || rl_limiter_has_bucket(l) ? *v : view_without(l, v);
}

struct rl_u128
rl_limiter_word_of(const struct rl_limiter *l, struct rl_u128 own)
{
	if (!l->is_shared || rl_limiter_has_bucket(l))
		return own;
	return l->own->with_share(own, 0);
}

/*
 * Give a word of any form that share; the count stays, and is scaled where the form is a bucket's.
 */
bool
rl_limiter_set_share(const struct rl_ask *a, uint32_t share, struct rl_u128 *next)
{
	const struct rl_view *v = a->v;
	if (v->is_zero && share == 0)
		return false;
	*next = v->is_zero ? a->l->ops->nothing(a->l, a->now_ns, v->slot_bits) : v->word;
	*next = rl_share_put(*next, rl_share_code(share));
	if (!v->is_zero && rl_limiter_has_bucket(a->l))
		*next = rl_share_bucket_scaled(a, *next);
	return true;
}

const struct rl_algorithm_ops rl_share_ops = {
	.limit = limit_of_share,
	.decide = decide_share,
	.peek = peek_share,
	.refund = refund_share,
	.sum_up = sum_up_share,
	.refund_newest = refund_newest_of_share,
	.idle_at = idle_at_of_share,
	.nothing = nothing_of_share,
	.entries = entries_of_share,
	.history = history_of_share,
	.entry = entry_of_share,
	.load = load_of_share,
	.judge = judge_share,
};

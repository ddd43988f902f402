/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A limit of a cluster, around an algorithm's own row: a word is taken apart into the share and
 * what a limit of this host alone would have, that is decided about under what this host may admit,
 * and put together again. So no algorithm knows of shares but how they stand in its word; a bucket
 * has words of its own: share_bucket_ops.c.
 */
#include "algorithm/adds.h"
#include "algorithm/log.h"
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

static uint64_t
share_bits_of(const struct rl_view *v)
{
	return v->is_zero ? 0 : v->word.hi & RL_STATE_SHARE_MASK;
}

struct shared {
	struct rl_limiter inner;
	struct rl_quota quota;
	struct rl_view view;
	uint64_t share_bits;
	uint32_t limit; /* the capacity of all hosts */
};

static struct shared
shared_of(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v)
{
	return (struct shared){
		.inner = inner_of(l),
		.quota = {.capacity = rl_limiter_share_worth(l, q, v)},
		.view = view_without(l, v),
		.share_bits = share_bits_of(v),
		.limit = rl_limiter_limit(l, q),
	};
}

/* The most that the whole cluster admits at once. */
static uint32_t
limit_of_share(const struct rl_limiter *l, const struct rl_quota *q)
{
	return l->own->limit(l, q);
}

static void
peek_share(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v,
           uint32_t cost, uint64_t now_ns, struct rl_decision *d)
{
	struct shared shared = shared_of(l, q, v);

	rl_limiter_peek(&shared.inner, &shared.quota, &shared.view, cost, now_ns, d);
	rl_share_fill(shared.limit, shared.quota.capacity, d);
}

static void
decide_share(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v,
             uint32_t cost, uint64_t now_ns, bool is_asked, struct rl_plan *p)
{
	struct shared shared;

	(void)is_asked;
	if (rl_limiter_has_window(l) && rl_adds_to_share(l, q, v, cost, now_ns, p))
		return;
	shared = shared_of(l, q, v);
	if (cost > shared.quota.capacity) { /* whatever counts */
		rl_limiter_peek(l, q, v, cost, now_ns, &p->decision);
		p->step = RL_STEP_DENY;
		p->charges = false;
		return;
	}
	rl_limiter_decide(&shared.inner, &shared.quota, &shared.view, cost, now_ns, true, p);
	p->next = shared.inner.ops->with_share(p->next, shared.share_bits);
	if (p->step == RL_STEP_ROLL)
		p->frozen = shared.inner.ops->with_share(p->frozen, shared.share_bits);
	rl_share_fill(shared.limit, shared.quota.capacity, &p->decision);
}

static bool
refund_share(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v,
             const struct rl_charge *charge, uint64_t now_ns, struct rl_u128 *next)
{
	const struct rl_view view = view_without(l, v);

	if (!l->own->refund(l, q, &view, charge, now_ns, next))
		return false;
	*next = l->own->with_share(*next, share_bits_of(v));
	return true;
}

static uint32_t
refund_newest_of_share(const struct rl_limiter *l, const struct rl_quota *q,
                       const struct rl_view *v, uint32_t cost, uint64_t now_ns,
                       struct rl_u128 *next)
{
	const struct rl_view view = view_without(l, v);
	uint32_t given = l->own->refund_newest(l, q, &view, cost, now_ns, next);

	if (given > 0)
		*next = l->own->with_share(*next, share_bits_of(v));
	return given;
}

static uint64_t
idle_at_of_share(const struct rl_limiter *l, struct rl_u128 word)
{
	return l->own->idle_at(l, l->own->without_share(word));
}

static uint32_t
load_of_share(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v,
              uint64_t now_ns)
{
	const struct rl_limiter inner = inner_of(l);
	const struct rl_view view = view_without(l, v);

	return rl_limiter_load(&inner, q, &view, now_ns);
}

static struct rl_u128
nothing_of_share(const struct rl_limiter *l, uint64_t now_ns, uint64_t slot_bits)
{
	return l->own->with_share(l->own->nothing(l, now_ns, slot_bits), 0);
}

static size_t
entries_of_share(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v,
                 const struct rl_history *h, uint32_t used, uint64_t now_ns,
                 struct rl_charge_entry *entry)
{
	const struct rl_view view = view_without(l, v);

	return l->own->entries(l, q, &view, h, used, now_ns, entry);
}

static bool
history_of_share(const struct rl_limiter *l, const struct rl_view *v, uint64_t now_ns,
                 struct rl_history *h)
{
	const struct rl_view view = view_without(l, v);

	return l->own->history && l->own->history(l, &view, now_ns, h);
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
	return !rl_limiter_is_shared(l) || rl_limiter_has_bucket(l) ? *v : view_without(l, v);
}

struct rl_u128
rl_limiter_word_of(const struct rl_limiter *l, struct rl_u128 own)
{
	if (!rl_limiter_is_shared(l) || rl_limiter_has_bucket(l))
		return own;
	return l->own->with_share(own, 0);
}

/*
 * Give a word of any form that share; the count stays, and is scaled where the form is a bucket's.
 */
bool
rl_limiter_set_share(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v,
                     uint32_t share, uint64_t now_ns, struct rl_u128 *next)
{
	uint32_t code = rl_share_code(share);

	if (v->is_zero && share == 0)
		return false;
	*next = v->is_zero ? l->ops->nothing(l, now_ns, v->slot_bits) : v->word;
	*next = rl_share_put(*next, code);
	if (!v->is_zero && rl_limiter_has_bucket(l))
		*next = rl_share_bucket_scaled(l, q, v, code, now_ns, *next);
	return true;
}

const struct rl_algorithm_ops rl_share_ops = {
	.limit = limit_of_share,
	.decide = decide_share,
	.peek = peek_share,
	.refund = refund_share,
	.refund_newest = refund_newest_of_share,
	.idle_at = idle_at_of_share,
	.nothing = nothing_of_share,
	.entries = entries_of_share,
	.history = history_of_share,
	.entry = entry_of_share,
	.load = load_of_share,
	.judge = judge_share,
};

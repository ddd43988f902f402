/* SPDX-License-Identifier: BSD-2-Clause */
/* A bucket of a cluster, whose arithmetic is share_bucket.c's. */
#include "algorithm/adds.h"
#include "algorithm/ops.h"
#include "algorithm/share_bucket.h"

static uint64_t
bucket_share_bits(const struct rl_view *v)
{
	return v->is_zero ? 0 : v->word.hi & RL_STATE_SHARE_MASK;
}

static struct rl_share_bucket
share_bucket_of(const struct rl_limiter *l, const struct rl_quota *q)
{
	return rl_share_bucket_of(l->window_ns, q->capacity, rl_limiter_wished_burst(l, q));
}

static uint32_t
limit_of_share_bucket(const struct rl_limiter *l, const struct rl_quota *q)
{
	return rl_share_bucket_size(l->window_ns, q->capacity, rl_limiter_wished_burst(l, q));
}

/* A bucket's. */
struct share_level {
	struct rl_share_bucket bucket;
	struct rl_share_level level;
	uint32_t tokens; /* that this host may use; the level has at least 1 */
};

static struct share_level
share_level_of(const struct rl_ask *a)
{
	const struct rl_u128 full = {0}, word = a->v->is_zero ? full : a->v->word;
	struct share_level at = {.bucket = share_bucket_of(a->l, a->q)};

	at.tokens = rl_share_worth(a->q, word, at.bucket.size);
	at.level = rl_share_level_of(&at.bucket, word, at.tokens, a->now_ns);
	return at;
}

static void
fill_share_level(const struct share_level *at, uint64_t now_ns, struct rl_decision *d)
{
	uint32_t left = rl_share_level_left(&at->level);

	d->remaining = at->tokens > 0 ? left : 0;
	d->beyond = 0;
	d->reset_at_ns = at->level.behind > 0 ? now_ns + rl_share_level_full_in(&at->level) : 0;
	rl_share_fill(at->bucket.size, at->tokens, d);
}

static uint64_t
share_delay(const struct rl_ask *a, const struct share_level *before)
{
	return a->l->algorithm == RL_LEAKY_BUCKET
	               ? rl_share_level_delay(&before->level, a->q->undelayed)
	               : 0;
}

static void
peek_share_bucket(const struct rl_ask *a, struct rl_decision *d)
{
	struct share_level at = share_level_of(a);

	fill_share_level(&at, a->now_ns, d);
	d->admits = a->cost <= at.tokens && rl_share_level_wait(&at.level, a->cost) == 0;
	if (d->admits)
		d->delay_ns = share_delay(a, &at);
	else if (a->cost <= at.tokens)
		d->retry_at_ns = a->now_ns + rl_share_level_wait(&at.level, a->cost);
}

static void
decide_share_bucket(const struct rl_ask *a, struct rl_plan *p)
{
	struct share_level at = share_level_of(a), before = at;

	if (a->cost > at.tokens || !rl_share_level_take(&at.level, a->cost)) {
		peek_share_bucket(a, &p->decision);
		p->step = RL_STEP_DENY;
		p->charges = false;
		return;
	}
	p->step = RL_STEP_ADMIT;
	p->charges = true;
	p->next = rl_share_level_word(&at.level, a->now_ns,
	                              a->v->slot_bits | bucket_share_bits(a->v));
	p->charge_id = p->next.lo;
	p->memory = rl_share_bucket_memory(p->next);
	fill_share_level(&at, a->now_ns, &p->decision);
	p->decision.delay_ns = share_delay(a, &before);
}

/* Only of the newest charge, and under the scale that it was made with. */
static bool
refund_share_bucket(const struct rl_ask *a, const struct rl_charge *charge, struct rl_u128 *next)
{
	struct rl_share_bucket bucket = share_bucket_of(a->l, a->q);
	struct rl_u128 word = a->v->word;
	struct rl_share_level level =
		rl_share_level_of(&bucket, word, rl_share_bucket_scale(word), a->now_ns);

	if (word.lo != charge->epoch || rl_share_bucket_memory(word) != charge->memory ||
	    !rl_share_level_give(&level, charge->cost))
		return false;
	*next = rl_share_level_word(&level, a->now_ns, a->v->slot_bits | bucket_share_bits(a->v));
	return true;
}

static uint32_t
load_of_share_bucket(const struct rl_ask *a)
{
	struct share_level at = share_level_of(a);

	return rl_share_level_load(&at.level);
}

struct rl_u128
rl_share_bucket_scaled(const struct rl_ask *a, uint32_t code, struct rl_u128 word)
{
	struct rl_quota after = *a->q;
	struct rl_view with = *a->v;
	const struct rl_ask then = {.l = a->l, .q = &after, .v = &with, .now_ns = a->now_ns};
	struct share_level at;

	after.has_lease = true;
	with.word = word;
	at = share_level_of(&then);
	return rl_share_level_word(&at.level, a->now_ns, a->v->slot_bits | rl_share_bits(code));
}

/* Nothing is booked ahead; and which charge was the newest is not known. */
const struct rl_algorithm_ops rl_share_bucket_ops = {
	.limit = limit_of_share_bucket,
	.decide = decide_share_bucket,
	.peek = peek_share_bucket,
	.refund = refund_share_bucket,
	.idle_at = rl_idle_at_of_time,
	.nothing = rl_nothing_but_one,
	.entries = rl_entries_of_used,
	.load = load_of_share_bucket,
};

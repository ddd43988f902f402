/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A token or leaky bucket of which a host has a part that changes. Pure: no clock, no memory.
 *
 * The bucket of all hosts holds B tokens and fills in F = window * B / capacity. What a host is
 * lent are tokens of B: with e of them it has a bucket of e tokens that fills in F as well,
 * whatever e is. So a token takes T(e) = F / e to come, and what the host owes is told by the time
 * at which its bucket is full, tat:
 *
 *	debt           x = (tat - now) / T(e)
 *	is admitted    iff  max(tat, now) - now + c * T(e) <= e * T(e)
 *
 * When e changes, the debt in tokens stays, and tat moves:
 *
 *	tat' = tat <= now ? tat : now + ceil((tat - now) * T(e') / T(e))
 *
 * in the same CAS16 as the change, with a clock that was read before it, and for a raise after the
 * answer came. Then the sum of all hosts' debts is not changed by a change; an admission of c
 * raises it by c; it falls by B in F at most, as T(e) >= F / e and the sum of all e is at most B +
 * N * blind. No debt is above its e. So in a span d all hosts admit at most (B + N * blind) * (1 +
 * d / F).
 *
 * Everything is in parts of 1/256 ns, and T(e) is rounded up to a whole number of these: e tokens
 * are there exactly when e * T(e) has passed, and all that is not exact errs to deny. The word says
 * which e its tat is of (`scale`), so whoever reads it under another e - a share that was changed,
 * a lease that is over, another blind - converts by the same rule, and nobody has to convert for
 * him.
 *
 *	hi   63            36 35      28 27         12 11       0
 *	    +----------------+----------+-------------+----------+
 *	    |    scale:28    | part:8   |  share:16   |  slot    |      part: of tat, 1/256 ns
 *	    +----------------+----------+-------------+----------+
 */

#include "algorithm/adds.h"
#include "algorithm/ops.h"

#define SCALE_SHIFT 36
#define PART_SHIFT 28
#define PART_BITS 8
#define PART_MASK UINT64_C(0xff)
#define BEHIND_MAX (UINT64_C(1) << 60) /* twice what a bucket can owe, and more is damage */

/* The bucket of all hosts, and at a time a host's: what it has of it, and what it owes. */
struct share_level {
	uint64_t fill;   /* F, in 1/256 ns, rounded up; at most 2^58 */
	uint32_t size;   /* B: what was asked for, or what fills in RL_SHARE_FILL_MAX */
	uint32_t may;    /* of it this host may use so many; */
	uint32_t tokens; /* e is the same, at least 1 */
	uint64_t step;   /* T(e), 1/256 ns */
	uint64_t behind; /* tat - now under that e, 1/256 ns; 0 if it is full */
};

/* A quotient, rounded up; and one that takes no division of 128 bits. */
static uint64_t
up(rl_wide a, uint64_t b)
{
	return (uint64_t)((a + b - 1) / b);
}

static uint64_t
up_short(uint64_t a, uint64_t b)
{
	return (a + b - 1) / b;
}

/* Of parts of 1/256 ns, the nanoseconds. */
static uint64_t
up_ns(rl_wide parts)
{
	return (uint64_t)((parts + PART_MASK) >> PART_BITS);
}

/* B */
static uint32_t
size_of(const struct rl_limiter *l, const struct rl_quota *q)
{
	rl_wide most = (rl_wide)RL_SHARE_FILL_MAX * q->capacity;
	uint32_t size = rl_limiter_wished_burst(l, q);

	if ((rl_wide)size * l->window_ns > most)
		size = (uint32_t)(most / l->window_ns);
	return size > 0 ? size : 1; /* of a bucket of hardly any rate, and of damage */
}

static uint32_t
limit_of_share_bucket(const struct rl_limiter *l, const struct rl_quota *q)
{
	return q->is_debt ? RL_CAPACITY_MAX : size_of(l, q);
}

static uint64_t
fill_of(const struct rl_limiter *l, const struct rl_quota *q)
{
	return up((rl_wide)l->window_ns * size_of(l, q) << PART_BITS, q->capacity);
}

uint64_t
rl_share_bucket_fill_ns(const struct rl_limiter *l, const struct rl_quota *q)
{
	return fill_of(l, q) >> PART_BITS;
}

static uint64_t
behind_of(struct rl_u128 word, uint64_t now_ns)
{
	uint64_t part = word.hi >> PART_SHIFT & PART_MASK;

	if (word.lo < now_ns)
		return 0;
	if (word.lo - now_ns >= BEHIND_MAX >> PART_BITS)
		return BEHIND_MAX;
	return (word.lo - now_ns) << PART_BITS | part;
}

/* Under which number of tokens a word's time is. */
static uint32_t
scale_of(struct rl_u128 word)
{
	uint32_t scale = (uint32_t)(word.hi >> SCALE_SHIFT);

	return scale > 0 ? scale : 1;
}

/* What a word says when this host may use so many. All zero above the slot: full. */
static struct share_level
level_under(const struct rl_ask *a, struct rl_u128 word, uint32_t may)
{
	struct share_level at = {.fill = fill_of(a->l, a->q),
	                         .size = size_of(a->l, a->q),
	                         .may = may,
	                         .tokens = may > 0 ? may : 1};
	uint64_t scaled;

	at.step = up_short(at.fill, at.tokens);
	at.behind = behind_of(word, a->now_ns);
	if (at.behind == 0 || scale_of(word) == at.tokens)
		return at;
	scaled = up((rl_wide)at.behind * at.step, up_short(at.fill, scale_of(word)));
	at.behind = scaled < BEHIND_MAX ? scaled : BEHIND_MAX;
	return at;
}

static struct share_level
share_level_of(const struct rl_ask *a)
{
	const struct rl_u128 full = {0}, word = a->v->is_zero ? full : a->v->word;

	return level_under(a, word, rl_share_worth(a->q, word, size_of(a->l, a->q)));
}

/* Its word, with the slot's bits and the view's share. */
static struct rl_u128
word_of_level(const struct share_level *at, const struct rl_ask *a)
{
	uint64_t share_bits = a->v->is_zero ? 0 : a->v->word.hi & RL_STATE_SHARE_MASK;

	return (struct rl_u128){
		.lo = a->now_ns + (at->behind >> PART_BITS),
		.hi = (uint64_t)at->tokens << SCALE_SHIFT | (at->behind & PART_MASK) << PART_SHIFT |
	              a->v->slot_bits | share_bits,
	};
}

/* What a charge that left `word` remembers of it beside lo: who has both was not changed since. */
static uint32_t
memory_of(struct rl_u128 word)
{
	return (uint32_t)(word.hi >> PART_SHIFT);
}

/* The debt in tokens, rounded up. */
static uint32_t
debt_of(const struct share_level *at)
{
	uint64_t load = up_short(at->behind, at->step);

	return load < UINT32_MAX ? (uint32_t)load : UINT32_MAX;
}

/* How long until `cost` <= tokens is admitted, rounded up. */
static uint64_t
wait_of(const struct share_level *at, uint32_t cost)
{
	rl_wide after = (rl_wide)at->step * cost + at->behind;
	rl_wide bound = (rl_wide)at->step * at->tokens;

	return after > bound ? up_ns(after - bound) : 0;
}

static void
fill_share_level(const struct share_level *at, const struct rl_ask *a, struct rl_decision *d)
{
	uint32_t debt = debt_of(at);

	d->remaining = at->may > 0 && debt < at->tokens ? at->tokens - debt : 0;
	d->beyond = debt > at->tokens ? debt - at->tokens : 0;
	d->reset_at_ns = at->behind > 0 ? a->now_ns + up_ns(at->behind) : 0;
	rl_share_fill(at->size, at->may, d);
}

/* How long the queue ahead takes, but for what need not wait; rounded up. */
static uint64_t
share_delay(const struct rl_ask *a, const struct share_level *before)
{
	rl_wide skipped = (rl_wide)before->step * a->q->undelayed;

	return a->l->algorithm == RL_LEAKY_BUCKET && before->behind > skipped
	               ? up_ns(before->behind - skipped)
	               : 0;
}

static void
peek_share_bucket(const struct rl_ask *a, struct rl_decision *d)
{
	struct share_level at = share_level_of(a);
	uint64_t wait_ns = wait_of(&at, a->cost);

	fill_share_level(&at, a, d);
	d->admits = a->cost <= at.may && wait_ns == 0;
	if (d->admits)
		d->delay_ns = share_delay(a, &at);
	else if (a->cost <= at.may)
		d->retry_at_ns = a->now_ns + wait_ns;
}

static void
decide_share_bucket(const struct rl_ask *a, struct rl_plan *p)
{
	struct share_level at = share_level_of(a), before = at;
	rl_wide after;

	if (!a->q->is_debt && (a->cost > at.may || wait_of(&at, a->cost) > 0)) {
		peek_share_bucket(a, &p->decision);
		p->step = RL_STEP_DENY;
		p->charges = false;
		return;
	}
	after = (rl_wide)at.step * a->cost + at.behind;
	at.behind = after < BEHIND_MAX ? (uint64_t)after : BEHIND_MAX; /* of a debt alone */
	p->step = RL_STEP_ADMIT;
	p->charges = true;
	p->next = word_of_level(&at, a);
	p->charge_id = p->next.lo;
	p->memory = memory_of(p->next);
	fill_share_level(&at, a, &p->decision);
	p->decision.delay_ns = share_delay(a, &before);
}

/* Only of the newest charge, and under the scale that it was made with. */
static enum rl_back_step
refund_share_bucket(const struct rl_ask *a, const struct rl_charge *charge, struct rl_back *back)
{
	struct rl_u128 word = a->v->word;
	struct share_level at = level_under(a, word, scale_of(word));

	if (word.lo != charge->epoch || memory_of(word) != charge->memory ||
	    (rl_wide)at.step * a->cost > at.behind)
		return RL_BACK_LATE;
	at.behind -= at.step * a->cost;
	back->given = a->cost;
	back->next = word_of_level(&at, a);
	return RL_BACK_WORD;
}

static uint32_t
load_of_share_bucket(const struct rl_ask *a)
{
	struct share_level at = share_level_of(a);

	return debt_of(&at);
}

struct rl_u128
rl_share_bucket_scaled(const struct rl_ask *a, struct rl_u128 word)
{
	struct rl_quota after = *a->q;
	struct rl_view with = *a->v;
	const struct rl_ask then = {.l = a->l, .q = &after, .v = &with, .now_ns = a->now_ns};
	struct share_level at;

	after.has_lease = true;
	with.word = word;
	at = share_level_of(&then);
	return word_of_level(&at, &then);
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

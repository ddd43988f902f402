/* SPDX-License-Identifier: BSD-2-Clause */
#include "algorithm/gcra.h"

#include "algorithm/adds.h"
#include "algorithm/ops.h"

uint32_t
rl_gcra_burst(uint64_t window_ns, uint32_t capacity, uint32_t burst)
{
	rl_wide century = (rl_wide)RL_GCRA_FILL_MAX * capacity;

	if ((rl_wide)burst * window_ns <= century)
		return burst;
	return (uint32_t)(century / window_ns);
}

struct rl_gcra_divisor
rl_gcra_divisor(uint64_t window_ns)
{
	uint64_t above = window_ns >> 36;
	unsigned spare = above > 0 ? 64 - (unsigned)__builtin_clzll(above) : 0;

	return (struct rl_gcra_divisor){
		.spare = spare,
		.inverse = UINT64_MAX / (window_ns >> spare),
	};
}

struct rl_gcra_rate
rl_gcra_rate(uint64_t window_ns, uint32_t capacity, uint32_t burst)
{
	return (struct rl_gcra_rate){
		.capacity = capacity,
		.burst = burst,
		.size = rl_gcra_burst(window_ns, capacity, burst),
		.step_ticks = (uint32_t)(window_ns % capacity),
		.step_ns = window_ns / capacity,
	};
}

struct rl_gcra
rl_gcra_make(uint64_t window_ns, uint32_t capacity, uint32_t burst)
{
	struct rl_gcra_divisor divisor = rl_gcra_divisor(window_ns);
	struct rl_gcra_rate rate = rl_gcra_rate(window_ns, capacity, burst);

	return rl_gcra_of(window_ns, &divisor, &rate);
}

/* Ticks as whole nanoseconds, and what is left of them; a division of 128 bits by hand. */
static uint64_t
whole_ns(const struct rl_gcra *g, rl_wide ticks, uint32_t *rest)
{
	uint64_t high = (uint64_t)(ticks >> 32), low;

	low = high % g->capacity << 32 | (uint32_t)ticks;
	*rest = (uint32_t)(low % g->capacity);
	high /= g->capacity;
	return high > UINT32_MAX ? UINT64_MAX : (high << 32) + low / g->capacity;
}

static rl_wide
ticks_of(const struct rl_gcra *g, const struct rl_level *level)
{
	return (rl_wide)level->ns * g->capacity + level->ticks;
}

/* tat is less than lo + 1. */
uint32_t
rl_gcra_used_most(uint64_t window_ns, uint32_t capacity, struct rl_u128 word, uint64_t now_ns)
{
	uint64_t scaled;

	if (word.lo < now_ns)
		return 0;
	if (__builtin_mul_overflow(word.lo - now_ns + 1, capacity, &scaled) ||
	    scaled / window_ns >= UINT32_MAX)
		return UINT32_MAX;
	return (uint32_t)(scaled / window_ns) + 1;
}

/* The memory of a charge. */
struct past {
	struct rl_level after; /* `ahead` and `waits` are not remembered */
	bool has_ticks;
	uint32_t before;
};

static struct past
recall(const struct rl_gcra *g, uint64_t charged_ns, uint32_t memory)
{
	int bits = rl_gcra_memory_ticks_bits(g);
	uint32_t most = (UINT32_C(1) << (RL_GCRA_MEMORY_BITS - bits)) - 1;
	uint32_t rest = memory >> RL_GCRA_MEMORY_SHIFT;
	struct past past = {.has_ticks = bits > 0 || rl_gcra_has_no_ticks(g),
	                    .before = rest >> bits};

	past.after.ns = charged_ns;
	past.after.returned = memory & (uint32_t)RL_GCRA_RETURNED_MASK;
	past.after.ticks = rest & ((UINT32_C(1) << bits) - 1);
	if (past.before == most)
		past.before = UINT32_MAX;
	return past;
}

/* Is tat what the charge left? Where ticks are not remembered, a token must take 1 ns. */
static bool
is_newest(const struct rl_gcra *g, const struct rl_level *level, const struct past *past)
{
	return level->ns == past->after.ns && level->returned == past->after.returned &&
	       (past->has_ticks ? level->ticks == past->after.ticks : g->window_ns >= g->capacity);
}

/* How much of a charge that is not the newest may be given back. */
static rl_wide
room_for(const struct rl_gcra *g, const struct rl_level *level, const struct past *past)
{
	uint32_t lowered =
		(level->returned - past->after.returned) & (uint32_t)RL_GCRA_RETURNED_MASK;
	rl_wide room = rl_gcra_time(g, level->ahead), was = ticks_of(g, &past->after);
	rl_wide is = ticks_of(g, level), gone;

	lowered = lowered < past->before ? lowered : past->before;
	gone = rl_gcra_time(g, lowered);
	if (is + gone >= was) /* tat[j] - d - n, and n is tat - room */
		return room + was > is + gone ? room + was - is - gone : 0;
	return room;
}

/* The level with so much time given back, which is that many tokens, rounded up. */
static struct rl_level
lowered(const struct rl_gcra *g, const struct rl_level *level, rl_wide back, uint32_t tokens)
{
	struct rl_level next = *level;

	next.ns = whole_ns(g, ticks_of(g, level) - back, &next.ticks);
	next.ahead -= tokens < level->ahead ? tokens : level->ahead;
	return next;
}

bool
rl_gcra_give(const struct rl_gcra *g, const struct rl_level *level, uint64_t charged_ns,
             uint32_t memory, uint64_t now_ns, uint32_t cost, struct rl_level *next)
{
	struct past past = recall(g, charged_ns, memory);
	rl_wide back = rl_gcra_time(g, cost), room = back;
	bool is_last = is_newest(g, level, &past), has_rest;
	uint32_t tokens;

	if (!is_last)
		room = level->waits ? 0 : room_for(g, level, &past);
	back = back < room ? back : room;
	if (back == 0 || back > ticks_of(g, level) || rl_gcra_full_at(level) <= now_ns)
		return false;
	tokens = rl_gcra_tokens(g, back, &has_rest) + has_rest;
	*next = lowered(g, level, back, tokens);
	if (!is_last)
		next->returned = (level->returned + tokens) & (uint32_t)RL_GCRA_RETURNED_MASK;
	return true;
}

uint32_t
rl_gcra_give_newest(const struct rl_gcra *g, const struct rl_level *level, uint64_t now_ns,
                    uint32_t cost, struct rl_level *next)
{
	uint32_t tokens = cost < level->ahead ? cost : level->ahead;
	rl_wide back = rl_gcra_time(g, tokens);

	if (level->waits || back > ticks_of(g, level) || rl_gcra_full_at(level) <= now_ns)
		return 0;
	*next = lowered(g, level, back, tokens);
	next->returned = (level->returned + tokens) & (uint32_t)RL_GCRA_RETURNED_MASK;
	return tokens;
}

/* Token and leaky buckets by it. */

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

	if (rl_adds_to_level(a, &g, &level, p))
		return;
	p->step = RL_STEP_DENY;
	p->charges = false;
	rl_adds_deny_level(a, &g, &level, &p->decision);
}

static enum rl_back_step
refund_gcra(const struct rl_ask *a, const struct rl_charge *charge, struct rl_back *back)
{
	const struct rl_gcra g = gcra_of(a);
	struct rl_level level = level_of(&g, a->v), after;

	if (!rl_gcra_give(&g, &level, charge->epoch, charge->memory, a->now_ns, a->cost, &after))
		return RL_BACK_LATE;
	back->given = a->cost;
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

/* SPDX-License-Identifier: BSD-2-Clause */
#include "algorithm/limiter.h"

#include "algorithm/anchored.h"
#include "algorithm/counter.h"
#include "algorithm/in_flight.h"
#include "algorithm/log.h"
#include "algorithm/share.h"
#include "algorithm/share_bucket.h"
#include "rl_admin.h"

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

/*
 * Of a cluster's limit: windows and logs are taken apart into the share and what a limit of this host alone
 * would have, and that is decided about under what this host may admit. `alone` is such a limit.
 */
struct lent {
	struct rl_limiter limiter;
	struct rl_quota quota;
	struct rl_view view;
	uint64_t share_bits;
	uint32_t limit; /* the capacity of all hosts */
};

static struct rl_limiter
alone(const struct rl_limiter *l)
{
	struct rl_limiter own = *l;

	own.kind = (enum rl_limiter_kind)l->algorithm;
	return own;
}

static struct rl_u128
word_alone(const struct rl_limiter *l, struct rl_u128 word)
{
	if (rl_limiter_has_window(l))
		return rl_share_window_alone(word);
	return rl_share_put(word, 0);
}

static struct rl_u128
word_lent(const struct rl_limiter *l, struct rl_u128 own, uint64_t share_bits)
{
	if (rl_limiter_has_window(l))
		return rl_share_window(own, share_bits);
	own.hi |= share_bits;
	return own;
}

static uint64_t
share_bits_of(const struct rl_view *v)
{
	return v->is_zero ? 0 : v->word.hi & RL_STATE_SHARE_MASK;
}

/* The most that the whole cluster admits at once. */
static uint32_t
limit_of_all(const struct rl_limiter *l, const struct rl_quota *q)
{
	uint32_t most = rl_log_capacity(l->ring_entries);

	if (rl_limiter_has_bucket(l))
		return rl_share_bucket_of(l->window_ns, q->capacity, rl_limiter_wished_burst(l, q))
		        .size;
	return l->algorithm != RL_SLIDING_LOG || q->capacity < most ? q->capacity : most;
}

uint32_t
rl_limiter_lent(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v)
{
	uint32_t lent = rl_limiter_lent_by(q, v->is_zero ? (struct rl_u128){0} : v->word,
	                                   limit_of_all(l, q));
	uint32_t room = rl_log_capacity(l->ring_entries);

	return l->algorithm != RL_SLIDING_LOG || lent < room ? lent : room;
}

uint32_t
rl_limiter_other_limit(const struct rl_limiter *l, const struct rl_quota *q)
{
	uint32_t most = rl_log_capacity(l->ring_entries);
	struct rl_gcra_rate made;

	switch (l->kind) {
	case RL_KIND_TOKEN_BUCKET:
	case RL_KIND_LEAKY_BUCKET:
		return rate_of(l, q, &made)->size;
	case RL_KIND_SLIDING_LOG:
		return q->capacity < most ? q->capacity : most;
	case RL_KIND_SLIDING_WINDOW:
	case RL_KIND_FIXED_WINDOW:
	case RL_KIND_ANCHORED_WINDOW:
		break;
	case RL_KIND_IN_FLIGHT:
		most = RL_IN_FLIGHT_MAX;
		return q->capacity < most ? q->capacity : most;
	case RL_KIND_COUNTER: /* no request is ever decided by it */
		return 0;
	case RL_KIND_LENT:
		return limit_of_all(l, q);
	}
	return q->capacity;
}

static struct rl_gcra
gcra_of(const struct rl_limiter *l, const struct rl_quota *q, uint32_t cost)
{
	struct rl_gcra_rate made;
	struct rl_gcra g = rl_gcra_of(l->window_ns, &l->divisor, rate_of(l, q, &made));

	if (q->is_booking && l->algorithm == RL_TOKEN_BUCKET)
		rl_gcra_book_tokens(&g, q->max_wait_ns);
	else if (q->is_booking)
		rl_gcra_book_queue(&g, q->max_wait_ns, q->undelayed, cost);
	return g;
}

static struct rl_level
level_of(const struct rl_gcra *g, const struct rl_view *v)
{
	return v->is_zero ? (struct rl_level){0} : rl_gcra_unpack(g, v->word);
}

/* The view's log, or NULL if there is none yet. */
static const struct rl_log *
log_of(const struct rl_limiter *l, const struct rl_view *v, struct rl_log *log)
{
	if (v->is_zero)
		return NULL;
	*log = rl_log_unpack(v->word, l->ring_entries);
	return log;
}

/* The view of a window's word, in *space. */
static struct rl_window_at
window_at(const struct rl_limiter *l, const struct rl_view *v, uint64_t now_ns,
          struct rl_state *space)
{
	*space = rl_state_unpack(v->word, &l->window);
	return rl_window_at(&l->window, v->is_zero ? NULL : space, v->ring, v->gen, now_ns);
}

/*
 * What is counted above the capacity: that is told of a limit that counts what it denies. No word can count more than
 * RL_CAPACITY_MAX, unless it is damaged.
 */
static uint32_t
beyond(const struct rl_limiter *l, const struct rl_quota *q, uint64_t used)
{
	used = used < RL_CAPACITY_MAX ? used : RL_CAPACITY_MAX;
	return rl_limiter_counts_denied(l, q) && used > q->capacity ? (uint32_t)used - q->capacity
	                                                            : 0;
}

static void
tell_window(const struct rl_window_at *at, const struct rl_window_used *u, const struct rl_quota *q,
            uint32_t cost, struct rl_decision *d)
{
	d->remaining = rl_window_remaining(u, q->capacity);
	d->reset_at_ns = rl_window_reset_at(at);
	if (cost > d->remaining && cost <= d->limit)
		d->retry_at_ns = rl_window_retry_at(at, u, q->capacity, cost);
}

static void
peek_window(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v,
            uint32_t cost, uint64_t now_ns, struct rl_decision *d)
{
	struct rl_state space;
	struct rl_window_at at = window_at(l, v, now_ns, &space);
	struct rl_window_used u = rl_window_count(&at);

	tell_window(&at, &u, q, cost, d);
	d->beyond = beyond(l, q, u.used);
}

/* The view's window, as a request at now_ns finds it. */
static struct rl_anchored
anchored_at(const struct rl_limiter *l, const struct rl_view *v, uint64_t now_ns)
{
	if (v->is_zero)
		return (struct rl_anchored){now_ns, 0};
	return rl_anchored_at(rl_anchored_unpack(v->word), l->window_ns, now_ns);
}

static void
tell_anchored(const struct rl_limiter *l, const struct rl_quota *q, struct rl_anchored at,
              struct rl_decision *d)
{
	d->remaining = at.cur < q->capacity ? q->capacity - at.cur : 0;
	d->beyond = beyond(l, q, at.cur);
	d->retry_at_ns = rl_anchored_end(at, l->window_ns);
	d->reset_at_ns = at.cur > 0 ? d->retry_at_ns : 0;
}

static void
peek_log(const struct rl_limiter *l, const struct rl_log *log, const struct rl_view *v,
         uint32_t cost, uint64_t now_ns, struct rl_decision *d)
{
	d->remaining = d->limit -
	               rl_log_used(log, v->ring, l->ring_entries, l->window_ns, d->limit, now_ns);
	if (d->remaining < d->limit)
		d->reset_at_ns = rl_log_idle_at(log, v->ring, l->ring_entries, l->window_ns);
	if (cost > d->remaining && cost <= d->limit)
		d->retry_at_ns = rl_log_admits_at(log, v->ring, l->ring_entries, l->window_ns,
		                                  d->limit, cost);
}

/* The units that are held; nobody knows until when. They are more than the limit where that was lowered. */
static void
tell_in_flight(const struct rl_view *v, struct rl_decision *d)
{
	uint32_t total = v->is_zero ? 0 : rl_in_flight_total(v->word);

	d->remaining = total < d->limit ? d->limit - total : 0;
	d->beyond = total > d->limit ? total - d->limit : 0;
}

/* How long a charge that found the bucket at `before`, and left it at `after`, has to wait. */
static uint64_t
delay_of(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_gcra *g,
         const struct rl_level *before, const struct rl_level *after, uint64_t now_ns)
{
	uint64_t wait = q->is_booking ? rl_gcra_wait(g, after, now_ns) : 0;
	uint64_t queue = l->algorithm == RL_LEAKY_BUCKET
	                         ? rl_gcra_delay(g, before, now_ns, q->undelayed)
	                         : 0;

	return queue > wait ? queue : wait;
}

static void
peek_level(const struct rl_level *level, uint32_t remaining, uint64_t now_ns, struct rl_decision *d)
{
	uint64_t full_at = rl_gcra_full_at(level);

	d->remaining = remaining;
	d->reset_at_ns = full_at > now_ns ? full_at : 0;
}

static void
peek_gcra(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v,
          uint32_t cost, uint64_t now_ns, struct rl_decision *d)
{
	struct rl_gcra g = gcra_of(l, q, cost);
	struct rl_level level = level_of(&g, v);
	struct rl_gcra_charge charge;

	peek_level(&level, rl_gcra_remaining(&g, &level, now_ns), now_ns, d);
	d->admits = rl_gcra_take(&g, &level, now_ns, cost, &charge);
	if (d->admits)
		d->delay_ns = delay_of(l, q, &g, &level, &charge.after, now_ns);
	else if (cost <= d->limit)
		d->retry_at_ns = rl_gcra_retry_at(&g, &level, cost);
}

static struct lent
lent_of(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v)
{
	struct lent lent = {
		.limiter = alone(l),
		.quota = {.capacity = rl_limiter_lent(l, q, v)},
		.view = *v,
		.share_bits = share_bits_of(v),
		.limit = limit_of_all(l, q),
	};

	lent.view.word = word_alone(l, v->word);
	return lent;
}

/* As people are told: the capacity is that of all hosts, or what is lent; what is not lent here is not used here. */
static void
tell_lent(uint32_t limit, uint32_t lent, struct rl_decision *d)
{
	d->limit = lent > limit ? lent : limit;
	d->beyond += lent - d->limit;
}

/* A bucket's. */
struct lent_level {
	struct rl_share_bucket bucket;
	struct rl_share_level level;
	uint32_t tokens; /* that this host may use; the level has at least 1 */
};

static struct lent_level
lent_level_of(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v,
              uint64_t now_ns)
{
	const struct rl_u128 full = {0};
	struct lent_level at = {.tokens = rl_limiter_lent(l, q, v)};

	at.bucket = rl_share_bucket_of(l->window_ns, q->capacity, rl_limiter_wished_burst(l, q));
	at.level = rl_share_level_of(&at.bucket, v->is_zero ? full : v->word, at.tokens, now_ns);
	return at;
}

static void
tell_lent_level(const struct lent_level *at, uint64_t now_ns, struct rl_decision *d)
{
	uint32_t left = rl_share_level_left(&at->level);

	d->remaining = at->tokens > 0 ? left : 0;
	d->beyond = 0;
	d->reset_at_ns = at->level.behind > 0 ? now_ns + rl_share_level_full_in(&at->level) : 0;
	tell_lent(at->bucket.size, at->tokens, d);
}

static uint64_t
lent_delay(const struct rl_limiter *l, const struct rl_quota *q, const struct lent_level *before)
{
	return l->algorithm == RL_LEAKY_BUCKET ? rl_share_level_delay(&before->level, q->undelayed)
	                                       : 0;
}

static void
peek_lent_bucket(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v,
                 uint32_t cost, uint64_t now_ns, struct rl_decision *d)
{
	struct lent_level at = lent_level_of(l, q, v, now_ns);

	tell_lent_level(&at, now_ns, d);
	d->admits = cost <= at.tokens && rl_share_level_wait(&at.level, cost) == 0;
	if (d->admits)
		d->delay_ns = lent_delay(l, q, &at);
	else if (cost <= at.tokens)
		d->retry_at_ns = now_ns + rl_share_level_wait(&at.level, cost);
}

static void
peek_lent(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v,
          uint32_t cost, uint64_t now_ns, struct rl_decision *d)
{
	struct lent lent;

	if (rl_limiter_has_bucket(l)) {
		peek_lent_bucket(l, q, v, cost, now_ns, d);
		return;
	}
	lent = lent_of(l, q, v);
	rl_limiter_peek(&lent.limiter, &lent.quota, &lent.view, cost, now_ns, d);
	tell_lent(lent.limit, lent.quota.capacity, d);
}

static void
deny_lent(struct rl_plan *p)
{
	p->step = RL_STEP_DENY;
	p->charges = false;
}

static void
decide_lent_bucket(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v,
                   uint32_t cost, uint64_t now_ns, struct rl_plan *p)
{
	struct lent_level at = lent_level_of(l, q, v, now_ns), before = at;

	if (cost > at.tokens || !rl_share_level_take(&at.level, cost)) {
		peek_lent_bucket(l, q, v, cost, now_ns, &p->decision);
		deny_lent(p);
		return;
	}
	p->step = RL_STEP_LENT;
	p->charges = true;
	p->next = rl_share_level_word(&at.level, now_ns, v->slot_bits | share_bits_of(v));
	p->charge_id = p->next.lo;
	p->memory = rl_share_bucket_memory(p->next);
	tell_lent_level(&at, now_ns, &p->decision);
	p->decision.delay_ns = lent_delay(l, q, &before);
}

static void
decide_lent(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v,
            uint32_t cost, uint64_t now_ns, struct rl_plan *p)
{
	struct lent lent;

	if (rl_limiter_has_bucket(l)) {
		decide_lent_bucket(l, q, v, cost, now_ns, p);
		return;
	}
	lent = lent_of(l, q, v);
	if (cost > lent.quota.capacity) { /* whatever counts */
		peek_lent(l, q, v, cost, now_ns, &p->decision);
		deny_lent(p);
		return;
	}
	rl_limiter_decide(&lent.limiter, &lent.quota, &lent.view, cost, now_ns, true, p);
	p->next = word_lent(l, p->next, lent.share_bits);
	if (p->step == RL_STEP_ADMIT)
		p->step = RL_STEP_LENT;
	tell_lent(lent.limit, lent.quota.capacity, &p->decision);
}

/* Give a word of any form that share; the count stays, and is scaled. */
bool
rl_limiter_lend(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v,
                uint32_t share, uint64_t now_ns, struct rl_u128 *next)
{
	struct rl_quota after = *q;
	struct lent_level at;
	struct rl_view with = *v;
	uint32_t code = rl_share_code(share);

	if (v->is_zero && share == 0)
		return false;
	*next = v->is_zero ? rl_limiter_nothing(l, now_ns, v->slot_bits) : v->word;
	*next = rl_share_put(*next, code);
	if (v->is_zero || !rl_limiter_has_bucket(l))
		return true;
	after.has_lease = true;
	with.word = *next;
	at = lent_level_of(l, &after, &with, now_ns);
	*next = rl_share_level_word(&at.level, now_ns, v->slot_bits | rl_share_bits(code));
	return true;
}

uint32_t
rl_limiter_load(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v,
                uint64_t now_ns)
{
	const struct rl_limiter own = alone(l);
	struct rl_limiter_time time;
	struct rl_view view = *v;
	struct rl_log space;
	const struct rl_log *log;
	struct lent_level at;

	if (v->is_zero)
		return 0;
	if (rl_limiter_has_bucket(l)) {
		at = lent_level_of(l, q, v, now_ns);
		return rl_share_level_load(&at.level);
	}
	view.word = word_alone(l, v->word);
	if (l->algorithm == RL_SLIDING_LOG) {
		log = log_of(&own, &view, &space);
		return rl_log_used(log, v->ring, l->ring_entries, l->window_ns,
		                   rl_log_capacity(l->ring_entries), now_ns);
	}
	time = rl_limiter_time_of(&own, now_ns);
	return rl_limiter_used_most(&own, q, &view, &time);
}

struct rl_u128
rl_limiter_nothing(const struct rl_limiter *l, uint64_t now_ns, uint64_t slot_bits)
{
	struct rl_u128 own = {.lo = 1, .hi = slot_bits}; /* a bucket that was full in 1970 */

	switch (l->algorithm) {
	case RL_SLIDING_WINDOW:
	case RL_FIXED_WINDOW:
		own = rl_state_pack((struct rl_state){.epoch = rl_window_epoch(&l->window, now_ns)},
		                    slot_bits);
		break;
	case RL_ANCHORED_WINDOW:
		return rl_anchored_pack((struct rl_anchored){.start_ns = now_ns}, slot_bits);
	case RL_SLIDING_LOG:
		own = rl_log_pack((struct rl_log){.newest_ns = now_ns}, slot_bits);
		break;
	case RL_TOKEN_BUCKET:
	case RL_LEAKY_BUCKET:
	case RL_IN_FLIGHT:
	case RL_COUNTER:
		break;
	}
	return rl_limiter_is_lent(l) ? word_lent(l, own, 0) : own;
}

struct rl_view
rl_limiter_view_alone(const struct rl_limiter *l, const struct rl_view *v)
{
	struct rl_view own = *v;

	if (rl_limiter_is_lent(l) && !rl_limiter_has_bucket(l))
		own.word = word_alone(l, v->word);
	return own;
}

struct rl_u128
rl_limiter_word_of(const struct rl_limiter *l, struct rl_u128 own)
{
	if (rl_limiter_is_lent(l) && !rl_limiter_has_bucket(l))
		return word_lent(l, own, 0);
	return own;
}

void
rl_limiter_entry(const struct rl_limiter *l, const struct rl_view *v, uint32_t i, uint32_t *place,
                 uint64_t *value)
{
	const struct rl_view own = rl_limiter_view_alone(l, v);

	if (l->algorithm == RL_SLIDING_LOG) {
		struct rl_log log = rl_log_unpack(own.word, l->ring_entries);
		*place = rl_log_place(&log, l->ring_entries, i);
		*value = log.newest_ns;
	} else {
		struct rl_state s = rl_state_unpack(own.word, &l->window);
		*place = (uint32_t)((s.epoch + i) % l->window.count);
		*value = rl_ring_entry(s.epoch + i, i == 0 ? s.cur : 0, v->gen);
	}
}

void
rl_limiter_peek(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v,
                uint32_t cost, uint64_t now_ns, struct rl_decision *d)
{
	struct rl_log log;

	*d = (struct rl_decision){.limit = rl_limiter_limit(l, q)};
	switch (l->kind) {
	case RL_KIND_TOKEN_BUCKET:
	case RL_KIND_LEAKY_BUCKET:
		peek_gcra(l, q, v, cost, now_ns, d);
		return;
	case RL_KIND_SLIDING_WINDOW:
	case RL_KIND_FIXED_WINDOW:
		peek_window(l, q, v, cost, now_ns, d);
		break;
	case RL_KIND_ANCHORED_WINDOW:
		tell_anchored(l, q, anchored_at(l, v, now_ns), d);
		break;
	case RL_KIND_SLIDING_LOG:
		peek_log(l, log_of(l, v, &log), v, cost, now_ns, d);
		break;
	case RL_KIND_IN_FLIGHT:
		tell_in_flight(v, d);
		break;
	case RL_KIND_LENT:
		peek_lent(l, q, v, cost, now_ns, d);
		return;
	case RL_KIND_COUNTER:
		break;
	}
	d->admits = cost <= d->remaining;
}

/* A fixed window has one sub-bucket, which is open. */
static void
count_denied_in_window(const struct rl_quota *q, const struct rl_view *v, struct rl_state *s,
                       uint32_t cost, struct rl_plan *p)
{
	s->cur = cost < RL_CAPACITY_MAX - s->cur ? s->cur + cost : RL_CAPACITY_MAX;
	p->step = RL_STEP_COUNT;
	p->next = rl_state_pack(*s, v->slot_bits);
	p->decision.remaining = 0;
	p->decision.beyond = s->cur - q->capacity;
}

static void
decide_window(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v,
              uint32_t cost, uint64_t now_ns, bool is_asked, struct rl_plan *p)
{
	struct rl_state state;
	struct rl_window_at at = window_at(l, v, now_ns, &state);
	struct rl_window_used used;
	struct rl_move move;

	rl_window_decide(&at, q->capacity, cost, &used, &move);
	p->step = move.step;
	p->charges = move.charges;
	if (move.step == RL_STEP_DENY) {
		if (is_asked)
			tell_window(&at, &used, q, cost, &p->decision);
		if (rl_limiter_counts_denied(l, q))
			count_denied_in_window(q, v, &state, cost, p);
		return;
	}
	p->entries = state.jump;
	p->next = rl_state_pack(move.next, v->slot_bits);
	p->charge_id = move.next.epoch;
	p->memory = 0;
	p->decision.remaining = rl_window_left(&l->window, &move.next, q->capacity, now_ns);
	p->decision.reset_at_ns = rl_window_idle_at(&l->window, &move.next);
}

static void
decide_log(const struct rl_limiter *l, const struct rl_view *v, uint32_t cost, uint64_t now_ns,
           struct rl_plan *p)
{
	struct rl_log space, next;
	const struct rl_log *log = log_of(l, v, &space);

	peek_log(l, log, v, cost, now_ns, &p->decision);
	p->charges = cost <= p->decision.remaining;
	if (!p->charges) {
		p->step = RL_STEP_DENY;
		return;
	}
	next = rl_log_add(log, l->ring_entries, now_ns, cost);
	p->step = rl_log_must_store(log, now_ns) ? RL_STEP_CLOSE : RL_STEP_ADMIT;
	p->entries = log ? log->pending : 0;
	p->next = rl_log_pack(next, v->slot_bits);
	p->charge_id = next.newest_ns;
	p->memory = 0;
	p->decision.remaining -= cost;
	p->decision.reset_at_ns = next.newest_ns + l->window_ns;
}

static void
decide_gcra(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v,
            uint32_t cost, uint64_t now_ns, struct rl_plan *p)
{
	struct rl_gcra g = gcra_of(l, q, cost);
	struct rl_level level = level_of(&g, v);
	struct rl_gcra_charge charge;

	p->charges = rl_gcra_take(&g, &level, now_ns, cost, &charge);
	if (!p->charges) {
		p->step = RL_STEP_DENY;
		peek_level(&level, rl_gcra_remaining(&g, &level, now_ns), now_ns, &p->decision);
		p->decision.retry_at_ns = rl_gcra_retry_at(&g, &level, cost);
		return;
	}
	p->step = RL_STEP_ADMIT;
	p->next = rl_gcra_pack(&g, &charge.after, v->slot_bits);
	p->charge_id = charge.after.ns;
	p->memory = charge.memory;
	peek_level(&charge.after, charge.remaining, now_ns, &p->decision);
	/* It waits for those before it, not for itself. */
	p->decision.delay_ns = delay_of(l, q, &g, &level, &charge.after, now_ns);
}

static void
decide_anchored(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v,
                uint32_t cost, uint64_t now_ns, struct rl_plan *p)
{
	struct rl_anchored at = anchored_at(l, v, now_ns), after = rl_anchored_add(at, cost);

	p->charges = (uint64_t)at.cur + cost <= q->capacity;
	p->step = p->charges                       ? RL_STEP_ADMIT
	          : rl_limiter_counts_denied(l, q) ? RL_STEP_COUNT
	                                           : RL_STEP_DENY;
	p->next = rl_anchored_pack(after, v->slot_bits);
	p->charge_id = at.start_ns;
	p->memory = 0;
	tell_anchored(l, q, p->step == RL_STEP_DENY ? at : after, &p->decision);
}

/* Whether it admits. To take units is another's work, who knows whose they are: holder/units.c. */
static void
decide_in_flight(const struct rl_view *v, uint32_t cost, struct rl_plan *p)
{
	tell_in_flight(v, &p->decision);
	p->step = cost <= p->decision.remaining ? RL_STEP_HOLD : RL_STEP_DENY;
	p->charges = false;
}

void
rl_limiter_decide(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v,
                  uint32_t cost, uint64_t now_ns, bool is_asked, struct rl_plan *p)
{
	p->decision = (struct rl_decision){.limit = rl_limiter_limit(l, q)};
	switch (l->kind) {
	case RL_KIND_SLIDING_WINDOW:
	case RL_KIND_FIXED_WINDOW:
		decide_window(l, q, v, cost, now_ns, is_asked, p);
		return;
	case RL_KIND_TOKEN_BUCKET:
	case RL_KIND_LEAKY_BUCKET:
		decide_gcra(l, q, v, cost, now_ns, p);
		return;
	case RL_KIND_SLIDING_LOG:
		decide_log(l, v, cost, now_ns, p);
		return;
	case RL_KIND_ANCHORED_WINDOW:
		decide_anchored(l, q, v, cost, now_ns, p);
		return;
	case RL_KIND_IN_FLIGHT:
		decide_in_flight(v, cost, p);
		return;
	case RL_KIND_LENT:
		decide_lent(l, q, v, cost, now_ns, p);
		return;
	case RL_KIND_COUNTER:
		p->step = RL_STEP_DENY;
		p->charges = false;
		return;
	}
}

bool
rl_limiter_same_ring(const struct rl_limiter *l, struct rl_u128 seen, struct rl_u128 now)
{
	if (rl_limiter_has_window(l)) /* charges do not touch the ring: cur may differ */
		return now.hi == seen.hi && ((now.lo ^ seen.lo) & RL_STATE_EPOCH_MASK) == 0;
	return rl_u128_equal(seen, now);
}

uint64_t
rl_limiter_idle_at(const struct rl_limiter *l, struct rl_u128 word)
{
	struct rl_state state;
	uint64_t at;

	switch (l->kind) {
	case RL_KIND_TOKEN_BUCKET:
	case RL_KIND_LEAKY_BUCKET:
		return word.lo + (word.lo < UINT64_MAX); /* or up to 1 ns before that */
	case RL_KIND_COUNTER:
		return rl_counter_expires_at(word);
	case RL_KIND_ANCHORED_WINDOW:
		return rl_anchored_end(rl_anchored_unpack(word), l->window_ns);
	case RL_KIND_SLIDING_LOG:
		return __builtin_add_overflow(word.lo, l->window_ns, &at) ? UINT64_MAX : at;
	case RL_KIND_IN_FLIGHT:
		return rl_in_flight_total(word) > 0 ? UINT64_MAX : 0;
	case RL_KIND_LENT: {
		const struct rl_limiter own = alone(l);
		return rl_limiter_idle_at(&own, word_alone(l, word));
	}
	case RL_KIND_SLIDING_WINDOW:
	case RL_KIND_FIXED_WINDOW:
		break;
	}
	state = rl_state_unpack(word, &l->window);
	return rl_window_idle_at(&l->window, &state);
}

struct rl_limiter_time
rl_limiter_time_of(const struct rl_limiter *l, uint64_t now_ns)
{
	struct rl_limiter_time time = {.now_ns = now_ns};

	if (rl_limiter_has_window(l))
		time.window = rl_window_now(&l->window, now_ns);
	return time;
}

uint32_t
rl_limiter_used_most(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v,
                     const struct rl_limiter_time *at)
{
	if (v->is_zero)
		return 0;
	switch (l->kind) {
	case RL_KIND_SLIDING_WINDOW:
	case RL_KIND_FIXED_WINDOW:
		return rl_window_used_most(&l->window, v->word, &at->window);
	case RL_KIND_TOKEN_BUCKET:
	case RL_KIND_LEAKY_BUCKET:
		return rl_gcra_used_most(l->window_ns, q->capacity, v->word, at->now_ns);
	case RL_KIND_COUNTER:
		return rl_counter_has_expired(v->word, at->now_ns) ? 0 : rl_counter_used(v->word);
	case RL_KIND_ANCHORED_WINDOW:
		return anchored_at(l, v, at->now_ns).cur;
	case RL_KIND_IN_FLIGHT:
		return rl_in_flight_total(v->word);
	case RL_KIND_LENT:
		return rl_limiter_load(l, q, v, at->now_ns);
	case RL_KIND_SLIDING_LOG:
		break;
	}
	if (rl_limiter_idle_at(l, v->word) <= at->now_ns)
		return 0;
	return rl_log_unpack(v->word, l->ring_entries).units;
}

static bool
refund_window(const struct rl_limiter *l, const struct rl_view *v, uint64_t charge_id,
              uint32_t cost, struct rl_u128 *next)
{
	struct rl_state s = rl_state_unpack(v->word, &l->window);

	if (s.epoch != charge_id || s.jump > 0 || s.cur < cost)
		return false;
	s.cur -= cost;
	*next = rl_state_pack(s, v->slot_bits);
	return true;
}

static bool
refund_anchored(const struct rl_view *v, uint64_t charge_id, uint32_t cost, struct rl_u128 *next)
{
	struct rl_anchored a = rl_anchored_unpack(v->word);

	if (a.start_ns != charge_id || a.cur < cost)
		return false;
	a.cur -= cost;
	*next = rl_anchored_pack(a, v->slot_bits);
	return true;
}

static bool
refund_log(const struct rl_limiter *l, const struct rl_view *v, uint64_t charge_id, uint32_t cost,
           struct rl_u128 *next)
{
	struct rl_log log = rl_log_unpack(v->word, l->ring_entries);

	if (log.newest_ns != charge_id || log.pending < cost)
		return false;
	log.pending -= cost;
	log.units -= cost;
	*next = rl_log_pack(log, v->slot_bits);
	return true;
}

static bool
refund_gcra(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v,
            const struct rl_charge *charge, uint64_t now_ns, struct rl_u128 *next)
{
	struct rl_gcra g = gcra_of(l, q, charge->cost);
	struct rl_level level = level_of(&g, v), after;

	if (!rl_gcra_give(&g, &level, charge->epoch, charge->memory, now_ns, charge->cost, &after))
		return false;
	*next = rl_gcra_pack(&g, &after, v->slot_bits);
	return true;
}

/* Only of the newest charge, and under the scale that it was made with. */
static bool
refund_lent_bucket(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v,
                   const struct rl_charge *charge, uint64_t now_ns, struct rl_u128 *next)
{
	struct rl_share_bucket bucket =
		rl_share_bucket_of(l->window_ns, q->capacity, rl_limiter_wished_burst(l, q));
	struct rl_share_level level =
		rl_share_level_of(&bucket, v->word, rl_share_bucket_scale(v->word), now_ns);

	if (v->word.lo != charge->epoch || rl_share_bucket_memory(v->word) != charge->memory ||
	    !rl_share_level_give(&level, charge->cost))
		return false;
	*next = rl_share_level_word(&level, now_ns, v->slot_bits | share_bits_of(v));
	return true;
}

static bool
refund_lent(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v,
            const struct rl_charge *charge, uint64_t now_ns, struct rl_u128 *next)
{
	const struct rl_limiter own = alone(l);
	const struct rl_view view = rl_limiter_view_alone(l, v);

	if (rl_limiter_has_bucket(l))
		return refund_lent_bucket(l, q, v, charge, now_ns, next);
	if (!rl_limiter_refund(&own, q, &view, charge, now_ns, next))
		return false;
	*next = word_lent(l, *next, share_bits_of(v));
	return true;
}

static uint32_t
refund_newest_lent(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v,
                   uint32_t cost, uint64_t now_ns, struct rl_u128 *next)
{
	const struct rl_limiter own = alone(l);
	const struct rl_view view = rl_limiter_view_alone(l, v);
	uint32_t given;

	if (rl_limiter_has_bucket(l)) /* which charge was the newest is not known */
		return 0;
	given = rl_limiter_refund_newest(&own, q, &view, cost, now_ns, next);
	if (given > 0)
		*next = word_lent(l, *next, share_bits_of(v));
	return given;
}

bool
rl_limiter_refund(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v,
                  const struct rl_charge *charge, uint64_t now_ns, struct rl_u128 *next)
{
	switch (l->kind) {
	case RL_KIND_SLIDING_WINDOW:
	case RL_KIND_FIXED_WINDOW:
		return refund_window(l, v, charge->epoch, charge->cost, next);
	case RL_KIND_ANCHORED_WINDOW:
		return refund_anchored(v, charge->epoch, charge->cost, next);
	case RL_KIND_COUNTER:
	case RL_KIND_IN_FLIGHT: /* by its tally: holder/units.c */
		return false;
	case RL_KIND_SLIDING_LOG:
		return refund_log(l, v, charge->epoch, charge->cost, next);
	case RL_KIND_TOKEN_BUCKET:
	case RL_KIND_LEAKY_BUCKET:
		return refund_gcra(l, q, v, charge, now_ns, next);
	case RL_KIND_LENT:
		return refund_lent(l, q, v, charge, now_ns, next);
	}
	return false;
}

static uint32_t
lesser(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Of the sub-bucket that a request would be counted in, if the state is open in it. */
static uint32_t
refund_newest_of_window(const struct rl_limiter *l, const struct rl_view *v, uint32_t cost,
                        uint64_t now_ns, struct rl_u128 *next)
{
	struct rl_state s = rl_state_unpack(v->word, &l->window);
	uint32_t given = lesser(cost, s.cur);

	if (s.jump > 0 || rl_window_epoch(&l->window, now_ns) > s.epoch)
		return 0;
	s.cur -= given;
	*next = rl_state_pack(s, v->slot_bits);
	return given;
}

static uint32_t
refund_newest_of_anchored(const struct rl_limiter *l, const struct rl_view *v, uint32_t cost,
                          uint64_t now_ns, struct rl_u128 *next)
{
	struct rl_anchored a = anchored_at(l, v, now_ns);
	uint32_t given = lesser(cost, a.cur);

	a.cur -= given;
	*next = rl_anchored_pack(a, v->slot_bits);
	return given;
}

static uint32_t
refund_newest_of_log(const struct rl_limiter *l, const struct rl_view *v, uint32_t cost,
                     struct rl_u128 *next)
{
	struct rl_log log = rl_log_unpack(v->word, l->ring_entries);
	uint32_t given = lesser(cost, log.pending);

	log.pending -= given;
	log.units -= given;
	*next = rl_log_pack(log, v->slot_bits);
	return given;
}

static uint32_t
refund_newest_of_gcra(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v,
                      uint32_t cost, uint64_t now_ns, struct rl_u128 *next)
{
	struct rl_gcra g = gcra_of(l, q, cost);
	struct rl_level level = level_of(&g, v), after;
	uint32_t given = rl_gcra_give_newest(&g, &level, now_ns, cost, &after);

	if (given > 0)
		*next = rl_gcra_pack(&g, &after, v->slot_bits);
	return given;
}

uint32_t
rl_limiter_refund_newest(const struct rl_limiter *l, const struct rl_quota *q,
                         const struct rl_view *v, uint32_t cost, uint64_t now_ns,
                         struct rl_u128 *next)
{
	switch (l->kind) {
	case RL_KIND_SLIDING_WINDOW:
	case RL_KIND_FIXED_WINDOW:
		return refund_newest_of_window(l, v, cost, now_ns, next);
	case RL_KIND_ANCHORED_WINDOW:
		return refund_newest_of_anchored(l, v, cost, now_ns, next);
	case RL_KIND_SLIDING_LOG:
		return refund_newest_of_log(l, v, cost, next);
	case RL_KIND_TOKEN_BUCKET:
	case RL_KIND_LEAKY_BUCKET:
		return refund_newest_of_gcra(l, q, v, cost, now_ns, next);
	case RL_KIND_LENT:
		return refund_newest_lent(l, q, v, cost, now_ns, next);
	case RL_KIND_IN_FLIGHT: /* nobody else can tell whose */
	case RL_KIND_COUNTER:
		break;
	}
	return 0;
}

/* One sub-bucket, which is the window. */
static void
history_of_anchored(const struct rl_limiter *l, const struct rl_view *v, uint64_t now_ns,
                    struct rl_history *h)
{
	struct rl_anchored at = anchored_at(l, v, now_ns);

	h->buckets = 1;
	h->width_ns = l->window_ns;
	h->end_ns = rl_anchored_end(at, l->window_ns);
	h->start_ns = at.start_ns;
	h->bucket[0] = at.cur;
}

bool
rl_limiter_history(const struct rl_limiter *l, const struct rl_view *v, uint64_t now_ns,
                   struct rl_history *h)
{
	struct rl_window_at at;
	struct rl_state space;
	struct rl_view own;

	if (l->algorithm == RL_ANCHORED_WINDOW) {
		history_of_anchored(l, v, now_ns, h);
		return true;
	}
	if (!rl_limiter_has_window(l))
		return false;
	own = rl_limiter_view_alone(l, v);
	at = window_at(l, &own, now_ns, &space);
	rl_window_history(&at, h);
	return true;
}

/* A window's, by its sub-buckets; before 1970 there were none. */
static size_t
charge_entries_of(const struct rl_history *h, struct rl_charge_entry *entry)
{
	size_t count = 0;

	for (uint32_t i = h->buckets; i-- > 0;)
		if (h->bucket[i] > 0 && h->start_ns / h->width_ns >= i)
			entry[count++] = (struct rl_charge_entry){
				.at_ns = h->start_ns - i * h->width_ns, .cost = h->bucket[i]};
	return count;
}

static size_t
charge_entries_of_log(const struct rl_limiter *l, const struct rl_view *v, uint32_t used,
                      struct rl_charge_entry *entry)
{
	struct rl_log space;
	const struct rl_log *log = log_of(l, v, &space);
	size_t count = 0;

	for (uint32_t back = used; log && back-- > 0;) {
		uint64_t at_ns = rl_log_time(log, v->ring, l->ring_entries, back);
		if (count > 0 && entry[count - 1].at_ns == at_ns)
			entry[count - 1].cost++;
		else
			entry[count++] = (struct rl_charge_entry){.at_ns = at_ns, .cost = 1};
	}
	return count;
}

/* The tokens that a bucket lacks: more than its burst where tokens are booked ahead. */
static uint32_t
lacks_of(const struct rl_limiter *l, const struct rl_quota *q, const struct rl_view *v,
         uint64_t now_ns)
{
	struct rl_gcra g = rl_gcra_make(l->window_ns, q->capacity, RL_CAPACITY_MAX - 1);
	struct rl_level level = level_of(&g, v);

	return g.burst - rl_gcra_remaining(&g, &level, now_ns);
}

size_t
rl_limiter_charge_entries(const struct rl_limiter *l, const struct rl_quota *q,
                          const struct rl_view *v, const struct rl_history *h, uint32_t used,
                          uint64_t now_ns,
                          struct rl_charge_entry entry[static RL_CHARGE_ENTRIES_MAX])
{
	struct rl_view own;

	switch (l->algorithm) {
	case RL_SLIDING_WINDOW:
	case RL_FIXED_WINDOW:
	case RL_ANCHORED_WINDOW:
		return charge_entries_of(h, entry);
	case RL_SLIDING_LOG:
		own = rl_limiter_view_alone(l, v);
		return charge_entries_of_log(l, &own, used, entry);
	case RL_COUNTER:
		return 0;
	case RL_TOKEN_BUCKET:
	case RL_LEAKY_BUCKET:
		if (!rl_limiter_is_lent(l)) /* of which nothing is booked ahead */
			used = lacks_of(l, q, v, now_ns);
		break;
	case RL_IN_FLIGHT: /* what is held, whenever it was taken */
		break;
	}
	entry[0] = (struct rl_charge_entry){.at_ns = now_ns, .cost = used};
	return used > 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "algorithm/window.h"

#define COUNT_MASK ((UINT64_C(1) << 28) - 1)

#define ENTRY_COUNT_SHIFT 36
#define ENTRY_GEN_SHIFT 28
#define ENTRY_EPOCH_MASK ((UINT64_C(1) << 28) - 1)

/* The start of a sub-bucket; only a damaged epoch can reach the limit. */
static uint64_t
start_of(const struct rl_window *w, uint64_t epoch)
{
	uint64_t ns;

	return __builtin_mul_overflow(epoch, w->width_ns, &ns) ? UINT64_MAX : ns;
}

struct rl_window
rl_window_of(uint64_t width_ns, uint32_t count, bool is_hard)
{
	return (struct rl_window){
		.width_ns = width_ns,
		.inverse = UINT64_MAX / width_ns,
		.count = count,
		.count_inverse = count > 0 ? UINT64_MAX / count : 0,
		.is_hard = is_hard,
	};
}

struct rl_window
rl_window_make(enum rl_algorithm algorithm, uint64_t window_ns, uint32_t granularity, bool is_hard)
{
	if (algorithm == RL_FIXED_WINDOW)
		return rl_window_of(window_ns, 0, is_hard);
	return rl_window_of((window_ns + granularity - 1) / granularity, granularity, is_hard);
}

uint64_t
rl_ring_entry(uint64_t epoch, uint32_t count, uint8_t gen)
{
	return (uint64_t)count << ENTRY_COUNT_SHIFT | (uint64_t)gen << ENTRY_GEN_SHIFT |
	       (epoch & ENTRY_EPOCH_MASK);
}

uint32_t
rl_ring_count(uint64_t entry, uint64_t epoch, uint8_t gen)
{
	uint64_t other = entry ^ rl_ring_entry(epoch, 0, gen);

	return other << (64 - ENTRY_COUNT_SHIFT) == 0 ? (uint32_t)(other >> ENTRY_COUNT_SHIFT) : 0;
}

static uint32_t
place_before(const struct rl_window *w, uint32_t place)
{
	return place > 0 ? place - 1 : w->count - 1;
}

/* The sub-bucket a request at now_ns is counted in: never one that is closed or frozen. */
static uint64_t
epoch_at(const struct rl_window *w, const struct rl_state *s, uint64_t now_ns)
{
	uint64_t epoch = rl_window_epoch(w, now_ns);

	return s && epoch < s->epoch + s->jump ? s->epoch + s->jump : epoch;
}

struct rl_window_at
rl_window_at(const struct rl_window *w, const struct rl_state *s, const uint64_t *ring, uint8_t gen,
             uint64_t now_ns)
{
	uint64_t epoch = epoch_at(w, s, now_ns), start = start_of(w, epoch);

	return (struct rl_window_at){
		.window = w,
		.state = s && epoch - s->epoch <= w->count ? s : NULL,
		.ring = ring,
		.start_ns = start,
		.now_ns = now_ns < start ? start : now_ns,
		.epoch = epoch,
		.gen = gen,
	};
}

/* How many sub-buckets the state's own is behind. */
static uint64_t
age_of(const struct rl_window_at *at)
{
	return at->epoch - at->state->epoch;
}

/* No more than a word has room for: only damage counts more. */
static uint32_t
limited(uint64_t sum)
{
	return sum > COUNT_MASK ? (uint32_t)COUNT_MASK : (uint32_t)sum;
}

/* The ring's count of the closed sub-buckets from `newest` to `oldest` before the state's own. */
static uint64_t
ring_sum(const struct rl_window_at *at, uint32_t newest, uint32_t oldest)
{
	const struct rl_window *w = at->window;
	const struct rl_state *s = at->state;
	uint64_t sum = 0;
	uint32_t place = rl_window_place(w, s->epoch + w->count - newest + 1);

	for (uint32_t back = newest; back <= oldest && back <= s->span; back++) {
		place = place_before(w, place);
		sum += rl_ring_count(rl_atomic_load(&at->ring[place]), s->epoch - back, at->gen);
	}
	return sum;
}

/* False if the state alone says what counts. */
static bool
needs_ring(const struct rl_window_at *at)
{
	return at->window->count > 1 && at->state->sum > 0;
}

/* The admissions `i` sub-buckets before the request's, by the ring. */
static uint32_t
closed_before(const struct rl_window_at *at, uint64_t i)
{
	uint64_t epoch = at->epoch - i;

	if (at->state->epoch - epoch > at->state->span || !needs_ring(at))
		return 0;
	return rl_ring_count(rl_atomic_load(&at->ring[rl_window_place(at->window, epoch)]), epoch,
	                     at->gen);
}

/* The same of any. */
static inline uint32_t
count_before(const struct rl_window_at *at, uint64_t i)
{
	uint64_t age = age_of(at);

	if (i <= age)
		return i == age ? at->state->cur : 0;
	if (at->window->count == 1)
		return i - age == 1 ? at->state->sum : 0;
	return closed_before(at, i);
}

/* Of more than there is, all of it: only a damaged ring has that. */
static uint64_t
less(uint64_t count, uint64_t part)
{
	return count > part ? count - part : 0;
}

/*
 * What the state says counts, less what has left since. What leaves a frozen one is not in its sum.
 */
static uint64_t
count_all(const struct rl_window_at *at)
{
	const struct rl_state *s = at->state;
	uint64_t all = (uint64_t)s->cur + s->sum, count = at->window->count;

	for (uint64_t i = count + 1; i + s->jump <= count + age_of(at); i++)
		all = less(all, count_before(at, i));
	return all;
}

struct rl_window_used
rl_window_count(const struct rl_window_at *at)
{
	const struct rl_window *w = at->window;
	struct rl_window_used u = {0};

	if (!at->state)
		return u;
	u.used = u.all = count_all(at);
	u.oldest = count_before(at, w->count);
	if (!w->is_hard && w->count > 0 && u.oldest > 0)
		u.used = less(u.all, rl_window_share_gone(w, u.oldest, at->now_ns - at->start_ns));
	return u;
}

uint32_t
rl_window_remaining(const struct rl_window_used *u, uint32_t capacity)
{
	return u->used < capacity ? capacity - (uint32_t)u->used : 0;
}

void
rl_window_history(const struct rl_window_at *at, struct rl_history *h)
{
	h->buckets = at->window->count + 1;
	h->width_ns = at->window->width_ns;
	h->start_ns = start_of(at->window, at->epoch);
	h->end_ns = start_of(at->window, at->epoch + 1);
	for (uint32_t i = 0; i < h->buckets; i++)
		h->bucket[i] = at->state ? count_before(at, i) : 0;
}

static void
plan_admit(uint64_t epoch, uint32_t cur, uint32_t sum, uint32_t span, struct rl_move *m)
{
	m->step = RL_STEP_ADMIT;
	m->charges = true;
	m->entries = 0;
	m->next.epoch = epoch;
	m->next.cur = cur;
	m->next.sum = sum;
	m->next.span = span;
	m->next.jump = 0;
}

/*
 * What of the closed sub-buckets counts `jump` after the state's own: the sum less what leaves.
 * Once in each turn of the ring what stays is added up instead, so that no excess lasts: ring.h.
 */
static uint32_t
sum_after(const struct rl_window_at *at, uint32_t jump)
{
	const struct rl_window *w = at->window;
	const struct rl_state *s = at->state;

	if (!needs_ring(at))
		return 0;
	if (rl_window_place(w, s->epoch) + jump >= w->count)
		return limited(ring_sum(at, 1, w->count - jump));
	return (uint32_t)less(s->sum, ring_sum(at, w->count - jump + 1, w->count));
}

struct rl_state
rl_window_closed(const struct rl_window *w, const struct rl_state *s, uint32_t jump, uint32_t stays)
{
	return (struct rl_state){
		.epoch = s->epoch + jump,
		.sum = limited((uint64_t)s->cur + stays),
		.span = rl_lesser(s->span + jump, w->count),
	};
}

uint64_t
rl_window_ring_sum(const struct rl_window *w, const struct rl_state *s, const uint64_t *ring,
                   uint8_t gen)
{
	const struct rl_window_at at = {.window = w, .state = s, .ring = ring, .gen = gen};

	return ring_sum(&at, 1, w->count - s->jump);
}

/*
 * By a frozen state: with the jump of whoever froze it, so that all who help store the same
 * entries.
 */
static void
plan_close(const struct rl_window_at *at, uint32_t cost, struct rl_move *m)
{
	const struct rl_state *s = at->state;
	bool is_open = s->jump == 0;

	m->step = is_open ? RL_STEP_ROLL : RL_STEP_CLOSE;
	m->entries = is_open ? (uint32_t)age_of(at) : s->jump;
	m->stays = is_open ? sum_after(at, m->entries) : s->sum;
	m->next = rl_window_closed(at->window, s, m->entries, m->stays);
	m->charges = m->next.epoch == at->epoch;
	m->next.cur = m->charges ? cost : 0;
}

/* How an admitted request is written when time has moved on inside the window. */
static void
plan_roll(const struct rl_window_at *at, uint32_t cost, struct rl_move *m)
{
	if (at->window->count == 1)
		plan_admit(at->epoch, cost, at->state->cur, 0, m);
	else
		plan_close(at, cost, m);
}

/* Counting every closed sub-bucket in full is quick, and enough if it admits. */
static bool
surely_admits(const struct rl_window_at *at, uint32_t capacity, uint32_t cost)
{
	uint64_t used = (uint64_t)at->state->cur + at->state->sum;

	if (at->window->count == 1 && age_of(at) == 1)
		used = at->state->cur;
	return used + cost <= capacity;
}

void
rl_window_decide(const struct rl_window_at *at, uint32_t capacity, uint32_t cost,
                 struct rl_window_used *u, struct rl_move *m)
{
	const struct rl_state *s = at->state;

	if (!s) {
		plan_admit(at->epoch, cost, 0, 0, m);
		return;
	}
	if (!surely_admits(at, capacity, cost)) {
		*u = rl_window_count(at);
		if (u->used + cost > capacity) {
			m->step = RL_STEP_DENY;
			m->charges = false;
			return;
		}
	}
	if (at->epoch > s->epoch)
		plan_roll(at, cost, m);
	else
		plan_admit(at->epoch, s->cur + cost, s->sum, s->span, m);
}

/* count * whole / part, rounded down; a 128-bit division only where 64 bits do not do. */
static uint64_t
scale(uint64_t count, uint64_t whole, uint64_t part)
{
	uint64_t product;

	if (!__builtin_mul_overflow(count, whole, &product))
		return product / part;
	return (uint64_t)((unsigned __int128)count * whole / part);
}

/* When a share of `oldest`, whose sub-bucket leaves by its end, is at most `room`; 0 never. */
static uint64_t
share_fits_at(const struct rl_window *w, uint64_t epoch, uint32_t oldest, uint64_t room)
{
	uint64_t keep;

	if (oldest <= room)
		return start_of(w, epoch);
	keep = scale(room, w->width_ns, oldest);
	return keep > 0 ? start_of(w, epoch + 1) - keep : 0;
}

/*
 * Oldest first, until what is left admits. In sub-bucket epoch + m those up to n-m-1 back count in
 * full and the one n-m back by its share, or until it has left.
 */
uint64_t
rl_window_retry_at(const struct rl_window_at *at, const struct rl_window_used *u, uint32_t capacity,
                   uint32_t cost)
{
	const struct rl_window *w = at->window;
	bool is_whole = w->is_hard || w->count == 0;
	uint64_t all = u->all;

	for (uint32_t m = 0; m <= w->count; m++) {
		uint32_t oldest = m == 0 ? u->oldest : count_before(at, w->count - m);
		uint64_t full = less(all, oldest), then = 0;

		if (full + cost <= capacity)
			then = is_whole ? start_of(w, at->epoch + m + 1)
			                : share_fits_at(w, at->epoch + m, oldest,
			                                capacity - cost - full);
		if (then > 0)
			return then;
		all = full;
	}
	return start_of(w, at->epoch + w->count + 1);
}

/* When the newest that counts has left. */
uint64_t
rl_window_reset_at(const struct rl_window_at *at)
{
	const struct rl_window *w = at->window;

	for (uint32_t i = at->state ? (uint32_t)age_of(at) : w->count + 1; i <= w->count; i++)
		if (count_before(at, i) > 0)
			return start_of(w, at->epoch - i + w->count + 1);
	return 0;
}

struct rl_window_until
rl_window_used_up_until(const struct rl_window *w, uint64_t epoch, uint32_t cur, uint32_t capacity,
                        uint32_t cost)
{
	uint64_t end = start_of(w, epoch + w->count + 1);
	struct rl_window_until until = {.retry_at_ns = end, .reset_at_ns = end};

	/*
	 * As the last of rl_window_retry_at(): nothing newer counts, and cur is more than the room.
	 */
	if (!w->is_hard && w->count > 0)
		until.retry_at_ns -= scale(capacity - cost, w->width_ns, cur);
	return until;
}

uint32_t
rl_window_left(const struct rl_window *w, const struct rl_state *s, uint32_t capacity,
               uint64_t now_ns)
{
	struct rl_window_used u = {.used = (uint64_t)s->cur + s->sum};

	if (w->count == 1) { /* in the state is all that there is */
		struct rl_window_at at = rl_window_at(w, s, NULL, 0, now_ns);
		u = rl_window_count(&at);
	}
	return rl_window_remaining(&u, capacity);
}

struct rl_window_now
rl_window_now(const struct rl_window *w, uint64_t now_ns)
{
	struct rl_window_now now = {.epoch = rl_window_epoch(w, now_ns), .oldest = RL_OLDEST_WHOLE};

	if (w->count == 1 && !w->is_hard)
		now.oldest -= scale(RL_OLDEST_WHOLE, now_ns - now.epoch * w->width_ns, w->width_ns);
	return now;
}

uint64_t
rl_window_idle_at(const struct rl_window *w, const struct rl_state *s)
{
	return start_of(w, s->epoch + s->jump + w->count + 1);
}

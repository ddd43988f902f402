/* SPDX-License-Identifier: BSD-2-Clause */
#include "algorithm/window.h"

#define COUNT_MASK ((UINT64_C(1) << 28) - 1)

#define ENTRY_COUNT_SHIFT 36
#define ENTRY_GEN_SHIFT 28
#define ENTRY_EPOCH_MASK ((UINT64_C(1) << 28) - 1)

static uint32_t
min32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* The start of a sub-bucket; only a damaged epoch can reach the limit. */
static uint64_t
start_of(const struct rl_window *w, uint64_t epoch)
{
	uint64_t ns;

	return __builtin_mul_overflow(epoch, w->width_ns, &ns) ? UINT64_MAX : ns;
}

/* Where the ring has a sub-bucket; only with a count. */
static uint32_t
place_of(const struct rl_window *w, uint64_t epoch)
{
	return (uint32_t)(epoch - rl_quotient(epoch, w->count, w->count_inverse) * w->count);
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
	uint32_t count = (uint32_t)(entry >> ENTRY_COUNT_SHIFT);

	return entry == rl_ring_entry(epoch, count, gen) ? count : 0;
}

/* The sub-bucket a request at now_ns is counted in: never one that is closed or frozen. */
static uint64_t
epoch_at(const struct rl_window *w, const struct rl_state *s, uint64_t now_ns)
{
	uint64_t epoch = rl_window_epoch(w, now_ns);

	return epoch < s->epoch + s->jump ? s->epoch + s->jump : epoch;
}

static uint32_t
place_before(const struct rl_window *w, uint32_t place)
{
	return place > 0 ? place - 1 : w->count - 1;
}

/* What the ring holds of the closed sub-buckets that still count at `epoch` > s->epoch. */
static uint32_t
ring_sum(const struct rl_window *w, const struct rl_state *s, const uint64_t *ring, uint8_t gen,
         uint64_t epoch)
{
	uint64_t sum = 0;
	uint64_t age = epoch - s->epoch;

	uint32_t place = place_of(w, s->epoch);

	for (uint64_t back = 1; back <= s->span && back + age <= w->count; back++) {
		place = place_before(w, place);
		sum += rl_ring_count(rl_atomic_load(&ring[place]), s->epoch - back, gen);
	}
	return sum > COUNT_MASK ? (uint32_t)COUNT_MASK : (uint32_t)sum;
}

/* False if what counts can be told from the state alone. */
static bool
needs_ring(const struct rl_window *w, const struct rl_state *s)
{
	return w->count > 1 && s->sum > 0;
}

/* The buckets as they are when the newest has `age` sub-buckets after the state's epoch. */
static void
fill_buckets(const struct rl_window *w, const struct rl_state *s, const uint64_t *ring, uint8_t gen,
             uint64_t age, struct rl_history *h)
{
	uint32_t place;

	h->bucket[age] = s->cur;
	if (w->count == 1 && age == 0)
		h->bucket[1] = s->sum;
	if (!needs_ring(w, s))
		return;
	place = place_of(w, s->epoch);
	for (uint64_t back = 1; back <= s->span && back + age <= w->count; back++) {
		place = place_before(w, place);
		h->bucket[back + age] =
			rl_ring_count(rl_atomic_load(&ring[place]), s->epoch - back, gen);
	}
}

void
rl_window_history(const struct rl_window *w, const struct rl_state *s, const uint64_t *ring,
                  uint8_t gen, uint64_t now_ns, struct rl_history *h)
{
	for (uint32_t i = 0; i <= w->count; i++)
		h->bucket[i] = 0;
	h->epoch = s ? epoch_at(w, s, now_ns) : rl_window_epoch(w, now_ns);
	h->at_ns = start_of(w, h->epoch);
	if (h->at_ns < now_ns)
		h->at_ns = now_ns;
	if (s && h->epoch - s->epoch <= w->count)
		fill_buckets(w, s, ring, gen, h->epoch - s->epoch, h);
	h->full = 0;
	for (uint32_t i = 0; i < w->count; i++)
		h->full += h->bucket[i];
}

static void
plan_admit(uint64_t epoch, uint32_t cur, uint32_t sum, uint32_t span, struct rl_move *m)
{
	m->step = RL_STEP_ADMIT;
	m->charges = true;
	m->next.epoch = epoch;
	m->next.cur = cur;
	m->next.sum = sum;
	m->next.span = span;
	m->next.jump = 0;
}

static void
plan_freeze(const struct rl_state *s, uint64_t epoch, struct rl_move *m)
{
	m->step = RL_STEP_FREEZE;
	m->charges = false;
	m->next = *s;
	m->next.jump = (uint32_t)(epoch - s->epoch);
}

/* The jump of whoever froze it, so that all who help store the same entries. */
static void
plan_close(const struct rl_window *w, const struct rl_state *s, const uint64_t *ring, uint8_t gen,
           uint64_t epoch, uint32_t cost, struct rl_move *m)
{
	uint64_t target = s->epoch + s->jump;
	uint64_t sum = s->cur;

	if (needs_ring(w, s))
		sum += ring_sum(w, s, ring, gen, target);
	m->step = RL_STEP_CLOSE;
	m->charges = target == epoch;
	m->next.epoch = target;
	m->next.cur = m->charges ? cost : 0;
	m->next.sum = sum > COUNT_MASK ? (uint32_t)COUNT_MASK : (uint32_t)sum;
	m->next.span = min32(s->span + s->jump, w->count);
	m->next.jump = 0;
}

/* How an admitted request is written when time has moved on to `epoch` inside the window. */
static void
plan_roll(const struct rl_window *w, const struct rl_state *s, const uint64_t *ring, uint8_t gen,
          uint64_t epoch, uint32_t cost, struct rl_move *m)
{
	if (w->count == 1)
		plan_admit(epoch, cost, s->cur, 0, m);
	else if (s->jump == 0)
		plan_freeze(s, epoch, m);
	else
		plan_close(w, s, ring, gen, epoch, cost, m);
}

/* Counting every closed sub-bucket in full is quick, and enough if it admits. */
static bool
surely_admits(const struct rl_window *w, const struct rl_state *s, uint64_t age, uint32_t capacity,
              uint32_t cost)
{
	uint64_t used = (uint64_t)s->cur + s->sum;

	if (w->count == 1 && age == 1)
		used = s->cur;
	return used + cost <= capacity;
}

void
rl_window_decide(const struct rl_window *w, const struct rl_state *s, const uint64_t *ring,
                 uint8_t gen, uint32_t capacity, uint32_t cost, uint64_t now_ns,
                 struct rl_history *h, struct rl_move *m)
{
	uint64_t epoch = s ? epoch_at(w, s, now_ns) : rl_window_epoch(w, now_ns);

	if (!s || epoch - s->epoch > w->count) {
		plan_admit(epoch, cost, 0, 0, m);
		return;
	}
	if (!surely_admits(w, s, epoch - s->epoch, capacity, cost)) {
		rl_window_history(w, s, ring, gen, now_ns, h);
		if (cost > rl_window_remaining(w, h, capacity)) {
			m->step = RL_STEP_DENY;
			m->charges = false;
			return;
		}
	}
	if (epoch > s->epoch)
		plan_roll(w, s, ring, gen, epoch, cost, m);
	else
		plan_admit(epoch, s->cur + cost, s->sum, s->span, m);
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

uint32_t
rl_window_remaining(const struct rl_window *w, const struct rl_history *h, uint32_t capacity)
{
	uint64_t used = h->full;

	if (w->is_hard || w->count == 0) {
		used += h->bucket[w->count];
	} else if (h->bucket[w->count] > 0) {
		uint64_t elapsed = h->at_ns - start_of(w, h->epoch);
		uint32_t oldest = h->bucket[w->count];
		used += oldest - rl_window_share_gone(w, oldest, elapsed);
	}
	return used < capacity ? capacity - (uint32_t)used : 0;
}

/* When the sub-bucket that is `back` before the newest one has left the window. */
static uint64_t
leaves_at(const struct rl_window *w, const struct rl_history *h, uint32_t back)
{
	return start_of(w, h->epoch - back + w->count + 1);
}

static uint64_t
retry_at_whole(const struct rl_window *w, const struct rl_history *h, uint32_t capacity,
               uint32_t cost)
{
	uint64_t used = h->full + h->bucket[w->count];

	for (uint32_t i = w->count;; i--) {
		used -= h->bucket[i];
		if (used + cost <= capacity)
			return leaves_at(w, h, i);
	}
}

/*
 * In sub-bucket epoch + m, those up to n-m-1 back count in full and n-m back by its
 * remaining share: admitted once share * oldest <= room, the room that the others leave.
 */
static uint64_t
retry_at_share(const struct rl_window *w, const struct rl_history *h, uint32_t capacity,
               uint32_t cost)
{
	uint64_t full = h->full;

	for (uint32_t m = 0; m <= w->count; m++) {
		uint32_t oldest = h->bucket[w->count - m];
		if (full + cost <= capacity) {
			uint64_t room = capacity - cost - full;
			if (oldest <= room)
				return start_of(w, h->epoch + m);
			uint64_t keep = scale(room, w->width_ns, oldest);
			if (keep > 0)
				return start_of(w, h->epoch + m + 1) - keep;
		}
		if (m < w->count)
			full -= h->bucket[w->count - m - 1];
	}
	return start_of(w, h->epoch + w->count + 1);
}

uint64_t
rl_window_retry_at(const struct rl_window *w, const struct rl_history *h, uint32_t capacity,
                   uint32_t cost)
{
	if (w->is_hard || w->count == 0)
		return retry_at_whole(w, h, capacity, cost);
	return retry_at_share(w, h, capacity, cost);
}

/* A state, seen from the sub-bucket `epoch`. */
struct seen {
	const struct rl_window *w;
	const struct rl_state *s;
	const uint64_t *ring;
	uint8_t gen;
	uint64_t epoch;
};

/* What was admitted `i` sub-buckets before it. */
static uint32_t
count_before(const struct seen *v, uint64_t i)
{
	uint64_t age = v->epoch - v->s->epoch, back = i - age;

	if (i <= age)
		return i == age ? v->s->cur : 0;
	if (v->w->count == 1)
		return back == 1 ? v->s->sum : 0;
	if (back > v->s->span || !needs_ring(v->w, v->s))
		return 0;
	return rl_ring_count(rl_atomic_load(&v->ring[place_of(v->w, v->s->epoch - back)]),
	                     v->s->epoch - back, v->gen);
}

/* Of more than there is, all of it: only a damaged ring has that. */
static uint64_t
less(uint64_t count, uint64_t part)
{
	return count > part ? count - part : 0;
}

/* What the state says counts, less what has left since. */
static uint64_t
count_all(const struct seen *v)
{
	uint64_t all = (uint64_t)v->s->cur + v->s->sum;

	for (uint64_t i = v->w->count + UINT64_C(1); i <= v->w->count + v->epoch - v->s->epoch; i++)
		all = less(all, count_before(v, i));
	return all;
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

/* Oldest first, until what is left admits. `all` counts, `oldest` of it in the oldest. */
static uint64_t
admits_at(const struct seen *v, uint64_t all, uint32_t oldest, uint32_t capacity, uint32_t cost)
{
	bool is_whole = v->w->is_hard || v->w->count == 0;

	for (uint32_t m = 0; m <= v->w->count; m++) {
		uint64_t full, at;

		oldest = m == 0 ? oldest : count_before(v, v->w->count - m);
		full = less(all, oldest);
		at = 0;
		if (is_whole && full + cost <= capacity)
			at = start_of(v->w, v->epoch + m + 1);
		else if (!is_whole && full + cost <= capacity)
			at = share_fits_at(v->w, v->epoch + m, oldest, capacity - cost - full);
		if (at > 0)
			return at;
		all = full;
	}
	return start_of(v->w, v->epoch + v->w->count + 1);
}

/* When the newest that counts has left. */
static uint64_t
counts_until(const struct seen *v)
{
	for (uint32_t i = (uint32_t)(v->epoch - v->s->epoch); i <= v->w->count; i++)
		if (count_before(v, i) > 0)
			return start_of(v->w, v->epoch - i + v->w->count + 1);
	return 0;
}

bool
rl_window_denies(const struct rl_window *w, const struct rl_state *s, const uint64_t *ring,
                 uint8_t gen, uint32_t capacity, uint32_t cost, uint64_t now_ns,
                 struct rl_window_denial *d)
{
	const struct seen v = {w, s, ring, gen, epoch_at(w, s, now_ns)};
	uint64_t all, used, start = start_of(w, v.epoch);
	uint32_t oldest;

	/* Of a frozen one, what leaves may be overwritten already. */
	if (s->jump > 0 || v.epoch - s->epoch > w->count ||
	    surely_admits(w, s, v.epoch - s->epoch, capacity, cost))
		return false;
	used = all = count_all(&v);
	oldest = w->count > 0 ? count_before(&v, w->count) : (uint32_t)all;
	if (!w->is_hard && w->count > 0 && oldest > 0 && now_ns > start)
		used = less(used, rl_window_share_gone(w, oldest, now_ns - start));
	if (used + cost <= capacity)
		return false;
	d->remaining = used < capacity ? capacity - (uint32_t)used : 0;
	d->retry_at_ns = admits_at(&v, all, oldest, capacity, cost);
	d->reset_at_ns = counts_until(&v);
	return true;
}

uint64_t
rl_window_used_up_until(const struct rl_window *w, const struct rl_state *s, uint32_t capacity,
                        uint32_t cost, uint64_t *reset_at_ns)
{
	uint64_t end = start_of(w, s->epoch + w->count + 1);

	*reset_at_ns = end;
	if (w->is_hard || w->count == 0)
		return end;
	/* As the last of retry_at_share(): nothing newer counts, and cur is more than the room. */
	return end - scale(capacity - cost, w->width_ns, s->cur);
}

uint64_t
rl_window_reset_at(const struct rl_window *w, const struct rl_history *h)
{
	for (uint32_t i = 0; i <= w->count; i++)
		if (h->bucket[i] > 0)
			return leaves_at(w, h, i);
	return 0;
}

uint32_t
rl_window_left(const struct rl_window *w, const struct rl_state *s, uint32_t capacity,
               uint64_t now_ns)
{
	uint32_t used = s->cur + s->sum;

	if (w->count == 1 && !w->is_hard && s->sum > 0) {
		struct rl_history h;
		rl_window_history(w, s, NULL, 0, now_ns, &h);
		return rl_window_remaining(w, &h, capacity);
	}
	return used < capacity ? capacity - used : 0;
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

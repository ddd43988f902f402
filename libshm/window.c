/* SPDX-License-Identifier: BSD-2-Clause */
#include "window.h"

#define EPOCH_HIGH_SHIFT 12
#define EPOCH_HIGH_MASK UINT64_C(0x3ff)
#define CUR_SHIFT RL_STATE_EPOCH_BITS
#define SUM_SHIFT 36
#define SPAN_SHIFT 29
#define JUMP_SHIFT 22
#define STEPS_MASK UINT64_C(0x7f) /* span and jump */
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

/*
 * now / width without a division: with inverse = (2^64 - 1) / width, rounded down, the product's
 * high half is the quotient or one less, for now < 2^63.
 */
static uint64_t
epoch_of(const struct rl_window *w, uint64_t now_ns)
{
	uint64_t epoch = (uint64_t)(((unsigned __int128)now_ns * w->inverse) >> 64);

	return now_ns - epoch * w->width_ns >= w->width_ns ? epoch + 1 : epoch;
}

struct rl_window
rl_window_make(enum rl_algorithm algorithm, uint64_t window_ns, uint32_t granularity, bool is_hard)
{
	struct rl_window w = {.is_hard = is_hard};

	if (algorithm != RL_SLIDING_WINDOW && algorithm != RL_FIXED_WINDOW)
		return w;
	w.count = algorithm == RL_FIXED_WINDOW ? 0 : granularity;
	w.width_ns = w.count > 0 ? (window_ns + granularity - 1) / granularity : window_ns;
	w.inverse = UINT64_MAX / w.width_ns;
	return w;
}

struct rl_state
rl_state_unpack(struct rl_word16 word, const struct rl_window *w)
{
	struct rl_state s;

	s.epoch = (word.lo & RL_STATE_EPOCH_MASK) | (word.hi >> EPOCH_HIGH_SHIFT & EPOCH_HIGH_MASK)
	                                                    << RL_STATE_EPOCH_BITS;
	s.cur = (uint32_t)(word.lo >> CUR_SHIFT);
	s.sum = (uint32_t)(word.hi >> SUM_SHIFT);
	s.span = min32((uint32_t)(word.hi >> SPAN_SHIFT & STEPS_MASK), w->count);
	s.jump = min32((uint32_t)(word.hi >> JUMP_SHIFT & STEPS_MASK), w->count);
	return s;
}

struct rl_word16
rl_state_pack(struct rl_state s, uint64_t slot_bits)
{
	return (struct rl_word16){
		.lo = (s.epoch & RL_STATE_EPOCH_MASK) | (uint64_t)s.cur << CUR_SHIFT,
		.hi = (uint64_t)s.sum << SUM_SHIFT | (uint64_t)s.span << SPAN_SHIFT |
	              (uint64_t)s.jump << JUMP_SHIFT |
	              (s.epoch >> RL_STATE_EPOCH_BITS & EPOCH_HIGH_MASK) << EPOCH_HIGH_SHIFT |
	              slot_bits,
	};
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
	uint64_t epoch = epoch_of(w, now_ns);

	return epoch < s->epoch + s->jump ? s->epoch + s->jump : epoch;
}

/* What the ring holds of the closed sub-buckets that still count at `epoch` > s->epoch. */
static uint32_t
ring_sum(const struct rl_window *w, const struct rl_state *s, const uint64_t *ring, uint8_t gen,
         uint64_t epoch)
{
	uint64_t sum = 0;
	uint64_t age = epoch - s->epoch;

	for (uint64_t back = 1; back <= s->span && back + age <= w->count; back++) {
		uint64_t closed = s->epoch - back;
		sum += rl_ring_count(rl_atomic_load(&ring[closed % w->count]), closed, gen);
	}
	return sum > COUNT_MASK ? (uint32_t)COUNT_MASK : (uint32_t)sum;
}

/* False if what counts can be told from the state alone. */
static bool
needs_ring(const struct rl_window *w, const struct rl_state *s)
{
	return w->count > 1 && s->sum > 0;
}

void
rl_window_history(const struct rl_window *w, const struct rl_state *s, const uint64_t *ring,
                  uint8_t gen, uint64_t now_ns, struct rl_history *h)
{
	for (uint32_t i = 0; i <= w->count; i++)
		h->bucket[i] = 0;
	h->epoch = s ? epoch_at(w, s, now_ns) : epoch_of(w, now_ns);
	h->at_ns = start_of(w, h->epoch);
	if (h->at_ns < now_ns)
		h->at_ns = now_ns;
	if (!s)
		return;

	uint64_t age = h->epoch - s->epoch;
	if (age > w->count)
		return;
	h->bucket[age] = s->cur;
	if (w->count == 1 && age == 0)
		h->bucket[1] = s->sum;
	if (!needs_ring(w, s))
		return;
	for (uint64_t back = 1; back <= s->span && back + age <= w->count; back++) {
		uint64_t closed = s->epoch - back;
		h->bucket[back + age] =
			rl_ring_count(rl_atomic_load(&ring[closed % w->count]), closed, gen);
	}
}

static struct rl_move
plan_admit(struct rl_state next)
{
	return (struct rl_move){.step = RL_STEP_ADMIT, .charges = true, .next = next};
}

/* How an admitted request is written when time has moved on to `epoch` inside the window. */
static struct rl_move
plan_roll(const struct rl_window *w, const struct rl_state *s, const uint64_t *ring, uint8_t gen,
          uint64_t epoch, uint32_t cost)
{
	if (w->count == 1)
		return plan_admit((struct rl_state){.epoch = epoch, .cur = cost, .sum = s->cur});

	if (s->jump == 0) {
		struct rl_state frozen = *s;
		frozen.jump = (uint32_t)(epoch - s->epoch);
		return (struct rl_move){.step = RL_STEP_FREEZE, .next = frozen};
	}
	/* The jump of whoever froze it, so that all who help store the same entries. */
	uint64_t target = s->epoch + s->jump;
	uint64_t sum = s->cur;
	if (needs_ring(w, s))
		sum += ring_sum(w, s, ring, gen, target);
	bool charges = target == epoch;
	return (struct rl_move){
		.step = RL_STEP_CLOSE,
		.charges = charges,
		.next = {.epoch = target,
	                 .cur = charges ? cost : 0,
	                 .sum = sum > COUNT_MASK ? (uint32_t)COUNT_MASK : (uint32_t)sum,
	                 .span = min32(s->span + s->jump, w->count)},
	};
}

struct rl_move
rl_window_decide(const struct rl_window *w, const struct rl_state *s, const uint64_t *ring,
                 uint8_t gen, uint32_t capacity, uint32_t cost, uint64_t now_ns)
{
	if (!s)
		return plan_admit((struct rl_state){.epoch = epoch_of(w, now_ns), .cur = cost});

	uint64_t epoch = epoch_at(w, s, now_ns);
	uint64_t age = epoch - s->epoch;
	if (age > w->count)
		return plan_admit((struct rl_state){.epoch = epoch, .cur = cost});

	/* Counting every closed sub-bucket in full is quick, and enough if it admits. */
	uint64_t used = (uint64_t)s->cur + s->sum;
	if (w->count == 1 && age == 1)
		used = s->cur;
	if (used + cost > capacity) {
		struct rl_history h;
		rl_window_history(w, s, ring, gen, now_ns, &h);
		if (cost > rl_window_remaining(w, &h, capacity))
			return (struct rl_move){.step = RL_STEP_DENY};
	}
	if (age > 0)
		return plan_roll(w, s, ring, gen, epoch, cost);

	struct rl_state next = *s;
	next.cur += cost;
	return plan_admit(next);
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
	uint64_t used = 0;

	for (uint32_t i = 0; i < w->count; i++)
		used += h->bucket[i];
	if (w->is_hard || w->count == 0) {
		used += h->bucket[w->count];
	} else if (h->bucket[w->count] > 0) {
		uint64_t elapsed = h->at_ns - start_of(w, h->epoch);
		uint32_t oldest = h->bucket[w->count];
		used += oldest - (uint32_t)scale(oldest, elapsed, w->width_ns);
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
	uint64_t used = 0;

	for (uint32_t i = 0; i <= w->count; i++)
		used += h->bucket[i];
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
	uint64_t full = 0;

	for (uint32_t i = 0; i < w->count; i++)
		full += h->bucket[i];
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

uint64_t
rl_window_idle_at(const struct rl_window *w, const struct rl_state *s)
{
	return start_of(w, s->epoch + s->jump + w->count + 1);
}

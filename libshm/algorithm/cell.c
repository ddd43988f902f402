/* SPDX-License-Identifier: BSD-2-Clause */
#include "algorithm/cell.h"

#include "algorithm/log.h"

#define TICKS_SHIFT 36
#define CUR_MAX RL_CAPACITY_MAX

/* Epochs of a cell, and what was counted in the newest and in the one before. */
struct parts {
	uint64_t epoch;
	uint32_t cur;
	uint32_t sum;
};

bool
rl_cell_limiter(const struct rl_limiter *l, struct rl_limiter *cell)
{
	*cell = *l;
	switch (l->algorithm) {
	case RL_TOKEN_BUCKET:
	case RL_LEAKY_BUCKET: /* of a cluster: what it owes falls at a rate that a cell has not */
		return !rl_limiter_is_lent(l);
	case RL_FIXED_WINDOW:
		rl_limiter_set(cell, RL_FIXED_WINDOW);
		return true;
	case RL_SLIDING_WINDOW:
		cell->window_ns = l->window.width_ns * l->window.count;
		break;
	case RL_SLIDING_LOG:
	case RL_ANCHORED_WINDOW:
		break;
	case RL_IN_FLIGHT:
	case RL_COUNTER:
		return false;
	}
	rl_limiter_set(cell, RL_SLIDING_WINDOW);
	cell->granularity = 1;
	cell->window = rl_window_of(cell->window_ns, 1, true);
	return true;
}

struct rl_quota
rl_cell_quota(const struct rl_limiter *l, const struct rl_quota *quota)
{
	struct rl_quota q = *quota;

	q.counts_denied = false;
	if (rl_limiter_is_lent(l)) { /* no share is of keys that have no slot */
		q.has_lease = false;
		q.lent.away = 0;
	}
	if (rl_limiter_has_bucket(l))
		return q;
	q.capacity = rl_limiter_limit(l, &q);
	if (rl_limiter_is_lent(l) && q.lent.blind < q.capacity)
		q.capacity = q.lent.blind;
	return q;
}

static struct parts
parts_of(const struct rl_limiter *cell, struct rl_u128 count)
{
	struct rl_state s = rl_state_unpack(count, &cell->window);

	return (struct parts){s.epoch, s.cur, cell->window.count > 0 ? s.sum : 0};
}

static struct rl_u128
word_of(const struct parts *p)
{
	return rl_state_pack((struct rl_state){.epoch = p->epoch, .cur = p->cur, .sum = p->sum}, 0);
}

/* Bring it to an epoch, if that is newer. */
static void
advance(const struct rl_limiter *cell, uint64_t epoch, struct parts *p)
{
	if (epoch <= p->epoch)
		return;
	p->sum = epoch == p->epoch + 1 && cell->window.count > 0 ? p->cur : 0;
	p->cur = 0;
	p->epoch = epoch;
}

bool
rl_cell_is_open(const struct rl_limiter *cell, struct rl_u128 count, uint64_t now_ns)
{
	struct parts p;

	if (rl_limiter_has_bucket(cell))
		return count.lo >= now_ns && count.lo > 0;
	p = parts_of(cell, count);
	return p.cur > 0 && p.epoch >= rl_window_epoch(&cell->window, now_ns);
}

static uint32_t
limited(uint64_t count)
{
	return count < CUR_MAX ? (uint32_t)count : CUR_MAX;
}

/* Add what a slot was charged in an epoch to its parts, of which the newest is the first. */
static void
add(struct parts *p, uint64_t epoch, uint32_t count)
{
	if (epoch == p->epoch)
		p->cur = limited((uint64_t)p->cur + count);
	else if (epoch + 1 == p->epoch)
		p->sum = limited((uint64_t)p->sum + count);
}

/*
 * A slot that was brought on within an epoch, and counts nothing there, has forgotten what counted before that:
 * nothing may be counted there as if it were earlier. So its cell is open in that epoch.
 */
static void
open_epoch(struct parts *p, bool is_within)
{
	if (is_within && p->cur == 0)
		p->cur = 1;
}

/* Sub-bucket e lies in epoch e / count of the cell. As a request at the slot's own time finds it. */
static struct parts
parts_of_window(const struct rl_limiter *l, const struct rl_view *v)
{
	const struct rl_view own = rl_limiter_view_alone(l, v);
	const struct rl_window *w = &l->window;
	struct rl_state s = rl_state_unpack(own.word, w);
	uint32_t each = w->count > 0 ? w->count : 1;
	struct rl_window_at at;
	struct rl_history h;
	struct parts p;

	at = rl_window_at(w, &s, v->ring, v->gen, 0);
	rl_window_history(&at, &h);
	p = (struct parts){.epoch = at.epoch / each};
	for (uint32_t i = 0; i < h.buckets && i <= at.epoch; i++)
		add(&p, (at.epoch - i) / each, h.bucket[i]);
	open_epoch(&p, at.epoch % each != 0);
	return p;
}

static struct parts
parts_of_log(const struct rl_limiter *l, const struct rl_limiter *cell, const struct rl_view *v)
{
	const struct rl_view own = rl_limiter_view_alone(l, v);
	struct rl_log log = rl_log_unpack(own.word, l->ring_entries);
	uint32_t most = rl_log_capacity(l->ring_entries);
	struct parts p = {.epoch = rl_window_epoch(&cell->window, log.newest_ns)};

	for (uint32_t back = 0; back < log.units && back < most; back++) {
		uint64_t at_ns = rl_log_time(&log, v->ring, l->ring_entries, back);
		uint64_t epoch = rl_window_epoch(&cell->window, at_ns);
		if (epoch + 1 < p.epoch)
			break;
		add(&p, epoch < p.epoch ? epoch : p.epoch, 1);
	}
	open_epoch(&p, log.newest_ns % cell->window.width_ns != 0);
	return p;
}

/* Its count ends with its window, so it is counted where the window began. */
static struct parts
parts_of_anchored(const struct rl_limiter *cell, const struct rl_view *v)
{
	struct rl_anchored a = rl_anchored_unpack(v->word);

	return (struct parts){.epoch = rl_window_epoch(&cell->window, a.start_ns), .cur = a.cur};
}

static uint32_t
larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static struct rl_u128
fold_parts(const struct rl_limiter *cell, struct parts slot, struct rl_u128 count)
{
	struct parts p = parts_of(cell, count);

	advance(cell, slot.epoch, &p);
	advance(cell, p.epoch, &slot);
	p.cur = larger(p.cur, slot.cur);
	p.sum = larger(p.sum, slot.sum);
	return word_of(&p);
}

/* The later time. Ticks of one nanosecond may be of two capacities: then it is the next nanosecond. */
static struct rl_u128
fold_bucket(struct rl_u128 a, struct rl_u128 b)
{
	struct rl_u128 later = a.lo >= b.lo ? a : b;

	later.hi = later.hi >> TICKS_SHIFT << TICKS_SHIFT;
	if (a.lo == b.lo && a.hi >> TICKS_SHIFT != b.hi >> TICKS_SHIFT && later.lo < UINT64_MAX)
		later.lo++;
	return later;
}

struct rl_u128
rl_cell_fold(const struct rl_limiter *l, const struct rl_limiter *cell, const struct rl_view *v,
             struct rl_u128 count)
{
	switch (l->algorithm) {
	case RL_SLIDING_WINDOW:
	case RL_FIXED_WINDOW:
		return fold_parts(cell, parts_of_window(l, v), count);
	case RL_SLIDING_LOG:
		return fold_parts(cell, parts_of_log(l, cell, v), count);
	case RL_ANCHORED_WINDOW:
		return fold_parts(cell, parts_of_anchored(cell, v), count);
	case RL_TOKEN_BUCKET:
	case RL_LEAKY_BUCKET:
		return fold_bucket(count, v->word);
	case RL_IN_FLIGHT:
	case RL_COUNTER:
		break;
	}
	return count;
}

static struct rl_u128
window_word(const struct rl_window *w, const struct parts *p, uint64_t slot_bits)
{
	struct rl_state s = {.epoch = p->epoch, .cur = p->cur, .sum = p->sum};

	if (w->count > 1 && p->cur > 0) {
		s.epoch = (p->epoch + 1) * w->count - 1;
		s.cur = limited((uint64_t)p->cur + p->sum);
		s.sum = 0;
	} else if (w->count > 1) {
		s.epoch = p->epoch * w->count - 1;
		s.cur = p->sum;
		s.sum = 0;
		s.jump = 1;
	}
	return rl_state_pack(s, slot_bits);
}

/* No more than a log holds: that denies whatever comes. */
static struct rl_u128
log_word(const struct rl_limiter *l, const struct rl_limiter *cell, const struct parts *p,
         uint64_t slot_bits)
{
	uint64_t end = p->cur > 0 ? p->epoch + 1 : p->epoch, units = (uint64_t)p->cur + p->sum;
	uint32_t most = rl_log_capacity(l->ring_entries);
	struct rl_log log = {.newest_ns = end * cell->window.width_ns - 1};

	log.units = log.pending = units < most ? (uint32_t)units : most;
	return rl_log_pack(log, slot_bits);
}

/* No earlier than now: an end sooner than a window from now would let three windows meet one span. */
static struct rl_u128
anchored_word(const struct rl_limiter *cell, const struct parts *p, uint64_t now_ns,
              uint64_t slot_bits)
{
	bool is_later = p->cur > 0 && cell->window_ns != RL_NEVER_NS;
	uint64_t start_ns = (is_later ? p->epoch + 1 : p->epoch) * cell->window.width_ns;

	return rl_anchored_pack(
		(struct rl_anchored){.start_ns = start_ns > now_ns ? start_ns : now_ns,
	                             .cur = limited((uint64_t)p->cur + p->sum)},
		slot_bits);
}

static bool
carry_bucket(struct rl_u128 count, uint64_t now_ns, uint64_t slot_bits, struct rl_u128 *word)
{
	if (count.lo < now_ns)
		return false;
	word->lo = count.lo;
	word->hi = count.hi >> TICKS_SHIFT << TICKS_SHIFT | slot_bits;
	return word->lo > 0;
}

bool
rl_cell_carry(const struct rl_limiter *l, const struct rl_limiter *cell, struct rl_u128 count,
              uint64_t now_ns, uint64_t slot_bits, struct rl_u128 *word)
{
	uint64_t epoch;
	struct parts p;

	if (rl_limiter_has_bucket(l))
		return carry_bucket(count, now_ns, slot_bits, word);
	p = parts_of(cell, count);
	epoch = rl_window_epoch(&cell->window, now_ns);
	advance(cell, epoch, &p);
	if ((p.cur | p.sum) == 0 && p.epoch == epoch)
		return false;
	if ((p.epoch | p.cur) == 0) /* only damage counts before 1970 */
		return false;
	if (l->algorithm == RL_SLIDING_LOG)
		*word = log_word(l, cell, &p, slot_bits);
	else if (l->algorithm == RL_ANCHORED_WINDOW)
		*word = anchored_word(cell, &p, now_ns, slot_bits);
	else
		*word = window_word(&l->window, &p, slot_bits);
	*word = rl_limiter_word_of(l, *word);
	return true;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "algorithm/overflow_count.h"

#include "algorithm/ops.h"
#include "algorithm/overflow_word.h"

#define TICKS_SHIFT 36

/* A cluster's bucket owes what falls at a rate that an overflow counter has not. */
bool
rl_overflow_limiter(const struct rl_limiter *l, struct rl_limiter *overflow)
{
	const struct rl_algorithm_ops *own = l->own;

	*overflow = *l;
	if (rl_limiter_has_bucket(l))
		return !l->is_shared;
	if (!own->overflow_parts)
		return false;
	if (own->overflow_is_alike) {
		rl_limiter_set(overflow, l->algorithm);
		return true;
	}
	if (rl_limiter_has_window(l))
		overflow->window_ns = l->window.width_ns * l->window.count;
	rl_limiter_set(overflow, RL_SLIDING_WINDOW);
	overflow->granularity = 1;
	overflow->window = rl_window_of(overflow->window_ns, 1, true);
	return true;
}

struct rl_quota
rl_overflow_quota(const struct rl_limiter *l, const struct rl_quota *quota)
{
	struct rl_quota q = *quota;

	q.counts_denied = false;
	if (l->is_shared) { /* no share is of keys that have no slot */
		q.has_lease = false;
		q.share.away = 0;
	}
	if (rl_limiter_has_bucket(l))
		return q;
	q.capacity = rl_limiter_limit(l, &q);
	if (l->is_shared && !q.is_debt && q.share.blind < q.capacity)
		q.capacity = q.share.blind;
	return q;
}

/* Bring it to an epoch, if that is newer. */
static void
advance(const struct rl_limiter *overflow, uint64_t epoch, struct rl_overflow_parts *p)
{
	if (epoch <= p->epoch)
		return;
	p->sum = epoch == p->epoch + 1 && overflow->window.count > 0 ? p->cur : 0;
	p->cur = 0;
	p->epoch = epoch;
}

bool
rl_overflow_is_open(const struct rl_limiter *overflow, struct rl_u128 count, uint64_t now_ns)
{
	struct rl_overflow_parts p;

	if (rl_limiter_has_bucket(overflow))
		return count.lo >= now_ns && count.lo > 0;
	p = rl_overflow_parts_of(overflow, count);
	return p.cur > 0 && p.epoch >= rl_window_epoch(&overflow->window, now_ns);
}

static struct rl_u128
fold_parts(const struct rl_limiter *overflow, struct rl_overflow_parts slot, struct rl_u128 count)
{
	struct rl_overflow_parts p = rl_overflow_parts_of(overflow, count);

	advance(overflow, slot.epoch, &p);
	advance(overflow, p.epoch, &slot);
	p.cur = rl_larger(p.cur, slot.cur);
	p.sum = rl_larger(p.sum, slot.sum);
	return rl_overflow_count_of(&p);
}

/*
 * The later time. Ticks of one nanosecond may be of two capacities: then it is the next nanosecond.
 */
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
rl_overflow_folded(const struct rl_limiter *l, const struct rl_limiter *overflow,
                   const struct rl_view *v, struct rl_u128 count)
{
	const struct rl_algorithm_ops *own = l->own;
	struct rl_view alone;

	if (rl_limiter_has_bucket(l))
		return fold_bucket(count, v->word);
	if (!own->overflow_parts)
		return count;
	alone = rl_limiter_view_alone(l, v);
	return fold_parts(overflow, own->overflow_parts(l, overflow, &alone), count);
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
rl_overflow_carried(const struct rl_limiter *l, const struct rl_limiter *overflow,
                    struct rl_u128 count, uint64_t now_ns, uint64_t slot_bits, struct rl_u128 *word)
{
	uint64_t epoch;
	struct rl_overflow_parts p;

	if (rl_limiter_has_bucket(l))
		return carry_bucket(count, now_ns, slot_bits, word);
	p = rl_overflow_parts_of(overflow, count);
	epoch = rl_window_epoch(&overflow->window, now_ns);
	advance(overflow, epoch, &p);
	if ((p.cur | p.sum) == 0 && p.epoch == epoch)
		return false;
	if ((p.epoch | p.cur) == 0) /* only damage counts before 1970 */
		return false;
	*word = l->own->of_overflow(l, overflow, &p, now_ns, slot_bits);
	*word = rl_limiter_word_of(l, *word);
	return true;
}

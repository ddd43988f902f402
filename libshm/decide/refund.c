/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Charges given back: a refund of a decision, and what a request of several limits charged before
 * one of them said no.
 */
#include "decide/refund.h"

#include <errno.h>

#include "decide/decide.h"
#include "decide/release.h"
#include "decide/request.h"
#include "move/migrate.h"
#include "rule/policy.h"
#include "segment/stats.h"

#define TRIES 1000

/* Load what is at the slot; false: it is another key's, or counts nothing. */
static bool
look(const struct rl_segment *s, struct rl_slot slot, struct rl_view *v)
{
	return rl_atomic_load(rl_table_tag(&s->table, slot.index)) == slot.tag &&
	       rl_view_load(s, slot, v) == RL_SEEN && !v->is_zero;
}

static bool
swap(const struct rl_segment *s, const struct rl_ask *a, struct rl_slot slot,
     const struct rl_back *back)
{
	return rl_atomic_cas16(rl_table_state(&s->table, slot.index), a->v->word, back->next);
}

/*
 * Make the sum what the ring has, where an entry was lowered and the word has changed since it was
 * seen. Who does not come to it leaves a sum that is too large until the ring has turned.
 */
static void
sum_up(const struct rl_segment *s, const struct rl_ask *a, struct rl_slot slot, struct rl_view *v)
{
	struct rl_back back;

	for (int tries = 0; tries < TRIES; tries++, rl_atomic_pause())
		if (!look(s, slot, v) || a->l->ops->sum_up(a, &back) == RL_BACK_LATE ||
		    swap(s, a, slot, &back))
			return;
}

/* The sum is the entry's, too, if the word is as it was before that was lowered: ring.h. */
static bool
lower_entry(const struct rl_segment *s, const struct rl_ask *a, struct rl_slot slot,
            struct rl_view *v, const struct rl_back *back)
{
	if (!rl_atomic_cas(&rl_segment_ring(s, slot.index)[back->place], back->seen, back->lowered))
		return false;
	if (!swap(s, a, slot, back))
		sum_up(s, a, slot, v);
	return true;
}

uint32_t
rl_refund_slot(const struct rl_segment *s, const struct rl_limiter *limiter,
               const struct rl_quota *quota, struct rl_slot slot, const struct rl_charge *charge,
               uint64_t now_ns)
{
	struct rl_view v;
	const struct rl_ask ask = {
		.l = limiter, .q = quota, .v = &v, .cost = charge->cost, .now_ns = now_ns};
	enum rl_back_step next;
	struct rl_back back;

	for (int tries = 0; tries < TRIES && limiter->ops->refund; tries++) {
		if (!look(s, slot, &v))
			return 0;
		next = limiter->ops->refund(&ask, charge, &back);
		if (next == RL_BACK_LATE)
			return 0;
		if (next == RL_BACK_ENTRY ? lower_entry(s, &ask, slot, &v, &back)
		                          : swap(s, &ask, slot, &back))
			return back.given;
		rl_atomic_pause();
	}
	return 0;
}

/*
 * Where it was charged: here, or in the table before, as long as its key is not sealed there. NULL:
 * the key has moved since; then it is too late, for nobody knows whether it was forgotten in
 * between.
 */
static struct rl *
charged_by(struct rl *rl, const struct rl_charge *charge)
{
	struct rl *before;

	if (rl_charge_is_of(rl, charge))
		return rl;
	before = rl_before(rl);
	return before && rl_charge_is_of(before, charge) ? before : NULL;
}

/* Under the burst that it has now, and the capacity that the request had. */
static __attribute__((noinline)) uint32_t
refund_bucket(const struct rl_segment *s, const struct rl_compiled *limit, struct rl_slot slot,
              const struct rl_charge *charge, uint64_t now_ns)
{
	struct rl_quota quota = {0};
	unsigned index;

	rl_policy_of_limit(s, limit->id, &quota, &index);
	quota.capacity = charge->capacity; /* its tier's, or as it was */
	return rl_refund_slot(s, &limit->limiter, &quota, slot, charge, now_ns);
}

uint32_t
rl_refund_units(struct rl *rl, const struct rl_charge *charge, uint32_t cost, uint64_t now_ns)
{
	const struct rl_compiled *limit;
	struct rl_charge part = *charge;
	struct rl_slot slot;
	const struct rl_segment *s;

	if (!rl_charge_is_sound(charge) || rl_charge_is_of_overflow(charge))
		return 0;
	rl = charged_by(rl, charge);
	limit = rl ? rl_handle_limit(rl, rl_charge_row(charge)) : NULL;
	if (!limit)
		return 0;
	s = &rl->segment;
	part.cost = cost;
	slot = rl_charge_slot(s, limit, charge);
	now_ns = rl_clamp_now(now_ns);
	return rl_limiter_has_bucket(&limit->limiter)
	               ? refund_bucket(s, limit, slot, &part, now_ns)
	               : rl_refund_slot(s, &limit->limiter, NULL, slot, &part, now_ns);
}

int
rl_refund_charge(struct rl *rl, struct rl_charge *charge, uint64_t now_ns)
{
	const struct rl_compiled *limit;

	if (rl_charge_is_held(charge))
		return rl_release_charge(rl, charge, RL_COUNT_refunded, false);
	if (!rl_refund_units(rl, charge, charge->cost, now_ns))
		return 0;
	limit = rl_handle_limit(rl, rl_charge_row(charge));
	if (limit)
		rl_stats_add(&rl->segment, limit->rule, RL_COUNT_refunded);
	return 1;
}

/* By one limit: how much; -EBUSY, or why the table in force cannot be mapped. */
static int
refund_newest(struct rl_part *p, uint32_t cost)
{
	struct rl_u128 next;
	struct rl_slot slot;
	struct rl_view v;
	enum rl_seen seen;
	uint32_t given;
	int error;
	struct rl_ask ask = {.q = &p->quota, .v = &v, .cost = cost, .now_ns = p->now_ns};

	p->budget = NULL;
	for (int tries = 0; tries < TRIES; tries++, rl_atomic_pause()) {
		error = rl_must_migrate(p->rl) ? rl_part_migrate(p) : 0;
		if (error == -EAGAIN || error == -ENOSPC) /* others are at it */
			continue;
		if (error < 0)
			return error;
		if (!rl_table_find(&p->segment->table, &p->candidates, &slot)) {
			if (rl_table_is_left(&p->segment->table))
				continue;
			return 0;
		}
		seen = rl_view_load(p->segment, slot, &v);
		if (seen == RL_SEEN_GONE)
			continue;
		ask.l = &p->limit->limiter;
		given = seen == RL_SEEN_DEAD || v.is_zero || !ask.l->ops->refund_newest
		                ? 0
		                : ask.l->ops->refund_newest(&ask, &next);
		if (given == 0 ||
		    rl_atomic_cas16(rl_table_state(&p->segment->table, slot.index), v.word, next))
			return (int)given;
	}
	return -EBUSY;
}

static int
refund_parts(struct rl *rl, const struct rl_item *item, struct rl_part *part, unsigned parts)
{
	int most = 0, error = 0;

	for (unsigned p = 0; p < parts; p++) {
		int given = refund_newest(&part[p], (uint32_t)item->cost);

		most = given > most ? given : most;
		error = given < 0 ? given : error;
	}
	if (most > 0)
		rl_stats_add(&rl->segment, item->rule, RL_COUNT_refunded);
	return error < 0 ? error : most;
}

int
rl_refund_key(struct rl *rl, const struct rl_item *item)
{
	uint64_t now_ns = rl_request_now(rl, item->now_ns);
	struct rl_part part[RL_LIMITS_MAX];
	struct rl_item own = *item;
	struct rl_result r;
	unsigned parts;

	rl = rl_here(rl);
	if (!rl->segment.is_writable)
		return -EROFS;
	if (item->cost > RL_CAPACITY_MAX)
		return -EINVAL;
	own.charges = NULL;
	own.cost = 0; /* it charges nothing */
	parts = rl_request_make(rl, own.rule, &own, NULL, now_ns, part, RL_LIMITS_MAX, &r);
	if (parts == 0)
		return r.error;
	if (part[0].limit->limiter.algorithm == RL_COUNTER) /* rl_counter_apply() does that */
		return -EINVAL;
	return refund_parts(rl, item, part, parts);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Several limits for one request, and several requests at once.
 *
 * All or nothing: first every limit is only looked at, so that a request which is denied anyway
 * writes nothing. If all allow it, they are charged, those in flight first, for their units can be given
 * back whenever; should one deny it by then, because others were quicker, the charges before it
 * are given back. Meanwhile another request may be denied by a charge that is being given back; none is
 * admitted beyond a limit.
 */
#include "decide/multi.h"

#include "decide/answered.h"

#include <stddef.h>

#include "decide/refund.h"
#include "holder/units.h"
#include "move/follow.h"
#include "rl.h"
#include "segment/record.h"
#include "segment/stats.h"

#define PARTS_ALL RL_ITEMS_MAX

_Static_assert(RL_ITEMS_MAX <= 32, "a bit for each part");

/* A charge that one CAS makes, if nobody is quicker. */
struct planned {
	bool is_valid;
	bool is_charged;
	struct rl_slot slot;
	struct rl_u128 seen;
	struct rl_plan plan;
	const struct rl_segment *segment; /* whose slot it is: the part may go on to another */
};

/* One request: items, and the limits of each as parts first[i] .. first[i + 1] - 1. */
struct batch {
	struct rl *rl;
	const struct rl_item *items;
	size_t count;
	const struct rl_booking *booking; /* NULL: none is ahead */
	uint64_t now_ns;
	unsigned first[RL_ITEMS_MAX + 1];
	unsigned decider[RL_ITEMS_MAX]; /* the part that decides an item, once combined */
	struct rl_request *part;
	struct planned *planned; /* of each part; for decide() only, as is the next */
	struct rl_budget budget;
	struct rl_result *part_result;
	struct rl_charge *charge;  /* of each part, cost 0: none; for decide(), too */
	bool has_held;             /* some limit is in flight */
	uint32_t charged;          /* bits of the parts that charge_all() has charged */
	struct rl_result *results; /* of each item */
};

static void
begin(struct batch *b, struct rl *rl, const struct rl_item *items, size_t count, uint64_t now_ns,
      struct rl_request *part, struct rl_result *part_result, struct rl_result *results)
{
	b->rl = rl;
	b->items = items;
	b->count = count;
	b->booking = NULL;
	b->has_held = false;
	b->charged = 0;
	b->now_ns = now_ns;
	b->part = part;
	b->part_result = part_result;
	b->results = results;
}

/* False if there are more parts than fit. */
static bool
make_all(struct batch *b)
{
	unsigned parts = 0;

	for (size_t i = 0; i < b->count; i++) {
		b->first[i] = parts;
		parts += rl_request_make(b->rl, &b->items[i], b->booking, b->now_ns,
		                         &b->part[parts], RL_ITEMS_MAX - parts, &b->results[i]);
		if (b->results[i].error == -EOVERFLOW)
			return false;
	}
	b->first[b->count] = parts;
	return true;
}

/* Does the result of part p decide more than that of part q? */
static bool
outranks(const struct rl_result *p, const struct rl_result *q)
{
	static const int rank[] = {
		[RL_ALLOWED] = 0, [RL_UNDECIDED] = 1, [RL_DENIED] = 2, [RL_NEVER] = 3};

	if (rank[p->verdict] != rank[q->verdict])
		return rank[p->verdict] > rank[q->verdict];
	if (p->verdict == RL_ALLOWED)
		return p->remaining < q->remaining;
	return p->retry_after_ns > q->retry_after_ns;
}

/* The part of item i that decides it; the item has some. A shadow does only among its like. */
static unsigned
decider_of(const struct batch *b, size_t i)
{
	unsigned best = b->first[i];

	for (unsigned p = best + 1; p < b->first[i + 1]; p++) {
		bool is_shadow = b->part[p].ask.quota.is_shadow;
		if (is_shadow != b->part[best].ask.quota.is_shadow
		            ? !is_shadow
		            : outranks(&b->part_result[p], &b->part_result[best]))
			best = p;
	}
	return best;
}

/* An item's answer from those of its parts. */
static void
combine(struct batch *b, size_t i)
{
	struct rl_result *r = &b->results[i];
	unsigned best = decider_of(b, i);

	b->decider[i] = best;
	*r = b->part_result[best];
	for (unsigned p = b->first[i]; p < b->first[i + 1]; p++) {
		const struct rl_result *t = &b->part_result[p];
		r->is_shadow_denied |= t->is_shadow_denied;
		r->error = r->error ? r->error : t->error;
		if (r->verdict == RL_ALLOWED && t->delay_ns > r->delay_ns)
			r->delay_ns = t->delay_ns;
	}
}

static bool
is_answered(const struct batch *b, size_t i)
{
	return b->first[i] == b->first[i + 1];
}

/* The item that decides by not allowing, or count. */
static size_t
denier(const struct batch *b)
{
	size_t best = b->count;

	for (size_t i = 0; i < b->count; i++)
		if (b->results[i].verdict != RL_ALLOWED &&
		    (best == b->count || outranks(&b->results[i], &b->results[best])))
			best = i;
	return best;
}

/* Decide about one part; a shadow limit never says no. Unless it is asked, the verdict alone. */
static enum rl_verdict
decide_part(struct batch *b, unsigned p, uint64_t cost, enum rl_mode mode, bool is_asked)
{
	struct rl_request *rq = &b->part[p];

	rq->ask.result = is_asked ? &b->part_result[p] : NULL;
	rq->ask.charge = &b->charge[p];
	return rl_request_lift_shadow(&rq->ask, rl_decide(rq, cost, mode));
}

static bool
is_held(const struct batch *b, unsigned p)
{
	return b->part[p].ask.limit->limiter.is_held;
}

/* Do processes that have ended hold units by which a request was denied? They are given back. */
static bool
has_reclaimed(struct batch *b, unsigned p, uint64_t cost)
{
	const struct rl_request *rq = &b->part[p];
	struct rl_slot slot;

	return cost > 0 && is_held(b, p) && rq->ask.segment->is_writable &&
	       rl_table_find(&rq->ask.segment->table, &rq->candidates, &slot) &&
	       rl_units_reclaim(rq->rl, rq->ask.limit, slot, &b->budget) > 0;
}

/* The answer that a charge would get. */
static enum rl_verdict
peek_part(struct batch *b, unsigned p, uint64_t cost, bool is_asked)
{
	enum rl_verdict verdict = decide_part(b, p, cost, RL_PEEK, is_asked);

	if (verdict == RL_DENIED && has_reclaimed(b, p, cost))
		return decide_part(b, p, cost, RL_PEEK, is_asked);
	return verdict;
}

/* Without a look at anything else than its slot. */
static bool
plan_part(struct batch *b, unsigned p, uint64_t cost)
{
	struct planned *planned = &b->planned[p];
	struct rl_ask *a = &b->part[p].ask;

	if (cost > rl_limiter_limit(&a->limit->limiter, &a->quota) || !a->segment->is_writable)
		return false;
	a->cost = (uint32_t)cost;
	a->result = &b->part_result[p];
	a->charge = NULL; /* the plan says all of it */
	planned->segment = a->segment;
	return rl_table_find(&a->segment->table, &b->part[p].candidates, &planned->slot) &&
	       rl_plan_charge(a, planned->slot, &planned->seen, &planned->plan);
}

/* Would it be allowed? If so by what one CAS does, that is planned. */
static bool
would_allow(struct batch *b, unsigned p, uint64_t cost)
{
	b->planned[p].is_valid = plan_part(b, p, cost);
	return b->planned[p].is_valid || peek_part(b, p, cost, false) == RL_ALLOWED;
}

/* As it was planned, or else anew. */
static enum rl_verdict
charge_part(struct batch *b, unsigned p, uint64_t cost)
{
	struct planned *planned = &b->planned[p];

	planned->is_charged = planned->is_valid && planned->segment == b->part[p].ask.segment &&
	                      rl_charge_planned(&b->part[p].ask, planned->slot, planned->seen,
	                                        &planned->plan) != RL_AGAIN;
	if (planned->is_charged) {
		b->part[p].slot = planned->slot;
		return RL_ALLOWED;
	}
	return decide_part(b, p, cost, RL_CHARGE, true);
}

/* Would every limit allow? A request that is denied in the end needs every result. */
static bool
would_all_allow(struct batch *b)
{
	for (size_t i = 0; i < b->count; i++) {
		if (b->items[i].cost == 0 || is_answered(b, i))
			return false;
		for (unsigned p = b->first[i]; p < b->first[i + 1]; p++)
			if (!would_allow(b, p, b->items[i].cost))
				return false;
	}
	return true;
}

static size_t
peek_at_all(struct batch *b)
{
	for (size_t i = 0; i < b->count; i++) {
		for (unsigned p = b->first[i]; p < b->first[i + 1]; p++)
			peek_part(b, p, b->items[i].cost, true);
		if (!is_answered(b, i))
			combine(b, i);
	}
	return denier(b);
}

/* The charge of the part, if there was one. */
static struct rl_charge *
charge_of(const struct batch *b, unsigned p)
{
	struct planned *planned = &b->planned[p];

	if (planned->is_charged) {
		b->part[p].ask.charge = &b->charge[p];
		rl_hand_out(&b->part[p].ask, planned->slot, &planned->plan);
		planned->is_charged = false;
	}
	return &b->charge[p];
}

static bool
is_charged(const struct batch *b, unsigned p)
{
	return (b->charged >> p & 1) != 0;
}

/* Part p was denied by then: nothing stays charged, and every item is told of. */
static void
take_back(struct batch *b, unsigned p)
{
	for (unsigned q = 0; q < b->first[b->count]; q++)
		if (is_charged(b, q))
			rl_refund_charge(b->part[q].rl, charge_of(b, q), b->now_ns);
	for (size_t j = 0; j < b->count; j++) {
		for (unsigned q = b->first[j]; q < b->first[j + 1]; q++)
			if (q != p && !is_charged(b, q))
				decide_part(b, q, b->items[j].cost, RL_PEEK, true);
		if (!is_answered(b, j))
			combine(b, j);
	}
}

/* Charge the limits that are in flight, or the others; the part that does not allow, or PARTS_ALL. */
static unsigned
charge_those(struct batch *b, bool in_flight)
{
	for (size_t i = 0; i < b->count; i++) {
		uint64_t cost = b->items[i].cost;
		for (unsigned p = b->first[i]; p < b->first[i + 1] && cost > 0; p++) {
			if (b->has_held && is_held(b, p) != in_flight)
				continue;
			if (charge_part(b, p, cost) != RL_ALLOWED)
				return p;
			b->charged |= UINT32_C(1) << p;
		}
	}
	return PARTS_ALL;
}

static size_t
item_of(const struct batch *b, unsigned p)
{
	size_t i = 0;

	while (b->first[i + 1] <= p)
		i++;
	return i;
}

/* Charge all; the item that does not allow, or count. */
static size_t
charge_all(struct batch *b)
{
	unsigned denied = b->has_held ? charge_those(b, true) : PARTS_ALL;

	if (denied == PARTS_ALL)
		denied = charge_those(b, false);
	if (denied != PARTS_ALL) {
		take_back(b, denied);
		return item_of(b, denied);
	}
	for (size_t i = 0; i < b->count; i++)
		if (!is_answered(b, i) && b->items[i].cost > 0)
			combine(b, i);
	return b->count;
}

/* The part has denied. If by now it would allow, that is given back: the request is denied. */
static void
count_denied_part(struct batch *b, unsigned p, uint64_t cost)
{
	struct rl_request *rq = &b->part[p];
	struct rl_result peeked = b->part_result[p];

	rq->ask.result = &b->part_result[p];
	rq->ask.charge = &b->charge[p];
	if (rl_decide(rq, cost, RL_CHARGE) == RL_DENIED) {
		rl_request_lift_shadow(&rq->ask, RL_DENIED);
	} else {
		rl_refund_charge(b->part[p].rl, &b->charge[p], b->now_ns);
		b->part_result[p] = peeked;
	}
}

/* Nothing is charged; the limits that deny and count what they deny do so, or wish for a share. */
static void
count_denied(struct batch *b)
{
	for (size_t i = 0; i < b->count; i++) {
		for (unsigned p = b->first[i]; p < b->first[i + 1]; p++) {
			const struct rl_ask *a = &b->part[p].ask;
			const struct rl_result *r = &b->part_result[p];

			if (b->items[i].cost > 0 &&
			    rl_quota_writes_denied(&a->limit->limiter, &a->quota) &&
			    (r->verdict == RL_DENIED || r->is_shadow_denied))
				count_denied_part(b, p, b->items[i].cost);
		}
		if (!is_answered(b, i))
			combine(b, i);
	}
}

/* The request that decided item i, if one did. */
static const struct rl_request *
request_of(const struct batch *b, size_t i)
{
	return is_answered(b, i) ? NULL : &b->part[b->decider[i]];
}

static void
count_item(const struct batch *b, size_t i)
{
	if (b->items[i].cost > 0 && (!is_answered(b, i) || rl_request_is_counted(&b->results[i])))
		rl_answered_item(b->rl, &b->items[i], request_of(b, i), &b->results[i], b->now_ns);
	for (unsigned p = b->first[i]; p < b->first[i + 1] && b->items[i].cost > 0; p++)
		rl_answered_part(&b->part[p], &b->part_result[p], b->results[i].verdict);
}

/* The callers give back what stays charged. */
static void
hand_out(const struct batch *b, size_t i)
{
	struct rl_charges *to = b->items[i].charges;

	for (unsigned p = b->first[i]; to && p < b->first[i + 1]; p++)
		if (charge_of(b, p)->cost > 0 && to->count < RL_LIMITS_MAX)
			to->charge[to->count++] = b->charge[p];
}

/* Decide what make_all() has made; the item that decided, or count. */
static size_t
decide(struct batch *b)
{
	size_t decided;

	b->budget = rl_decision_budget(&b->rl->segment, b->first[b->count]);
	for (unsigned p = 0; p < b->first[b->count]; p++) {
		b->part[p].budget = &b->budget;
		b->planned[p].is_valid = b->planned[p].is_charged = false;
		b->has_held |= is_held(b, p);
		b->charge[p].cost = 0;
	}
	decided = would_all_allow(b) ? b->count : peek_at_all(b);
	if (decided == b->count)
		decided = charge_all(b);
	else
		count_denied(b);
	for (size_t i = 0; i < b->count; i++) {
		hand_out(b, i);
		if (i == decided || decided == b->count)
			count_item(b, i);
	}
	return decided;
}

/* Of a request that is too large to be looked at. */
static void
hand_out_nothing(const struct rl_item *items, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (items[i].charges)
			items[i].charges->count = 0;
}

static enum rl_verdict
check_all(struct rl *rl, const struct rl_item *items, size_t count,
          const struct rl_booking *booking, uint64_t now_ns, struct rl_result *results,
          size_t *decided)
{
	struct rl_result unused[RL_ITEMS_MAX], part_result[RL_ITEMS_MAX];
	struct rl_request part[RL_ITEMS_MAX];
	struct planned planned[RL_ITEMS_MAX];
	struct rl_charge charge[RL_ITEMS_MAX];
	struct batch b;
	size_t ignored;

	decided = decided ? decided : &ignored;
	*decided = 0;
	begin(&b, rl_here(rl), items, count, now_ns, part, part_result, results ? results : unused);
	b.planned = planned;
	b.charge = charge;
	b.booking = booking;
	if (count > RL_ITEMS_MAX || !make_all(&b)) {
		hand_out_nothing(items, count);
		return RL_UNDECIDED;
	}
	*decided = decide(&b);
	return *decided < count ? b.results[*decided].verdict : RL_ALLOWED;
}

enum rl_verdict
rl_check_all_at(struct rl *rl, const struct rl_item *items, size_t count, uint64_t now_ns,
                struct rl_result *results, size_t *decided)
{
	return check_all(rl, items, count, NULL, now_ns, results, decided);
}

enum rl_verdict
rl_reserve_all_at(struct rl *rl, const struct rl_item *items, size_t count, uint64_t max_wait_ns,
                  uint64_t now_ns, struct rl_result *results, size_t *decided)
{
	const struct rl_booking booking = {.max_wait_ns = max_wait_ns};

	return check_all(rl, items, count, &booking, now_ns, results, decided);
}

enum rl_verdict
rl_check_all(struct rl *rl, const struct rl_item *items, size_t count, struct rl_result *results,
             size_t *decided)
{
	return rl_check_all_at(rl, items, count, rl_segment_now(&rl->segment), results, decided);
}

enum rl_verdict
rl_multi_decide(struct rl *rl, const struct rl_item *item, uint64_t now_ns, struct rl_request *part,
                unsigned parts, struct rl_result *part_result, struct rl_result *r)
{
	struct planned planned[RL_LIMITS_MAX];
	struct rl_charge charge[RL_LIMITS_MAX];
	struct batch b;

	begin(&b, rl, item, 1, now_ns, part, part_result, r);
	b.planned = planned;
	b.charge = charge;
	b.first[0] = 0;
	b.first[1] = parts;
	decide(&b);
	return r->verdict;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A request of several limits: of one item, or of several.
 *
 * All or nothing: first every limit is only looked at, so that a request which is denied anyway
 * writes nothing. If all allow it, they are charged, those in flight first, for their units can be given
 * back whenever; should one deny it by then, because others were quicker, the charges before it
 * are given back. Meanwhile another request may be denied by a charge that is being given back; none is
 * admitted beyond a limit.
 *
 * What a look plans, one CAS charges. What takes more than a look is rl_decide()'s.
 */
#include "decide/several.h"

#include <stddef.h>

#include "decide/answered.h"
#include "decide/decide.h"
#include "decide/plan.h"
#include "decide/refund.h"
#include "holder/units.h"
#include "move/follow.h"
#include "rl.h"

#define PARTS_ALL RL_ITEMS_MAX

_Static_assert(RL_ITEMS_MAX <= 32, "a bit for each part");

/* The limits of item i are the parts first[i] .. first[i + 1] - 1: none, if it is answered without them. */
struct request {
	struct rl *rl;
	const struct rl_item *items;
	size_t count;
	uint64_t now_ns;
	bool tells_each; /* each limit's answer is wanted */
	bool has_held;   /* some limit is in flight */
	unsigned parts;
	unsigned first[RL_ITEMS_MAX + 1];
	unsigned decider[RL_ITEMS_MAX]; /* the part that decides an item, once combined */
	uint32_t charged;               /* bits of the parts that are charged */
	struct rl_part *part;
	struct rl_budget budget;
	struct rl_result *part_result; /* of each part, */
	struct rl_charge *charge;      /* cost 0: none, */
	struct rl_result *results;     /* and of each item */
};

static void
of(struct request *q, struct rl *rl, const struct rl_item *items, size_t count, uint64_t now_ns,
   struct rl_part *part, struct rl_charge *charge)
{
	q->rl = rl;
	q->items = items;
	q->count = count;
	q->now_ns = now_ns;
	q->part = part;
	q->charge = charge;
}

/* False if there are more parts than `room`. */
static bool
make(struct request *q, const struct rl_booking *booking, unsigned room)
{
	q->parts = 0;
	for (size_t i = 0; i < q->count; i++) {
		unsigned made =
			rl_request_make(q->rl, q->items[i].rule, &q->items[i], booking, q->now_ns,
		                        &q->part[q->parts], room - q->parts, &q->results[i]);

		if (made == 0 && q->results[i].error == -EOVERFLOW)
			return false;
		q->first[i] = q->parts;
		q->parts += made;
	}
	q->first[q->count] = q->parts;
	return true;
}

static bool
is_answered(const struct request *q, size_t i)
{
	return q->first[i] == q->first[i + 1];
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
decider_of(const struct request *q, size_t i)
{
	unsigned best = q->first[i];

	for (unsigned p = best + 1; p < q->first[i + 1]; p++) {
		bool is_shadow = q->part[p].quota.is_shadow;
		if (is_shadow != q->part[best].quota.is_shadow
		            ? !is_shadow
		            : outranks(&q->part_result[p], &q->part_result[best]))
			best = p;
	}
	return best;
}

/* An item's answer from those of its parts. */
static void
combine(struct request *q, size_t i)
{
	struct rl_result *r = &q->results[i];
	unsigned best = decider_of(q, i);

	q->decider[i] = best;
	*r = q->part_result[best];
	for (unsigned p = q->first[i]; p < q->first[i + 1]; p++) {
		const struct rl_result *t = &q->part_result[p];
		r->is_shadow_denied |= t->is_shadow_denied;
		r->error = r->error ? r->error : t->error;
		if (r->verdict == RL_ALLOWED && t->delay_ns > r->delay_ns)
			r->delay_ns = t->delay_ns;
	}
}

/* The item that decides by not allowing, or count. */
static size_t
denier(const struct request *q)
{
	size_t best = q->count;

	for (size_t i = 0; i < q->count; i++)
		if (q->results[i].verdict != RL_ALLOWED &&
		    (best == q->count || outranks(&q->results[i], &q->results[best])))
			best = i;
	return best;
}

/* Decide about one part; a shadow limit never says no. */
static enum rl_verdict
decide_part(struct rl_part *p, uint64_t cost, enum rl_mode mode)
{
	return rl_part_lift_shadow(p, rl_decide(p, cost, mode));
}

/* Do processes that have ended hold units by which a request was denied? They are given back. */
static bool
has_reclaimed(struct rl_part *p, uint64_t cost)
{
	struct rl_slot slot;

	return cost > 0 && p->limit->limiter.is_held && p->segment->is_writable &&
	       rl_table_find(&p->segment->table, &p->candidates, &slot) &&
	       rl_units_reclaim(p->rl, p->limit, slot, p->budget) > 0;
}

/* The answer that a charge would get. */
static enum rl_verdict
peek_part(struct rl_part *p, uint64_t cost)
{
	enum rl_verdict verdict = decide_part(p, cost, RL_PEEK);

	if (verdict == RL_DENIED && has_reclaimed(p, cost))
		return decide_part(p, cost, RL_PEEK);
	return verdict;
}

/* Would the limit allow? */
static enum rl_verdict
look_at(struct rl_part *p, uint64_t cost)
{
	p->planned = cost > 0 ? rl_part_look(p, cost, RL_CHARGE) : rl_part_look(p, 1, RL_PEEK);
	if (cost > 0 && p->planned != RL_AGAIN && !rl_part_is_one_step(p))
		p->planned = RL_AGAIN;
	if (p->planned == RL_AGAIN)
		return peek_part(p, cost);
	return rl_part_lift_shadow(p, (enum rl_verdict)p->planned);
}

/* Would everything be allowed? */
static bool
look_at_all(struct request *q)
{
	bool would_allow = true;

	for (size_t i = 0; i < q->count; i++) {
		would_allow &= !is_answered(q, i) || q->results[i].verdict == RL_ALLOWED;
		for (unsigned p = q->first[i]; p < q->first[i + 1]; p++)
			would_allow &= look_at(&q->part[p], q->items[i].cost) == RL_ALLOWED;
	}
	return would_allow;
}

/* Count what a part denies. If by now it would allow, that is given back: the request is denied. */
static void
count_denied(const struct request *q, struct rl_part *p, uint64_t cost)
{
	struct rl_result peeked = *p->result;
	struct rl_charge charge = {.cost = 0}, *own = p->charge;

	p->charge = &charge;
	if (rl_decide(p, cost, RL_CHARGE) == RL_DENIED) {
		rl_part_lift_shadow(p, RL_DENIED);
	} else {
		rl_refund_charge(p->rl, &charge, q->now_ns);
		*p->result = peeked;
	}
	p->charge = own;
}

/* The request is denied. Who would have allowed it says so, if it is told; who writes what it denies does so. */
static void
deny(const struct request *q, struct rl_part *p, uint64_t cost)
{
	const struct rl_result *r = p->result;

	if (cost == 0)
		return;
	if (p->planned == RL_ALLOWED && q->tells_each)
		peek_part(p, cost);
	else if (p->planned == RL_ALLOWED)
		rl_result_clear(p->result);
	else if (p->planned == RL_DENIED)
		rl_part_denied(p);
	else if ((r->verdict == RL_DENIED || r->is_shadow_denied) &&
	         rl_quota_writes_denied(&p->limit->limiter, &p->quota))
		count_denied(q, p, cost);
}

static void
deny_all(const struct request *q)
{
	for (size_t i = 0; i < q->count; i++)
		for (unsigned p = q->first[i]; p < q->first[i + 1]; p++)
			deny(q, &q->part[p], q->items[i].cost);
}

/* As it was planned, or else anew. */
static enum rl_verdict
charge_part(struct rl_part *p, uint64_t cost, struct rl_charge *charge)
{
	if (p->planned == RL_ALLOWED && rl_part_charge(p) == RL_ALLOWED)
		return RL_ALLOWED;
	p->charge = charge;
	return decide_part(p, cost, RL_CHARGE);
}

/* Charge the limits that are in flight, or the others; the part that does not allow, or PARTS_ALL. */
static unsigned
charge_those(struct request *q, bool in_flight)
{
	for (size_t i = 0; i < q->count; i++) {
		uint64_t cost = q->items[i].cost;
		for (unsigned p = q->first[i]; p < q->first[i + 1] && cost > 0; p++) {
			if (q->has_held && q->part[p].limit->limiter.is_held != in_flight)
				continue;
			if (charge_part(&q->part[p], cost, &q->charge[p]) != RL_ALLOWED)
				return p;
			q->charged |= UINT32_C(1) << p;
		}
	}
	return PARTS_ALL;
}

/* The charge of the part, if there was one: what was planned is handed out when it is asked for. */
static struct rl_charge *
charge_of(const struct request *q, unsigned p)
{
	struct rl_part *part = &q->part[p];

	if ((q->charged >> p & 1) && part->planned == RL_ALLOWED) {
		part->charge = &q->charge[p];
		rl_part_hand_out(part, part->plan.charge_id, part->plan.memory, 0);
	}
	return &q->charge[p];
}

/* Part `denied` was denied by then: nothing stays charged, and every other part is asked what it says now. */
static void
take_back(struct request *q, unsigned denied)
{
	for (unsigned p = 0; p < q->parts; p++)
		if (q->charged >> p & 1)
			rl_refund_charge(q->part[p].rl, charge_of(q, p), q->now_ns);
	for (size_t i = 0; i < q->count; i++)
		for (unsigned p = q->first[i]; p < q->first[i + 1]; p++)
			if (p != denied && !(q->charged >> p & 1))
				decide_part(&q->part[p], q->items[i].cost, RL_PEEK);
}

static void
charge_all(struct request *q)
{
	unsigned denied = q->has_held ? charge_those(q, true) : PARTS_ALL;

	if (denied == PARTS_ALL)
		denied = charge_those(q, false);
	if (denied == PARTS_ALL)
		return;
	take_back(q, denied);
	q->charged = 0;
}

/* The callers give back what stays charged. */
static void
hand_out(const struct request *q, size_t i)
{
	struct rl_charges *to = q->items[i].charges;

	for (unsigned p = q->first[i]; to && p < q->first[i + 1]; p++)
		if (charge_of(q, p)->cost > 0 && to->count < RL_LIMITS_MAX)
			to->charge[to->count++] = q->charge[p];
}

static void
answer_item(const struct request *q, size_t i)
{
	const struct rl_part *decider = is_answered(q, i) ? NULL : &q->part[q->decider[i]];

	if (q->items[i].cost > 0 && (decider || rl_request_is_counted(&q->results[i])))
		rl_answered(q->rl, q->items[i].rule, &q->items[i], &q->part[q->first[i]],
		            q->first[i + 1] - q->first[i], decider, &q->results[i], q->now_ns);
}

static void
begin(struct request *q)
{
	q->budget = rl_decision_budget(&q->rl->segment, q->parts);
	q->has_held = false;
	q->charged = 0;
	for (unsigned n = 0; n < q->parts; n++) {
		struct rl_part *p = &q->part[n];

		p->budget = &q->budget;
		p->result = &q->part_result[n];
		p->is_asked = true;
		q->charge[n].cost = 0;
		q->has_held |= p->limit->limiter.is_held;
	}
}

/* Decide what make() has made; the item that decided, or count. */
static size_t
decide(struct request *q)
{
	size_t decided;

	begin(q);
	if (look_at_all(q))
		charge_all(q);
	else
		deny_all(q);
	for (size_t i = 0; i < q->count; i++)
		if (!is_answered(q, i))
			combine(q, i);
	decided = denier(q);
	for (size_t i = 0; i < q->count; i++) {
		hand_out(q, i);
		if (i == decided || decided == q->count)
			answer_item(q, i);
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

enum rl_verdict
rl_several_check(struct rl *rl, const struct rl_item *items, size_t count,
                 const struct rl_booking *booking, uint64_t now_ns, struct rl_result *results,
                 size_t *decided)
{
	struct rl_result unused[RL_ITEMS_MAX], part_result[RL_ITEMS_MAX];
	struct rl_charge charge[RL_ITEMS_MAX];
	struct rl_part part[RL_ITEMS_MAX];
	struct request q;
	size_t ignored;

	decided = decided ? decided : &ignored;
	*decided = 0;
	of(&q, rl_here(rl), items, count, now_ns, part, charge);
	q.part_result = part_result;
	q.results = results ? results : unused;
	q.tells_each = true;
	if (count > RL_ITEMS_MAX || !make(&q, booking, RL_ITEMS_MAX)) {
		hand_out_nothing(items, count);
		return RL_UNDECIDED;
	}
	*decided = decide(&q);
	return *decided < count ? q.results[*decided].verdict : RL_ALLOWED;
}

/* An item whose parts are made; `each` is room for what each of its limits says, and is told if that is wanted. */
static enum rl_verdict
decide_item(struct rl *rl, const struct rl_item *item, uint64_t now_ns, struct rl_part *part,
            unsigned parts, struct rl_result *each, bool tells_each, struct rl_result *result)
{
	struct rl_charge charge[RL_LIMITS_MAX];
	struct request q;

	of(&q, rl, item, 1, now_ns, part, charge);
	q.parts = parts;
	q.first[0] = 0;
	q.first[1] = parts;
	q.part_result = each;
	q.results = result;
	q.tells_each = tells_each;
	decide(&q);
	return result->verdict;
}

enum rl_verdict
rl_several_decide(struct rl *rl, const struct rl_item *item, uint64_t now_ns, struct rl_part *part,
                  unsigned parts, struct rl_result *result)
{
	struct rl_result each[RL_LIMITS_MAX];

	return decide_item(rl, item, now_ns, part, parts, each, false, result);
}

enum rl_verdict
rl_check_limits_at(struct rl *rl, const struct rl_item *item, uint64_t now_ns,
                   struct rl_result *result, size_t *count, struct rl_result results[RL_LIMITS_MAX])
{
	struct rl_result unused, *r = result ? result : &unused;
	struct rl_part part[RL_LIMITS_MAX];

	rl = rl_here(rl);
	*count = rl_request_make(rl, item->rule, item, NULL, now_ns, part, RL_LIMITS_MAX, r);
	return decide_item(rl, item, now_ns, part, (unsigned)*count, results, true, r);
}

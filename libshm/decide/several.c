/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A request of several limits: of one item, or of several.
 *
 * All or nothing: first every limit is only looked at, so that a request which is denied anyway
 * writes nothing. If all allow it, they are charged, those in flight first, for their units can be
 * given back whenever; should one deny it by then, because others were quicker, the charges before
 * it are given back. Meanwhile another request may be denied by a charge that is being given back;
 * none is admitted beyond a limit.
 *
 * What a look plans, one CAS charges. What takes more than a look is rl_part_decide()'s.
 */
#include "decide/several.h"

#include <stddef.h>

#include "decide/answered.h"
#include "decide/combine.h"
#include "decide/decide.h"
#include "decide/plan.h"
#include "decide/refund.h"
#include "decide/sleep.h"
#include "holder/units.h"
#include "move/follow.h"
#include "rl.h"

_Static_assert(RL_ITEMS_MAX <= 32, "what a stack has room for");

/* Item i has the parts first[i] .. first[i + 1] - 1; none: it is answered without a limit. */
struct request {
	struct rl *rl;
	const struct rl_item *items;
	size_t count;
	uint64_t now_ns;
	bool fills_each; /* each limit's answer is wanted */
	bool has_held;   /* some limit is a concurrency limit */
	unsigned parts;
	unsigned first[RL_ITEMS_MAX + 1];
	const struct rl_part *decider[RL_ITEMS_MAX]; /* of an item, once combined */
	struct rl_part *part;
	struct rl_budget budget;
	struct rl_result *part_result; /* of each part, */
	struct rl_charge *charge;      /* if it is charged, */
	struct rl_result *results;     /* and of each item */
};

static inline struct rl_part *
end_of(const struct request *q)
{
	return q->part + q->parts;
}

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

/* All items of a request have one time. */
static inline bool
has_its_time(const struct request *q, const struct rl_item *item)
{
	return item->now_ns == 0 || item->now_ns == q->items[0].now_ns;
}

/* False if there are more parts than `room`. */
static bool
make(struct request *q, const struct rl_booking *booking, unsigned room)
{
	q->parts = 0;
	for (size_t i = 0; i < q->count; i++) {
		const struct rl_item *item = &q->items[i];
		unsigned made = 0;

		if (has_its_time(q, item)) {
			made = rl_request_make(q->rl, item->rule, item, booking, q->now_ns,
			                       &q->part[q->parts], room - q->parts, &q->results[i]);
		} else {
			rl_result_clear(&q->results[i]);
			rl_result_undecided(&q->results[i], -EINVAL);
		}
		if (made == 0 && q->results[i].error == RL_EITEMS)
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

/* The item that decides by not allowing, or count. */
static size_t
denier(const struct request *q)
{
	size_t best = q->count;

	for (size_t i = 0; i < q->count; i++)
		if (q->results[i].verdict != RL_ALLOWED &&
		    (best == q->count || rl_result_outranks(&q->results[i], &q->results[best])))
			best = i;
	return best;
}

/* Decide about one part; a shadow limit never says no. */
static enum rl_verdict
decide_part(struct rl_part *p, enum rl_how how)
{
	return rl_part_lift_shadow(p, rl_part_decide(p, p->asked, how));
}

/* Nobody is denied for units that processes which have ended hold: they are given back. */
static enum rl_verdict
peek_without_the_dead(struct rl_part *p)
{
	struct rl_slot slot;

	if (rl_table_find(&p->segment->table, &p->candidates, &slot))
		rl_units_reclaim(p->rl, p->limit, slot, p->budget);
	return decide_part(p, RL_PEEK);
}

/* The answer that a charge would get. */
static enum rl_verdict
peek_part(struct rl_part *p)
{
	enum rl_verdict verdict = decide_part(p, RL_PEEK);

	if (verdict == RL_DENIED && p->asked > 0 && p->limit->limiter.is_held &&
	    p->segment->is_writable)
		return peek_without_the_dead(p);
	return verdict;
}

/* Would the limit allow? */
static enum rl_verdict
look_at(struct rl_part *p)
{
	p->planned =
		p->asked > 0 ? rl_part_look(p, p->asked, RL_CHECK) : rl_part_look(p, 1, RL_PEEK);
	if (p->asked > 0 && p->planned != RL_AGAIN && !rl_part_is_one_step(p))
		p->planned = RL_AGAIN;
	if (p->planned == RL_AGAIN)
		return peek_part(p);
	return rl_part_lift_shadow(p, (enum rl_verdict)p->planned);
}

/* Would everything be allowed? */
static inline bool
look_at_all(struct request *q)
{
	struct rl_result *result = q->part_result;
	bool would_allow = true, has_held = false;

	for (size_t i = 0; i < q->count; i++)
		would_allow &= !is_answered(q, i) || q->results[i].verdict == RL_ALLOWED;
	for (struct rl_part *p = q->part, *end = end_of(q); p < end; p++) {
		p->budget = &q->budget;
		p->result = result++;
		p->is_asked = true;
		has_held |= p->limit->limiter.is_held;
		would_allow &= look_at(p) == RL_ALLOWED;
	}
	q->has_held = has_held;
	return would_allow;
}

/* Count what a part denies. If by now it would allow, that is given back: the request is denied. */
static void
count_denied(const struct request *q, struct rl_part *p)
{
	struct rl_result peeked = *p->result;
	struct rl_charge charge = {.cost = 0}, *own = p->charge;

	p->charge = &charge;
	if (rl_part_decide(p, p->asked, RL_CHECK) == RL_DENIED) {
		rl_part_lift_shadow(p, RL_DENIED);
	} else {
		rl_refund_charge(p->rl, &charge, q->now_ns);
		*p->result = peeked;
	}
	p->charge = own;
}

/* Denied. A part that would have allowed it says so, if asked; one that writes denials does. */
static void
deny(const struct request *q, struct rl_part *p)
{
	const struct rl_result *r = p->result;

	if (p->asked == 0)
		return;
	if (p->planned == RL_ALLOWED && q->fills_each)
		peek_part(p);
	else if (p->planned == RL_ALLOWED)
		rl_result_clear(p->result);
	else if (p->planned == RL_DENIED)
		rl_part_denied(p);
	else if ((r->verdict == RL_DENIED || r->is_shadow_denied) &&
	         rl_quota_writes_denied(&p->limit->limiter, &p->quota))
		count_denied(q, p);
}

/* As it was planned, or else anew: is it allowed? */
static inline bool
charge_part(struct request *q, struct rl_part *p)
{
	if (p->planned == RL_ALLOWED && rl_part_carry_out(p) == RL_ALLOWED) {
		p->charged = RL_CHARGED_AS_PLANNED;
		if (p->quota.is_shadow)
			rl_part_result(p);
		return true;
	}
	p->charge = &q->charge[p - q->part];
	p->charge->cost = 0;
	if (decide_part(p, RL_CHECK) != RL_ALLOWED)
		return false;
	p->charged = RL_CHARGED_ANEW;
	return true;
}

/* Charge the concurrency limits, or the others; the part that does not allow, or NULL. */
static struct rl_part *
charge_those(struct request *q, bool in_flight)
{
	bool all = !q->has_held;

	for (struct rl_part *p = q->part, *end = end_of(q); p < end; p++)
		if (p->asked > 0 && (all || p->limit->limiter.is_held == in_flight) &&
		    !charge_part(q, p))
			return p;
	return NULL;
}

/* The charge of a part that is charged: what was planned is handed out when it is asked for. */
static struct rl_charge *
charge_of(const struct request *q, struct rl_part *p)
{
	if (p->charged == RL_CHARGED_AS_PLANNED) {
		p->charge = &q->charge[p - q->part];
		rl_part_hand_out(p, p->plan.charge_id, p->plan.memory);
	}
	return p->charge;
}

/* Part `denied` was denied by then: nothing stays charged, and all others are asked anew. */
static void
take_back(struct request *q, const struct rl_part *denied)
{
	for (struct rl_part *p = q->part, *end = end_of(q); p < end; p++)
		if (p->charged)
			rl_refund_charge(p->rl, charge_of(q, p), q->now_ns);
	for (struct rl_part *p = q->part, *end = end_of(q); p < end; p++)
		if (p->charged)
			rl_part_result(p);
		else if (p != denied)
			decide_part(p, RL_PEEK);
	for (struct rl_part *p = q->part, *end = end_of(q); p < end; p++)
		p->charged = RL_NOT_CHARGED;
}

static void
charge_all(struct request *q)
{
	const struct rl_part *denied = q->has_held ? charge_those(q, true) : NULL;

	if (!denied)
		denied = charge_those(q, false);
	if (denied)
		take_back(q, denied);
}

/* The callers give back what stays charged. */
static void
hand_out(const struct request *q, size_t i)
{
	struct rl_charges *to = q->items[i].charges;
	struct rl_part *end = &q->part[q->first[i + 1]];

	for (struct rl_part *p = &q->part[q->first[i]]; to && p < end; p++)
		if (p->charged && charge_of(q, p)->cost > 0 && to->count < RL_LIMITS_MAX)
			to->charge[to->count++] = *p->charge;
}

/* It is allowed, by limits that are all enforced, and no tier is to be kept. */
static inline bool
is_just_allowed(const struct rl_part *first, const struct rl_result *r)
{
	return r->verdict == RL_ALLOWED && !r->is_shadow_denied && first->tier == 0 &&
	       first->segment->is_writable;
}

static void
answer_item(const struct request *q, size_t i)
{
	const struct rl_part *first = &q->part[q->first[i]], *end = &q->part[q->first[i + 1]];
	const struct rl_item *item = &q->items[i];

	if (item->cost == 0 || (first == end && !rl_request_is_counted(&q->results[i])))
		return;
	if (first == end || !is_just_allowed(first, &q->results[i])) {
		rl_answered(q->rl, item->rule, item, first, (unsigned)(end - first),
		            first < end ? q->decider[i] : NULL, &q->results[i], q->now_ns);
		return;
	}
	rl_stats_add(first->segment, item->rule, RL_COUNT_allowed);
}

/* Look, and charge or deny. */
static inline void
ask(struct request *q)
{
	q->budget = rl_decision_budget(&q->rl->segment, q->parts);
	if (look_at_all(q))
		charge_all(q);
	else
		for (struct rl_part *p = q->part, *end = end_of(q); p < end; p++)
			deny(q, p);
	if (q->fills_each)
		for (struct rl_part *p = q->part, *end = end_of(q); p < end; p++)
			rl_part_result(p);
}

/* Decide what make() has made; the item that decided, or count. */
static size_t
decide(struct request *q)
{
	size_t decided;

	ask(q);
	for (size_t i = 0; i < q->count; i++)
		if (!is_answered(q, i))
			q->decider[i] = rl_parts_combine(&q->part[q->first[i]],
			                                 &q->part[q->first[i + 1]], &q->results[i]);
	decided = denier(q);
	for (size_t i = 0; i < q->count; i++) {
		hand_out(q, i);
		if (i == decided || decided == q->count)
			answer_item(q, i);
	}
	return decided;
}

static enum rl_verdict
too_many(struct rl_result *results, size_t count)
{
	for (size_t i = 0; results && i < count; i++) {
		rl_result_clear(&results[i]);
		rl_result_undecided(&results[i], RL_EITEMS);
	}
	return RL_UNDECIDED;
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
	for (size_t i = 0; i < count; i++)
		rl_request_clear(&items[i]);
	of(&q, rl_here(rl), items, count, now_ns, part, charge);
	q.part_result = part_result;
	q.results = results ? results : unused;
	q.fills_each = true;
	if (count > RL_ITEMS_MAX || !make(&q, booking, RL_ITEMS_MAX))
		return too_many(results, count);
	*decided = decide(&q);
	return *decided < count ? q.results[*decided].verdict : RL_ALLOWED;
}

/* An item whose parts are made; `each` has room for what each limit says, filled if wanted. */
static enum rl_verdict
decide_item(struct rl *rl, const struct rl_item *item, uint64_t now_ns, struct rl_part *part,
            unsigned parts, struct rl_result *each, bool fills_each, struct rl_result *result)
{
	struct rl_charge charge[RL_LIMITS_MAX];
	struct request q;

	of(&q, rl, item, 1, now_ns, part, charge);
	q.parts = parts;
	q.first[0] = 0;
	q.first[1] = parts;
	q.part_result = each;
	q.results = result;
	q.fills_each = fills_each;
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

static enum rl_verdict
check_limits(struct rl *rl, const struct rl_item *item, struct rl_result *r, size_t *count,
             struct rl_result results[RL_LIMITS_MAX])
{
	struct rl_part part[RL_LIMITS_MAX];
	uint64_t now_ns = rl_request_now(rl, item->now_ns);

	rl = rl_here(rl);
	rl_request_clear(item);
	*count = rl_request_make(rl, item->rule, item, NULL, now_ns, part, RL_LIMITS_MAX, r);
	return decide_item(rl, item, now_ns, part, (unsigned)*count, results, true, r);
}

enum rl_verdict
rl_check_limits(struct rl *rl, const struct rl_item *item, struct rl_result *result, size_t *count,
                struct rl_result results[RL_LIMITS_MAX])
{
	struct rl_result unused, *r = result ? result : &unused;
	struct rl_sleep sleep = {0};
	struct rl_item own;

	if (!rl_sleeps(item, 1))
		return check_limits(rl, item, r, count, results);
	own = *item;
	do
		check_limits(rl, &own, r, count, results);
	while (rl_sleep_on(&sleep, rl, &own, 1, r));
	return r->verdict;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Several limits for one request, and several requests at once.
 *
 * All or nothing: first every limit is only looked at, so that a request which is denied anyway
 * writes nothing. If all allow it, they are charged in order; should one deny it by then,
 * because others were quicker, the charges before it are given back. Meanwhile another request
 * may be denied by a charge that is being given back; none is admitted beyond a limit.
 */
#include "decide/items.h"

#include <stddef.h>
#include <string.h>

#include "decide/short.h"
#include "rl.h"
#include "segment/record.h"
#include "segment/stats.h"

/* One request: items, and the limits of each as parts first[i] .. first[i + 1] - 1. */
struct batch {
	struct rl *rl;
	const struct rl_item *items;
	size_t count;
	uint64_t now_ns;
	unsigned first[RL_ITEMS_MAX + 1];
	struct rl_request *part;
	struct rl_budget budget;
	struct rl_result *part_result; /* of each part; for decide() only */
	struct rl_result *results;     /* of each item */
};

static void
begin(struct batch *b, struct rl *rl, const struct rl_item *items, size_t count, uint64_t now_ns,
      struct rl_request *part, struct rl_result *part_result, struct rl_result *results)
{
	b->rl = rl;
	b->items = items;
	b->count = count;
	b->now_ns = now_ns;
	b->part = part;
	b->part_result = part_result;
	b->results = results;
}

/* False if there are more parts than fit. */
static bool
make_all(struct batch *b, const struct rl_wish *wish)
{
	unsigned parts = 0;

	for (size_t i = 0; i < b->count; i++) {
		b->first[i] = parts;
		parts += rl_request_make(b->rl, &b->items[i], wish, b->now_ns, &b->part[parts],
		                         RL_ITEMS_MAX - parts, &b->results[i]);
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
decider(const struct batch *b, size_t i)
{
	unsigned best = b->first[i];

	for (unsigned p = best + 1; p < b->first[i + 1]; p++) {
		bool is_shadow = b->part[p].quota.is_shadow;
		if (is_shadow != b->part[best].quota.is_shadow
		            ? !is_shadow
		            : outranks(&b->part_result[p], &b->part_result[best]))
			best = p;
	}
	return best;
}

/* An item's answer from those of its parts, charges and all. */
static void
combine(struct batch *b, size_t i)
{
	struct rl_result *r = &b->results[i];
	unsigned best = decider(b, i);

	memcpy(r, &b->part_result[best], offsetof(struct rl_result, charge));
	r->charges = 0;
	for (unsigned p = b->first[i]; p < b->first[i + 1]; p++) {
		const struct rl_result *t = &b->part_result[p];
		if (t->charges > 0)
			r->charge[r->charges++] = t->charge[0];
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

/* Will every limit surely allow? A request that is denied in the end needs every result. */
static bool
will_all_add(const struct batch *b)
{
	for (size_t i = 0; i < b->count; i++) {
		if (b->items[i].cost == 0 || is_answered(b, i))
			return false;
		for (unsigned p = b->first[i]; p < b->first[i + 1]; p++)
			if (!rl_short_would_add(&b->part[p], b->items[i].cost))
				return false;
	}
	return true;
}

static size_t
peek_all(struct batch *b)
{
	for (size_t i = 0; i < b->count; i++) {
		for (unsigned p = b->first[i]; p < b->first[i + 1]; p++)
			rl_request_peek(&b->part[p], b->items[i].cost, &b->part_result[p]);
		if (!is_answered(b, i))
			combine(b, i);
	}
	return denier(b);
}

static void
give_back(struct batch *b, unsigned parts)
{
	for (unsigned p = 0; p < parts; p++)
		rl_refund_at(b->rl, &b->part_result[p], b->now_ns);
}

/* Charge one limit: by the fast path, or else by the slow one. */
static enum rl_verdict
spend(struct rl_request *rq, uint64_t cost, struct rl_result *r)
{
	struct rl_slot slot;
	struct rl_view v;

	if (rl_short_may_charge(rq, cost) && rl_short_view(rq, &slot, &v) &&
	    rl_short_add(rq, (uint32_t)cost, slot, &v, r))
		return RL_ALLOWED;
	return rl_request_spend(rq, cost, r);
}

/* Charge all; the item that does not allow, what was charged being given back, or count. */
static size_t
spend_all(struct batch *b)
{
	for (size_t i = 0; i < b->count; i++) {
		bool is_peek = b->items[i].cost == 0;
		for (unsigned p = b->first[i]; p < b->first[i + 1] && !is_peek; p++) {
			if (spend(&b->part[p], b->items[i].cost, &b->part_result[p]) == RL_ALLOWED)
				continue;
			give_back(b, p);
			for (size_t j = 0; j <= i; j++)
				if (!is_answered(b, j))
					combine(b, j);
			return i;
		}
		if (!is_answered(b, i) && !is_peek)
			combine(b, i);
	}
	return b->count;
}

/* The request that decided item i, if one did. */
static const struct rl_request *
request_of(const struct batch *b, size_t i)
{
	return is_answered(b, i) ? NULL : &b->part[decider(b, i)];
}

static void
count_item(const struct batch *b, size_t i)
{
	if (b->items[i].cost > 0 && (!is_answered(b, i) || rl_request_is_counted(&b->results[i])))
		rl_request_count(b->rl, b->items[i].rule, request_of(b, i), &b->results[i]);
}

/* Decide what make_all() has made; the item that decided, or count. */
static size_t
decide(struct batch *b)
{
	size_t decided;

	b->budget = rl_decision_budget(b->rl, b->first[b->count]);
	for (unsigned p = 0; p < b->first[b->count]; p++) {
		rl_result_clear(&b->part_result[p]);
		b->part[p].budget = &b->budget;
	}
	decided = will_all_add(b) ? b->count : peek_all(b);
	if (decided == b->count)
		decided = spend_all(b);
	for (size_t i = 0; i < b->count; i++)
		if (i == decided || decided == b->count)
			count_item(b, i);
	return decided;
}

enum rl_verdict
rl_check_all_at(struct rl *rl, const struct rl_item *items, size_t count, uint64_t now_ns,
                struct rl_result *results, size_t *decided)
{
	struct rl_result unused[RL_ITEMS_MAX], part_result[RL_ITEMS_MAX];
	struct rl_request part[RL_ITEMS_MAX];
	struct batch b;
	size_t ignored;

	decided = decided ? decided : &ignored;
	*decided = 0;
	begin(&b, rl, items, count, now_ns, part, part_result, results ? results : unused);
	if (count > RL_ITEMS_MAX || !make_all(&b, NULL))
		return RL_UNDECIDED;
	*decided = decide(&b);
	return *decided < count ? b.results[*decided].verdict : RL_ALLOWED;
}

enum rl_verdict
rl_check_all(struct rl *rl, const struct rl_item *items, size_t count, struct rl_result *results,
             size_t *decided)
{
	return rl_check_all_at(rl, items, count, rl_now(rl), results, decided);
}

/* Decide and count by the fast path. False: nothing was done. */
static inline __attribute__((always_inline)) bool
decide_short(const struct rl_item *item, const struct rl_request *rq, struct rl_result *r)
{
	const struct rl_segment *s = &rq->rl->segment;
	uint32_t cost = (uint32_t)item->cost;
	struct rl_slot slot;
	struct rl_view v;

	if (item->cost == 0 || !rl_short_may_charge(rq, item->cost) ||
	    !rl_short_view(rq, &slot, &v))
		return false;
	if (rl_short_add(rq, cost, slot, &v, r)) {
		rl_stats_add(s, item->rule, RL_COUNT_allowed);
		return true;
	}
	if (!rl_short_deny(rq, cost, &v, r))
		return false;
	rl_stats_add(s, item->rule, RL_COUNT_denied);
	rl_record_sample_denied(s, slot, rq->now_ns);
	return true;
}

/* The slow path. */
static enum rl_verdict
check_one(struct rl *rl, const struct rl_item *item, struct rl_request *rq, struct rl_result *r)
{
	struct rl_budget budget = rl_decision_budget(rl, 1);

	rq->budget = &budget;
	if (item->cost == 0)
		return rl_request_peek(rq, 0, r);
	rl_request_spend(rq, item->cost, r);
	rl_request_count(rl, item->rule, rq, r);
	return r->verdict;
}

/* An item whose requests are made. Fills the result of each. */
static enum rl_verdict
check_parts(struct rl *rl, const struct rl_item *item, uint64_t now_ns, struct rl_request *part,
            unsigned parts, struct rl_result *part_result, struct rl_result *r)
{
	struct batch b;

	begin(&b, rl, item, 1, now_ns, part, part_result, r);
	b.first[0] = 0;
	b.first[1] = parts;
	decide(&b);
	return r->verdict;
}

/* The same when nobody asks for the result of each. */
static enum rl_verdict
check_made(struct rl *rl, const struct rl_item *item, uint64_t now_ns, struct rl_request *part,
           unsigned parts, struct rl_result *r)
{
	struct rl_result part_result[RL_LIMITS_MAX];

	if (parts == 1)
		return decide_short(item, part, r) ? r->verdict : check_one(rl, item, part, r);
	return check_parts(rl, item, now_ns, part, parts, part_result, r);
}

enum rl_verdict
rl_items_check(struct rl *rl, const struct rl_item *item, const struct rl_wish *wish,
               uint64_t now_ns, struct rl_result *r)
{
	struct rl_request part[RL_LIMITS_MAX], one;
	unsigned parts;

	rl_result_clear(r);
	if (wish || !rl_request_is_sound(rl, item, r) ||
	    !rl_short_make(rl, item, rl_clamp_now(now_ns), &one)) {
		parts = rl_request_make(rl, item, wish, now_ns, part, RL_LIMITS_MAX, r);
		return check_made(rl, item, now_ns, part, parts, r);
	}
	if (decide_short(item, &one, r))
		return r->verdict;

	part[0] = one; /* which itself stays in registers */
	return check_one(rl, item, part, r);
}

enum rl_verdict
rl_check_item_at(struct rl *rl, const struct rl_item *item, uint64_t now_ns,
                 struct rl_result *result)
{
	struct rl_result unused;

	return rl_items_check(rl, item, NULL, now_ns, result ? result : &unused);
}

enum rl_verdict
rl_check_limits_at(struct rl *rl, const struct rl_item *item, uint64_t now_ns,
                   struct rl_result *result, size_t *count, struct rl_result results[RL_LIMITS_MAX])
{
	struct rl_request part[RL_LIMITS_MAX];
	struct rl_result unused, *r = result ? result : &unused;
	unsigned parts = rl_request_make(rl, item, NULL, now_ns, part, RL_LIMITS_MAX, r);

	*count = parts;
	check_parts(rl, item, now_ns, part, parts, results, r);
	for (unsigned i = 0; i < parts; i++)
		results[i].charges = 0; /* they are the answer's to give back */
	return r->verdict;
}

enum rl_verdict
rl_reserve_item_at(struct rl *rl, const struct rl_item *item, uint64_t max_wait_ns, uint64_t now_ns,
                   struct rl_result *result)
{
	const struct rl_wish wish = {.is_booking = true, .max_wait_ns = max_wait_ns};
	struct rl_result unused;

	return rl_items_check(rl, item, &wish, now_ns, result ? result : &unused);
}

/* Each for itself, when all are being fetched already. */
static void
check_each(struct batch *b)
{
	for (size_t i = 0; i < b->count; i++) {
		unsigned parts = b->first[i + 1] - b->first[i];
		check_made(b->rl, &b->items[i], b->now_ns, &b->part[b->first[i]], parts,
		           &b->results[i]);
	}
}

void
rl_check_many_at(struct rl *rl, const struct rl_item *items, size_t count, uint64_t now_ns,
                 struct rl_result *results)
{
	struct rl_request part[RL_ITEMS_MAX];
	struct batch b;

	while (count > 0) {
		begin(&b, rl, items, count < RL_ITEMS_MAX ? count : RL_ITEMS_MAX, now_ns, part,
		      NULL, results);
		while (!make_all(&b, NULL))
			b.count = (b.count + 1) / 2; /* rules of many limits: fewer at a time */
		check_each(&b);
		items += b.count;
		results += b.count;
		count -= b.count;
	}
}

void
rl_check_many(struct rl *rl, const struct rl_item *items, size_t count, struct rl_result *results)
{
	rl_check_many_at(rl, items, count, rl_now(rl), results);
}

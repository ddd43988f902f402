/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A charge that fails has met another's success, so on a key that has its slot the loop is
 * lock-free. Two keys that fight for the last of their candidate slots may free each other's fresh
 * claims: there, progress is sure only for one that gets a moment alone. The budget is for
 * that, and for a segment that somebody scribbles over.
 */
#include "decide/decide.h"

#include "algorithm/ring.h"
#include "decide/tell.h"
#include "decide/without_slot.h"
#include "evict/evict.h"
#include "holder/units.h"
#include "move/bring.h"
#include "reserve/sets.h"
#include "rule/named.h"
#include "segment/record.h"
#include "segment/stats.h"
#include "segment/wish.h"

/* Steps that a try takes of the budget. */
#define TRY_STEPS 24    /* to find the slot, see its state and change it */
#define CLAIM_STEPS 64  /* to look at all slots and claim one */
#define EVICT_STEPS 512 /* to judge who is there */
#define CELL_STEPS 256  /* to take a set of cells, and charge one */
#define CARRY_STEPS 16  /* to see whether a slot begins with what a cell counts */
#define BRING_STEPS 128 /* to see whether a key is in the table before, and to move it */

enum rl_verdict
rl_answer(const struct rl_ask *a, const struct rl_decision *d)
{
	if (d->admits && a->cost <= d->limit) {
		if (a->result) {
			rl_fill_result(a, d, RL_ALLOWED);
			a->result->delay_ns = d->delay_ns;
		}
		return RL_ALLOWED;
	}
	if (a->cost <= d->limit)
		return rl_answer_denied(a, d);
	if (a->result) {
		rl_fill_result(a, d, RL_NEVER);
		a->result->retry_after_ns = RL_NEVER_NS;
	}
	return RL_NEVER;
}

/*
 * Which of its 16 candidates the slot is, is computed again: only who wants the charge pays for that. The
 * hash is the limit's own, so a charge is of one incarnation of the limit's row: in another one the same
 * key lies elsewhere, and nothing of it is given back.
 */
void
rl_hand_out(const struct rl_ask *a, struct rl_slot slot, const struct rl_plan *plan)
{
	const struct rl_compiled *limit = a->limit;
	uint64_t hash = a->hash ^ limit->mix;
	struct rl_candidates candidates =
		rl_table_candidates(&a->segment->table, limit->owner, hash);

	*a->charge = (struct rl_charge){
		.key = hash,
		.epoch = plan->charge_id,
		.cost = a->cost,
		.capacity = a->quota.capacity,
		.memory = plan->memory,
		.limit = rl_charge_limit(a),
		.gen = rl_tag_gen(slot.tag),
		.place = (uint8_t)rl_table_place(&candidates, slot.index),
	};
}

/* Without a slot to count in, as the segment's on_full says. Writes nothing shared. */
static enum rl_verdict
tell_no_place(const struct rl_request *rq, uint64_t next_free_ns)
{
	static const enum rl_verdict verdicts[] = {
		[RL_FULL_RESERVE] = RL_DENIED,
		[RL_FULL_DENY] = RL_DENIED,
		[RL_FULL_ALLOW] = RL_ALLOWED,
		[RL_FULL_EVICT] = RL_UNDECIDED,
	};
	enum rl_verdict verdict = verdicts[rq->ask.segment->geometry.on_full];
	struct rl_result *r = rq->ask.result;

	if (r) {
		rl_fill_result(&rq->ask, &(struct rl_decision){0}, verdict);
		r->error = -ENOSPC;
		if (verdict == RL_DENIED)
			r->retry_after_ns = rl_until(next_free_ns, rq->ask.now_ns);
	}
	return verdict;
}

static enum rl_verdict
answer_no_place(const struct rl_request *rq, uint64_t next_free_ns, enum rl_counter counter)
{
	rl_stats_add(rq->ask.segment, rq->rule, counter);
	rl_tell_full(rq);
	return tell_no_place(rq, next_free_ns);
}

static enum rl_verdict
answer_full(const struct rl_request *rq, uint64_t next_free_ns)
{
	static const enum rl_counter counters[] = {
		[RL_FULL_RESERVE] = RL_COUNT_full_denied,
		[RL_FULL_DENY] = RL_COUNT_full_denied,
		[RL_FULL_ALLOW] = RL_COUNT_full_allowed,
		[RL_FULL_EVICT] = RL_COUNT_full_undecided,
	};

	return answer_no_place(rq, next_free_ns, counters[rq->ask.segment->geometry.on_full]);
}

static enum rl_verdict
undecided(struct rl_request *rq, int error)
{
	if (rq->ask.result) {
		rl_fill_result(&rq->ask, &(struct rl_decision){0}, RL_UNDECIDED);
		rq->ask.result->error = error;
	}
	return RL_UNDECIDED;
}

/* Store what a plan to close asks for. False: others did, or will. */
static bool
store_entries(const struct rl_segment *s, const struct rl_limiter *l, struct rl_slot slot,
              const struct rl_view *v, uint32_t entries)
{
	uint64_t *ring = rl_segment_ring(s, slot.index);

	for (uint32_t i = 0; i < entries; i++) {
		uint32_t place;
		uint64_t value;
		rl_limiter_entry(l, v, i, &place, &value);
		if (!rl_ring_store(&ring[place], value, rl_table_state(&s->table, slot.index),
		                   v->word))
			return false;
	}
	return true;
}

/* The steps to read a ring. */
static uint32_t
ring_steps(const struct rl_limiter *l)
{
	return rl_limiter_has_window(l) ? 2 * l->granularity : 16;
}

/* Do what the plan says. RL_AGAIN if that decides nothing, or others were quicker. */
static int
carry_out(const struct rl_ask *a, struct rl_slot slot, const struct rl_view *v,
          const struct rl_plan *plan, struct rl_budget *budget)
{
	const struct rl_segment *s = a->segment;

	if (rl_view_is_unused(v)) {
		rl_view_use(s, slot, v);
		return RL_AGAIN;
	}
	if (plan->step == RL_STEP_CLOSE &&
	    (!rl_budget_take(budget, plan->entries) ||
	     !store_entries(s, &a->limit->limiter, slot, v, plan->entries)))
		return RL_AGAIN;
	if (plan->charges)
		return rl_charge_planned(a, slot, v->word, plan);
	if (rl_atomic_cas16(rl_table_state(&s->table, slot.index), v->word, plan->next) &&
	    plan->step == RL_STEP_COUNT)
		return (int)rl_answer_denied(a, &plan->decision);
	return RL_AGAIN;
}

static int
peek_slot(const struct rl_ask *a, struct rl_slot slot, const struct rl_view *v)
{
	const struct rl_limiter *l = &a->limit->limiter;
	struct rl_decision d;

	rl_limiter_peek(l, &a->quota, v, a->cost, a->now_ns, &d);
	if (!rl_view_holds(a->segment, l, slot, v))
		return RL_AGAIN;
	return (int)rl_answer(a, &d);
}

enum rl_verdict
rl_peek_nothing(const struct rl_ask *a)
{
	struct rl_view none = rl_view_none(a->segment);
	struct rl_decision d;

	rl_limiter_peek(&a->limit->limiter, &a->quota, &none, a->cost, a->now_ns, &d);
	return rl_answer(a, &d);
}

static int
decide_seen(const struct rl_ask *a, struct rl_slot slot, const struct rl_view *v, enum rl_mode mode,
            struct rl_budget *budget)
{
	const struct rl_limiter *l = &a->limit->limiter;
	struct rl_plan plan;

	rl_budget_take(budget, ring_steps(l));
	if (mode == RL_PEEK && a->result)
		return peek_slot(a, slot, v);
	rl_limiter_decide(l, &a->quota, v, a->cost, a->now_ns, a->result != NULL, &plan);
	if (plan.step != RL_STEP_DENY && mode == RL_CHARGE)
		return carry_out(a, slot, v, &plan, budget);
	if (!rl_view_holds(a->segment, l, slot, v))
		return RL_AGAIN;
	return plan.step <= RL_STEP_COUNT ? (int)rl_answer_denied(a, &plan.decision) : RL_ALLOWED;
}

int
rl_decide_rest(const struct rl_ask *a, struct rl_slot slot, const struct rl_view *v,
               enum rl_seen seen, enum rl_mode mode, struct rl_budget *budget)
{
	struct rl_budget own = rl_decision_budget(a->segment, 1);

	switch (seen) {
	case RL_SEEN_DEAD:
		if (mode == RL_PEEK) /* its key may have gone to a cell */
			return a->segment->geometry.cells > 0 ? RL_AGAIN : (int)rl_peek_nothing(a);
		rl_table_free(&a->segment->table, slot);
		return RL_AGAIN;
	case RL_SEEN_GONE:
		return RL_AGAIN;
	case RL_SEEN:
		if (v->is_zero && !budget &&
		    (a->segment->geometry.cells > 0 || rl_table_is_filling(&a->segment->table)))
			return RL_AGAIN;
		break;
	}
	return decide_seen(a, slot, v, mode, budget ? budget : &own);
}

/* A key's name for people and for the cluster. */
struct name {
	const void *bytes;
	size_t len;
	char text[RL_NETWORK_TEXT_MAX];
};

static void
name_of(const struct rl_request *rq, struct name *name)
{
	name->bytes = rq->key ? rq->key : name->text;
	name->len = rq->key ? rq->key_len : rl_network_text(rq->network, name->text);
}

static void
write_name(const struct rl_request *rq, struct rl_slot slot)
{
	struct name name;

	name_of(rq, &name);
	rl_named_write(rq->ask.segment, rq->ask.limit, slot, rq->ask.hash ^ rq->ask.limit->mix,
	               name.bytes, name.len);
}

/* A slot for a key that has none. 0; -EAGAIN; -ENOSPC, and *next_free_ns is when there may be one. */
static int
claim(const struct rl_request *rq, struct rl_slot *slot, uint64_t *next_free_ns)
{
	const struct rl_segment *s = rq->ask.segment;
	struct rl_eviction eviction;

	rl_budget_take(rq->budget, CLAIM_STEPS);
	switch (rl_table_claim(&s->table, &rq->candidates, slot)) {
	case RL_CLAIM_NEW:
		write_name(rq, *slot);
		rl_stats_add(s, rq->rule, RL_COUNT_inserted);
		return 0;
	case RL_CLAIM_FOUND:
		return 0;
	case RL_CLAIM_BUSY:
		return -EAGAIN;
	case RL_CLAIM_FULL:
		break;
	}
	rl_budget_take(rq->budget, EVICT_STEPS);
	eviction = rl_evict_for(rq->rl, rq->ask.limit, &rq->candidates, rq->budget, rq->ask.now_ns);
	*next_free_ns = eviction.next_free_ns;
	return eviction.is_freed ? -EAGAIN : -ENOSPC;
}

int
rl_decide_claim(struct rl_request *rq, struct rl_slot *slot)
{
	uint64_t unused;

	return claim(rq, slot, &unused);
}

static int
decide_full(const struct rl_request *rq, uint64_t next_free_ns)
{
	int decided = -ENOSPC;

	rl_budget_take(rq->budget, CELL_STEPS);
	if (rq->ask.segment->geometry.on_full == RL_FULL_RESERVE)
		decided = rl_without_slot_charge(rq);
	return decided == -ENOSPC ? (int)answer_full(rq, next_free_ns) : decided;
}

/* To charge a key that has no slot. True: *slot is LIVE. False: *decided, or try again. */
static bool
find_room(const struct rl_request *rq, struct rl_slot *slot, int *decided)
{
	uint64_t next_free_ns;
	int error;

	rl_budget_take(rq->budget, CELL_STEPS);
	if (rl_without_slot_at_once(rq, decided))
		return false;
	error = claim(rq, slot, &next_free_ns);
	if (error == 0)
		return true;
	*decided = error == -ENOSPC ? decide_full(rq, next_free_ns) : RL_AGAIN;
	return false;
}

static int
answer_taken(const struct rl_ask *a, const struct rl_candidates *candidates, struct rl_slot slot,
             const struct rl_decision *d, const struct rl_units_taken *taken)
{
	*a->charge = (struct rl_charge){
		.key = a->hash ^ a->limit->mix,
		.epoch = rl_units_charge_id(taken),
		.cost = a->cost,
		.capacity = a->quota.capacity,
		.limit = rl_charge_limit(a),
		.gen = rl_tag_gen(slot.tag),
		.place = (uint8_t)(rl_table_place(candidates, slot.index) | RL_CHARGE_HELD),
	};
	if (a->result)
		rl_fill_result(a, d, RL_ALLOWED);
	return RL_ALLOWED;
}

int
rl_decide_units(struct rl *rl, const struct rl_ask *a, const struct rl_candidates *candidates,
                struct rl_slot slot, struct rl_budget *budget)
{
	uint32_t most = rl_limiter_limit(&a->limit->limiter, &a->quota);
	struct rl_decision d = {.limit = most};
	struct rl_units_taken taken;
	int done = rl_units_take(rl, a->limit, slot, a->cost, most, budget, &taken);

	if (done < 0)
		return done;
	d.remaining = taken.total < most ? most - taken.total : 0;
	d.beyond = taken.total > most ? taken.total - most : 0;
	return done == 0 ? (int)rl_answer_denied(a, &d)
	                 : answer_taken(a, candidates, slot, &d, &taken);
}

/* Take units in flight, of a LIVE slot. */
static int
take_units(struct rl_request *rq, struct rl_slot slot)
{
	int decided = rl_decide_units(rq->rl, &rq->ask, &rq->candidates, slot, rq->budget);

	if (decided >= 0)
		return decided;
	if (decided == -EAGAIN)
		return RL_AGAIN;
	if (decided == -ENOSPC) /* nobody knows when there will be one */
		return (int)answer_no_place(rq, rq->ask.now_ns, RL_COUNT_holders_full);
	return (int)undecided(rq, decided);
}

/*
 * A key that was denied before anything was counted of it is told from one that nobody has charged: it waits for
 * its share, and is not swept.
 */
static void
settle(const struct rl_ask *a, struct rl_slot slot, const struct rl_view *v)
{
	if (v->is_zero)
		rl_atomic_cas16(rl_table_state(&a->segment->table, slot.index), v->word,
		                rl_limiter_nothing(&a->limit->limiter, a->now_ns, v->slot_bits));
}

void
rl_decide_wish(const struct rl_ask *a, struct rl_slot slot, const void *key, size_t key_len)
{
	if (rl_wish_set(a->segment, slot.index))
		rl_named_hash(a->segment, a->limit, slot, a->hash ^ a->limit->mix, key, key_len);
}

int
rl_decide_lent_rest(const struct rl_ask *a, struct rl_slot slot, const struct rl_view *v,
                    enum rl_seen seen, const void *key, size_t key_len, struct rl_budget *budget)
{
	struct rl_result own, *r = a->result ? a->result : &own;
	struct rl_ask asked = *a;
	int decided;

	asked.result = r;
	decided = rl_decide_rest(&asked, slot, v, seen, RL_CHARGE, budget);
	if ((decided != RL_ALLOWED && decided != RL_DENIED) ||
	    !rl_lent_wants_more(&a->quota, rl_limiter_limit(&a->limit->limiter, &a->quota), r->used,
	                        r->remaining, decided))
		return decided;
	if (decided == RL_DENIED)
		settle(a, slot, v);
	rl_decide_wish(a, slot, key, key_len);
	return decided;
}

static int
decide_lent(const struct rl_request *rq, struct rl_slot slot)
{
	struct name name;

	name_of(rq, &name);
	return rl_decide_lent(&rq->ask, slot, name.bytes, name.len, rq->budget);
}

static int
decide_special(struct rl_request *rq, struct rl_slot slot)
{
	return rl_limiter_is_lent(&rq->ask.limit->limiter) ? decide_lent(rq, slot)
	                                                   : take_units(rq, slot);
}

/* A key without a slot, or whose slot was never charged. */
static int
peek_without(const struct rl_request *rq)
{
	int decided;

	if (rl_without_slot_peek(rq, &decided))
		return decided;
	if (rl_without_slot_is_refused(rq))
		return (int)tell_no_place(rq, rq->ask.now_ns);
	return (int)rl_peek_nothing(&rq->ask);
}

static int
try_once(struct rl_request *rq, enum rl_mode mode)
{
	struct rl_slot slot;
	int decided;

	rq->slot.tag = 0;
	if (!rl_table_find(&rq->ask.segment->table, &rq->candidates, &slot)) {
		if (mode == RL_PEEK)
			return rl_table_is_left(&rq->ask.segment->table) ? RL_AGAIN
			                                                 : peek_without(rq);
		if (!find_room(rq, &slot, &decided))
			return decided;
	}
	rq->slot = slot;
	if (rq->ask.segment->geometry.cells > 0)
		rl_budget_take(rq->budget, CARRY_STEPS);
	if (mode == RL_PEEK && rl_without_slot_is_told(rq, slot))
		return peek_without(rq);
	if (mode == RL_CHARGE && !rl_without_slot_over(rq, slot, &decided))
		return decided;
	if (mode == RL_CHARGE && rl_limiter_is_special(&rq->ask.limit->limiter))
		return decide_special(rq, slot);
	return rl_decide_slot(&rq->ask, slot, mode, rq->budget);
}

int
rl_request_bring(struct rl_request *rq)
{
	struct rl_sought k = {.rl = rq->rl,
	                      .limit = rq->ask.limit,
	                      .candidates = rq->candidates,
	                      .key_hash = rq->ask.hash,
	                      .now_ns = rq->ask.now_ns};
	int error;

	if (rq->budget)
		rl_budget_take(rq->budget, BRING_STEPS);
	error = rl_bring(&k);
	rq->rl = k.rl;
	rq->ask.segment = &k.rl->segment;
	rq->ask.limit = k.limit;
	rq->candidates = k.candidates;
	if (k.unnamed.tag != 0)
		write_name(rq, k.unnamed);
	return error;
}

/* While tables change. */
static int
try_once_brought(struct rl_request *rq, enum rl_mode mode)
{
	int error = rl_request_bring(rq);

	switch (error) {
	case 0:
		return try_once(rq, mode);
	case -ENOSPC:
		return (int)answer_full(rq, rq->ask.now_ns);
	case -EAGAIN:
		return RL_AGAIN;
	default:
		return (int)undecided(rq, error);
	}
}

static enum rl_verdict
decide_in_time(struct rl_request *rq, enum rl_mode mode)
{
	while (rl_budget_take(rq->budget, TRY_STEPS)) {
		int decided =
			rl_must_bring(rq->rl) ? try_once_brought(rq, mode) : try_once(rq, mode);

		if (decided != RL_AGAIN)
			return (enum rl_verdict)decided;
		rl_atomic_pause();
	}
	return undecided(rq, -EBUSY);
}

/* Above the limit, what is answered is what a peek answers: no cost is as high. */
static enum rl_verdict
decide_never(struct rl_request *rq)
{
	struct rl_result unused, *asked = rq->ask.result;
	enum rl_verdict verdict;

	rq->ask.cost = UINT32_MAX;
	rq->ask.result = asked ? asked : &unused;
	verdict = decide_in_time(rq, RL_PEEK);
	rq->ask.result = asked;
	return verdict;
}

enum rl_verdict
rl_decide(struct rl_request *rq, uint64_t cost, enum rl_mode mode)
{
	rq->slot.tag = 0;
	if (rq->ask.limit->limiter.algorithm == RL_COUNTER) /* which decides nothing */
		return undecided(rq, -EINVAL);
	if (mode == RL_CHARGE && !rq->ask.segment->is_writable)
		return undecided(rq, -EROFS);
	if (cost > rl_limiter_limit(&rq->ask.limit->limiter, &rq->ask.quota))
		return decide_never(rq);
	rq->ask.cost = cost > 0 ? (uint32_t)cost : 1;
	return decide_in_time(rq, mode);
}

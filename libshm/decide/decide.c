/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A charge that fails has met another's success, so on a key that has its slot the loop is
 * lock-free. Two keys that fight for the last of their candidate slots may free each other's fresh
 * claims: there, progress is sure only for one that gets a moment alone. The budget is for
 * that, and for a segment that somebody scribbles over.
 */
#include "decide/decide.h"

#include "decide/plan.h"
#include "decide/report.h"
#include "decide/without_slot.h"
#include "evict/evict.h"
#include "holder/units.h"
#include "move/migrate.h"
#include "overflow/sets.h"
#include "rule/named.h"
#include "segment/stats.h"

/* Steps that a try takes of the budget. */
#define TRY_STEPS 24       /* to find the slot, see its state and change it */
#define CLAIM_STEPS 64     /* to look at all slots and claim one */
#define EVICT_STEPS 512    /* to judge who is there */
#define OVERFLOW_STEPS 256 /* to take a set of overflow counters, and charge one */
#define CARRY_STEPS 16     /* to see whether a slot begins with what an overflow counter counts */
#define MIGRATE_STEPS 128  /* to see whether a key is in the table before, and to move it */

static const struct rl_decision nothing = {.limit = 0};

/* Without a slot to count in, as the segment's on_full says. Writes nothing shared. */
static enum rl_verdict
fill_no_place(const struct rl_part *p, uint64_t next_free_ns)
{
	static const enum rl_verdict verdicts[] = {
		[RL_FULL_RESERVE] = RL_DENIED,
		[RL_FULL_DENY] = RL_DENIED,
		[RL_FULL_ALLOW] = RL_ALLOWED,
	};
	enum rl_verdict verdict = verdicts[p->segment->geometry.on_full];

	rl_part_answer(p, &(struct rl_decision){.retry_at_ns = next_free_ns}, verdict);
	if (p->result)
		p->result->error = -ENOSPC;
	return verdict;
}

static enum rl_verdict
answer_no_place(const struct rl_part *p, uint64_t next_free_ns, enum rl_counter counter)
{
	rl_stats_add(p->segment, p->rule, counter);
	rl_report_full(p);
	return fill_no_place(p, next_free_ns);
}

static enum rl_verdict
answer_full(const struct rl_part *p, uint64_t next_free_ns)
{
	static const enum rl_counter counters[] = {
		[RL_FULL_RESERVE] = RL_COUNT_full_denied,
		[RL_FULL_DENY] = RL_COUNT_full_denied,
		[RL_FULL_ALLOW] = RL_COUNT_full_allowed,
	};

	return answer_no_place(p, next_free_ns, counters[p->segment->geometry.on_full]);
}

static enum rl_verdict
undecided(const struct rl_part *p, int error)
{
	rl_part_answer(p, &nothing, RL_UNDECIDED);
	if (p->result)
		p->result->error = error;
	return RL_UNDECIDED;
}

/* A peek at a key without a slot, or whose slot is being retired: it has counted nothing. */
static int
peek_nothing(struct rl_part *p)
{
	const struct rl_view none = rl_view_none(p->segment);
	struct rl_ask ask = rl_part_ask(p);

	ask.v = &none;
	rl_limiter_peek(&ask, &p->plan.decision);
	return (int)rl_part_answer(p, &p->plan.decision, rl_part_peeked(p));
}

/* Take units in flight of a LIVE slot. There is to be a charge to fill. */
static int
hold(struct rl_part *p)
{
	uint32_t most = p->quota.capacity < RL_IN_FLIGHT_MAX ? p->quota.capacity : RL_IN_FLIGHT_MAX;
	struct rl_decision d = {.limit = most};
	struct rl_units_taken taken;
	int done = rl_units_take(p->rl, p->limit, p->slot, p->cost, most, p->budget, &taken);

	if (done == -EAGAIN)
		return RL_AGAIN;
	if (done == -ENOSPC) /* nobody knows when there will be one */
		return (int)answer_no_place(p, p->now_ns, RL_COUNT_holders_full);
	if (done < 0)
		return (int)undecided(p, done);
	d.remaining = taken.total < most ? most - taken.total : 0;
	d.beyond = taken.total > most ? taken.total - most : 0;
	if (done > 0)
		rl_part_hand_out(p, rl_in_flight_charge_id(taken.label, taken.place), 0);
	return (int)rl_part_answer(p, &d, done > 0 ? RL_ALLOWED : RL_DENIED);
}

int
rl_decide_absent(struct rl_part *p)
{
	if (rl_limiter_limit(&p->limit->limiter, &p->quota) == 0 ||
	    rl_sets_are_used(p->segment, p->now_ns) || rl_table_is_left(&p->segment->table))
		return RL_AGAIN;
	return peek_nothing(p);
}

/* The first step of a roll. From here on the plan is to close what was frozen. */
static bool
freeze(struct rl_part *p)
{
	if (!rl_atomic_cas16(rl_table_state(&p->segment->table, p->slot.index), p->view.word,
	                     p->plan.frozen))
		return false;
	p->view.word = p->plan.frozen;
	p->plan.step = RL_STEP_CLOSE;
	return true;
}

int
rl_decide_carry_out(struct rl_part *p)
{
	if (p->plan.step == RL_STEP_HOLD)
		return hold(p);
	if (rl_view_is_unused(&p->view)) {
		rl_view_use(p->segment, p->slot, &p->view);
		return RL_AGAIN;
	}
	if (p->plan.step == RL_STEP_ROLL && !freeze(p))
		return RL_AGAIN;
	if (p->plan.step == RL_STEP_CLOSE &&
	    (!rl_budget_take(p->budget, p->plan.entries) ||
	     !rl_view_store(p->segment, &p->limit->limiter, p->slot, &p->view, p->plan.entries)))
		return RL_AGAIN;
	return rl_part_charge(p);
}

/* The steps to read a ring. */
static uint32_t
ring_steps(const struct rl_limiter *l)
{
	return rl_limiter_has_window(l) ? 2 * l->granularity : 16;
}

/* By what its slot's state says. */
static int
decide_seen(struct rl_part *p, enum rl_how how)
{
	const struct rl_limiter *l = &p->limit->limiter;
	int decided;

	rl_budget_take(p->budget, ring_steps(l));
	decided = rl_part_plan(p, how, rl_limiter_limit(l, &p->quota));
	if (decided == RL_AGAIN || how == RL_PEEK)
		return decided;
	if (p->plan.step != RL_STEP_DENY)
		return rl_decide_carry_out(p);
	rl_part_denied(p);
	return decided;
}

static int
decide_slot(struct rl_part *p, enum rl_how how)
{
	switch (rl_view_load(p->segment, p->slot, &p->view)) {
	case RL_SEEN_DEAD:
		if (how == RL_PEEK) /* its key may have gone to an overflow counter */
			return p->segment->geometry.cells > 0 ? RL_AGAIN : peek_nothing(p);
		rl_table_free(&p->segment->table, p->slot);
		return RL_AGAIN;
	case RL_SEEN_GONE:
		return RL_AGAIN;
	case RL_SEEN:
		break;
	}
	return decide_seen(p, how);
}

static void
write_name(const struct rl_part *p, struct rl_slot slot)
{
	char text[RL_NETWORK_TEXT_MAX];
	size_t len;
	const void *name = rl_part_name(p, text, &len);

	if (rl_part_is_nameless(p))
		return;
	rl_named_write(p->segment, p->limit, slot, p->hash ^ p->limit->salt, name, len);
}

/*
 * A slot for a key that has none. 0; -EAGAIN; -ENOSPC, and *next_free_ns is when there may be one.
 */
static int
claim(const struct rl_part *p, struct rl_slot *slot, uint64_t *next_free_ns)
{
	const struct rl_segment *s = p->segment;
	struct rl_eviction eviction;

	rl_budget_take(p->budget, CLAIM_STEPS);
	*next_free_ns = p->now_ns;
	if (!rl_evict_may_claim(p->rl, p->limit, &p->candidates, p->budget, p->now_ns))
		return -ENOSPC;
	switch (rl_table_claim(&s->table, &p->candidates, slot)) {
	case RL_CLAIM_NEW:
		write_name(p, *slot);
		rl_stats_add(s, p->rule, RL_COUNT_inserted);
		return 0;
	case RL_CLAIM_FOUND:
		return 0;
	case RL_CLAIM_BUSY:
		return -EAGAIN;
	case RL_CLAIM_FULL:
		break;
	}
	rl_budget_take(p->budget, EVICT_STEPS);
	eviction = rl_evict_for(p->rl, p->limit, &p->candidates, p->budget, p->now_ns);
	*next_free_ns = eviction.next_free_ns;
	return eviction.is_freed ? -EAGAIN : -ENOSPC;
}

int
rl_decide_claim(struct rl_part *p, struct rl_slot *slot)
{
	uint64_t unused;

	return claim(p, slot, &unused);
}

static int
decide_full(const struct rl_part *p, uint64_t next_free_ns)
{
	int decided = -ENOSPC;

	rl_budget_take(p->budget, OVERFLOW_STEPS);
	if (p->segment->geometry.on_full == RL_FULL_RESERVE)
		decided = rl_without_slot_charge(p);
	return decided == -ENOSPC ? (int)answer_full(p, next_free_ns) : decided;
}

/* To charge a key that has no slot. True: *slot is LIVE. False: *decided, or try again. */
static bool
find_room(const struct rl_part *p, struct rl_slot *slot, int *decided)
{
	uint64_t next_free_ns;
	int error;

	rl_budget_take(p->budget, OVERFLOW_STEPS);
	if (rl_without_slot_at_once(p, decided))
		return false;
	error = claim(p, slot, &next_free_ns);
	if (error == 0)
		return true;
	*decided = error == -ENOSPC ? decide_full(p, next_free_ns) : RL_AGAIN;
	return false;
}

/* A key without a slot, or whose slot was never charged. */
static int
peek_without(struct rl_part *p)
{
	int decided;

	if (rl_without_slot_peek(p, &decided))
		return decided;
	if (rl_without_slot_is_refused(p))
		return (int)fill_no_place(p, p->now_ns);
	return peek_nothing(p);
}

static int
try_once(struct rl_part *p, enum rl_how how)
{
	const struct rl_table *table = &p->segment->table;
	struct rl_slot slot;
	int decided;

	p->slot.tag = 0;
	if (!rl_table_find(table, &p->candidates, &slot)) {
		if (how == RL_PEEK)
			return rl_table_is_left(table) ? RL_AGAIN : peek_without(p);
		if (!find_room(p, &slot, &decided))
			return decided;
	}
	p->slot = slot;
	if (p->segment->geometry.cells > 0)
		rl_budget_take(p->budget, CARRY_STEPS);
	if (how == RL_PEEK && rl_without_slot_is_asked(p, slot))
		return peek_without(p);
	if (how == RL_CHECK && !rl_without_slot_over(p, slot, &decided))
		return decided;
	return decide_slot(p, how);
}

int
rl_part_migrate(struct rl_part *p)
{
	struct rl_sought k = {.rl = p->rl,
	                      .limit = p->limit,
	                      .candidates = p->candidates,
	                      .key_hash = p->hash,
	                      .now_ns = p->now_ns};
	int error;

	if (p->budget)
		rl_budget_take(p->budget, MIGRATE_STEPS);
	error = rl_migrate(&k);
	p->rl = k.rl;
	p->segment = &k.rl->segment;
	p->limit = k.limit;
	p->candidates = k.candidates;
	if (k.unnamed.tag != 0)
		write_name(p, k.unnamed);
	return error;
}

/* While tables change. */
static int
try_once_migrated(struct rl_part *p, enum rl_how how)
{
	int error = rl_part_migrate(p);

	switch (error) {
	case 0:
		return try_once(p, how);
	case -ENOSPC:
		return (int)answer_full(p, p->now_ns);
	case -EAGAIN:
		return RL_AGAIN;
	default:
		return (int)undecided(p, error);
	}
}

static enum rl_verdict
decide_in_time(struct rl_part *p, enum rl_how how)
{
	while (rl_budget_take(p->budget, TRY_STEPS)) {
		int decided = rl_must_migrate(p->rl) ? try_once_migrated(p, how) : try_once(p, how);

		if (decided != RL_AGAIN)
			return (enum rl_verdict)decided;
		rl_atomic_pause();
	}
	return undecided(p, -EBUSY);
}

/* Above the limit, what is answered is what a peek answers: no cost is as high. */
static enum rl_verdict
decide_never(struct rl_part *p)
{
	struct rl_result unused, *asked = p->result;
	enum rl_verdict verdict;

	p->cost = UINT32_MAX;
	p->result = asked ? asked : &unused;
	verdict = decide_in_time(p, RL_PEEK);
	p->result = asked;
	return verdict;
}

enum rl_verdict
rl_part_decide(struct rl_part *p, uint64_t cost, enum rl_how how)
{
	uint32_t most = rl_limiter_limit(&p->limit->limiter, &p->quota);

	p->slot.tag = 0;
	p->planned = RL_AGAIN;
	if (most == 0) /* a counter's, which decides nothing */
		return undecided(p, -EINVAL);
	if (how == RL_CHECK && !p->segment->is_writable)
		return undecided(p, -EROFS);
	if (cost > most)
		return decide_never(p);
	p->cost = cost > 0 ? (uint32_t)cost : 1;
	return decide_in_time(p, how);
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frees a slot for a key whose 16 candidate slots are all used. In this order: a slot whose key has
 * outlived its window and the buffer; one that nobody has charged, which a killed process may have
 * left; and then, where on_full is `reserve`, that of a key whose rule has most of the 16, folded
 * into its overflow counter: give_way.c. For one that can be counted in a slot alone, also one that
 * need not be, while its rule has few such.
 *
 * A key of which units are in flight is never evicted, nor a counter that has not expired.
 */
#include "evict/evict.h"

#include "evict/admit.h"
#include "evict/give_way.h"
#include "holder/units.h"

/* Units that processes which have ended hold of it are given back: then it may be free to go. */
static void
reclaim(struct rl *rl, struct rl_budget *budget, struct rl_candidate *c)
{
	if (!rl_candidate_is_held(c) || !c->is_in_force)
		return;
	rl_units_reclaim(rl, c->limit, c->slot, budget);
	rl_candidate_inspect(rl, c->slot.index, c);
}

/* Free it if its window and the buffer are over, or its limit is not in force or another by now. */
static bool
free_if_stale(struct rl *rl, struct rl_budget *budget, struct rl_candidate *c, uint64_t now_ns)
{
	reclaim(rl, budget, c);
	return rl_candidate_has_count(c) &&
	       (!c->is_in_force ||
	        rl_view_is_stale(&rl->segment, &c->limit->limiter, &c->view, now_ns)) &&
	       rl_candidate_retire(rl, c, RL_COUNT_retired);
}

/* Free a LIVE tag whose limit does not exist, which only damage makes. */
static bool
discard(struct rl *rl, const struct rl_candidate *c)
{
	const struct rl_table *t = &rl->segment.table;
	struct rl_u128 state;

	if (rl_handle_no_limit(rl, rl_tag_limit(c->slot.tag)) == -ENOMEM)
		return false;
	return rl_atomic_load16(rl_table_state(t, c->slot.index), &state) &&
	       rl_atomic_load(rl_table_tag(t, c->slot.index)) == c->slot.tag &&
	       rl_table_retire(t, c->slot, state);
}

/* Free an unfinished claim or retirement, a slot not charged, a tag of no limit. */
static bool
free_if_unused(struct rl *rl, const struct rl_candidate *c)
{
	const struct rl_table *t = &rl->segment.table;

	if (rl_tag_is_free(c->slot.tag) || rl_candidate_has_count(c))
		return false;
	if (rl_tag_status(c->slot.tag) != RL_TAG_LIVE || (c->limit && c->seen == RL_SEEN_DEAD))
		return rl_table_free(t, c->slot);
	if (!c->limit)
		return discard(rl, c);
	return c->seen == RL_SEEN && rl_table_retire(t, c->slot, c->view.word);
}

static uint64_t
free_at(struct rl *rl, const struct rl_candidate *c)
{
	if (!rl_candidate_has_count(c))
		return UINT64_MAX;
	return rl_view_stale_at(&rl->segment, &c->limit->limiter, &c->view);
}

/* Another process freed the slot, or claimed it for the key: only claim again. */
static bool
is_settled(const struct rl_candidate *c, const struct rl_candidates *candidates)
{
	return rl_tag_status(c->slot.tag) == RL_TAG_FREE ||
	       (c->slot.tag & RL_TAG_KEY_MASK) == candidates->key;
}

/* Another process was quicker, at a slot without a count. */
static bool
has_changed(struct rl *rl, const struct rl_candidate *c)
{
	return !rl_candidate_has_count(c) &&
	       rl_atomic_load(rl_table_tag(&rl->segment.table, c->slot.index)) != c->slot.tag;
}

struct rl_eviction
rl_evict_for(struct rl *rl, const struct rl_compiled *limit, const struct rl_candidates *candidates,
             struct rl_budget *budget, uint64_t now_ns)
{
	struct rl_eviction eviction = {.next_free_ns = UINT64_MAX};
	struct rl_candidate c;

	for (unsigned i = 0; i < RL_CANDIDATES && !eviction.is_freed; i++) {
		rl_candidate_inspect(rl, rl_table_candidate(candidates, i), &c);
		eviction.is_freed =
			is_settled(&c, candidates) || free_if_stale(rl, budget, &c, now_ns);
		uint64_t at = free_at(rl, &c);
		if (at < eviction.next_free_ns)
			eviction.next_free_ns = at;
	}
	for (unsigned i = 0; i < RL_CANDIDATES && !eviction.is_freed; i++) {
		rl_candidate_inspect(rl, rl_table_candidate(candidates, i), &c);
		eviction.is_freed =
			is_settled(&c, candidates) || free_if_unused(rl, &c) || has_changed(rl, &c);
	}
	if (!eviction.is_freed && rl->segment.geometry.on_full == RL_FULL_RESERVE)
		eviction.is_freed =
			rl_evict_give_way(rl, limit->rule, candidates, budget, now_ns) ||
			(rl_admit_is_pinned_kind(limit) &&
		         rl_evict_give_to_pinned(rl, limit->rule, candidates, budget, now_ns));
	return eviction;
}

bool
rl_evict_may_claim(struct rl *rl, const struct rl_compiled *limit,
                   const struct rl_candidates *candidates, struct rl_budget *budget,
                   uint64_t now_ns)
{
	struct rl_candidate c;
	bool may = rl_admit(rl, limit, candidates, budget, now_ns);

	for (unsigned i = 0; i < RL_CANDIDATES && !may; i++) {
		rl_candidate_inspect(rl, rl_table_candidate(candidates, i), &c);
		may = c.limit && c.limit->rule == limit->rule &&
		      free_if_stale(rl, budget, &c, now_ns);
	}
	return may;
}

/* A sweep lets a key pass once of which nothing is held. */
static bool
passes_once(struct rl *rl, struct rl_budget *budget, struct rl_candidate *c)
{
	reclaim(rl, budget, c);
	return rl_candidate_has_count(c) && c->is_in_force && c->limit->limiter.is_held &&
	       !rl_candidate_is_held(c) &&
	       !rl_units_were_swept(&rl->segment, &c->limit->limiter, c->slot, &c->view);
}

void
rl_evict_stale(struct rl *rl, uint64_t index, uint64_t now_ns, struct rl_swept *swept)
{
	struct rl_budget budget = {RL_DECIDE_STEPS};
	struct rl_candidate c;

	rl_candidate_inspect(rl, index, &c);
	if (passes_once(rl, &budget, &c))
		swept->used++;
	else if (free_if_stale(rl, &budget, &c, now_ns))
		swept->retired++;
	else if (free_if_unused(rl, &c))
		swept->unused++;
	else
		swept->used++;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frees a slot for a key whose 16 candidate slots are all used. In this order: a slot whose key has
 * outlived its window and the buffer; one that nobody has charged, which a killed process may have
 * left; and if on_full is `evict`, the slot of the key that has used the least share of its limit. A
 * key at its limit is never evicted: it would start anew, and more be admitted than its limit. The limit
 * is the rule's or an override's, and also that of the key's last tier. Nor is a key of which units are
 * in flight.
 */
#include "evict/evict.h"

#include "algorithm/counter.h"
#include "algorithm/in_flight.h"
#include "holder/units.h"
#include "rule/policy.h"
#include "segment/record.h"
#include "segment/stats.h"
#include "segment/view.h"

/* A slot that may be freed, and what is known of its key. */
struct candidate {
	struct rl_slot slot;
	const struct rl_compiled *limit; /* NULL: no such limit, or not LIVE */
	bool is_in_force;                /* the limit is, in the tag's incarnation */
	bool is_left;                    /* its incarnation is another by now */
	enum rl_seen seen;               /* with a limit only */
	struct rl_view view;             /* RL_SEEN only */
	unsigned which;                  /* of its rule's limits it is */
	struct rl_quota quota;           /* what the limit admits */
};

static void
inspect(struct rl *rl, uint64_t index, struct candidate *c)
{
	const struct rl_segment *s = &rl->segment;

	c->slot = (struct rl_slot){.index = index,
	                           .tag = rl_atomic_load(rl_table_tag(&s->table, index))};
	c->limit = NULL;
	c->seen = RL_SEEN_GONE;
	if (rl_tag_status(c->slot.tag) != RL_TAG_LIVE)
		return;
	c->limit = rl_handle_limit(rl, rl_tag_limit(c->slot.tag));
	if (!c->limit)
		return;
	c->is_left = !rl_compiled_owns(c->limit, c->slot.tag);
	c->is_in_force = !c->is_left &&
	                 rl_policy_of_limit(s, rl_tag_limit(c->slot.tag), &c->quota, &c->which);
	c->seen = rl_view_load(s, c->slot, &c->view);
}

static bool
has_count(const struct candidate *c)
{
	return c->limit && c->seen == RL_SEEN && !c->view.is_zero;
}

static bool
retire(struct rl *rl, const struct candidate *c, enum rl_counter counter)
{
	if (!rl_table_retire(&rl->segment.table, c->slot, c->view.word))
		return false;
	if (!c->is_left) /* else its row may be another rule's by now */
		rl_stats_add(&rl->segment, c->limit->rule, counter);
	return true;
}

static bool
is_held(const struct candidate *c)
{
	return c->limit && c->limit->limiter.algorithm == RL_IN_FLIGHT && has_count(c) &&
	       rl_in_flight_total(c->view.word) > 0;
}

/* Units that processes which have ended hold of it are given back: then it may be free to go. */
static void
reclaim(struct rl *rl, struct rl_budget *budget, struct candidate *c)
{
	if (is_held(c) && c->is_in_force && rl_units_reclaim(rl, c->limit, c->slot, budget) > 0)
		inspect(rl, c->slot.index, c);
}

/* Free it if its window and the buffer are over, or its limit is not in force or another by now. */
static bool
free_if_stale(struct rl *rl, struct rl_budget *budget, struct candidate *c, uint64_t now_ns)
{
	reclaim(rl, budget, c);
	return has_count(c) &&
	       (!c->is_in_force ||
	        rl_view_is_stale(&rl->segment, &c->limit->limiter, &c->view, now_ns)) &&
	       retire(rl, c, RL_COUNT_retired);
}

/* Free a LIVE tag whose limit does not exist, which only damage makes. */
static bool
discard(struct rl *rl, const struct candidate *c)
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
free_if_unused(struct rl *rl, const struct candidate *c)
{
	const struct rl_table *t = &rl->segment.table;

	if (rl_tag_is_free(c->slot.tag) || has_count(c))
		return false;
	if (rl_tag_status(c->slot.tag) != RL_TAG_LIVE || (c->limit && c->seen == RL_SEEN_DEAD))
		return rl_table_free(t, c->slot);
	if (!c->limit)
		return discard(rl, c);
	return c->seen == RL_SEEN && rl_table_retire(t, c->slot, c->view.word);
}

static uint64_t
free_at(struct rl *rl, const struct candidate *c)
{
	if (!has_count(c))
		return UINT64_MAX;
	return rl_view_stale_at(&rl->segment, &c->limit->limiter, &c->view);
}

/* Use an override's quota, if the key's name is known. */
static void
apply_override(struct rl *rl, struct rl_budget *budget, struct candidate *c)
{
	struct rl_quota quota;
	struct rl_record_copy copy;

	if (rl_record_read(&rl->segment, c->slot, &copy) &&
	    rl_policy_quota_of_record(rl, &copy, c->limit, budget, &quota))
		c->quota = quota;
}

/* The used share of what a quota admits, in 1/2^32; UINT64_MAX for a key that must stay. */
static uint64_t
share_of(struct rl *rl, struct rl_budget *budget, uint64_t now_ns, const struct rl_quota *quota,
         struct candidate *c)
{
	struct rl_decision d;

	if (budget->left == 0 || /* for all one knows, at its limit */
	    rl_view_peek(&rl->segment, &c->limit->limiter, quota, c->slot, 1, now_ns, budget,
	                 &c->view, &d, NULL) != RL_SEEN ||
	    c->view.is_zero || d.remaining == 0)
		return UINT64_MAX;
	return ((uint64_t)(d.limit - d.remaining) << 32) / d.limit;
}

/* The same of what the key's last tier admits; 0: it has none. */
static uint64_t
share_of_tier(struct rl *rl, struct rl_budget *budget, uint64_t now_ns, struct candidate *c)
{
	struct rl_quota quota = c->quota;

	if (rl_policy_apply_tier(&rl->segment, c->slot.index, c->limit, c->which, &quota) == 0)
		return 0;
	return share_of(rl, budget, now_ns, &quota, c);
}

/*
 * The larger one of both, for the tier may be another key's: see rl_record_keep_tier(). So it can save a
 * key from eviction, and never deliver one.
 */
static uint64_t
used_share(struct rl *rl, struct rl_budget *budget, uint64_t now_ns, struct candidate *c)
{
	uint64_t share, of_tier;
	struct rl_u128 judged;

	if (!has_count(c) || !c->is_in_force)
		return UINT64_MAX; /* nothing to evict, or free_if_stale()'s */
	if (c->limit->limiter.algorithm == RL_COUNTER)
		return rl_counter_has_expired(c->view.word, now_ns) ? 0 : UINT64_MAX;
	if (is_held(c)) /* whatever its share: it would start anew with what is held still there */
		return UINT64_MAX;
	apply_override(rl, budget, c);
	share = share_of(rl, budget, now_ns, &c->quota, c);
	if (share == UINT64_MAX)
		return share;
	judged = c->view.word;
	of_tier = share_of_tier(rl, budget, now_ns, c);
	if (!rl_u128_equal(c->view.word, judged)) /* both are to be of the word that is retired */
		return UINT64_MAX;
	return share > of_tier ? share : of_tier;
}

/* True if there was one to evict, even if its process was quicker: then claim again. */
static bool
evict_least_used(struct rl *rl, const struct rl_candidates *candidates, struct rl_budget *budget,
                 uint64_t now_ns)
{
	uint64_t least_share = UINT64_MAX;
	struct candidate least = {0}, c;

	for (unsigned i = 0; i < RL_CANDIDATES; i++) {
		inspect(rl, rl_table_candidate(candidates, i), &c);
		uint64_t share = used_share(rl, budget, now_ns, &c);
		if (share < least_share) {
			least_share = share;
			least = c;
		}
	}
	if (least_share == UINT64_MAX)
		return false;
	retire(rl, &least, RL_COUNT_evicted);
	return true;
}

/* Another process freed the slot, or claimed it for the key: only claim again. */
static bool
is_settled(const struct candidate *c, const struct rl_candidates *candidates)
{
	return rl_tag_status(c->slot.tag) == RL_TAG_FREE ||
	       (c->slot.tag & RL_TAG_KEY_MASK) == candidates->key;
}

/* Another process was quicker, at a slot without a count. */
static bool
has_changed(struct rl *rl, const struct candidate *c)
{
	return !has_count(c) &&
	       rl_atomic_load(rl_table_tag(&rl->segment.table, c->slot.index)) != c->slot.tag;
}

struct rl_eviction
rl_evict_for(struct rl *rl, const struct rl_candidates *candidates, struct rl_budget *budget,
             uint64_t now_ns)
{
	struct rl_eviction eviction = {.next_free_ns = UINT64_MAX};
	struct candidate c;

	for (unsigned i = 0; i < RL_CANDIDATES && !eviction.is_freed; i++) {
		inspect(rl, rl_table_candidate(candidates, i), &c);
		eviction.is_freed =
			is_settled(&c, candidates) || free_if_stale(rl, budget, &c, now_ns);
		uint64_t at = free_at(rl, &c);
		if (at < eviction.next_free_ns)
			eviction.next_free_ns = at;
	}
	for (unsigned i = 0; i < RL_CANDIDATES && !eviction.is_freed; i++) {
		inspect(rl, rl_table_candidate(candidates, i), &c);
		eviction.is_freed =
			is_settled(&c, candidates) || free_if_unused(rl, &c) || has_changed(rl, &c);
	}
	if (!eviction.is_freed && rl->segment.geometry.on_full == RL_FULL_EVICT)
		eviction.is_freed = evict_least_used(rl, candidates, budget, now_ns);
	return eviction;
}

/* A sweep lets a key pass once of which nothing is held. */
static bool
passes_once(struct rl *rl, struct rl_budget *budget, struct candidate *c)
{
	reclaim(rl, budget, c);
	return has_count(c) && c->is_in_force && c->limit->limiter.algorithm == RL_IN_FLIGHT &&
	       !is_held(c) &&
	       !rl_units_were_swept(&rl->segment, &c->limit->limiter, c->slot, &c->view);
}

void
rl_evict_stale(struct rl *rl, uint64_t index, uint64_t now_ns, struct rl_swept *swept)
{
	struct rl_budget budget = {RL_DECIDE_STEPS};
	struct candidate c;

	inspect(rl, index, &c);
	if (passes_once(rl, &budget, &c))
		swept->used++;
	else if (free_if_stale(rl, &budget, &c, now_ns))
		swept->retired++;
	else if (free_if_unused(rl, &c))
		swept->unused++;
	else
		swept->used++;
}

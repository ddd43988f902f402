/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frees a slot for a key whose 16 candidate slots are all used. In this order: a slot whose key has
 * outlived its window and the buffer; one that nobody has charged, which a killed process may have
 * left; and then, by on_full,
 *
 * evict    the slot of the key that has used the least share of its limit, and none where a request of the cost
 *          that was last charged would be denied: it would start anew, and more be admitted than its
 *          limit. The limit is the rule's or an override's, and also that of the key's last tier.
 * reserve  of the rule that has most of the 16, the key that has used the least share, whatever that is, if
 *          the newcomer's rule has fewer by two at least. So no rule is pushed below its share by another,
 *          and within a rule nobody is evicted. What the key has used is folded into its cell before.
 *
 * A key of which units are in flight is never evicted, nor a counter that has not expired.
 */
#include "evict/evict.h"

#include "algorithm/cell.h"
#include "algorithm/counter.h"
#include "algorithm/in_flight.h"
#include "holder/units.h"
#include "reserve/reserve.h"
#include "rule/policy.h"
#include "segment/event.h"
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
	return c->limit && c->limit->limiter.is_held && has_count(c) &&
	       rl_in_flight_total(c->view.word) > 0;
}

/* Its name stands there until the next key's is written. */
static void
tell_evicted(struct rl *rl, const struct candidate *c, uint64_t now_ns)
{
	struct rl_event_note note = {.kind = RL_EVENT_EVICTED,
	                             .rule = c->limit->rule,
	                             .limit = c->which,
	                             .time_ns = now_ns};
	struct rl_record_copy copy;
	uint32_t one_in;

	if (!rl_event_is_due(&rl->segment, note.kind, note.rule, now_ns, &one_in))
		return;
	if (rl_record_read(&rl->segment, c->slot, &copy)) {
		note.key = copy.bytes;
		note.key_len = copy.key_kept;
	}
	rl_event_write(&rl->segment, &note, one_in);
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

/* The used share of what a quota admits, in 1/2^32; UINT64_MAX: unknown. */
static uint64_t
share_of(struct rl *rl, struct rl_budget *budget, uint64_t now_ns, const struct rl_quota *quota,
         uint32_t cost, bool *admits, struct candidate *c)
{
	struct rl_quota q = *quota;
	struct rl_decision d;

	rl_policy_lend(&rl->segment, c->limit, now_ns, &q);
	if (budget->left == 0 ||
	    rl_view_peek(&rl->segment, &c->limit->limiter, &q, c->slot, cost, now_ns, budget,
	                 &c->view, &d, NULL) != RL_SEEN ||
	    c->view.is_zero || d.limit == 0)
		return UINT64_MAX;
	*admits = d.admits;
	return ((uint64_t)rl_decision_used(&d) << 32) / d.limit;
}

/* The same, or UINT64_MAX if a request of the cost that was last charged would be denied. */
static uint64_t
share_below(struct rl *rl, struct rl_budget *budget, uint64_t now_ns, const struct rl_quota *quota,
            struct candidate *c)
{
	uint32_t cost = rl_record_cost(&rl->segment, c->slot.index);
	bool admits = false;
	uint64_t share = share_of(rl, budget, now_ns, quota, cost, &admits, c);

	return admits ? share : UINT64_MAX; /* for all one knows, at its limit */
}

/* The same of what the key's last tier admits; 0: it has none. */
static uint64_t
share_of_tier(struct rl *rl, struct rl_budget *budget, uint64_t now_ns, struct candidate *c)
{
	struct rl_quota quota = c->quota;

	if (rl_policy_apply_tier(&rl->segment, c->slot.index, c->limit, c->which, &quota) == 0)
		return 0;
	return share_below(rl, budget, now_ns, &quota, c);
}

/* Nothing to evict, or free_if_stale()'s; or held: it would start anew with what is held still there. */
static bool
must_stay(const struct candidate *c)
{
	return !has_count(c) || !c->is_in_force || is_held(c);
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

	if (must_stay(c))
		return UINT64_MAX;
	if (c->limit->limiter.algorithm == RL_COUNTER)
		return rl_counter_has_expired(c->view.word, now_ns) ? 0 : UINT64_MAX;
	apply_override(rl, budget, c);
	share = share_below(rl, budget, now_ns, &c->quota, c);
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
	if (retire(rl, &least, RL_COUNT_evicted))
		tell_evicted(rl, &least, now_ns);
	return true;
}

#define NO_RULE (-1)
#define GIVE_WAY_STEPS 768 /* to judge a rule's keys, and fold one of them */

/* The rule whose key is at a candidate slot. */
static int
rule_at(struct rl *rl, uint64_t index)
{
	struct candidate c;

	inspect(rl, index, &c);
	return c.limit && c.is_in_force ? c.limit->rule : NO_RULE;
}

/* A counter has no cell that could go on with it, nor has a cluster's bucket. */
static bool
can_give_way(const struct candidate *c)
{
	return !must_stay(c) && c->limit->limiter.algorithm != RL_COUNTER &&
	       (c->limit->has_cells || !rl_limiter_is_lent(&c->limit->limiter));
}

static unsigned
count_of(const int rules[static RL_CANDIDATES], int rule)
{
	unsigned count = 0;

	for (unsigned i = 0; i < RL_CANDIDATES; i++)
		count += rules[i] == rule;
	return count;
}

/* The rule that has most of them, if a newcomer's has fewer by two at least; or NO_RULE. */
static int
longest_queue(const int rules[static RL_CANDIDATES], int newcomer)
{
	unsigned most = count_of(rules, newcomer) + 1;
	int longest = NO_RULE;

	for (unsigned i = 0; i < RL_CANDIDATES; i++) {
		unsigned count = rules[i] == NO_RULE ? 0 : count_of(rules, rules[i]);

		if (count > most) {
			most = count;
			longest = rules[i];
		}
	}
	return longest;
}

/* Units in flight that nobody holds count nothing, and are in no cell. */
static bool
fold(struct rl *rl, const struct candidate *c, uint64_t now_ns)
{
	return !c->limit->has_cells ||
	       rl_reserve_fold(&rl->segment, c->limit, c->slot, &c->view, now_ns);
}

/* What its cell would have of it, as a share: that is longer than the slot counts it. */
static uint64_t
share_of_fold(const struct candidate *c, uint64_t share)
{
	const struct rl_limiter *cell = &c->limit->cell;
	struct rl_u128 word;
	struct rl_state s;
	uint64_t used;

	if (!c->limit->has_cells || rl_limiter_has_bucket(cell))
		return share;
	word = rl_cell_fold(&c->limit->limiter, cell, &c->view, (struct rl_u128){0});
	s = rl_state_unpack(word, &cell->window);
	used = (((uint64_t)s.cur + s.sum) << 32) / (c->quota.capacity ? c->quota.capacity : 1);
	return used > share ? used : share;
}

/* Of a rule's keys, the least used one that can be folded; those of `tried` are left out. */
static bool
find_least(struct rl *rl, const struct rl_candidates *candidates, const int rules[RL_CANDIDATES],
           int rule, struct rl_budget *budget, uint64_t now_ns, unsigned *tried,
           struct candidate *least)
{
	uint64_t least_share = UINT64_MAX;
	unsigned found = RL_CANDIDATES;

	for (unsigned i = 0; i < RL_CANDIDATES; i++) {
		struct candidate c;
		uint64_t share;
		bool admits;

		if (rules[i] != rule || (*tried >> i & 1))
			continue;
		inspect(rl, rl_table_candidate(candidates, i), &c);
		share = can_give_way(&c) ? share_of(rl, budget, now_ns, &c.quota, 1, &admits, &c)
		                         : UINT64_MAX;
		if (share != UINT64_MAX)
			share = share_of_fold(&c, share);
		if (share < least_share) {
			least_share = share;
			*least = c;
			found = i;
		}
	}
	*tried |= 1u << found;
	return found < RL_CANDIDATES;
}

/* True if there was one that gave way, even if its process was quicker: then claim again. */
static bool
give_way(struct rl *rl, int newcomer, const struct rl_candidates *candidates,
         struct rl_budget *budget, uint64_t now_ns)
{
	int rules[RL_CANDIDATES], longest;
	struct candidate least;
	unsigned tried = 0;

	for (unsigned i = 0; i < RL_CANDIDATES; i++)
		rules[i] = rule_at(rl, rl_table_candidate(candidates, i));
	longest = longest_queue(rules, newcomer);
	while (longest != NO_RULE && rl_budget_take(budget, GIVE_WAY_STEPS) &&
	       find_least(rl, candidates, rules, longest, budget, now_ns, &tried, &least)) {
		if (!fold(rl, &least, now_ns))
			continue;
		retire(rl, &least, RL_COUNT_folded);
		return true;
	}
	return false;
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
rl_evict_for(struct rl *rl, const struct rl_compiled *limit, const struct rl_candidates *candidates,
             struct rl_budget *budget, uint64_t now_ns)
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
	if (!eviction.is_freed && rl->segment.geometry.on_full == RL_FULL_RESERVE)
		eviction.is_freed = give_way(rl, limit->rule, candidates, budget, now_ns);
	return eviction;
}

/* A sweep lets a key pass once of which nothing is held. */
static bool
passes_once(struct rl *rl, struct rl_budget *budget, struct candidate *c)
{
	reclaim(rl, budget, c);
	return has_count(c) && c->is_in_force && c->limit->limiter.is_held && !is_held(c) &&
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

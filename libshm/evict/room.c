/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Room for a key whose 16 slots are all taken. In this order: a slot whose key has outlived
 * its window and the buffer; one that nobody has charged, which a killed process may have
 * left; and if on_full is `evict`, the key that has used the least share of its limit. A key
 * at its limit is never evicted: it would start anew, and more be admitted than its limit.
 */
#include "evict/room.h"

#include "rule/terms.h"
#include "segment/record.h"
#include "segment/stats.h"
#include "segment/view.h"

/* A slot, and what can be told of it. */
struct place {
	struct rl_slot slot;
	const struct rl_compiled *limit; /* NULL: no such limit, or not LIVE */
	bool is_in_force;                /* the limit is */
	enum rl_seen seen;               /* with a limit only */
	struct rl_view view;             /* RL_SEEN only */
	struct rl_quota quota;           /* what the limit admits */
};

static void
look_at(struct rl *rl, uint64_t index, struct place *p)
{
	const struct rl_segment *s = &rl->segment;
	unsigned which;

	p->slot = (struct rl_slot){.index = index,
	                           .tag = rl_atomic_load(rl_table_tag(&s->table, index))};
	p->limit = NULL;
	p->seen = RL_SEEN_GONE;
	if (rl_tag_status(p->slot.tag) != RL_TAG_LIVE)
		return;
	p->limit = rl_handle_limit(rl, rl_tag_limit(p->slot.tag));
	if (!p->limit)
		return;
	p->is_in_force = rl_terms_of_limit(s, rl_tag_limit(p->slot.tag), &p->quota, &which);
	p->seen = rl_view_load(s, p->slot, &p->view);
}

static bool
has_count(const struct place *p)
{
	return p->limit && p->seen == RL_SEEN && !p->view.is_zero;
}

static bool
retire(struct rl *rl, const struct place *p, enum rl_counter counter)
{
	if (!rl_table_retire(&rl->segment.table, p->slot, p->view.word))
		return false;
	rl_stats_add(&rl->segment, p->limit->rule, counter);
	return true;
}

/* Its window and the buffer over, or its limit. */
static bool
free_if_stale(struct rl *rl, const struct place *p, uint64_t now_ns)
{
	return has_count(p) &&
	       (!p->is_in_force ||
	        rl_view_is_stale(&rl->segment, &p->limit->limiter, &p->view, now_ns)) &&
	       retire(rl, p, RL_COUNT_retired);
}

/* A LIVE tag of a limit that is not there, which only damage makes. */
static bool
discard(struct rl *rl, const struct place *p)
{
	const struct rl_table *t = &rl->segment.table;
	struct rl_u128 state;

	if (rl_handle_no_limit(rl, rl_tag_limit(p->slot.tag)) == -ENOMEM)
		return false;
	return rl_atomic_load16(rl_table_state(t, p->slot.index), &state) &&
	       rl_atomic_load(rl_table_tag(t, p->slot.index)) == p->slot.tag &&
	       rl_table_retire(t, p->slot, state);
}

/* A claim or a retirement that was not finished, a slot not charged, a tag of no limit. */
static bool
free_if_unused(struct rl *rl, const struct place *p)
{
	const struct rl_table *t = &rl->segment.table;

	if (rl_tag_is_free(p->slot.tag) || has_count(p))
		return false;
	if (rl_tag_status(p->slot.tag) != RL_TAG_LIVE || (p->limit && p->seen == RL_SEEN_DEAD))
		return rl_table_free(t, p->slot);
	if (!p->limit)
		return discard(rl, p);
	return p->seen == RL_SEEN && rl_table_retire(t, p->slot, p->view.word);
}

static uint64_t
free_at(struct rl *rl, const struct place *p)
{
	if (!has_count(p))
		return UINT64_MAX;
	return rl_view_stale_at(&rl->segment, &p->limit->limiter, &p->view);
}

/* What an override gives the key, if its name is known. */
static void
look_for_override(struct rl *rl, struct rl_budget *budget, struct place *p)
{
	struct rl_quota quota;
	struct rl_kept kept;

	if (rl_record_read(&rl->segment, p->slot, &kept) &&
	    rl_terms_quota_of_record(rl, &kept, p->limit, budget, &quota))
		p->quota = quota;
}

/* Used share of its limit, in 1/2^32; UINT64_MAX for a key that must stay. */
static uint64_t
used_share(struct rl *rl, struct rl_budget *budget, uint64_t now_ns, struct place *p)
{
	struct rl_outlook o;

	if (!has_count(p) || !p->is_in_force)
		return UINT64_MAX; /* nothing to evict, or free_if_stale()'s */
	look_for_override(rl, budget, p);
	if (budget->left == 0 || /* for all one knows, at its limit */
	    rl_view_outlook(&rl->segment, &p->limit->limiter, &p->quota, p->slot, 1, now_ns,
	                    &p->view, &o, NULL) != RL_SEEN ||
	    p->view.is_zero || o.remaining == 0)
		return UINT64_MAX;
	return ((uint64_t)(o.limit - o.remaining) << 32) / o.limit;
}

/* True if there was one to evict, even if its process was quicker: then look again. */
static bool
evict_least_used(struct rl *rl, const struct rl_candidates *candidates, struct rl_budget *budget,
                 uint64_t now_ns)
{
	uint64_t least_share = UINT64_MAX;
	struct place least = {0}, p;

	for (unsigned i = 0; i < RL_CANDIDATES; i++) {
		look_at(rl, rl_table_candidate(candidates, i), &p);
		uint64_t share = used_share(rl, budget, now_ns, &p);
		if (share < least_share) {
			least_share = share;
			least = p;
		}
	}
	if (least_share == UINT64_MAX)
		return false;
	retire(rl, &least, RL_COUNT_evicted);
	return true;
}

/* Free by now, or the key's own by another process's doing: the claim has only to look again. */
static bool
is_settled(const struct place *p, const struct rl_candidates *candidates)
{
	return rl_tag_status(p->slot.tag) == RL_TAG_FREE ||
	       (p->slot.tag & RL_TAG_KEY_MASK) == candidates->key;
}

/* Somebody was quicker, at a slot without a count. */
static bool
has_changed(struct rl *rl, const struct place *p)
{
	return !has_count(p) &&
	       rl_atomic_load(rl_table_tag(&rl->segment.table, p->slot.index)) != p->slot.tag;
}

struct rl_room
rl_room_make(struct rl *rl, const struct rl_candidates *candidates, struct rl_budget *budget,
             uint64_t now_ns)
{
	struct rl_room room = {.next_free_ns = UINT64_MAX};
	struct place p;

	for (unsigned i = 0; i < RL_CANDIDATES && !room.is_made; i++) {
		look_at(rl, rl_table_candidate(candidates, i), &p);
		room.is_made = is_settled(&p, candidates) || free_if_stale(rl, &p, now_ns);
		uint64_t at = free_at(rl, &p);
		if (at < room.next_free_ns)
			room.next_free_ns = at;
	}
	for (unsigned i = 0; i < RL_CANDIDATES && !room.is_made; i++) {
		look_at(rl, rl_table_candidate(candidates, i), &p);
		room.is_made =
			is_settled(&p, candidates) || free_if_unused(rl, &p) || has_changed(rl, &p);
	}
	if (!room.is_made && rl->segment.geometry.on_full == RL_FULL_EVICT)
		room.is_made = evict_least_used(rl, candidates, budget, now_ns);
	return room;
}

void
rl_room_sweep(struct rl *rl, uint64_t index, uint64_t now_ns, struct rl_swept *swept)
{
	struct place p;

	look_at(rl, index, &p);
	if (free_if_stale(rl, &p, now_ns))
		swept->retired++;
	else if (free_if_unused(rl, &p))
		swept->unused++;
	else
		swept->taken++;
}

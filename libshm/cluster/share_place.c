/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where a share stands, and what it is. A key that has moved to another table (move/move.c) has
 * taken its share along, and is found there by its hash. Nobody but a lender gives a share, so one
 * that is there was brought: a word without is of an incarnation that the caller does not know.
 */
#include "cluster/share_place.h"

#include <string.h>

#include "algorithm/share.h"
#include "cluster/clustered.h"
#include "decide/decide.h"
#include "move/follow.h"
#include "move/move.h"
#include "rule/policy.h"

static bool
is_still(const struct rl_segment *s, struct rl_slot slot)
{
	return rl_atomic_load(rl_table_tag(&s->table, slot.index)) == slot.tag;
}

/* A slot's tag. One that is LEAVING may be LIVE again. */
static uint64_t
settled_tag(const struct rl_segment *s, uint64_t index)
{
	struct rl_slot slot = {.index = index,
	                       .tag = rl_atomic_load(rl_table_tag(&s->table, index))};

	if (!rl_tag_is_leaving(slot.tag) || !s->is_writable)
		return slot.tag;
	rl_table_free(&s->table, slot);
	return rl_atomic_load(rl_table_tag(&s->table, index));
}

/* The capacity of the key's own override or tier, in place of its limit's. */
static void
apply_own_capacity(struct rl *rl, struct rl_share_place *p)
{
	struct rl_budget budget = {RL_LOOKUP_STEPS};
	struct rl_record_copy copy;
	struct rl_key_policy k;
	struct rl_quota quota;

	if (rl_rules_have_tiers(p->limit->row))
		rl_policy_apply_tier(p->s, p->slot.index, p->limit, p->index, &p->quota);
	if (rl_policy_has_overrides(p->s, p->limit->rule) && rl_record_read(p->s, p->slot, &copy) &&
	    rl_policy_of_record(rl, &copy, p->limit, p->now_ns, &budget, &k, &quota))
		p->quota = quota;
}

/* The limit of a LIVE slot of a cluster; false if it is none such. */
static bool
find_limit(struct rl *rl, struct rl_slot slot, uint64_t now_ns, struct rl_share_place *p)
{
	if (rl_tag_status(slot.tag) != RL_TAG_LIVE)
		return false;
	*p = (struct rl_share_place){
		.s = &rl->segment, .slot = slot, .now_ns = rl_clamp_now(now_ns)};
	p->limit = rl_handle_limit(rl, rl_tag_limit(slot.tag));
	if (!p->limit || !p->limit->limiter.is_shared || !rl_compiled_owns(p->limit, slot.tag) ||
	    !rl_policy_of_limit(p->s, p->limit->id, &p->quota, &p->index))
		return false;
	apply_own_capacity(rl, p);
	return true;
}

static uint32_t
share_of(const struct rl_view *v)
{
	return v->is_zero ? 0 : rl_share_of(v->word);
}

static int
load(struct rl_share_place *p)
{
	enum rl_seen seen = rl_view_load(p->s, p->slot, &p->view);

	if (!is_still(p->s, p->slot))
		return -EAGAIN;
	if (seen == RL_SEEN_DEAD || (seen == RL_SEEN && p->is_followed && share_of(&p->view) == 0))
		return -ESTALE;
	rl_policy_share(p->s, p->limit, p->now_ns, &p->quota);
	return seen == RL_SEEN ? 0 : -EBUSY;
}

static uint64_t
hold_of(const struct rl_limiter *l, const struct rl_quota *q)
{
	if (rl_limiter_has_bucket(l))
		return rl_share_bucket_fill_ns(l, q);
	return l->window_ns + (rl_limiter_has_window(l) ? l->window.width_ns : 0);
}

/* -EBUSY: the ring has changed under it. */
static int
fill_share(const struct rl_share_place *p, struct rl_share *share)
{
	const struct rl_limiter *l = &p->limit->limiter;
	struct rl_record_copy copy;
	bool is_known = rl_record_read(p->s, p->slot, &copy);
	const struct rl_ask ask = rl_share_place_ask(p);

	*share = (struct rl_share){
		.of = {.slot = p->slot.index,
	               .tag = p->slot.tag,
	               .table = p->s->table.number,
	               .key_hash = is_known ? copy.key_hash : p->key_hash},
		.number = rl_tag_gen(p->slot.tag) |
	                  (uint32_t)(p->view.word.hi & RL_STATE_SERIAL_MASK) >>
	                          RL_STATE_SERIAL_SHIFT << 8,
		.rule = rl_rules_handle(p->s, p->limit->rule),
		.limit = p->index,
		.share = share_of(&p->view),
		.load = rl_limiter_load(&ask),
		.shared = rl_limiter_limit(l, &p->quota),
		.blind = p->quota.share.blind,
		.hold_ns = hold_of(l, &p->quota),
		.is_auto = p->quota.is_auto,
	};
	if (is_known)
		memcpy(share->hash, copy.hash, sizeof share->hash);
	share->has_hash = (share->hash[0] | share->hash[1]) != 0;
	return rl_view_holds(p->s, l, p->slot, &p->view) ? 0 : -EBUSY;
}

/* The key's slot in another table than it was seen in. */
static bool
follow(struct rl *rl, const struct rl_incarnation *of, struct rl_slot *slot)
{
	const struct rl_compiled *limit = rl_handle_limit(rl, rl_tag_limit(of->tag));
	const struct rl_table *table = &rl->segment.table;
	struct rl_candidates candidates;

	if (!limit || of->key_hash == 0)
		return false;
	candidates = rl_table_candidates(table, limit->owner, of->key_hash);
	return rl_table_find(table, &candidates, slot);
}

static bool
open_in(struct rl *rl, const struct rl_incarnation *of, uint64_t now_ns, struct rl_share_place *p)
{
	const struct rl_segment *s = &rl->segment;
	struct rl_slot slot = {.index = of->slot, .tag = of->tag};
	bool is_followed = of->table != s->table.number;

	if (of->table > s->table.number || (is_followed && !follow(rl, of, &slot)))
		return false;
	if (!is_followed &&
	    (of->slot >= rl_segment_slots(s) || settled_tag(s, of->slot) != of->tag))
		return false;
	if (!find_limit(rl, slot, now_ns, p))
		return false;
	p->is_followed = is_followed;
	p->key_hash = of->key_hash;
	return true;
}

/* False: there is no memory to look at its keys. A limit that is gone has none. */
static bool
knows_limit(struct rl *rl, const struct rl_incarnation *of)
{
	int limit = rl_tag_limit(of->tag);

	return rl_handle_limit(rl, limit) || rl_handle_no_limit(rl, limit) != -ENOMEM;
}

/* Keys move from the table before to this one: it is looked into first. */
int
rl_share_place_open(struct rl *rl, const struct rl_incarnation *of, uint64_t now_ns,
                    struct rl_share_place *p)
{
	struct rl *here, *before;

	if (!rl_is_clustered(rl))
		return RL_ECLUSTER;
	do {
		here = rl_here(rl);
		before = rl_before(here);
		if (!before && rl_table_is_filling(&here->segment.table))
			return -EBUSY; /* it cannot be mapped, or has just ended */
		if (before && open_in(before, of, now_ns, p) &&
		    !(here->segment.is_writable &&
		      rl_move_is_on_its_way(here, before, p->slot.index)))
			return 0;
		if (open_in(here, of, now_ns, p))
			return 0;
	} while (here != rl_here(rl));
	return knows_limit(here, of) && (!before || knows_limit(before, of)) ? -ESTALE : -EBUSY;
}

int
rl_share_place_load(struct rl_share_place *p, struct rl_share *share)
{
	int error = load(p);

	return error == 0 ? fill_share(p, share) : error;
}

bool
rl_share_place_at(struct rl *rl, uint64_t index, uint64_t now_ns, struct rl_share_place *p)
{
	struct rl_slot slot = {.index = index, .tag = settled_tag(&rl->segment, index)};

	return find_limit(rl, slot, now_ns, p);
}

int
rl_share_place_read(struct rl_share_place *p, struct rl_share *share)
{
	int error = -EBUSY;

	for (int tries = 0; tries < RL_SHARE_TRIES && error == -EBUSY; tries++)
		error = rl_share_place_load(p, share);
	return error;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "admin/entry.h"

#include <string.h>

#include "algorithm/counter.h"
#include "decide/request.h"
#include "move/follow.h"
#include "rule/policy.h"

void
rl_entry_limit(struct rl *rl, int limit, uint64_t now_ns, struct rl_entry_limit *known)
{
	const struct rl_segment *s = &rl->segment;

	known->limit = rl_handle_limit(rl, limit);
	if (!known->limit)
		return;
	known->rule = rl_rules_handle(s, known->limit->rule);
	if (!rl_policy_of_limit(s, limit, &known->quota, &known->index)) {
		known->rule = -1;
		known->index = 0;
		rl_rules_quota(known->limit->row, RL_BANK_APP, &known->quota);
	}
	known->has_tiers = known->index == 0 && rl_rules_have_tiers(known->limit->row);
	known->now_ns = now_ns;
	known->now = rl_limiter_now(&known->limit->limiter, now_ns);
	known->most = rl_limiter_limit(&known->limit->limiter, &known->quota);
	known->has_overrides = known->rule >= 0 && rl_policy_has_overrides(s, known->rule);
	known->has_exceptions =
		known->has_overrides || (known->rule >= 0 && rl_policy_has_bans(s, known->rule));
}

/* The key's tag, loaded again: what was read in between is of the tag's key. */
static bool
is_still(const struct rl_segment *s, struct rl_slot slot)
{
	return rl_atomic_load(rl_table_tag(&s->table, slot.index)) == slot.tag;
}

static void
fill_key(const struct rl_segment *s, struct rl_slot slot, uint64_t now_ns,
         struct rl_entry_room *room)
{
	struct rl_record_denials denials = {.recent_ns = RL_SECOND};
	const struct rl_record_copy *copy = &room->copy;
	struct rl_entry *e = &room->entry;
	bool is_name = rl_record_read(s, slot, &room->copy);

	if (is_name)
		rl_record_denials(copy, now_ns, &denials);
	e->denied = denials.all;
	e->denied_error = denials.error;
	e->denied_recent = denials.recent;
	e->denied_recent_ns = denials.recent_ns;
	is_name = is_name && copy->key_kept > 0; /* a segment may keep none */
	e->key = is_name ? copy->bytes : NULL;
	e->key_kept = is_name ? copy->key_kept : 0;
	e->key_len = is_name ? copy->key_len : 0;
}

static void
fill_picture(const struct rl_picture *p, struct rl_entry *e)
{
	const struct rl_history *h = &p->history;

	e->charge_entries = p->charge_entries;
	e->charge_entry = p->charge_entry;
	e->buckets = 0;
	if (!p->has_history)
		return;
	e->buckets = h->buckets;
	memcpy(e->bucket, h->bucket, e->buckets * sizeof e->bucket[0]);
	e->bucket_ns = h->width_ns;
	e->bucket_end_ns = h->end_ns;
}

static void
fill_counts(struct rl_part *p, uint64_t now_ns, struct rl_entry *e)
{
	enum rl_verdict verdict;

	p->index = e->limit;
	p->now_ns = now_ns;
	p->result = &e->peek;
	verdict = rl_part_answer(p, &p->plan.decision, rl_part_peeked(p));
	if (e->peek.used > RL_CAPACITY_MAX) /* of a bucket that owes more: all that can be told */
		e->peek.used = RL_CAPACITY_MAX;
	e->used = e->peek.used;
	e->state = e->peek.verdict == RL_DENIED ? RL_ENTRY_LIMITED : RL_ENTRY_OPEN;
	rl_part_lift_shadow(p, verdict);
	if (e->peek.is_shadow_denied)
		e->state = RL_ENTRY_SHADOW;
}

/* A ban or an exemption answers in place of the counter, as it would a request. */
static void
fill_orders(struct rl *rl, struct rl_key_policy *k, uint64_t now_ns, struct rl_budget *budget,
            struct rl_entry *e)
{
	struct rl_item item = {.rule = e->rule, .key = e->key, .key_len = e->key_len};
	struct rl_result r;

	if (k->has_address && k->address.known < k->address.bits)
		item.key_len = 0; /* of a network there is no text that a prefix could match */
	rl_result_clear(&r);
	r.index = e->limit;
	r.limit = r.remaining = e->peek.limit;
	r.window_ns = e->peek.window_ns;
	if (!rl_request_answered_by_exception(rl, &item, k, now_ns, budget, &r))
		return;
	if (r.verdict == RL_UNDECIDED) {
		e->is_state_known = false;
		return;
	}
	e->peek = r;
	e->state = r.reason == RL_BY_BAN ? RL_ENTRY_BANNED : RL_ENTRY_EXEMPT;
}

void
rl_entry_clear(struct rl_entry_room *room)
{
	room->entry = (struct rl_entry){0};
	room->part = (struct rl_part){.cost = 1, .is_asked = true};
}

/* The slots of the table before, if keys are moving, follow those of the table in force. */
static uint64_t
number_of(struct rl *rl, struct rl_slot slot)
{
	const struct rl_segment *here = &rl_here(rl)->segment;

	return rl->segment.table.number < here->table.number ? rl_segment_slots(here) + slot.index
	                                                     : slot.index;
}

/* A counter by key: no limit, so nothing that a request would be told. */
static bool
fill_count(const struct rl_segment *s, const struct rl_entry_limit *known, struct rl_slot slot,
           struct rl_entry_room *room)
{
	uint64_t now_ns = known->now_ns;
	struct rl_entry *e = &room->entry;
	struct rl_view v;

	if (rl_view_load(s, slot, &v) != RL_SEEN || !is_still(s, slot))
		return false;
	e->tier = 0;
	e->rule = known->rule;
	e->limit = known->index;
	e->id = slot.tag & RL_TAG_HASH_MASK;
	e->is_stale =
		e->rule < 0 || v.is_zero || rl_view_is_stale(s, &known->limit->limiter, &v, now_ns);
	rl_result_clear(&e->peek);
	e->peek.verdict = RL_ALLOWED;
	e->state = RL_ENTRY_OPEN;
	e->is_state_known = true;
	e->is_limited = false;
	e->charge_entries = 0;
	e->buckets = 0;
	room->count = (struct rl_count){0};
	if (!v.is_zero && !rl_counter_has_expired(v.word, now_ns)) {
		room->count.value = rl_counter_value(v.word);
		room->count.expires_after_ns = rl_until(rl_counter_expires_at(v.word), now_ns);
	}
	e->used = room->count.value < UINT32_MAX ? (uint32_t)room->count.value : UINT32_MAX;
	e->count = &room->count;
	return true;
}

bool
rl_entry_fill(struct rl *rl, const struct rl_entry_limit *known, struct rl_slot slot,
              struct rl_entry_room *room)
{
	const struct rl_segment *s = &rl->segment;
	const struct rl_limiter *l = &known->limit->limiter;
	struct rl_entry *e = &room->entry;
	struct rl_budget budget = {RL_LOOKUP_STEPS};
	struct rl_quota quota = known->quota, tiered;
	uint64_t now_ns = known->now_ns;
	struct rl_key_policy k;
	struct rl_view v;
	bool has_terms;

	fill_key(s, slot, now_ns, room);
	e->slot = number_of(rl, slot);
	if (l->algorithm == RL_COUNTER)
		return fill_count(s, known, slot, room);
	e->count = NULL;
	has_terms = known->has_exceptions && e->key &&
	            rl_policy_of_record(rl, &room->copy, known->limit, now_ns, &budget, &k, &quota);
	tiered = quota;
	e->tier = rl_policy_apply_tier(s, slot.index, known->limit, known->index, &tiered);
	if (!has_terms || !k.keeps_first)
		quota = tiered;
	rl_policy_share(s, known->limit, now_ns, &quota);
	if (rl_view_peek(s, l, &quota, slot, 1, now_ns, &budget, &v, &room->part.plan.decision,
	                 &room->picture) != RL_SEEN ||
	    !is_still(s, slot))
		return false;
	e->rule = known->rule;
	e->limit = known->index;
	e->id = slot.tag & RL_TAG_HASH_MASK;
	e->is_stale = e->rule < 0 || v.is_zero || rl_view_is_stale(s, l, &v, now_ns);
	room->part.limit = known->limit;
	room->part.quota = quota;
	fill_counts(&room->part, now_ns, e);
	e->is_state_known = has_terms || !known->has_exceptions;
	if (has_terms)
		fill_orders(rl, &k, now_ns, &budget, e);
	e->is_limited = e->peek.verdict == RL_DENIED;
	fill_picture(&room->picture, e);
	return true;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "entry.h"

#include <string.h>

#include "kept.h"
#include "request.h"
#include "terms.h"

void
rl_entry_limit(struct rl *rl, int limit, uint64_t now_ns, struct rl_entry_limit *known)
{
	const struct rl_segment *s = &rl->segment;

	known->limit = rl_handle_limit(rl, limit);
	if (!known->limit)
		return;
	known->rule = known->limit->rule;
	if (!rl_terms_of_limit(s, limit, &known->quota, &known->index)) {
		known->rule = -1;
		known->index = 0;
		rl_rules_quota(known->limit->row, RL_OWN, &known->quota);
	}
	known->now = rl_limiter_instant(&known->limit->limiter, now_ns);
	known->most = rl_limiter_limit(&known->limit->limiter, &known->quota);
	known->has_overrides = known->rule >= 0 && rl_kept_has_overrides(s, known->rule);
}

/* The key's tag, loaded again: what was read in between is of the tag's key. */
static bool
is_still(const struct rl_segment *s, struct rl_slot slot)
{
	return rl_atomic_load(rl_table_tag(&s->table, slot.index)) == slot.tag;
}

static void
fill_key(const struct rl_segment *s, struct rl_slot slot, struct rl_entry_room *room)
{
	const struct rl_kept *kept = &room->kept;
	struct rl_entry *e = &room->entry;
	bool is_name = rl_record_read(s, slot, &room->kept);

	e->key = is_name ? kept->bytes : NULL;
	e->key_kept = is_name ? kept->kept : 0;
	e->key_len = is_name ? kept->key_len : 0;
	e->denied = is_name ? kept->denied : 0;
}

static void
fill_picture(const struct rl_window *w, const struct rl_picture *p, struct rl_entry *e)
{
	const struct rl_history *h = &p->history;

	e->moments = p->moments;
	e->moment = p->moment;
	e->buckets = 0;
	if (!p->has_history)
		return;
	e->buckets = w->count + 1;
	memcpy(e->bucket, h->bucket, e->buckets * sizeof e->bucket[0]);
	e->bucket_ns = w->width_ns;
	if (__builtin_mul_overflow(h->epoch + 1, w->width_ns, &e->bucket_end_ns))
		e->bucket_end_ns = UINT64_MAX;
}

static void
fill_counts(struct rl_request *rq, const struct rl_outlook *o, uint64_t now_ns, struct rl_entry *e)
{
	rq->index = e->limit;
	rq->now_ns = now_ns;
	rl_result_clear(&e->peek);
	rl_answer(rq, o, &e->peek);
	e->used = e->peek.limit - e->peek.remaining;
	e->is_limited = e->peek.verdict == RL_DENIED;
}

void
rl_entry_clear(struct rl_entry_room *room)
{
	room->entry = (struct rl_entry){0};
	room->request = (struct rl_request){.cost = 1};
}

bool
rl_entry_fill(struct rl *rl, const struct rl_entry_limit *known, struct rl_slot slot,
              struct rl_entry_room *room)
{
	const struct rl_segment *s = &rl->segment;
	const struct rl_limiter *l = &known->limit->limiter;
	struct rl_entry *e = &room->entry;
	struct rl_budget budget = {RL_LOOKUP_STEPS};
	struct rl_quota quota = known->quota;
	uint64_t now_ns = known->now.now_ns;
	struct rl_outlook o;
	struct rl_view v;

	fill_key(s, slot, room);
	if (known->has_overrides && e->key)
		rl_kept_quota(rl, &room->kept, known->limit, &budget, &quota);
	if (rl_view_outlook(s, l, &quota, slot, 1, now_ns, &v, &o, &room->picture) != RL_SEEN ||
	    !is_still(s, slot))
		return false;
	e->rule = known->rule;
	e->limit = known->index;
	e->slot = slot.index;
	e->id = slot.tag & RL_TAG_HASH_MASK;
	e->is_stale = e->rule < 0 || v.is_zero || rl_view_is_stale(s, l, &v, now_ns);
	fill_counts(&room->request, &o, now_ns, e);
	fill_picture(&l->window, &room->picture, e);
	return true;
}

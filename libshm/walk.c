/* SPDX-License-Identifier: BSD-2-Clause */
/* The table as people and tools see it: entry by entry. */
#include <errno.h>
#include <string.h>

#include "kept.h"
#include "record.h"
#include "request.h"
#include "rl_admin.h"
#include "terms.h"

typedef int visit_fn(const struct rl_entry *entry, void *arg);

static void
fill_buckets(const struct rl_window *w, const struct rl_history *h, struct rl_entry *e)
{
	e->buckets = w->count + 1;
	memcpy(e->bucket, h->bucket, e->buckets * sizeof e->bucket[0]);
	e->bucket_ns = w->width_ns;
	if (__builtin_mul_overflow(h->epoch + 1, w->width_ns, &e->bucket_end_ns))
		e->bucket_end_ns = UINT64_MAX;
}

/* The slot's limit, what it admits, and whose it is; false if there is no such limit. */
static bool
find_limit(struct rl *rl, struct rl_slot slot, struct rl_request *rq, struct rl_entry *e)
{
	int limit = rl_tag_limit(slot.tag);

	rq->limit = rl_handle_limit(rl, limit);
	if (!rq->limit)
		return false;
	e->rule = rq->limit->rule;
	if (rl_terms_of_limit(&rl->segment, limit, &rq->quota, &e->limit))
		return true;
	e->rule = -1;
	e->limit = 0;
	rl_rules_quota(rq->limit->row, RL_OWN, &rq->quota);
	return true;
}

/* What of an entry is told by its counter. */
static void
fill_counts(const struct rl_request *rq, const struct rl_view *v, const struct rl_outlook *o,
            const struct rl_picture *p, struct rl_entry *e)
{
	const struct rl_limiter *l = &rq->limit->limiter;

	rl_answer(rq, o, &e->peek);
	e->peek.index = e->limit;
	e->used = e->peek.limit - e->peek.remaining;
	e->is_limited = e->peek.verdict == RL_DENIED;
	e->is_stale =
		e->rule < 0 || v->is_zero || rl_view_is_stale(&rq->rl->segment, l, v, rq->now_ns);
	e->moments = p->moments;
	e->moment = p->moment;
	if (p->has_history)
		fill_buckets(&l->window, &p->history, e);
}

/* Show a LIVE slot; 0 also if it is not one any more by the time it is read. */
static int
show(struct rl *rl, struct rl_slot slot, uint64_t now_ns, visit_fn *visit, void *arg)
{
	const struct rl_segment *s = &rl->segment;
	struct rl_request rq = {.rl = rl, .cost = 1, .now_ns = rl_clamp_now(now_ns)};
	struct rl_entry e = {.slot = slot.index, .id = slot.tag & RL_TAG_HASH_MASK};
	struct rl_outlook o;
	struct rl_picture picture;
	struct rl_kept kept;
	struct rl_view v;

	if (!find_limit(rl, slot, &rq, &e))
		return 0;
	if (rl_record_read(s, slot, &kept)) {
		e.key = kept.bytes;
		e.key_kept = kept.kept;
		e.key_len = kept.key_len;
		e.denied = kept.denied;
		if (e.rule >= 0)
			rl_kept_quota(rl, &kept, rq.limit, &rq.quota);
	}
	if (rl_view_outlook(s, &rq.limit->limiter, &rq.quota, slot, rq.cost, rq.now_ns, &v, &o,
	                    &picture) != RL_SEEN ||
	    rl_atomic_load(rl_table_tag(&s->table, slot.index)) != slot.tag)
		return 0;
	fill_counts(&rq, &v, &o, &picture, &e);
	return visit(&e, arg);
}

int
rl_walk(struct rl *rl, uint64_t now_ns, visit_fn *visit, void *arg)
{
	const struct rl_segment *s = &rl->segment;
	int result = 0;

	for (uint64_t i = 0; i < rl_segment_slots(s) && result == 0; i++) {
		rl_table_look_ahead(&s->table, i);
		struct rl_slot slot = {.index = i,
		                       .tag = rl_atomic_load(rl_table_tag(&s->table, i))};
		if (rl_tag_status(slot.tag) == RL_TAG_LIVE)
			result = show(rl, slot, now_ns, visit, arg);
	}
	return result;
}

struct lookup {
	visit_fn *visit;
	void *arg;
	bool is_shown;
};

static int
show_known(const struct rl_entry *entry, void *arg)
{
	struct lookup *lookup = arg;

	lookup->is_shown = true;
	return lookup->visit(entry, lookup->arg);
}

int
rl_lookup(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t now_ns,
          visit_fn *visit, void *arg)
{
	struct lookup lookup = {.visit = visit, .arg = arg};
	struct rl_request rq[RL_LIMITS_MAX];
	int limits = rl_kept_requests(rl, rule, key, key_len, rq), result = 0;
	struct rl_slot slot;

	if (limits < 0)
		return limits;
	for (int i = 0; i < limits && result == 0; i++)
		if (rl_table_find(&rl->segment.table, &rq[i].places, &slot))
			result = show(rl, slot, now_ns, show_known, &lookup);
	return lookup.is_shown ? result : -ENOENT;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "reset/reset.h"

#include <errno.h>

#include "decide/decide.h"
#include "decide/request.h"
#include "decide/without_slot.h"
#include "move/migrate.h"
#include "overflow/sets.h"
#include "rl.h"
#include "segment/event.h"
#include "segment/record.h"
#include "segment/stats.h"
#include "segment/view.h"

/*
 * What is to count nothing, whatever its overflow counter counts, counts that: a slot that is freed
 * would carry it on. The name goes along; who is killed before that leaves none.
 */
static bool
empty(struct rl *rl, const struct rl_compiled *limit, struct rl_slot slot, const struct rl_view *v)
{
	const struct rl_segment *s = &rl->segment;
	struct rl_record_copy copy;
	bool has_name = rl_record_read(s, slot, &copy);

	if (!rl_table_renew(
		    &s->table, &slot, v->word,
		    limit->limiter.ops->nothing(&limit->limiter, rl_segment_now(s), v->slot_bits)))
		return false;
	if (has_name) /* as much of it as was kept */
		rl_record_write_hashed(s, slot, copy.key_hash, copy.bytes, copy.key_len, copy.hash);
	return true;
}

/* The limit of a slot, if it has overflow counters now; else NULL. */
static const struct rl_compiled *
with_overflow(struct rl *rl, struct rl_slot slot)
{
	const struct rl_compiled *limit = rl_handle_limit(rl, rl_tag_limit(slot.tag));
	struct rl_set set;

	return limit && rl_compiled_owns(limit, slot.tag) && limit->has_overflow &&
	                       rl_sets_find(&rl->segment, limit, 0, &set)
	               ? limit
	               : NULL;
}

int
rl_reset_slot(struct rl *rl, struct rl_slot slot)
{
	const struct rl_compiled *limit = with_overflow(rl, slot);
	struct rl_view v;

	switch (rl_view_load(&rl->segment, slot, &v)) {
	case RL_SEEN:
		if (limit)
			return empty(rl, limit, slot, &v) ? 1 : -1;
		if (v.is_zero)
			return 0;
		return rl_table_retire(&rl->segment.table, slot, v.word) ? 1 : -1;
	case RL_SEEN_DEAD:
		rl_table_free(&rl->segment.table, slot);
		break;
	case RL_SEEN_GONE:
		break;
	}
	return -1;
}

/* A key without a slot takes one if it counts something, to count nothing there. */
static int
take_slot(struct rl_part *p, struct rl_budget *budget)
{
	struct rl_slot slot;
	int decided, error;

	p->budget = budget;
	p->now_ns = rl_segment_now(p->segment);
	if (!rl_without_slot_peek(p, &decided))
		return 0;
	error = rl_decide_claim(p, &slot);
	return error == -ENOSPC ? error : -1;
}

/* -1: again. */
static int
forget_once(struct rl_part *p, struct rl_budget *budget)
{
	struct rl_slot slot;
	int error;

	p->budget = budget;
	p->now_ns = 0; /* whatever it counts comes */
	error = rl_must_migrate(p->rl) ? rl_part_migrate(p) : 0;
	if (error < 0)
		return error == -EAGAIN ? -1 : error;
	if (rl_table_find(&p->segment->table, &p->candidates, &slot))
		return rl_reset_slot(p->rl, slot);
	return rl_table_is_left(&p->segment->table) ? -1 : take_slot(p, budget);
}

/* A key under one limit: 1 forgotten, 0 nothing there, -EBUSY, -ENOSPC. */
static int
forget(struct rl_part *p)
{
	struct rl_budget budget = {RL_DECIDE_STEPS};
	int done = -1;

	for (int tries = 0; tries < RL_RESET_TRIES && done == -1 && budget.left > 0; tries++)
		done = forget_once(p, &budget);
	return done == -1 ? -EBUSY : done;
}

int
rl_reset_key(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t *forgotten)
{
	struct rl_part parts[RL_LIMITS_MAX];
	int limits = rl_request_of_key(rl, rule, key, key_len, parts), done = 0, error = 0;

	if (limits < 0)
		return limits;
	if (!rl->segment.is_writable)
		return -EROFS;
	for (int i = 0; i < limits; i++) {
		int one = forget(&parts[i]);
		done += one > 0;
		error = one < 0 ? one : error;
	}
	if (done > 0) {
		rl_stats_add(&rl->segment, rule, RL_COUNT_reset);
		rl_event_report_change(&rl->segment, RL_EVENT_RESET, rule, key, key_len, 0);
	}
	*forgotten += (unsigned)done;
	return error;
}

int
rl_reset(struct rl *rl, int rule, const void *key, size_t key_len)
{
	uint64_t forgotten = 0;
	int error = rl_reset_key(rl, rule, key, key_len, &forgotten);

	return error < 0 ? error : forgotten > 0;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Another table for a live segment: made, put into force, filled and settled. */
#include <errno.h>

#include "configure/lock.h"
#include "move/move.h"
#include "rl_admin.h"
#include "segment/change.h"
#include "segment/table_place.h"
#include "segment/tables.h"
#include "shared/reserved.h"

#define AHEAD 8
#define TRIES 1000

/* Which table is wanted; 0 or why not. */
static int
sizes_of(const struct rl_segment *s, const struct rl_resize *r, uint32_t *buckets, uint32_t *ring)
{
	*buckets = r->keys > 0 ? rl_table_buckets_for(r->keys) : s->geometry.buckets;
	*ring = r->ring > 0 ? r->ring : s->geometry.ring;
	if (r->keys > RL_KEYS_MAX || r->ring > RL_RING_MAX || !RL_IS_RESERVED(r->reserved))
		return -EINVAL;
	return *ring < s->geometry.ring ? RL_ERING : 0;
}

static int
check(struct rl *rl, struct rl_resize *r, uint32_t *buckets, uint32_t *ring)
{
	const struct rl_segment *s = &rl->segment;
	int error = sizes_of(s, r, buckets, ring);

	if (error < 0)
		return error;
	if (rl->handle->name[0] == '\0') /* its memory is nobody else's, and has no file */
		return -ENOENT;
	r->keys_used = rl_table_fill(&s->table);
	r->bytes = rl_tables_bytes(s, *buckets, *ring);
	r->bytes_before = rl_tables_bytes(s, s->geometry.buckets, s->geometry.ring);
	return r->keys_used > rl_table_holds(*buckets) ? RL_EKEYS : 0;
}

/*
 * With the table in force. Each try but one is for another that came into force just then. 0 or
 * -errno.
 */
static int
go_on(struct rl **rl)
{
	int error = -EAGAIN;

	for (int tries = 0; tries < TRIES && error == -EAGAIN; tries++) {
		struct rl *was = *rl;

		*rl = rl_here(was);
		if (!rl_table_is_left(&(*rl)->segment.table))
			return 0;
		if (*rl == was)
			error = rl_follow_failed(was);
	}
	return error == -EAGAIN ? -EBUSY : error;
}

/* By the only one who resizes or configures. */
static int
resize(struct rl *rl, struct rl_resize *r, bool is_dry)
{
	struct rl_change change;
	uint32_t buckets, ring;
	int error;

	error = go_on(&rl);
	if (error < 0)
		return error;
	if (rl_table_is_filling(&rl->segment.table))
		return RL_EMOVING;
	error = check(rl, r, &buckets, &ring);
	if (error < 0 || is_dry)
		return error;
	if (rl_move_end(rl) < 0)
		return RL_EMOVING;
	error = rl_tables_make(&rl->segment, rl->handle->name, buckets, ring);
	if (error == 0 && rl_change_begin(&rl->segment, &change)) /* so that all look */
		rl_change_end(&change);
	return error;
}

int
rl_resize(struct rl *rl, struct rl_resize *r, unsigned flags)
{
	bool is_dry = (flags & RL_RESIZE_DRY) != 0;
	struct rl_lock lock;
	int error;

	if (flags & ~(unsigned)RL_RESIZE_DRY)
		return -EINVAL;
	if (is_dry)
		return resize(rl, r, true);
	if (!rl->segment.is_writable)
		return -EROFS;
	error = rl_lock_take(rl, &lock);
	if (error < 0)
		return error;
	error = resize(rl, r, false);
	rl_lock_drop(&lock);
	return error;
}

static uint64_t
common_divisor(uint64_t a, uint64_t b)
{
	while (b != 0) {
		uint64_t rest = a % b;
		a = b;
		b = rest;
	}
	return a;
}

/*
 * An order of slots that has nothing to do with where these stand: steps of about the golden ratio
 * of them all, without a common divisor. In the order of slots, keys of one bucket come together,
 * and they have one of their two buckets in the new table in common, too: then the last to come
 * find both full, in a table that has room for all that come in any other order.
 */
struct order {
	uint64_t slots, step;
};

static struct order
order_of(uint64_t slots)
{
	struct order o = {.slots = slots, .step = slots / 1000 * 618 + 1};

	while (common_divisor(o.step, slots) != 1)
		o.step++;
	return o;
}

static uint64_t
slot_at(const struct order *o, uint64_t i)
{
	return (uint64_t)((unsigned __int128)i * o->step % o->slots);
}

static inline __attribute__((always_inline)) void
look_ahead(const struct rl_segment *s, uint64_t slot)
{
	__builtin_prefetch(rl_table_tag(&s->table, slot));
	__builtin_prefetch(rl_table_state(&s->table, slot), 1);
	__builtin_prefetch(rl_segment_record(s, slot));
}

int
rl_move_slots_at(struct rl *rl, uint64_t first, uint64_t count, uint64_t now_ns,
                 struct rl_moving *moving)
{
	uint64_t slots, now = now_ns < UINT64_MAX >> 1 ? now_ns : UINT64_MAX >> 1;
	struct order order;
	struct rl *before;
	int error;

	if (!rl->segment.is_writable)
		return -EROFS;
	error = go_on(&rl);
	if (error < 0)
		return error;
	before = rl_before(rl);
	if (!before)
		return rl_table_is_filling(&rl->segment.table) ? rl_follow_failed(rl) : 1;
	slots = rl_segment_slots(&before->segment);
	if (first >= slots)
		return -EINVAL;
	if (count > slots - first)
		count = slots - first;
	order = order_of(slots);
	for (uint64_t i = first; i < first + count; i++) {
		look_ahead(&before->segment, slot_at(&order, i + AHEAD));
		moving->left += !rl_move_slot(rl, before, slot_at(&order, i), now);
	}
	moving->seen += count;
	return 0;
}

/* Is a key in the table still, or may one come? */
static bool
is_empty(const struct rl_segment *s)
{
	for (uint64_t i = 0; i < rl_segment_slots(s); i++) {
		uint64_t tag = rl_atomic_load(rl_table_tag(&s->table, i));

		rl_table_look_ahead(&s->table, i);
		if (!rl_tag_is_free(tag) && rl_tag_status(tag) != RL_TAG_MOVED)
			return false;
	}
	return true;
}

/* The memory of the table before one that is settled. */
static void
give_back(struct rl *rl)
{
	uint64_t number = rl->segment.table.number;
	struct rl *before;

	if (number == 0 || rl_atomic_load(&rl->segment.header->tables.freed) >= number)
		return;
	before = rl_followed(rl, number - 1);
	if (before)
		rl_tables_give_back(&before->segment);
}

int
rl_move_end(struct rl *rl)
{
	struct rl *before;
	int error;

	if (!rl->segment.is_writable)
		return -EROFS;
	error = go_on(&rl);
	if (error < 0)
		return error;
	before = rl_before(rl);
	if (rl_table_is_filling(&rl->segment.table)) {
		if (!before)
			return rl_follow_failed(rl);
		if (!is_empty(&before->segment))
			return 0;
		rl_tables_settle(&rl->segment);
	}
	give_back(rl);
	return 1;
}

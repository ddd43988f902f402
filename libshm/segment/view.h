/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_VIEW_H
#define RL_VIEW_H

#include "algorithm/ops.h"
#include "segment/segment.h"
#include "shared/budget.h"

enum rl_seen {
	RL_SEEN,
	RL_SEEN_DEAD, /* being retired: rl_table_free() is what is left to do */
	RL_SEEN_GONE, /* no longer the slot's, or changing too fast to be read, or sealed */
};

/* Load the state of a LIVE slot. Writes nothing. Part of every decision: inline. */
static inline __attribute__((always_inline)) enum rl_seen
rl_view_load(const struct rl_segment *s, struct rl_slot slot, struct rl_view *v)
{
	v->gen = rl_tag_gen(slot.tag);
	v->ring = rl_segment_ring(s, slot.index);
	if (!rl_atomic_load16(rl_table_state(&s->table, slot.index), &v->word))
		return RL_SEEN_GONE;
	v->slot_bits = rl_state_slot_bits(v->word, v->gen);
	v->is_zero = rl_state_gen(v->word) != v->gen ||
	             rl_u128_equal(v->word, (struct rl_u128){0}); /* new memory, gen 0 */
	if (v->is_zero) /* an older one's if the slot still is the tag's, else it may be newer */
		return rl_atomic_load(rl_table_tag(&s->table, slot.index)) == slot.tag
		               ? RL_SEEN
		               : RL_SEEN_GONE;
	if (v->word.hi & RL_STATE_DEAD)
		return rl_state_is_sealed(v->word) ? RL_SEEN_GONE : RL_SEEN_DEAD;
	return RL_SEEN;
}

/*
 * Is it of a slot that was never used? A charge does not expect such a word, all zeros: so does
 * memory that was given back look (move/move.c). First it gets one that is an older incarnation's,
 * and then the slot is looked for again. That word is never the same: else one who is late with
 * this step, in memory that was given back, makes the word that another has loaded.
 */
static inline bool
rl_view_is_unused(const struct rl_view *v)
{
	return (v->word.lo | v->word.hi) == 0;
}
void rl_view_use(const struct rl_segment *s, struct rl_slot slot, const struct rl_view *view);

/* A view of no slot: nothing was charged. */
struct rl_view rl_view_none(const struct rl_segment *s);

/* True if what was read of the ring belongs to the view's state. */
bool rl_view_holds(const struct rl_segment *s, const struct rl_limiter *limiter,
                   struct rl_slot slot, const struct rl_view *view);

/*
 * Store in the ring what closing the view takes, so many entries. False: others did, or will.
 */
bool rl_view_store(const struct rl_segment *s, const struct rl_limiter *limiter,
                   struct rl_slot slot, const struct rl_view *view, uint32_t entries);

/* The count of a slot, for people. */
struct rl_picture {
	bool has_history;
	struct rl_history history;
	size_t charge_entries;
	struct rl_charge_entry charge_entry[RL_CHARGE_ENTRIES_MAX];
};

/*
 * Load a LIVE slot and what a request of `cost` would be told, trying again as often as is
 * reasonable and the budget allows. The decision is filled if RL_SEEN. `picture`, if not NULL, is
 * of the same instant.
 */
enum rl_seen rl_view_peek(const struct rl_segment *s, const struct rl_limiter *limiter,
                          const struct rl_quota *quota, struct rl_slot slot, uint32_t cost,
                          uint64_t now_ns, struct rl_budget *budget, struct rl_view *view,
                          struct rl_decision *decision, struct rl_picture *picture);

/* When the slot will have outlived its window and the segment's buffer; not for a zero one. */
uint64_t rl_view_stale_at(const struct rl_segment *s, const struct rl_limiter *limiter,
                          const struct rl_view *view);

/* True if it has. */
bool rl_view_is_stale(const struct rl_segment *s, const struct rl_limiter *limiter,
                      const struct rl_view *view, uint64_t now_ns);

#endif

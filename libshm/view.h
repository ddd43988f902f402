/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_VIEW_H
#define RL_VIEW_H

#include "limiter.h"
#include "segment.h"

enum rl_seen {
	RL_SEEN,
	RL_SEEN_DEAD, /* being retired: rl_table_free() is what is left to do */
	RL_SEEN_GONE, /* no longer the slot's, or changing too fast to be read */
};

/* Load the state of a LIVE slot. Writes nothing. */
enum rl_seen rl_view_load(const struct rl_segment *s, struct rl_slot slot, struct rl_view *view);

/* A view of no slot: nothing was charged. */
struct rl_view rl_view_none(const struct rl_segment *s);

/* True if what was read of the ring belongs to the view's state. */
bool rl_view_holds(const struct rl_segment *s, const struct rl_limiter *limiter,
                   struct rl_slot slot, const struct rl_view *view);

/* What a slot has counted, for people. */
struct rl_picture {
	bool has_history;
	struct rl_history history;
	size_t moments;
	struct rl_moment moment[RL_MOMENTS_MAX];
};

/*
 * Load a LIVE slot and what a request of `cost` would be told, trying again as often as is
 * reasonable. The outlook is filled if RL_SEEN. `picture`, if not NULL, is of the same instant.
 */
enum rl_seen rl_view_outlook(const struct rl_segment *s, const struct rl_limiter *limiter,
                             const struct rl_quota *quota, struct rl_slot slot, uint32_t cost,
                             uint64_t now_ns, struct rl_view *view, struct rl_outlook *outlook,
                             struct rl_picture *picture);

/* When the slot will have outlived its window and the segment's buffer; not for a zero one. */
uint64_t rl_view_stale_at(const struct rl_segment *s, const struct rl_limiter *limiter,
                          const struct rl_view *view);

/* True if it has. */
bool rl_view_is_stale(const struct rl_segment *s, const struct rl_limiter *limiter,
                      const struct rl_view *view, uint64_t now_ns);

#endif

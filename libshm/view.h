/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_VIEW_H
#define RL_VIEW_H

#include "segment.h"
#include "window.h"

/* One slot's counter as it was at one instant. */
struct rl_view {
	struct rl_word16 word; /* what a CAS has to expect */
	bool is_zero;          /* nothing was charged yet: the word is an older incarnation's */
	bool has_ring;
	struct rl_state state;
	uint64_t ring[RL_GRANULARITY_MAX];
};

enum rl_seen {
	RL_SEEN,
	RL_SEEN_DEAD, /* being retired: rl_table_free() is what is left to do */
	RL_SEEN_GONE, /* no longer the slot's, or changing too fast to be read */
};

/* Load the state of a LIVE slot, without its ring. Writes nothing. */
enum rl_seen rl_view_load(const struct rl_segment *s, const struct rl_window *window,
                          struct rl_slot slot, struct rl_view *view);

/* Add the ring; false if time moved on in the slot meanwhile. */
bool rl_view_load_ring(const struct rl_segment *s, const struct rl_window *window,
                       struct rl_slot slot, struct rl_view *view);

/* Load with the ring if it is needed, trying again as often as is reasonable. */
enum rl_seen rl_view_load_whole(const struct rl_segment *s, const struct rl_window *window,
                                struct rl_slot slot, struct rl_view *view);

void rl_view_history(const struct rl_view *view, const struct rl_window *window, uint8_t gen,
                     uint64_t now_ns, struct rl_history *history);

/* When the slot will have outlived its window and the segment's buffer; not for a zero one. */
uint64_t rl_view_stale_at(const struct rl_segment *s, const struct rl_view *view,
                          const struct rl_window *window);

/* True if it has. */
bool rl_view_is_stale(const struct rl_segment *s, const struct rl_view *view,
                      const struct rl_window *window, uint64_t now_ns);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#include "view.h"

#include "ring.h"

#define TRIES 1000

enum rl_seen
rl_view_load(const struct rl_segment *s, const struct rl_window *w, struct rl_slot slot,
             struct rl_view *v)
{
	uint8_t gen = rl_tag_gen(slot.tag);

	if (!rl_atomic_load16(&s->table.states[slot.index], &v->word))
		return RL_SEEN_GONE;
	v->has_ring = false;
	v->is_zero = rl_state_gen(v->word) != gen ||
	             rl_word16_equal(v->word, (struct rl_word16){0}); /* new memory, gen 0 */
	if (v->is_zero) /* an older one's if the slot still is the tag's, else it may be newer */
		return rl_atomic_load(&s->table.tags[slot.index]) == slot.tag ? RL_SEEN
		                                                              : RL_SEEN_GONE;
	if (rl_state_is_dead(v->word))
		return RL_SEEN_DEAD;
	v->state = rl_state_unpack(v->word, w);
	return RL_SEEN;
}

bool
rl_view_load_ring(const struct rl_segment *s, const struct rl_window *w, struct rl_slot slot,
                  struct rl_view *v)
{
	v->has_ring = rl_ring_copy(rl_segment_ring(s, slot.index), w->count,
	                           &s->table.states[slot.index], v->word, v->ring);
	return v->has_ring;
}

enum rl_seen
rl_view_load_whole(const struct rl_segment *s, const struct rl_window *w, struct rl_slot slot,
                   struct rl_view *v)
{
	for (int tries = 0; tries < TRIES; tries++) {
		enum rl_seen seen = rl_view_load(s, w, slot, v);

		if (seen != RL_SEEN || v->is_zero || !rl_window_needs_ring(w, &v->state))
			return seen;
		if (rl_view_load_ring(s, w, slot, v))
			return RL_SEEN;
		rl_atomic_pause();
	}
	return RL_SEEN_GONE;
}

void
rl_view_history(const struct rl_view *v, const struct rl_window *w, uint8_t gen, uint64_t now_ns,
                struct rl_history *h)
{
	if (v->is_zero)
		rl_window_history(w, NULL, NULL, gen, now_ns, h);
	else
		rl_window_history(w, &v->state, v->has_ring ? v->ring : NULL, gen, now_ns, h);
}

uint64_t
rl_view_stale_at(const struct rl_segment *s, const struct rl_view *v, const struct rl_window *w)
{
	uint64_t at;

	if (__builtin_add_overflow(rl_window_idle_at(w, &v->state), s->geometry.buffer_ns, &at))
		return UINT64_MAX;
	return at;
}

bool
rl_view_is_stale(const struct rl_segment *s, const struct rl_view *v, const struct rl_window *w,
                 uint64_t now_ns)
{
	return !v->is_zero && rl_view_stale_at(s, v, w) <= now_ns;
}

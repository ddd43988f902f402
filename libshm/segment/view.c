/* SPDX-License-Identifier: BSD-2-Clause */
#include "segment/view.h"

#include "algorithm/ring.h"
#include "segment/chance.h"

#define TRIES 64
#define TRY_STEPS 128 /* to read the state, twice, and a window's ring */

void
rl_view_use(const struct rl_segment *s, struct rl_slot slot, const struct rl_view *v)
{
	const uint64_t serial = UINT64_C(1)
	                        << RL_STATE_SERIAL_SHIFT; /* not all zeros for any gen */
	const struct rl_u128 older = {.lo = rl_chance(rl_segment_now(s)),
	                              .hi = serial | (uint8_t)(v->gen - 1)};

	rl_atomic_cas16(rl_table_state(&s->table, slot.index), v->word, older);
}

struct rl_view
rl_view_none(const struct rl_segment *s)
{
	return (struct rl_view){.is_zero = true, .ring = s->rings};
}

bool
rl_view_holds(const struct rl_segment *s, const struct rl_limiter *l, struct rl_slot slot,
              const struct rl_view *v)
{
	struct rl_u128 now;

	return v->is_zero || (rl_atomic_load16(rl_table_state(&s->table, slot.index), &now) &&
	                      rl_limiter_same_ring(l, v->word, now));
}

bool
rl_view_store(const struct rl_segment *s, const struct rl_limiter *l, struct rl_slot slot,
              const struct rl_view *v, uint32_t entries)
{
	uint64_t *ring = rl_segment_ring(s, slot.index);

	for (uint32_t i = 0; i < entries; i++) {
		uint32_t place;
		uint64_t value;
		l->ops->entry(l, v, i, &place, &value);
		if (!rl_ring_store(&ring[place], value, rl_table_state(&s->table, slot.index),
		                   v->word))
			return false;
	}
	return true;
}

static void
draw(const struct rl_ask *a, const struct rl_decision *d, struct rl_picture *p)
{
	const struct rl_algorithm_ops *ops = a->l->ops;

	p->has_history = ops->history && ops->history(a, &p->history);
	p->charge_entries =
		ops->entries ? ops->entries(a, &p->history, rl_decision_used(d), p->charge_entry)
			     : 0;
}

enum rl_seen
rl_view_peek(const struct rl_segment *s, const struct rl_limiter *l, const struct rl_quota *q,
             struct rl_slot slot, uint32_t cost, uint64_t now_ns, struct rl_budget *budget,
             struct rl_view *v, struct rl_decision *d, struct rl_picture *p)
{
	const struct rl_ask ask = {.l = l, .q = q, .v = v, .cost = cost, .now_ns = now_ns};

	for (int tries = 0; tries < TRIES && rl_budget_take(budget, TRY_STEPS); tries++) {
		enum rl_seen seen = rl_view_load(s, slot, v);

		if (seen != RL_SEEN)
			return seen;
		rl_limiter_peek(&ask, d);
		if (p)
			draw(&ask, d, p);
		if (rl_view_holds(s, l, slot, v))
			return RL_SEEN;
		rl_atomic_pause();
	}
	return RL_SEEN_GONE;
}

uint64_t
rl_view_stale_at(const struct rl_segment *s, const struct rl_limiter *l, const struct rl_view *v)
{
	uint64_t at;

	if (__builtin_add_overflow(l->ops->idle_at(l, v->word), s->geometry.buffer_ns, &at))
		return UINT64_MAX;
	return at;
}

bool
rl_view_is_stale(const struct rl_segment *s, const struct rl_limiter *l, const struct rl_view *v,
                 uint64_t now_ns)
{
	return !v->is_zero && rl_view_stale_at(s, l, v) <= now_ns;
}

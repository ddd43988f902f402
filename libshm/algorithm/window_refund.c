/* SPDX-License-Identifier: BSD-2-Clause */
#include "algorithm/window_refund.h"

/* What the word itself has of a sub-bucket; NULL: the ring has it. */
static uint32_t *
count_in_word(const struct rl_window *w, struct rl_state *s, uint64_t epoch)
{
	if (epoch == s->epoch)
		return &s->cur;
	return w->count == 1 ? &s->sum : NULL;
}

static enum rl_back_step
lower_entry(const struct rl_window *w, struct rl_state *s, const struct rl_view *v, uint64_t epoch,
            uint32_t cost, struct rl_back *back)
{
	uint32_t count;

	if (s->epoch - epoch > s->span)
		return RL_BACK_LATE;
	back->place = rl_window_place(w, epoch);
	back->seen = rl_atomic_load(&v->ring[back->place]);
	count = rl_ring_count(back->seen, epoch, v->gen);
	back->given = rl_lesser(cost, count);
	back->lowered = rl_ring_entry(epoch, count - back->given, v->gen);
	s->sum -= rl_lesser(s->sum, back->given); /* of a damaged one, what there is */
	back->next = rl_state_pack(*s, v->slot_bits);
	return back->given > 0 ? RL_BACK_ENTRY : RL_BACK_LATE;
}

enum rl_back_step
rl_window_refund(const struct rl_window *w, const struct rl_view *v, uint64_t epoch, uint32_t cost,
                 struct rl_back *back)
{
	struct rl_state s = rl_state_unpack(v->word, w);
	uint32_t *count;

	if (epoch > s.epoch || s.epoch + s.jump - epoch > w->count)
		return RL_BACK_LATE;
	count = count_in_word(w, &s, epoch);
	if (!count)
		return lower_entry(w, &s, v, epoch, cost, back);
	back->given = rl_lesser(cost, *count);
	*count -= back->given;
	back->next = rl_state_pack(s, v->slot_bits);
	return back->given > 0 ? RL_BACK_WORD : RL_BACK_LATE;
}

enum rl_back_step
rl_window_sum_up(const struct rl_window *w, const struct rl_view *v, struct rl_back *back)
{
	struct rl_state s = rl_state_unpack(v->word, w);
	uint64_t sum = rl_window_ring_sum(w, &s, v->ring, v->gen);

	if (sum >= s.sum)
		return RL_BACK_LATE;
	s.sum = (uint32_t)sum;
	back->next = rl_state_pack(s, v->slot_bits);
	return RL_BACK_WORD;
}

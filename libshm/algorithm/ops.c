/* SPDX-License-Identifier: BSD-2-Clause */
/* What several rows have. */
#include "algorithm/ops.h"
#include "algorithm/adds.h"
#include "algorithm/log.h"

uint32_t
rl_limiter_load(const struct rl_ask *a)
{
	struct rl_window_now now;

	if (a->v->is_zero)
		return 0;
	if (a->l->ops->load)
		return a->l->ops->load(a);
	now = rl_limiter_now(a->l, a->now_ns);
	return a->l->ops->used_most(a, &now);
}

uint32_t
rl_limiter_share_worth(const struct rl_limiter *l, const struct rl_quota *q,
                       const struct rl_view *v)
{
	uint32_t worth = rl_share_worth(q, v->is_zero ? (struct rl_u128){0} : v->word,
	                                rl_limiter_limit(l, q));
	uint32_t room = rl_log_capacity(l->ring_entries);

	return l->algorithm != RL_SLIDING_LOG || worth < room ? worth : room;
}

void
rl_quota_owe(const struct rl_limiter *l, struct rl_quota *q)
{
	q->is_debt = true;
	q->counts_denied = false;
	if (l->algorithm == RL_SLIDING_LOG)
		q->capacity = rl_log_capacity(l->ring_entries);
	else if (rl_limiter_is_bucket(l))
		q->burst = RL_CAPACITY_MAX - 1;
	else if (!rl_limiter_has_bucket(l))
		q->capacity = l->algorithm != RL_SLIDING_WINDOW || l->window.is_hard
		                      ? RL_CAPACITY_MAX
		                      : RL_CAPACITY_MAX / 2;
}

/* A window's, by its sub-buckets; before 1970 there were none. */
size_t
rl_entries_of_history(const struct rl_ask *a, const struct rl_history *h, uint32_t used,
                      struct rl_charge_entry *entry)
{
	size_t count = 0;

	(void)a, (void)used;
	for (uint32_t i = h->buckets; i-- > 0;)
		if (h->bucket[i] > 0 && h->start_ns / h->width_ns >= i)
			entry[count++] = (struct rl_charge_entry){
				.at_ns = h->start_ns - i * h->width_ns, .cost = h->bucket[i]};
	return count;
}

size_t
rl_entries_of_used(const struct rl_ask *a, const struct rl_history *h, uint32_t used,
                   struct rl_charge_entry *entry)
{
	(void)h;
	entry[0] = (struct rl_charge_entry){.at_ns = a->now_ns, .cost = used};
	return used > 0;
}

struct rl_u128
rl_nothing_but_one(const struct rl_limiter *l, uint64_t now_ns, uint64_t slot_bits)
{
	(void)l, (void)now_ns;
	return (struct rl_u128){.lo = 1, .hi = slot_bits};
}

uint64_t
rl_idle_at_of_time(const struct rl_limiter *l, struct rl_u128 word)
{
	(void)l;
	return word.lo + (word.lo < UINT64_MAX); /* or up to 1 ns before that */
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "decide/share_wish.h"

#include "decide/report.h"
#include "rule/named.h"
#include "segment/wish.h"

/*
 * A key that was denied before anything was counted of it is told from one that nobody has charged:
 * it waits for its share, and is not swept.
 */
static void
settle(const struct rl_part *p)
{
	if (p->view.is_zero)
		rl_atomic_cas16(rl_table_state(&p->segment->table, p->slot.index), p->view.word,
		                p->limit->limiter.ops->nothing(&p->limit->limiter, p->now_ns,
		                                               p->view.slot_bits));
}

/* Whose wish it is, for who takes it. */
static void
sign(const struct rl_part *p)
{
	char text[RL_NETWORK_TEXT_MAX];
	const void *name;
	size_t len;

	name = rl_part_name(p, text, &len);
	rl_named_hash(p->segment, p->limit, p->slot, p->hash ^ p->limit->salt, name, len);
}

void
rl_share_ask(const struct rl_part *p)
{
	if (!rl_part_is_nameless(p) && rl_wish_low(p->segment, p->slot.index))
		sign(p);
}

void
rl_share_wish(const struct rl_part *p, enum rl_verdict verdict)
{
	const struct rl_limiter *l = &p->limit->limiter;
	uint32_t limit = rl_limiter_limit(l, &p->quota);

	if (!rl_share_wants_more(&p->quota, limit, rl_limiter_share_worth(l, &p->quota, &p->view),
	                         p->plan.decision.remaining, verdict))
		return;
	if (verdict != RL_DENIED) {
		rl_share_ask(p);
		return;
	}
	settle(p);
	if (!rl_part_is_nameless(p) &&
	    rl_wish_denied(p->segment, p->slot.index, p->cost, limit, false))
		sign(p);
}

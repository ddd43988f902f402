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

void
rl_share_ask(const struct rl_part *p)
{
	char text[RL_NETWORK_TEXT_MAX];
	const void *name;
	size_t len;

	if (rl_part_is_nameless(p) || !rl_wish_set(p->segment, p->slot.index))
		return;
	name = rl_part_name(p, text, &len);
	rl_named_hash(p->segment, p->limit, p->slot, p->hash ^ p->limit->salt, name, len);
}

void
rl_share_wish(const struct rl_part *p, enum rl_verdict verdict)
{
	const struct rl_limiter *l = &p->limit->limiter;

	if (!rl_share_wants_more(&p->quota, rl_limiter_limit(l, &p->quota),
	                         rl_limiter_share_worth(l, &p->quota, &p->view),
	                         p->plan.decision.remaining, verdict))
		return;
	if (verdict == RL_DENIED)
		settle(p);
	rl_share_ask(p);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "decide/share_wish.h"

#include "decide/report.h"
#include "rule/named.h"
#include "segment/wish.h"

#define ROUND_NS (2 * RL_MILLISECOND) /* until a share may be there that is asked for */

/*
 * A key that was denied before anything was counted of it is told from one that nobody has charged:
 * it waits for its share, and is not swept.
 */
static void
settle(const struct rl_part *p)
{
	if (!p->view.is_zero)
		return;
	rl_wish_dry(p->segment, p->slot.index, false);
	rl_atomic_cas16(
		rl_table_state(&p->segment->table, p->slot.index), p->view.word,
		p->limit->limiter.ops->nothing(&p->limit->limiter, p->now_ns, p->view.slot_bits));
}

/*
 * It is not used up as far as this host can tell, and nobody has said that all is lent: what is
 * asked for now may be there when the caller comes again.
 */
static void
tell(const struct rl_part *p, uint32_t limit)
{
	struct rl_result *r = p->result;

	if (!r || p->quota.is_shadow || !p->quota.has_lease ||
	    (uint64_t)r->used + p->cost > limit || rl_wish_is_dry(p->segment, p->slot.index))
		return;
	r->reason = RL_BY_SHARE;
	r->retry_after_ns = ROUND_NS;
}

/* For how long the caller may come again. */
static uint64_t
wait_of(const struct rl_quota *q, unsigned flags)
{
	if ((flags & (RL_ITEM_WAITS | RL_ITEM_SLEEPS)) == 0 || q->wait == RL_ROW_WAIT_NONE)
		return 0;
	if (q->wait > 0)
		return rl_wait_unpack(q->wait);
	return flags & RL_ITEM_SLEEPS ? 0 : RL_WAIT_USUAL;
}

bool
rl_share_is_waited_for(const struct rl_part *p, unsigned flags, struct rl_result *r)
{
	uint64_t wait_ns = wait_of(&p->quota, flags);

	if (!p->limit->limiter.is_shared || p->slot.tag == 0 || wait_ns == 0)
		return false;
	rl_wish_waits(p->segment, p->slot.index);
	if (r->reason != RL_BY_SHARE)
		return false;
	r->delay_ns = wait_ns;
	return true;
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
	if (rl_part_is_nameless(p))
		return;
	tell(p, limit);
	if (rl_wish_denied(p->segment, p->slot.index, p->cost, limit))
		sign(p);
}

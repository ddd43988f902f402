/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_SHARE_WISH_H
#define RL_SHARE_WISH_H

#include "decide/part.h"

/*
 * Of a share that is nearly used up, or less than was asked for, there is to be more if there is
 * any. That is no longer so if all that the rule gives is here; of a key to which the store gives
 * more, nobody here knows how much.
 */
static inline bool
rl_share_wants_more(const struct rl_quota *q, uint32_t limit, uint32_t worth, uint32_t remaining,
                    enum rl_verdict verdict)
{
	if (q->has_lease && worth == limit)
		return false;
	return verdict == RL_DENIED || remaining < worth / 4 + (worth < 4);
}

/*
 * A limit of a cluster has decided about a charge by the part's plan: it may want a larger share.
 */
void rl_share_wish(const struct rl_part *p, enum rl_verdict verdict);

/*
 * Of a request that was denied: does its caller come again for a share (enum rl_item_flag)? Then
 * for how long is in *r. The key's wish says so also if there is nothing to wait for now.
 */
bool rl_share_is_waited_for(const struct rl_part *p, unsigned flags, struct rl_result *r);

/* Ask for one, of the key at the part's slot. */
void rl_share_ask(const struct rl_part *p);

#endif

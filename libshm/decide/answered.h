/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_ANSWERED_H
#define RL_ANSWERED_H

/*
 * A request has been decided: what is counted of it, kept of its key and told of it, and whether its key is banned
 * for it. All of that is here, once for each request, and before a shadow is lifted. What is usual is inline, for it
 * is part of every decision.
 */

#include "decide/request.h"
#include "rule/auto_ban.h"
#include "segment/record.h"
#include "segment/stats.h"

/*
 * A limit has said no to a key for the first time in a while: an event of it, if it is time for one. `rq` is NULL
 * of the only limit of the item's rule, at the item's key; `result` is what is told of it, or NULL.
 */
void rl_tell_denied(struct rl *rl, const struct rl_item *item, const struct rl_request *rq,
                    const struct rl_compiled *limit, const struct rl_result *result,
                    struct rl_slot slot, uint64_t now_ns);

/* The limit's own no, but for its number: not a full table's, which bans nobody, nor a shadow's. */
static inline __attribute__((always_inline)) void
rl_answered_denied(struct rl *rl, const struct rl_item *item, const struct rl_request *rq,
                   const struct rl_ask *a, const struct rl_result *result, struct rl_slot slot,
                   bool is_limits)
{
	if (slot.tag != 0 && rl_record_count_denied(a->segment, slot, a->now_ns))
		rl_tell_denied(rl, item, rq, a->limit, result, slot, a->now_ns);
	if (is_limits)
		rl_auto_ban_denied(a->segment, item->rule, item->key, item->key_len, a->now_ns);
}

/* The key of an item that was charged or denied at its slot, by the only limit of its rule; tag 0: of none. */
static inline __attribute__((always_inline)) void
rl_answered(struct rl *rl, const struct rl_item *item, const struct rl_ask *a, struct rl_slot slot,
            enum rl_verdict limit_says)
{
	if (limit_says == RL_ALLOWED) {
		rl_stats_add(a->segment, item->rule, RL_COUNT_allowed);
		rl_request_keep_cost(a, slot);
	} else if (a->quota.is_shadow) {
		rl_stats_add(a->segment, item->rule, RL_COUNT_allowed);
		rl_stats_add_shadow(a->segment, item->rule, a->limit->id);
	} else {
		rl_stats_add_denied(a->segment, item->rule, a->limit->id);
		rl_answered_denied(rl, item, NULL, a, a->result, slot, true);
	}
}

/* An item of any kind, whose verdict is in *result; `rq`, if not NULL, is the request that decided it. */
void rl_answered_item(struct rl *rl, const struct rl_item *item, const struct rl_request *rq,
                      const struct rl_result *result, uint64_t now_ns);

/* One request of it, which said `result`; `verdict` is the item's. */
void rl_answered_part(const struct rl_request *rq, const struct rl_result *result,
                      enum rl_verdict verdict);

/*
 * In a flood of denials of ever other keys each waits for its key's record. So while there was one just now,
 * who has found a slot asks for the record, too: what a denial takes is then a third less, and what a key takes
 * that is admitted a tenth more. Written by one request in RL_TELL_EXPECTS_NS / 4, for all threads read it.
 */
#define RL_TELL_EXPECTS_NS UINT64_C(20000)

static inline void
rl_tell_expect(const struct rl *rl, struct rl_slot slot, uint64_t now_ns)
{
	if (now_ns < rl_atomic_own_load(&rl->denials_until_ns))
		__builtin_prefetch(rl_segment_record(&rl->segment, slot.index), 1);
}

#endif

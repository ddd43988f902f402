/* SPDX-License-Identifier: BSD-2-Clause */
#include "decide/denied.h"

#include "decide/tell.h"
#include "segment/event.h"

/* When a plain request would have been allowed; 0: its rule has changed meanwhile. */
static uint64_t
retry_of(struct rl *rl, const struct rl_item *item, const struct rl_compiled *limit,
         struct rl_slot slot, uint64_t now_ns)
{
	struct rl_result r = {.verdict = RL_ALLOWED};
	struct rl_policy_limit own;
	struct rl_ask peek;

	if (!rl_policy_plain_of(rl, item->rule, item->key, item->key_len, now_ns,
	                        rl_policy_kind(rl, item->rule), &own) ||
	    own.limit != limit)
		return 0;
	rl_policy_lend(&rl->segment, limit, now_ns, &own.quota);
	peek = (struct rl_ask){
		.segment = &rl->segment,
		.limit = limit,
		.quota = own.quota,
		.now_ns = now_ns,
		.cost = item->cost > 0 ? (uint32_t)item->cost : 1,
		.result = &r,
		.hash = rl_hash_of_key(rl->segment.key_start, item->key, item->key_len),
	};
	return rl_decide_slot(&peek, slot, RL_PEEK, NULL) == RL_DENIED ? r.retry_after_ns : 0;
}

void
rl_tell_denied(struct rl *rl, const struct rl_item *item, const struct rl_compiled *limit,
               const struct rl_result *result, struct rl_slot slot, uint64_t now_ns)
{
	uint64_t until_ns = now_ns + RL_TELL_EXPECTS_NS;
	struct rl_event_note note;
	uint32_t one_in;

	if (until_ns - rl_atomic_own_load(&rl->denials_until_ns) >= RL_TELL_EXPECTS_NS / 4)
		rl_atomic_own_store(&rl->denials_until_ns, until_ns);
	if (!rl_event_is_due(&rl->segment, RL_EVENT_DENIED, item->rule, now_ns, &one_in))
		return;
	note = (struct rl_event_note){
		.kind = RL_EVENT_DENIED,
		.rule = item->rule,
		.time_ns = now_ns,
		.slot = &slot,
		.key = item->key,
		.key_len = item->key_len,
		.retry_ns =
			result ? result->retry_after_ns : retry_of(rl, item, limit, slot, now_ns),
	};
	rl_event_write(&rl->segment, &note, one_in);
}

void
rl_tell_request_denied(const struct rl_request *rq, const struct rl_result *result)
{
	const struct rl_ask *a = &rq->ask;
	char text[RL_NETWORK_TEXT_MAX];
	struct rl_event_note note;
	uint32_t one_in;
	size_t len;

	if (!rl_event_is_due(a->segment, RL_EVENT_DENIED, rq->rule, a->now_ns, &one_in))
		return;
	note = (struct rl_event_note){
		.kind = RL_EVENT_DENIED,
		.rule = rq->rule,
		.limit = a->index,
		.time_ns = a->now_ns,
		.slot = &rq->slot,
		.key = rl_tell_name(rq, text, &len),
		.retry_ns = result->retry_after_ns,
	};
	note.key_len = len;
	rl_event_write(a->segment, &note, one_in);
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "decide/answered.h"

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

/* Nobody wants more than one of these in that time: it is for all threads. */
static void
expect_more(struct rl *rl, uint64_t now_ns)
{
	uint64_t until_ns = now_ns + RL_TELL_EXPECTS_NS;

	if (until_ns - rl_atomic_own_load(&rl->denials_until_ns) >= RL_TELL_EXPECTS_NS / 4)
		rl_atomic_own_store(&rl->denials_until_ns, until_ns);
}

void
rl_tell_denied(struct rl *rl, const struct rl_item *item, const struct rl_request *rq,
               const struct rl_compiled *limit, const struct rl_result *result, struct rl_slot slot,
               uint64_t now_ns)
{
	struct rl_event_note note = {
		.kind = RL_EVENT_DENIED, .rule = item->rule, .time_ns = now_ns, .slot = &slot};
	char text[RL_NETWORK_TEXT_MAX];
	uint32_t one_in;

	expect_more(rl, now_ns);
	if (!rl_event_is_due(&rl->segment, RL_EVENT_DENIED, item->rule, now_ns, &one_in))
		return;
	note.limit = rq ? rq->ask.index : 0;
	note.key_len = item->key_len;
	note.key = rq ? rl_tell_name(rq, text, &note.key_len) : item->key;
	note.retry_ns = result ? result->retry_after_ns : retry_of(rl, item, limit, slot, now_ns);
	rl_event_write(&rl->segment, &note, one_in);
}

static const enum rl_counter verdict_counter[] = {
	[RL_ALLOWED] = RL_COUNT_allowed,
	[RL_DENIED] = RL_COUNT_denied,
	[RL_NEVER] = RL_COUNT_never,
	[RL_UNDECIDED] = RL_COUNT_undecided,
};

/* By the rule's own verdict; the limit's and the key's follow. */
static void
count_verdict(const struct rl_segment *s, int rule, const struct rl_result *r)
{
	rl_stats_add(s, rule, verdict_counter[r->verdict]);
	if (r->is_shadow_denied && r->verdict == RL_ALLOWED)
		rl_stats_add(s, rule, RL_COUNT_shadow_denied);
	if (r->reason == RL_BY_EXEMPTION)
		rl_stats_add(s, rule, RL_COUNT_exempted);
	if (r->reason == RL_BY_BAN)
		rl_stats_add(s, rule, RL_COUNT_banned);
}

void
rl_answered_item(struct rl *rl, const struct rl_item *item, const struct rl_request *rq,
                 const struct rl_result *r, uint64_t now_ns)
{
	const struct rl_segment *s = &rl->segment;

	if (!s->is_writable || !rl_handle_has(rl, item->rule))
		return;
	count_verdict(s, item->rule, r);
	if (r->reason == RL_BY_BAN)
		rl_tell_without(s, RL_EVENT_BANNED, item->rule, item->key, item->key_len,
		                r->retry_after_ns, rl_clamp_now(now_ns));
	if (!rq || r->verdict != RL_DENIED)
		return;
	if (r->error == 0)
		rl_stats_add_limit(rq->ask.segment, rq->ask.limit->id, false);
	rl_answered_denied(rq->rl, item, rq, &rq->ask, r, rq->slot,
	                   r->error == 0 && r->reason == RL_BY_LIMIT);
}

/* Remember what was charged, and its tier, if it had one and the key has its slot. */
static void
keep_last(const struct rl_request *rq, enum rl_verdict verdict)
{
	const struct rl_segment *s = rq->ask.segment;

	if (rq->slot.tag == 0)
		return;
	if (verdict == RL_ALLOWED)
		rl_request_keep_cost(&rq->ask, rq->slot);
	if (rq->tier == 0 || (verdict != RL_ALLOWED && verdict != RL_DENIED))
		return;
	rl_rules_note_tiers(rq->ask.limit->row);
	rl_record_keep_tier(s, rq->slot, rq->tier);
}

void
rl_answered_part(const struct rl_request *rq, const struct rl_result *r, enum rl_verdict verdict)
{
	const struct rl_segment *s = rq->ask.segment;

	if (!s->is_writable)
		return;
	if (r->is_shadow_denied && rq->ask.quota.is_shadow)
		rl_stats_add_limit(s, rq->ask.limit->id, true);
	keep_last(rq, verdict);
}

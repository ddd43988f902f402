/* SPDX-License-Identifier: BSD-2-Clause */
#include "decide/answered.h"

#include "decide/expect.h"
#include "decide/plan.h"
#include "decide/report.h"
#include "decide/share_wish.h"
#include "rule/auto_ban.h"
#include "segment/event.h"
#include "segment/stats.h"

/* Nobody wants more than one of these in that time: it is for all threads. */
static void
expect_more(struct rl *rl, uint64_t now_ns)
{
	uint64_t until_ns = now_ns + RL_EXPECT_NS;

	if (until_ns - rl_atomic_own_load(&rl->denials_until_ns) >= RL_EXPECT_NS / 4)
		rl_atomic_own_store(&rl->denials_until_ns, until_ns);
}

/*
 * When the part may be asked again, which the caller did not want to know; 0: that has changed
 * meanwhile.
 */
static uint64_t
retry_of(const struct rl_part *decider)
{
	struct rl_part p = *decider;
	struct rl_result r;

	p.result = &r;
	p.is_asked = true;
	return rl_part_look(&p, p.cost, RL_PEEK) == RL_DENIED ? r.retry_after_ns : 0;
}

void
rl_answered_report(const struct rl_part *p, uint64_t retry_ns)
{
	struct rl_event_note note = {
		.kind = RL_EVENT_DENIED,
		.rule = p->rule,
		.limit = p->index,
		.time_ns = p->now_ns,
		.slot = &p->slot,
	};
	char text[RL_NETWORK_TEXT_MAX];
	uint32_t one_in;

	expect_more(p->rl, p->now_ns);
	if (!rl_event_is_due(&p->rl->segment, RL_EVENT_DENIED, p->rule, p->now_ns, &one_in))
		return;
	note.key = rl_part_name(p, text, &note.key_len);
	note.retry_ns = p->is_asked ? retry_ns : retry_of(p);
	rl_event_write(&p->rl->segment, &note, one_in);
}

static const enum rl_counter verdict_counter[] = {
	[RL_ALLOWED] = RL_COUNT_allowed,
	[RL_DENIED] = RL_COUNT_denied,
	[RL_NEVER] = RL_COUNT_never,
	[RL_UNDECIDED] = RL_COUNT_undecided,
};

/* Of the key that a limit has denied. */
static inline void
record_denied(const struct rl_part *p)
{
	if (p->slot.tag != 0 && rl_record_count_denied(p->segment, p->slot, p->now_ns))
		rl_answered_report(p, p->result->retry_after_ns);
}

static void
count_denied(const struct rl_part *p)
{
	rl_stats_add_denied(p->segment, p->rule, p->index);
	record_denied(p);
}

void
rl_answered_denied(const struct rl_part *p, const void *key, size_t key_len)
{
	count_denied(p);
	rl_auto_ban_denied(p->segment, p->rule, key, key_len, p->now_ns);
}

/* Any other verdict, and a denial by something else than a counter of the key. */
static void
count_verdict(const struct rl_segment *s, int rule, const struct rl_result *r)
{
	if (r->reason != RL_BY_BAN) /* those are counted as such alone */
		rl_stats_add(s, rule, verdict_counter[r->verdict]);
	if (r->is_shadow_denied && r->verdict == RL_ALLOWED)
		rl_stats_add(s, rule, RL_COUNT_shadow_denied);
	if (r->reason == RL_BY_EXEMPTION)
		rl_stats_add(s, rule, RL_COUNT_exempted);
	if (r->reason == RL_BY_BAN)
		rl_stats_add(s, rule, RL_COUNT_banned);
}

static void
report_banned(const struct rl_segment *s, int rule, const void *key, size_t key_len, uint64_t hash,
              uint64_t now_ns, uint64_t retry_ns)
{
	struct rl_event_note note = {.kind = RL_EVENT_BANNED,
	                             .rule = rule,
	                             .time_ns = now_ns,
	                             .key = key,
	                             .key_len = key_len,
	                             .retry_ns = retry_ns,
	                             .author = rl_event_banned_key(rule, hash)};
	uint32_t one_in;

	if (rl_event_is_due_of_ban(s, rule, note.author, now_ns, &one_in))
		rl_event_write(s, &note, one_in);
}

void
rl_answered_without_counter(const struct rl_segment *s, int rule, const void *key, size_t key_len,
                            uint64_t hash, uint64_t now_ns, const struct rl_result *r)
{
	count_verdict(s, rule, r);
	if (r->reason == RL_BY_BAN)
		report_banned(s, rule, key, key_len, hash, now_ns, r->retry_after_ns);
}

/* Remember the tier, if it had one and the key has its slot. */
static void
keep_last(const struct rl_part *p, enum rl_verdict verdict)
{
	if (p->slot.tag == 0 || p->tier == 0 || (verdict != RL_ALLOWED && verdict != RL_DENIED))
		return;
	rl_rules_note_tiers(p->limit->row);
	rl_record_keep_tier(p->segment, p->slot, p->tier);
}

void
rl_answered(struct rl *rl, int rule, const struct rl_item *item, const struct rl_part *parts,
            unsigned count, const struct rl_part *decider, struct rl_result *r, uint64_t now_ns)
{
	const struct rl_segment *s = &rl->segment;
	uint64_t hash = 0; /* wanted of a ban, whose key is sound */

	if (r->reason == RL_BY_BAN)
		hash = rl_hash_of_key(s->key_start, item->key, item->key_len);
	if (!s->is_writable || (!decider && !rl_handle_has(rl, rule)))
		return;
	if (!decider)
		rl_answered_without_counter(s, rule, item->key, item->key_len, hash, now_ns, r);
	else if (r->verdict == RL_DENIED && rl_share_is_waited_for(decider, item->flags, r))
		return; /* not denied as yet */
	else if (r->verdict == RL_DENIED && r->error == 0 && r->reason == RL_BY_LIMIT)
		rl_answered_denied(decider, item->key, item->key_len);
	else if (r->reason == RL_BY_SHARE)
		count_denied(decider); /* for want of a share nobody is banned */
	else {
		count_verdict(s, rule, r);
		if (r->verdict == RL_DENIED) /* a full table bans nobody */
			record_denied(decider);
	}
	for (unsigned i = 0; i < count; i++) {
		const struct rl_part *p = &parts[i];

		if (p->quota.is_shadow && p->result->is_shadow_denied)
			rl_stats_add_shadow_denied(p->segment, p->rule, p->index);
		keep_last(p, r->verdict);
	}
}

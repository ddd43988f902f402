/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * on_full evict: the slot of the key that has used the least share of its limit, and none where a
 * request of the cost that was last charged would be denied: it would start anew, and more be
 * admitted than its limit. The limit is the rule's or an override's, and also that of the key's
 * last tier.
 */
#include "algorithm/counter.h"
#include "evict/on_full.h"
#include "rule/policy.h"
#include "segment/event.h"
#include "segment/record.h"

/* Its name stands there until the next key's is written. */
static void
report_evicted(struct rl *rl, const struct rl_candidate *c, uint64_t now_ns)
{
	struct rl_event_note note = {.kind = RL_EVENT_EVICTED,
	                             .rule = c->limit->rule,
	                             .limit = c->which,
	                             .time_ns = now_ns};
	struct rl_record_copy copy;
	uint32_t one_in;

	if (!rl_event_is_due(&rl->segment, note.kind, note.rule, now_ns, &one_in))
		return;
	if (rl_record_read(&rl->segment, c->slot, &copy)) {
		note.key = copy.bytes;
		note.key_len = copy.key_kept;
	}
	rl_event_write(&rl->segment, &note, one_in);
}

/* Use an override's quota, if the key's name is known. */
static void
apply_override(struct rl *rl, struct rl_budget *budget, uint64_t now_ns, struct rl_candidate *c)
{
	struct rl_quota quota;
	struct rl_record_copy copy;

	if (rl_record_read(&rl->segment, c->slot, &copy) &&
	    rl_policy_quota_of_record(rl, &copy, c->limit, now_ns, budget, &quota))
		c->quota = quota;
}

/* The used share, or UINT64_MAX if a request of the cost that was last charged would be denied. */
static uint64_t
share_below(struct rl *rl, struct rl_budget *budget, uint64_t now_ns, const struct rl_quota *quota,
            struct rl_candidate *c)
{
	uint32_t cost = rl_record_cost(&rl->segment, c->slot.index);
	bool admits = false;
	uint64_t share = rl_candidate_share_of(rl, budget, now_ns, quota, cost, &admits, c);

	return admits ? share : UINT64_MAX; /* for all one knows, at its limit */
}

/* The same of what the key's last tier admits; 0: it has none. */
static uint64_t
share_of_tier(struct rl *rl, struct rl_budget *budget, uint64_t now_ns, struct rl_candidate *c)
{
	struct rl_quota quota = c->quota;

	if (rl_policy_apply_tier(&rl->segment, c->slot.index, c->limit, c->which, &quota) == 0)
		return 0;
	return share_below(rl, budget, now_ns, &quota, c);
}

/*
 * The larger one of both, for the tier may be another key's: see rl_record_keep_tier(). So it can
 * save a key from eviction, and never deliver one.
 */
static uint64_t
used_share(struct rl *rl, struct rl_budget *budget, uint64_t now_ns, struct rl_candidate *c)
{
	uint64_t share, of_tier;
	struct rl_u128 judged;

	if (rl_candidate_must_stay(c))
		return UINT64_MAX;
	if (c->limit->limiter.algorithm == RL_COUNTER)
		return rl_counter_has_expired(c->view.word, now_ns) ? 0 : UINT64_MAX;
	apply_override(rl, budget, now_ns, c);
	share = share_below(rl, budget, now_ns, &c->quota, c);
	if (share == UINT64_MAX)
		return share;
	judged = c->view.word;
	of_tier = share_of_tier(rl, budget, now_ns, c);
	if (!rl_u128_equal(c->view.word, judged)) /* both are to be of the word that is retired */
		return UINT64_MAX;
	return share > of_tier ? share : of_tier;
}

bool
rl_evict_least_used(struct rl *rl, const struct rl_candidates *candidates, struct rl_budget *budget,
                    uint64_t now_ns)
{
	uint64_t least_share = UINT64_MAX;
	struct rl_candidate least = {0}, c;

	for (unsigned i = 0; i < RL_CANDIDATES; i++) {
		rl_candidate_inspect(rl, rl_table_candidate(candidates, i), &c);
		uint64_t share = used_share(rl, budget, now_ns, &c);
		if (share < least_share) {
			least_share = share;
			least = c;
		}
	}
	if (least_share == UINT64_MAX)
		return false;
	if (rl_candidate_retire(rl, &least, RL_COUNT_evicted))
		report_evicted(rl, &least, now_ns);
	return true;
}

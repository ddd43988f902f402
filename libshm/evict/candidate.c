/* SPDX-License-Identifier: BSD-2-Clause */
#include "evict/candidate.h"

#include "algorithm/in_flight.h"
#include "rule/policy.h"
#include "segment/stats.h"

void
rl_candidate_inspect(struct rl *rl, uint64_t index, struct rl_candidate *c)
{
	const struct rl_segment *s = &rl->segment;

	c->slot = (struct rl_slot){.index = index,
	                           .tag = rl_atomic_load(rl_table_tag(&s->table, index))};
	c->limit = NULL;
	c->seen = RL_SEEN_GONE;
	if (rl_tag_status(c->slot.tag) != RL_TAG_LIVE)
		return;
	c->limit = rl_handle_limit(rl, rl_tag_limit(c->slot.tag));
	if (!c->limit)
		return;
	c->is_left = !rl_compiled_owns(c->limit, c->slot.tag);
	c->is_in_force = !c->is_left &&
	                 rl_policy_of_limit(s, rl_tag_limit(c->slot.tag), &c->quota, &c->which);
	c->seen = rl_view_load(s, c->slot, &c->view);
}

bool
rl_candidate_has_count(const struct rl_candidate *c)
{
	return c->limit && c->seen == RL_SEEN && !c->view.is_zero;
}

bool
rl_candidate_is_held(const struct rl_candidate *c)
{
	return c->limit && c->limit->limiter.is_held && rl_candidate_has_count(c) &&
	       rl_in_flight_total(c->view.word) > 0;
}

bool
rl_candidate_must_stay(const struct rl_candidate *c)
{
	return !rl_candidate_has_count(c) || !c->is_in_force || rl_candidate_is_held(c);
}

uint64_t
rl_candidate_share_of(struct rl *rl, struct rl_budget *budget, uint64_t now_ns,
                      struct rl_candidate *c)
{
	struct rl_quota q = c->quota;
	struct rl_decision d;

	rl_policy_share(&rl->segment, c->limit, now_ns, &q);
	if (budget->left == 0 ||
	    rl_view_peek(&rl->segment, &c->limit->limiter, &q, c->slot, 1, now_ns, budget, &c->view,
	                 &d, NULL) != RL_SEEN ||
	    c->view.is_zero || d.limit == 0)
		return UINT64_MAX;
	return ((uint64_t)rl_decision_used(&d) << 32) / d.limit;
}

bool
rl_candidate_retire(struct rl *rl, const struct rl_candidate *c, enum rl_counter counter)
{
	if (!rl_table_retire(&rl->segment.table, c->slot, c->view.word))
		return false;
	if (!c->is_left) /* else its row may be another rule's by now */
		rl_stats_add(&rl->segment, c->limit->rule, counter);
	return true;
}

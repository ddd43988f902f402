/* SPDX-License-Identifier: BSD-2-Clause */
#include "decide/spend.h"

#include "decide/combine.h"
#include "decide/decide.h"
#include "segment/stats.h"

/* Charge it as a debt, and tell what counts by the limit's own quota. */
static bool
spend(struct rl_part *p)
{
	const struct rl_quota own = p->quota;
	enum rl_verdict verdict;
	uint32_t most;

	rl_quota_owe(&p->limit->limiter, &p->quota);
	most = rl_limiter_limit(&p->limit->limiter, &p->quota);
	verdict = rl_part_decide(p, p->asked < most ? p->asked : most, RL_CHECK);
	p->quota = own;
	if (verdict == RL_UNDECIDED || p->result->error < 0)
		return false;
	rl_part_decide(p, 0, RL_PEEK);
	p->result->verdict = RL_ALLOWED;
	p->result->retry_after_ns = 0;
	return true;
}

static bool
spend_all(const struct rl_item *item, struct rl_part *part, unsigned parts,
          struct rl_result each[static RL_LIMITS_MAX])
{
	struct rl_charge charge = {.cost = 0},
			 *to = item->charges ? item->charges->charge : &charge;
	struct rl_budget budget = rl_decision_budget(part->segment, parts);
	bool is_counted = true;

	for (unsigned i = 0; i < parts; i++) {
		struct rl_part *p = &part[i];

		p->budget = &budget;
		p->result = &each[i];
		p->is_asked = true;
		p->charge = to;
		to->cost = 0;
		is_counted &= spend(p);
		if (item->charges && to->cost > 0)
			to = &item->charges->charge[++item->charges->count];
	}
	return is_counted;
}

enum rl_verdict
rl_spend_item(struct rl *rl, int rule, const struct rl_item *item, uint64_t now_ns,
              struct rl_result *r)
{
	struct rl_result each[RL_LIMITS_MAX];
	struct rl_part part[RL_LIMITS_MAX];
	struct rl_item own = *item;
	unsigned parts;

	own.flags &= ~(unsigned)RL_ITEM_SPEND;
	parts = rl_request_make(rl, rule, &own, NULL, now_ns, part, RL_LIMITS_MAX, r);
	if (parts == 0)
		return r->verdict;
	for (unsigned i = 0; i < parts; i++)
		if (part[i].limit->limiter.is_held || part[i].asked == 0) {
			rl_result_clear(r);
			rl_result_undecided(r, -EINVAL);
			return RL_UNDECIDED;
		}
	if (spend_all(item, part, parts, each))
		rl_stats_add(part->segment, rule, RL_COUNT_allowed);
	rl_parts_combine(part, part + parts, r);
	return r->verdict;
}

/* SPDX-License-Identifier: BSD-2-Clause */
/* Charge again what was dumped of a key. */
#include <errno.h>

#include "algorithm/log.h"
#include "decide/decide.h"
#include "decide/request.h"
#include "rl_admin.h"

static int
charge_again(struct rl_part *p, uint64_t cost, uint64_t at_ns)
{
	struct rl_budget budget = rl_decision_budget(p->segment, 1);
	struct rl_charge charge = {.cost = 0};
	struct rl_result r;

	if (p->limit->limiter.algorithm == RL_COUNTER || /* rl_counter_apply() does that */
	    p->limit->limiter.is_held)                   /* whose holders are gone */
		return -EINVAL;
	p->budget = &budget;
	p->result = &r;
	p->charge = &charge;
	p->is_asked = true;
	rl_quota_owe(&p->limit->limiter, &p->quota); /* it was admitted once */
	p->quota.is_shadow = false;                  /* or it would be allowed without a charge */
	p->now_ns = rl_clamp_now(at_ns);
	if (rl_part_decide(p, cost, RL_CHECK) == RL_ALLOWED && charge.cost > 0)
		return r.reason == RL_BY_RESERVE ? RL_RESTORED_IN_OVERFLOW : 0;
	return r.error < 0 ? r.error : -EINVAL;
}

int
rl_restore_at(struct rl *rl, int rule, unsigned limit, const void *key, size_t key_len,
              uint64_t cost, uint64_t at_ns)
{
	struct rl_part parts[RL_LIMITS_MAX];
	int limits = rl_request_of_key(rl, rule, key, key_len, parts);

	if (limits < 0)
		return limits;
	for (int i = 0; i < limits; i++)
		if (parts[i].index == limit && cost > 0)
			return charge_again(&parts[i], cost, at_ns);
	return -EINVAL;
}

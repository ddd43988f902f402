/* SPDX-License-Identifier: BSD-2-Clause */
/* Charge again what was dumped of a key. */
#include <errno.h>

#include "algorithm/log.h"
#include "decide/decide.h"
#include "decide/request.h"
#include "rl_admin.h"

/* Without a limit: what was admitted once is charged again, whatever is admitted now. */
static void
lift_capacity(struct rl_part *p)
{
	const struct rl_limiter *l = &p->limit->limiter;
	const struct rl_algorithm_info *info = rl_algorithm_info(l->algorithm);

	if (rl_limiter_is_shared(l)) { /* and no share of it is restored */
		p->quota.has_lease = false;
		p->quota.share.away = RL_CAPACITY_MAX;
	}
	if (rl_limiter_is_shared(l) && rl_limiter_has_bucket(l)) /* never more than its size */
		return;
	if (rl_limiter_is_bucket(l))
		p->quota.burst = RL_CAPACITY_MAX - 1;
	else if (info->ring_per_unit > 0)
		p->quota.capacity = rl_log_capacity(l->ring_entries);
	else
		p->quota.capacity = RL_CAPACITY_MAX;
}

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
	lift_capacity(p);
	p->quota.is_shadow = false; /* or it would be allowed without a charge */
	p->now_ns = rl_clamp_now(at_ns);
	if (rl_part_decide(p, cost, RL_CHECK) == RL_ALLOWED &&
	    (charge.cost > 0 || r.reason == RL_BY_RESERVE))
		return charge.cost > 0 ? 0 : RL_RESTORED_IN_OVERFLOW;
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

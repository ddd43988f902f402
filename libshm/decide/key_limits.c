/* SPDX-License-Identifier: BSD-2-Clause */
#include "decide/key_limits.h"

#include "decide/request.h"
#include "move/follow.h"

int
rl_key_requests(struct rl *rl, int rule, const void *key, size_t key_len,
                struct rl_request requests[static RL_LIMITS_MAX])
{
	const struct rl_item item = {.rule = rule, .key = key, .key_len = key_len};
	struct rl_budget budget = {RL_LOOKUP_STEPS};
	struct rl_key_policy k;
	int error;

	rl = rl_here(rl);
	error = rl_policy_of_name(rl, rule, key, key_len, &budget, &k);

	if (error < 0)
		return error;
	rl_request_fill(rl, &item, &k, 0, requests);
	return (int)k.rule.count;
}

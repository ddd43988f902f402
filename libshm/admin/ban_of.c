/* SPDX-License-Identifier: BSD-2-Clause */
/* Which ban or exemption answers a key: as a request is answered, without a look at a counter. */
#include "decide/request.h"
#include "rule/ban.h"

int
rl_ban_of(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t now_ns,
          rl_ban_visit_fn *visit, void *arg)
{
	struct rl_budget budget = {RL_LOOKUP_STEPS};
	struct rl_item item = {.rule = rule, .key = key, .key_len = key_len};
	struct rl_key_policy k;
	struct rl_result r;
	int error = rl_policy_of_name(rl, rule, key, key_len, now_ns, &budget, &k);

	if (error < 0)
		return error;
	if (k.has_address && k.address.known < k.address.bits)
		item.key_len = 0; /* a network is no text that a prefix could match */
	rl_result_clear(&r);
	k.has_ban = false;
	rl_request_answered_by_exception(rl, &item, &k, now_ns, &budget, &r);
	if (k.has_ban)
		return rl_ban_show(&rl->segment, k.ban_slot, now_ns, visit, arg);
	return r.error;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "decide/asked.h"

#include "decide/exception.h"
#include "decide/request.h"
#include "decide/usual.h"

/* The key of that hash, with the capacity that *u has. */
static inline __attribute__((always_inline)) int
decide(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t hash, uint64_t cost,
       uint64_t now_ns, struct rl_result *result, struct rl_usual *u)
{
	rl_usual_place(rl, hash, u);
	rl_table_prefetch(&rl->segment.table, &u->candidates);
	if (!rl_usual_find(rl, now_ns, u))
		return RL_AGAIN;
	return rl_usual_decide(rl, 0, rule, key, key_len, cost, now_ns, result, u);
}

/* There may be something for the key. If that is no answer, it may be another capacity. */
static __attribute__((noinline)) int
decide_excepted(struct rl *rl, const struct rl_item *item, const struct rl_policy_look *look,
                struct rl_hash key, uint64_t now_ns, struct rl_result *result, struct rl_usual u)
{
	struct rl_budget budget = {RL_LOOKUP_STEPS};
	struct rl_exception e;
	int answered;

	if (!rl_exception_find(rl, item->rule, look, key, now_ns, &budget, &e))
		return RL_AGAIN;
	if (e.has_override && e.override.capacity[0] > 0)
		u.quota.capacity = e.override.capacity[0];
	answered = rl_exception_answer(rl, item, &u.limit->limiter, u.quota.capacity, &e, &budget,
	                               now_ns, result);
	if (answered != RL_AGAIN || item->cost > u.quota.capacity)
		return answered;
	return decide(rl, item->rule, item->key, item->key_len, key.a, item->cost, now_ns, result,
	              &u);
}

int
rl_asked_check(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t cost,
               uint64_t now_ns, struct rl_result *result)
{
	const struct rl_item item = {.rule = rule, .key = key, .key_len = key_len, .cost = cost};
	struct rl_policy_look look;
	struct rl_sip of_key;
	struct rl_usual u;
	uint64_t hash;

	if (!rl_usual_look(rl, 0, rule, key, key_len, cost, now_ns, RL_POLICY_ASKS, &look, &u) ||
	    !rl_exception_is_of_keys(&look))
		return RL_AGAIN;
	of_key = rl_sip_of_key(rl->segment.key_start, key, key_len);
	hash = rl_sip_fold(&of_key);
	if (__builtin_expect(!rl_policy_has_none_of(&rl->segment, &look, hash), 0))
		return decide_excepted(rl, &item, &look, rl_hash_both(of_key), now_ns, result, u);
	return decide(rl, rule, key, key_len, hash, cost, now_ns, result, &u);
}

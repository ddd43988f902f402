/* SPDX-License-Identifier: BSD-2-Clause */
#include "rl.h"

#include "decide/check.h"

enum rl_verdict
rl_check_at(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t cost,
            uint64_t now_ns, struct rl_result *result)
{
	const struct rl_item item = {.rule = rule, .key = key, .key_len = key_len, .cost = cost};

	return rl_check_one(rl, &item, NULL, now_ns, result);
}

enum rl_verdict
rl_peek_at(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t now_ns,
           struct rl_result *result)
{
	return rl_check_at(rl, rule, key, key_len, 0, now_ns, result);
}

enum rl_verdict
rl_check(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t cost,
         struct rl_result *result)
{
	return rl_check_at(rl, rule, key, key_len, cost, rl_now(rl), result);
}

enum rl_verdict
rl_peek(struct rl *rl, int rule, const void *key, size_t key_len, struct rl_result *result)
{
	return rl_peek_at(rl, rule, key, key_len, rl_now(rl), result);
}

enum rl_verdict
rl_reserve_at(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t cost,
              uint64_t max_wait_ns, uint64_t now_ns, struct rl_result *result)
{
	const struct rl_item item = {.rule = rule, .key = key, .key_len = key_len, .cost = cost};

	return rl_reserve_item_at(rl, &item, max_wait_ns, now_ns, result);
}

enum rl_verdict
rl_reserve(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t cost,
           uint64_t max_wait_ns, struct rl_result *result)
{
	return rl_reserve_at(rl, rule, key, key_len, cost, max_wait_ns, rl_now(rl), result);
}

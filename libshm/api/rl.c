/* SPDX-License-Identifier: BSD-2-Clause */
#include "rl.h"

#include "decide/check.h"
#include "decide/usual.h"

static inline __attribute__((always_inline)) int
check_usual(struct rl *rl, uint64_t kind, int rule, const void *key, size_t key_len, uint64_t cost,
            uint64_t now_ns, struct rl_result *result, struct rl_policy_look *look)
{
	struct rl_usual u;

	if (__builtin_expect(!rl_usual_make(rl, kind, rule, key, key_len, cost, now_ns, look, &u),
	                     0))
		return RL_AGAIN;
	rl_table_prefetch(&rl->segment.table, &u.candidates);
	if (__builtin_expect(!rl_usual_find(rl, now_ns, &u), 0))
		return RL_AGAIN;
	return rl_usual_decide(rl, kind, rule, key, key_len, cost, now_ns, result, &u);
}

/*
 * A call of its own, and so is the next: what it takes is no part of the frame of a usual request.
 */
static __attribute__((noinline)) enum rl_verdict
check_any(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t cost, uint64_t now_ns,
          struct rl_result *result)
{
	const struct rl_item item = {.rule = rule, .key = key, .key_len = key_len, .cost = cost};

	return rl_check_one(rl, rule, &item, NULL, now_ns, result);
}

static __attribute__((noinline)) enum rl_verdict
check_bucket(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t cost,
             uint64_t now_ns, struct rl_result *result)
{
	struct rl_policy_look look;
	int decided =
		check_usual(rl, RL_POLICY_BUCKET, rule, key, key_len, cost, now_ns, result, &look);

	if (__builtin_expect(decided != RL_AGAIN, 1))
		return (enum rl_verdict)decided;
	return check_any(rl, rule, key, key_len, cost, now_ns, result);
}

enum rl_verdict
rl_check_at(struct rl *app, int rule, const void *key, size_t key_len, uint64_t cost,
            uint64_t now_ns, struct rl_result *result)
{
	struct rl *rl = rl_here_known(app);
	struct rl_policy_look look;
	int decided = check_usual(rl, 0, rule, key, key_len, cost, now_ns, result, &look);

	if (__builtin_expect(decided != RL_AGAIN, 1))
		return (enum rl_verdict)decided;
	return look.steps & RL_POLICY_BUCKET
	               ? check_bucket(rl, rule, key, key_len, cost, now_ns, result)
	               : check_any(rl, rule, key, key_len, cost, now_ns, result);
}

enum rl_verdict
rl_check_item_at(struct rl *rl, const struct rl_item *item, uint64_t now_ns,
                 struct rl_result *result)
{
	if (!item->charges && (item->capacity | item->flags) == 0)
		return rl_check_at(rl, item->rule, item->key, item->key_len, item->cost, now_ns,
		                   result);
	return rl_check_one(rl, item->rule, item, NULL, now_ns, result);
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

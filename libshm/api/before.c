/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "rl.h"

static uint64_t
at(uint64_t now_ns)
{
	return now_ns > 0 ? now_ns : 1;
}

enum rl_verdict
rl_check_at(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t cost,
            uint64_t now_ns, struct rl_result *result)
{
	struct rl_item item = {
		.rule = rule, .key = key, .key_len = key_len, .cost = cost, .now_ns = at(now_ns)};

	return rl_check_item(rl, &item, result);
}

enum rl_verdict
rl_peek_at(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t now_ns,
           struct rl_result *result)
{
	return rl_check_at(rl, rule, key, key_len, 0, now_ns, result);
}

enum rl_verdict
rl_check_item_at(struct rl *rl, const struct rl_item *item, uint64_t now_ns,
                 struct rl_result *result)
{
	struct rl_item own = *item;

	own.now_ns = at(now_ns);
	return rl_check_item(rl, &own, result);
}

enum rl_verdict
rl_check_limits_at(struct rl *rl, const struct rl_item *item, uint64_t now_ns,
                   struct rl_result *result, size_t *count, struct rl_result results[RL_LIMITS_MAX])
{
	struct rl_item own = *item;

	own.now_ns = at(now_ns);
	return rl_check_limits(rl, &own, result, count, results);
}

static enum rl_verdict
decide(struct rl *rl, const struct rl_item *items, size_t count, enum rl_how how, uint64_t wait_ns,
       uint64_t now_ns, struct rl_result *results, size_t *decided)
{
	struct rl_item own[RL_ITEMS_MAX];

	if (count == 0 || count > RL_ITEMS_MAX)
		return rl_decide(rl, items, count, how, wait_ns, results, decided);
	memcpy(own, items, count * sizeof *own);
	for (size_t i = 0; i < count; i++)
		own[i].now_ns = at(now_ns);
	return rl_decide(rl, own, count, how, wait_ns, results, decided);
}

enum rl_verdict
rl_check_all_at(struct rl *rl, const struct rl_item *items, size_t count, uint64_t now_ns,
                struct rl_result *results, size_t *decided)
{
	return decide(rl, items, count, RL_CHECK, 0, now_ns, results, decided);
}

void
rl_check_many_at(struct rl *rl, const struct rl_item *items, size_t count, uint64_t now_ns,
                 struct rl_result *results)
{
	while (count > 0) {
		size_t n = count < RL_ITEMS_MAX ? count : RL_ITEMS_MAX;

		decide(rl, items, n, RL_EACH, 0, now_ns, results, NULL);
		items += n;
		results += n;
		count -= n;
	}
}

enum rl_verdict
rl_reserve_item_at(struct rl *rl, const struct rl_item *item, uint64_t max_wait_ns, uint64_t now_ns,
                   struct rl_result *result)
{
	return decide(rl, item, 1, RL_RESERVE, max_wait_ns, now_ns, result, NULL);
}

enum rl_verdict
rl_reserve_at(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t cost,
              uint64_t max_wait_ns, uint64_t now_ns, struct rl_result *result)
{
	struct rl_item item = {.rule = rule, .key = key, .key_len = key_len, .cost = cost};

	return rl_reserve_item_at(rl, &item, max_wait_ns, now_ns, result);
}

enum rl_verdict
rl_reserve_all_at(struct rl *rl, const struct rl_item *items, size_t count, uint64_t max_wait_ns,
                  uint64_t now_ns, struct rl_result *results, size_t *decided)
{
	return decide(rl, items, count, RL_RESERVE, max_wait_ns, now_ns, results, decided);
}

int
rl_refund_at(struct rl *rl, struct rl_charges *charges, uint64_t now_ns)
{
	charges->now_ns = at(now_ns);
	return rl_refund(rl, charges);
}

int
rl_refund_item_at(struct rl *rl, const struct rl_item *item, uint64_t now_ns)
{
	struct rl_item own = *item;

	own.now_ns = at(now_ns);
	return rl_refund_key(rl, &own);
}

int
rl_give_back(struct rl *rl)
{
	return rl_prefetch_return(rl);
}

int
rl_counter_add(struct rl *rl, int space, const void *key, size_t key_len, int64_t amount,
               uint64_t lifetime_ns, struct rl_count *count)
{
	struct rl_counter_item item = {.space = space,
	                               .key = key,
	                               .key_len = key_len,
	                               .amount = amount,
	                               .lifetime_ns = lifetime_ns};

	return rl_counter_apply(rl, RL_COUNTER_ADD, &item, count);
}

int
rl_counter_add_at(struct rl *rl, int space, const void *key, size_t key_len, int64_t amount,
                  uint64_t lifetime_ns, uint64_t now_ns, struct rl_count *count)
{
	struct rl_counter_item item = {.space = space,
	                               .key = key,
	                               .key_len = key_len,
	                               .amount = amount,
	                               .lifetime_ns = lifetime_ns,
	                               .now_ns = at(now_ns)};

	return rl_counter_apply(rl, RL_COUNTER_ADD, &item, count);
}

int
rl_counter_get(struct rl *rl, int space, const void *key, size_t key_len, struct rl_count *count)
{
	struct rl_counter_item item = {.space = space, .key = key, .key_len = key_len};

	return rl_counter_apply(rl, RL_COUNTER_GET, &item, count);
}

int
rl_counter_get_at(struct rl *rl, int space, const void *key, size_t key_len, uint64_t now_ns,
                  struct rl_count *count)
{
	struct rl_counter_item item = {
		.space = space, .key = key, .key_len = key_len, .now_ns = at(now_ns)};

	return rl_counter_apply(rl, RL_COUNTER_GET, &item, count);
}

int
rl_counter_set(struct rl *rl, int space, const void *key, size_t key_len, uint64_t value,
               uint64_t lifetime_ns, struct rl_count *count)
{
	struct rl_counter_item item = {.space = space,
	                               .key = key,
	                               .key_len = key_len,
	                               .amount = (int64_t)value,
	                               .lifetime_ns = lifetime_ns};

	return rl_counter_apply(rl, RL_COUNTER_SET, &item, count);
}

int
rl_counter_set_at(struct rl *rl, int space, const void *key, size_t key_len, uint64_t value,
                  uint64_t lifetime_ns, uint64_t now_ns, struct rl_count *count)
{
	struct rl_counter_item item = {.space = space,
	                               .key = key,
	                               .key_len = key_len,
	                               .amount = (int64_t)value,
	                               .lifetime_ns = lifetime_ns,
	                               .now_ns = at(now_ns)};

	return rl_counter_apply(rl, RL_COUNTER_SET, &item, count);
}

int
rl_counter_set_new(struct rl *rl, int space, const void *key, size_t key_len, uint64_t value,
                   uint64_t lifetime_ns, struct rl_count *count)
{
	struct rl_counter_item item = {.space = space,
	                               .key = key,
	                               .key_len = key_len,
	                               .amount = (int64_t)value,
	                               .lifetime_ns = lifetime_ns};

	return rl_counter_apply(rl, RL_COUNTER_SET_NEW, &item, count);
}

int
rl_counter_set_new_at(struct rl *rl, int space, const void *key, size_t key_len, uint64_t value,
                      uint64_t lifetime_ns, uint64_t now_ns, struct rl_count *count)
{
	struct rl_counter_item item = {.space = space,
	                               .key = key,
	                               .key_len = key_len,
	                               .amount = (int64_t)value,
	                               .lifetime_ns = lifetime_ns,
	                               .now_ns = at(now_ns)};

	return rl_counter_apply(rl, RL_COUNTER_SET_NEW, &item, count);
}

int
rl_counter_touch(struct rl *rl, int space, const void *key, size_t key_len, uint64_t lifetime_ns,
                 struct rl_count *count)
{
	struct rl_counter_item item = {
		.space = space, .key = key, .key_len = key_len, .lifetime_ns = lifetime_ns};

	return rl_counter_apply(rl, RL_COUNTER_TOUCH, &item, count);
}

int
rl_counter_touch_at(struct rl *rl, int space, const void *key, size_t key_len, uint64_t lifetime_ns,
                    uint64_t now_ns, struct rl_count *count)
{
	struct rl_counter_item item = {.space = space,
	                               .key = key,
	                               .key_len = key_len,
	                               .lifetime_ns = lifetime_ns,
	                               .now_ns = at(now_ns)};

	return rl_counter_apply(rl, RL_COUNTER_TOUCH, &item, count);
}

int
rl_counter_drop(struct rl *rl, int space, const void *key, size_t key_len)
{
	struct rl_counter_item item = {.space = space, .key = key, .key_len = key_len};

	return rl_counter_apply(rl, RL_COUNTER_DROP, &item, NULL);
}

int
rl_counter_drop_at(struct rl *rl, int space, const void *key, size_t key_len, uint64_t now_ns)
{
	struct rl_counter_item item = {
		.space = space, .key = key, .key_len = key_len, .now_ns = at(now_ns)};

	return rl_counter_apply(rl, RL_COUNTER_DROP, &item, NULL);
}

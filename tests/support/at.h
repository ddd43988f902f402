/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef AT_H
#define AT_H

/*
 * The library's calls at a test's own time, which is their last argument before what is answered. 0
 * is the first nanosecond: the calls themselves would take it for now.
 */

#include <rl_counter.h>
#include <string.h>

static inline uint64_t
at_or_first(uint64_t now_ns)
{
	return now_ns > 0 ? now_ns : 1;
}

static inline enum rl_verdict
at_check_item(struct rl *rl, const struct rl_item *item, uint64_t now_ns, struct rl_result *result)
{
	struct rl_item own = *item;

	own.now_ns = at_or_first(now_ns);
	return rl_check_item(rl, &own, result);
}

static inline enum rl_verdict
at_check(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t cost, uint64_t now_ns,
         struct rl_result *result)
{
	const struct rl_item item = {.rule = rule,
	                             .key = key,
	                             .key_len = key_len,
	                             .cost = cost,
	                             .now_ns = at_or_first(now_ns)};

	return rl_check_item(rl, &item, result);
}

static inline enum rl_verdict
at_peek(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t now_ns,
        struct rl_result *result)
{
	const struct rl_item item = {
		.rule = rule, .key = key, .key_len = key_len, .now_ns = at_or_first(now_ns)};

	return rl_decide(rl, &item, 1, RL_PEEK, 0, result, NULL);
}

static inline enum rl_verdict
at_check_limits(struct rl *rl, const struct rl_item *item, uint64_t now_ns,
                struct rl_result *result, size_t *count, struct rl_result results[RL_LIMITS_MAX])
{
	struct rl_item own = *item;

	own.now_ns = at_or_first(now_ns);
	return rl_check_limits(rl, &own, result, count, results);
}

static inline enum rl_verdict
at_decide(struct rl *rl, const struct rl_item *items, size_t count, enum rl_how how,
          uint64_t max_wait_ns, uint64_t now_ns, struct rl_result *results, size_t *decided)
{
	struct rl_item own[RL_ITEMS_MAX];

	if (count == 0 || count > RL_ITEMS_MAX)
		return rl_decide(rl, items, count, how, max_wait_ns, results, decided);
	memcpy(own, items, count * sizeof *own);
	for (size_t i = 0; i < count; i++)
		own[i].now_ns = at_or_first(now_ns);
	return rl_decide(rl, own, count, how, max_wait_ns, results, decided);
}

static inline enum rl_verdict
at_check_all(struct rl *rl, const struct rl_item *items, size_t count, uint64_t now_ns,
             struct rl_result *results, size_t *decided)
{
	return at_decide(rl, items, count, RL_CHECK, 0, now_ns, results, decided);
}

static inline enum rl_verdict
at_reserve_all(struct rl *rl, const struct rl_item *items, size_t count, uint64_t max_wait_ns,
               uint64_t now_ns, struct rl_result *results, size_t *decided)
{
	return at_decide(rl, items, count, RL_RESERVE, max_wait_ns, now_ns, results, decided);
}

static inline enum rl_verdict
at_reserve_item(struct rl *rl, const struct rl_item *item, uint64_t max_wait_ns, uint64_t now_ns,
                struct rl_result *result)
{
	return at_decide(rl, item, 1, RL_RESERVE, max_wait_ns, now_ns, result, NULL);
}

static inline enum rl_verdict
at_reserve(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t cost,
           uint64_t max_wait_ns, uint64_t now_ns, struct rl_result *result)
{
	const struct rl_item item = {.rule = rule, .key = key, .key_len = key_len, .cost = cost};

	return at_reserve_item(rl, &item, max_wait_ns, now_ns, result);
}

static inline void
at_check_many(struct rl *rl, const struct rl_item *items, size_t count, uint64_t now_ns,
              struct rl_result *results)
{
	while (count > 0) {
		size_t n = count < RL_ITEMS_MAX ? count : RL_ITEMS_MAX;

		at_decide(rl, items, n, RL_EACH, 0, now_ns, results, NULL);
		items += n;
		results += n;
		count -= n;
	}
}

static inline int
at_refund(struct rl *rl, struct rl_charges *charges, uint64_t now_ns)
{
	charges->now_ns = at_or_first(now_ns);
	return rl_refund(rl, charges);
}

static inline int
at_settle(struct rl *rl, struct rl_charges *charges, uint64_t actual, uint64_t now_ns)
{
	charges->now_ns = at_or_first(now_ns);
	return rl_settle(rl, charges, actual);
}

static inline int
at_refund_key(struct rl *rl, const struct rl_item *item, uint64_t now_ns)
{
	struct rl_item own = *item;

	own.now_ns = at_or_first(now_ns);
	return rl_refund_key(rl, &own);
}

static inline int
at_counter(struct rl *rl, enum rl_counter_op op, int space, const void *key, size_t key_len,
           int64_t amount, uint64_t lifetime_ns, uint64_t now_ns, struct rl_count *count)
{
	const struct rl_counter_item item = {.space = space,
	                                     .key = key,
	                                     .key_len = key_len,
	                                     .amount = amount,
	                                     .lifetime_ns = lifetime_ns,
	                                     .now_ns = at_or_first(now_ns)};

	return rl_counter_apply(rl, op, &item, count);
}

static inline int
at_counter_add(struct rl *rl, int space, const void *key, size_t key_len, int64_t amount,
               uint64_t lifetime_ns, uint64_t now_ns, struct rl_count *count)
{
	return at_counter(rl, RL_COUNTER_ADD, space, key, key_len, amount, lifetime_ns, now_ns,
	                  count);
}

static inline int
at_counter_get(struct rl *rl, int space, const void *key, size_t key_len, uint64_t now_ns,
               struct rl_count *count)
{
	return at_counter(rl, RL_COUNTER_GET, space, key, key_len, 0, 0, now_ns, count);
}

static inline int
at_counter_set(struct rl *rl, int space, const void *key, size_t key_len, uint64_t value,
               uint64_t lifetime_ns, uint64_t now_ns, struct rl_count *count)
{
	return at_counter(rl, RL_COUNTER_SET, space, key, key_len, (int64_t)value, lifetime_ns,
	                  now_ns, count);
}

static inline int
at_counter_set_new(struct rl *rl, int space, const void *key, size_t key_len, uint64_t value,
                   uint64_t lifetime_ns, uint64_t now_ns, struct rl_count *count)
{
	return at_counter(rl, RL_COUNTER_SET_NEW, space, key, key_len, (int64_t)value, lifetime_ns,
	                  now_ns, count);
}

static inline int
at_counter_touch(struct rl *rl, int space, const void *key, size_t key_len, uint64_t lifetime_ns,
                 uint64_t now_ns, struct rl_count *count)
{
	return at_counter(rl, RL_COUNTER_TOUCH, space, key, key_len, 0, lifetime_ns, now_ns, count);
}

static inline int
at_counter_drop(struct rl *rl, int space, const void *key, size_t key_len, uint64_t now_ns)
{
	return at_counter(rl, RL_COUNTER_DROP, space, key, key_len, 0, 0, now_ns, NULL);
}

#endif

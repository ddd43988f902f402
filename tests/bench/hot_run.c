/* SPDX-License-Identifier: BSD-2-Clause */
#include "at.h"
#include "hot.h"

#define TURNS 100
#define BATCH 32
#define HOUR (3600 * RL_SECOND)

/* The time of this request; the next one has another where the lane says so. */
static inline uint64_t
tick(struct hot *h)
{
	uint64_t now_ns = h->now_ns;

	h->now_ns = now_ns + h->lane->step_ns;
	return now_ns;
}

/* A loop of decisions, in which `h` is the lane, `it` its item, and `r` has room for results. */
#define RUN(name, ...)                                                              \
	void name(void *hot, unsigned worker, uint64_t n)                           \
	{                                                                           \
		struct hot *h = hot;                                                \
		struct rl_item *it = h->item;                                       \
		struct rl_result r[RL_LIMITS_MAX + 1];                              \
		(void)worker;                                                       \
		for (uint64_t i = 0; i < n; i++) {                                  \
			__VA_ARGS__;                                                \
		}                                                                   \
		bench_sink = (uint64_t)(uintptr_t)r; /* for those that want none */ \
	}
#define KEY it->rule, it->key, it->key_len

RUN(hot_check, at_check(h->rl, KEY, 1, tick(h), r))
RUN(hot_null, at_check(h->rl, KEY, 1, tick(h), NULL))
RUN(hot_clock, rl_check(h->rl, KEY, 1, r))
RUN(hot_item, at_check_item(h->rl, it, tick(h), r))
RUN(hot_peek, at_peek(h->rl, KEY, tick(h), r))
RUN(hot_reserve, at_reserve(h->rl, KEY, 1, RL_SECOND, tick(h), r))

RUN(hot_in_turns, const uint64_t key[2] = {h->turn++ % TURNS};
    at_check(h->rl, it->rule, key, sizeof key, 1, tick(h), r))

RUN(hot_limits, size_t count; at_check_limits(h->rl, it, tick(h), r, &count, r + 1))

RUN(hot_all, size_t decided; at_check_all(h->rl, it, 2, tick(h), r, &decided))

RUN(hot_count_up, struct rl_count count; at_counter_add(h->rl, KEY, 1, HOUR, tick(h), &count))

RUN(hot_refund, it->charges = &h->charges; at_check_item(h->rl, it, tick(h), r);
    at_refund(h->rl, &h->charges, h->now_ns))

RUN(hot_settle, it->charges = &h->charges; it->cost = 2; at_check_item(h->rl, it, tick(h), r);
    at_settle(h->rl, &h->charges, 1, h->now_ns))

RUN(hot_settle_late, bool odd = h->turn++ % 2 > 0; it->charges = odd ? &h->charges : &h->before;
    it->cost = 2; at_check_item(h->rl, it, tick(h), r);
    at_settle(h->rl, odd ? &h->before : &h->charges, 1, h->now_ns))

RUN(hot_settle_alone, h->charges.count = 1; h->charges.settled = 0;
    at_settle(h->rl, &h->charges, it->cost - 1, h->now_ns))

RUN(hot_hold, struct rl *rl = h->turn++ % 2 > 0 && h->other ? h->other : h->rl; struct rl_hold held;
    it->charges = &h->charges; at_check_item(rl, it, tick(h), r);
    rl_release(rl, &held, rl_holds(&h->charges, &held, 1)))

/* One call for up to BATCH of the n decisions. */
void
hot_many(void *hot, unsigned worker, uint64_t n)
{
	struct hot *h = hot;
	struct rl_item items[BATCH];
	struct rl_result r[BATCH];

	(void)worker;
	for (unsigned i = 0; i < BATCH; i++)
		items[i] = *h->item;
	for (uint64_t i = 0; i < n; i += BATCH)
		at_check_many(h->rl, items, n - i < BATCH ? n - i : BATCH, tick(h), r);
}

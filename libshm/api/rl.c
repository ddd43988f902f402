/* SPDX-License-Identifier: BSD-2-Clause */
#include "rl.h"

#include <errno.h>

#include "decide/check.h"
#include "decide/key_limits.h"
#include "segment/stats.h"

#define TRIES 1000

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

/* One try to forget a key under one limit: 1 forgotten, 0 nothing there, -1 again. */
static int
try_forget(const struct rl_segment *s, const struct rl_request *rq)
{
	struct rl_slot slot;
	struct rl_view v;

	if (!rl_table_find(&s->table, &rq->candidates, &slot))
		return 0;
	switch (rl_view_load(s, slot, &v)) {
	case RL_SEEN:
		if (v.is_zero)
			return 0;
		return rl_table_retire(&s->table, slot, v.word) ? 1 : -1;
	case RL_SEEN_DEAD:
		rl_table_free(&s->table, slot);
		break;
	case RL_SEEN_GONE:
		break;
	}
	return -1;
}

static int
forget(const struct rl_segment *s, const struct rl_request *rq)
{
	int done = -1;

	for (int tries = 0; tries < TRIES && done < 0; tries++)
		done = try_forget(s, rq);
	return done < 0 ? -EBUSY : done;
}

int
rl_reset(struct rl *rl, int rule, const void *key, size_t key_len)
{
	struct rl_request rq[RL_LIMITS_MAX];
	int limits = rl_key_requests(rl, rule, key, key_len, rq), done = 0, error = 0;

	if (limits < 0)
		return limits;
	if (!rl->segment.is_writable)
		return -EROFS;
	for (int i = 0; i < limits; i++) {
		int one = forget(&rl->segment, &rq[i]);
		done |= one == 1;
		error = one < 0 ? one : error;
	}
	if (done)
		rl_stats_add(&rl->segment, rule, RL_COUNT_reset);
	return error < 0 ? error : done;
}

/* SPDX-License-Identifier: BSD-2-Clause */
#include "reset/reset.h"

#include <errno.h>

#include "decide/key_limits.h"
#include "rl.h"
#include "segment/stats.h"
#include "segment/view.h"

int
rl_reset_slot(const struct rl_segment *s, struct rl_slot slot)
{
	struct rl_view v;

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

/* A key under one limit: 1 forgotten, 0 nothing there, -EBUSY. */
static int
forget(const struct rl_segment *s, const struct rl_request *rq)
{
	struct rl_slot slot;
	int done = -1;

	for (int tries = 0; tries < RL_RESET_TRIES && done < 0; tries++)
		done = rl_table_find(&s->table, &rq->candidates, &slot) ? rl_reset_slot(s, slot)
		                                                        : 0;
	return done < 0 ? -EBUSY : done;
}

int
rl_reset_key(struct rl *rl, int rule, const void *key, size_t key_len, uint64_t *forgotten)
{
	struct rl_request rq[RL_LIMITS_MAX];
	int limits = rl_key_requests(rl, rule, key, key_len, rq), done = 0, error = 0;

	if (limits < 0)
		return limits;
	if (!rl->segment.is_writable)
		return -EROFS;
	for (int i = 0; i < limits; i++) {
		int one = forget(&rl->segment, &rq[i]);
		done += one > 0;
		error = one < 0 ? one : error;
	}
	if (done > 0)
		rl_stats_add(&rl->segment, rule, RL_COUNT_reset);
	*forgotten += (unsigned)done;
	return error;
}

int
rl_reset(struct rl *rl, int rule, const void *key, size_t key_len)
{
	uint64_t forgotten = 0;
	int error = rl_reset_key(rl, rule, key, key_len, &forgotten);

	return error < 0 ? error : forgotten > 0;
}

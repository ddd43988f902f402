/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_DECISION_H
#define RL_DECISION_H

#include "handle.h"
#include "view.h"

/* The clock is signed in most callers' languages; later times count as this one. */
#define RL_NOW_MAX (UINT64_MAX >> 1)

static inline uint64_t
rl_clamp_now(uint64_t now_ns)
{
	return now_ns < RL_NOW_MAX ? now_ns : RL_NOW_MAX;
}

/* One request, made ready: 1 <= cost, quota as looked up for it. */
struct rl_request {
	struct rl *rl;
	const struct rl_compiled *rule;
	int id;
	const void *key;
	size_t key_len;
	uint32_t cost;
	struct rl_quota quota;
	uint64_t now_ns;
	struct rl_places places;
};

/* Where the key may live; the cache is told to expect it. */
struct rl_places rl_request_places(const struct rl *rl, int rule, const void *key, size_t key_len);

/* Decide and charge a cost <= limit. Fills *result. */
void rl_decide(const struct rl_request *rq, struct rl_result *result);

/* What a request of rq->cost would be told; writes nothing. Fills *result. */
void rl_look(const struct rl_request *rq, struct rl_result *result);

/* The answer to `rq` if that is the outlook. */
void rl_answer(const struct rl_request *rq, const struct rl_outlook *outlook,
               struct rl_result *result);

#endif

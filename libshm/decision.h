/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_DECISION_H
#define RL_DECISION_H

#include "address.h"
#include "handle.h"
#include "view.h"

/* The clock is signed in most callers' languages; later times count as this one. */
#define RL_NOW_MAX (UINT64_MAX >> 1)

static inline uint64_t
rl_clamp_now(uint64_t now_ns)
{
	return now_ns < RL_NOW_MAX ? now_ns : RL_NOW_MAX;
}

/* One limit of one request, made ready: 1 <= cost, quota as looked up for it. */
struct rl_request {
	struct rl *rl;
	const struct rl_compiled *limit;
	int rule;        /* whose limit, and whose statistics */
	unsigned index;  /* which of its limits */
	const void *key; /* NULL: it is `network` */
	size_t key_len;
	uint32_t cost;
	struct rl_quota quota;
	uint64_t now_ns;
	struct rl_places places;
	struct rl_slot slot; /* where a denial was seen, if slot.tag is not 0 */
	unsigned char network[RL_NETWORK_KEY_MAX];
};

/* Where the key may live under a limit; the cache is told to expect it. */
void rl_request_places(const struct rl *rl, int limit, const void *key, size_t key_len,
                       struct rl_places *places);

/* Decide and charge a cost <= limit. Fills *result. */
void rl_decide(struct rl_request *rq, struct rl_result *result);

/* Is a charge of `cost` <= capacity one that only has to add to the key's slot? Writes nothing. */
bool rl_will_add(const struct rl_request *rq, uint32_t cost);

/* What a request of rq->cost would be told; writes nothing. Fills *result. */
void rl_look(struct rl_request *rq, struct rl_result *result);

/* The answer to `rq` if that is the outlook. */
void rl_answer(const struct rl_request *rq, const struct rl_outlook *outlook,
               struct rl_result *result);

#endif

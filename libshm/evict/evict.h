/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_EVICT_H
#define RL_EVICT_H

#include "rl_admin.h"
#include "rule/handle.h"
#include "shared/budget.h"

/* Whether a slot was freed. */
struct rl_eviction {
	bool is_freed;         /* a slot was freed, or changed hands: claim again */
	uint64_t next_free_ns; /* if not: when the first of the candidates can be freed */
};

/*
 * May a key of the limit that has no slot claim one, before it looks for a free one? False only for
 * what can be counted nowhere else, of a rule that has most of the slots thereabouts: see admit.h;
 * then none of its own among the candidates has outlived its window. Of others' it gets none: units
 * that are given back at once would make room for a flood with each request.
 */
bool rl_evict_may_claim(struct rl *rl, const struct rl_compiled *limit,
                        const struct rl_candidates *candidates, struct rl_budget *budget,
                        uint64_t now_ns);

/*
 * Free one of the candidate slots of a limit's key, which were all used: see the head of evict.c.
 */
struct rl_eviction rl_evict_for(struct rl *rl, const struct rl_compiled *limit,
                                const struct rl_candidates *candidates, struct rl_budget *budget,
                                uint64_t now_ns);

/* Free a used slot if its key is stale or there is none, and add to *swept which. */
void rl_evict_stale(struct rl *rl, uint64_t index, uint64_t now_ns, struct rl_swept *swept);

#endif

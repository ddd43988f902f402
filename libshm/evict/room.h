/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_ROOM_H
#define RL_ROOM_H

#include "rl_admin.h"
#include "rule/handle.h"
#include "shared/budget.h"

/* How the search for room ended. */
struct rl_room {
	bool is_made;          /* a slot was freed, or changed hands: claim again */
	uint64_t next_free_ns; /* if not: when the first of the slots can be freed */
};

/* Room among 16 slots that were all taken; see the head of room.c. */
struct rl_room rl_room_make(struct rl *rl, const struct rl_candidates *candidates,
                            struct rl_budget *budget, uint64_t now_ns);

/* Free a slot that is taken if its key is stale or nobody's, and tell in *swept. */
void rl_room_sweep(struct rl *rl, uint64_t index, uint64_t now_ns, struct rl_swept *swept);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_CANDIDATE_H
#define RL_CANDIDATE_H

#include "rule/handle.h"
#include "segment/view.h"
#include "shared/budget.h"

/* A slot that may be freed for another key, and what is known of the one that is there. */
struct rl_candidate {
	struct rl_slot slot;
	const struct rl_compiled *limit; /* NULL: no such limit, or not LIVE */
	bool is_in_force;                /* the limit is, in the tag's incarnation */
	bool is_left;                    /* its incarnation is another by now */
	enum rl_seen seen;               /* with a limit only */
	struct rl_view view;             /* RL_SEEN only */
	unsigned which;                  /* of its rule's limits it is */
	struct rl_quota quota;           /* what the limit admits */
};

void rl_candidate_inspect(struct rl *rl, uint64_t index, struct rl_candidate *c);

bool rl_candidate_has_count(const struct rl_candidate *c);

/* Are units of it in flight? */
bool rl_candidate_is_held(const struct rl_candidate *c);

/* Nothing that counts, or stale; or held: it would start anew with what is held still there. */
bool rl_candidate_must_stay(const struct rl_candidate *c);

/* The used share of what its limit admits, in 1/2^32; UINT64_MAX: unknown. */
uint64_t rl_candidate_share_of(struct rl *rl, struct rl_budget *budget, uint64_t now_ns,
                               struct rl_candidate *c);

/* Free the slot as it was seen, and count that. False: it has changed. */
bool rl_candidate_retire(struct rl *rl, const struct rl_candidate *c, enum rl_counter counter);

#endif

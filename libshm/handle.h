/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_HANDLE_H
#define RL_HANDLE_H

#include "rules.h"
#include "segment.h"

/* What rl.h calls struct rl: private memory of one process, inherited by its children. */
struct rl {
	struct rl_segment segment;
	char name[RL_NAME_MAX + 1];
	struct rl_compiled **limits; /* by row, NULL until first used */
	int lock;                    /* what rl_supervise() holds, or -1 */
};

/* Is there such a rule? */
bool rl_handle_has(const struct rl *rl, int rule);

/*
 * The limit as this process uses it, or NULL: if there is none, or no memory for the first use.
 * Any thread, at any time.
 */
const struct rl_compiled *rl_handle_limit(struct rl *rl, int limit);

/* Why rl_handle_limit() said NULL: -EINVAL or -ENOMEM. */
int rl_handle_no_limit(const struct rl *rl, int limit);

#endif

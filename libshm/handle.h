/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_HANDLE_H
#define RL_HANDLE_H

#include <errno.h>

#include "rules.h"
#include "segment.h"

/* What rl.h calls struct rl: private memory of one process, inherited by its children. */
struct rl {
	struct rl_segment segment;
	char name[RL_NAME_MAX + 1];
	struct rl_compiled **rules; /* by id, NULL until first used */
};

/* The rule as this process uses it, or NULL if there is none. Any thread, at any time. */
const struct rl_compiled *rl_handle_rule(struct rl *rl, int id);

#endif

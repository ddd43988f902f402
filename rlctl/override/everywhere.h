/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_EVERYWHERE_H
#define RLCTL_EVERYWHERE_H

/* override --everywhere: by the store, where a limit is shared; else by an order to each host. */

#include <rl_admin.h>

#include "base/command.h"

/* What RULE, KEY and RATE come to. */
struct wanted {
	struct rl_rule_info rule;
	unsigned limit;
	bool is_one;       /* --limit was given: what is lifted is lifted of that alone */
	uint64_t capacity; /* 0: lift it */
	uint64_t until_ns;
	const char *key, *reason;
};

/* Returns what to exit with. */
int override_everywhere(const struct context *context, const struct wanted *wanted);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_ENTRY_H
#define RLCTL_ENTRY_H

/* What list and get show alike of a key in the table. */

#include <rl_admin.h>

#include "output.h"

/* What is left of an rl_entry after its visit, but for the key. */
struct usage {
	uint32_t limit;
	uint32_t used;
	uint32_t remaining;
	int is_limited;
	uint64_t retry_after_ns;
	uint64_t reset_after_ns;
};

struct usage usage_of(const struct rl_entry *entry);
const char *usage_state(const struct usage *usage);
void json_put_usage(json_t *object, const struct usage *usage);

#endif

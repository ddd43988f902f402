/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_SHARED_CAPACITY_H
#define RLCTL_SHARED_CAPACITY_H

/* Another capacity of one key, which the store keeps for all hosts. */

#include "cluster/client.h"

struct shared_capacity {
	const char *rule, *key;
	unsigned limit; /* or CLIENT_EACH_LIMIT, of those that hosts share */
	enum {
		CAPACITY_ASKED,
		CAPACITY_SET,
		CAPACITY_LIFTED
	} what;
	uint64_t capacity, until_ns; /* RL_NEVER_NS: for good */
};

/* Do that, and tell what stands there then. Returns what to exit with. */
int shared_capacity_run(const struct context *context, const struct shared_capacity *wanted);

#endif

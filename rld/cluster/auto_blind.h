/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_CLUSTER_AUTO_BLIND_H
#define RLD_CLUSTER_AUTO_BLIND_H

/* blind.h, by the store and for the segment; nothing while no limit's blind is automatic. */

#include <rl_cluster.h>
#include <store/store.h>

#include "blind.h"
#include "identity.h"

struct auto_blind {
	struct rl *rl;
	struct store *store;
	const struct identity *identity;
	struct blind blind;
	bool is_begun;
	uint64_t due_ns; /* monotonic */
	uint64_t hold_ns;
};

/* Announce what is due. */
void auto_blind_run(struct auto_blind *a, uint64_t now_ns);

#endif

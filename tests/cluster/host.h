/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_CLUSTER_HOST_H
#define TESTS_CLUSTER_HOST_H

/* A host: a segment of its own, and a daemon that borrows for it, in a process of its own. */

#include <rl_cluster.h>
#include <stdbool.h>
#include <sys/types.h>

#include "../../rld/cluster/cluster.h"

struct host {
	char segment[64];
	struct rl *rl;
	pid_t daemon;
	uint64_t *asks; /* questions about shares, of all its daemons: each tells it here */
};

/* A segment of that name, with room for a cluster's limits, and no daemon as yet. */
void host_open(struct host *h, int number);
void host_open_for(struct host *h, int number, uint32_t keys);

/* The options are the child's, too. */
void host_start_daemon(struct host *h, const struct cluster_options *options);
void host_kill_daemon(struct host *h);

/* The machine is gone. */
void host_end(struct host *h);

#endif

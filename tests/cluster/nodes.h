/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_CLUSTER_NODES_H
#define TESTS_CLUSTER_NODES_H

/* A cluster of three masters and three replicas of the test's own, on the loopback. */

#include "server.h"

#define NODES 6

struct nodes {
	struct server of[NODES];
	char more[2048];   /* of redis.conf, of each */
	char client[1024]; /* options of redis-cli */
	char address[NODES][32];
	const char *addresses[NODES];
};

/* `is_secure`: with TLS and a user. Waits until it serves all slots, each with a replica. */
void nodes_start(struct nodes *n, bool is_secure);
void nodes_stop(struct nodes *n);

/* Start what was killed, and wait until all is well. */
void nodes_mend(struct nodes *n);

/* redis-cli to a node, its output to nowhere; whether it said yes. */
bool nodes_say(const struct nodes *n, int node, const char *command);

/* A master, the next one each time. */
int nodes_master(const struct nodes *n);

#endif

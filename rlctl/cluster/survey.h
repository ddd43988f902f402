/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLCTL_SURVEY_H
#define RLCTL_SURVEY_H

/* Faults of a store, and of the hosts that share limits by it. */

#include "cluster/client.h"

struct survey {
	/* Of each node that has slots. `replicas`: "" not known. */
	void (*node)(void *arg, const struct store_node *node, const char *version,
	             const char *replicas);
	/* `fix`: what to do; NULL: `what` says it all. */
	void (*problem)(void *arg, const char *what, const char *fix);
	void *arg;
	uint64_t hosts; /* found */
};

void survey_run(struct client *c, struct survey *s);

#endif

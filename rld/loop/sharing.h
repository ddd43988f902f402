/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_SHARING_H
#define RLD_SHARING_H

/*
 * A configuration's cluster, joined for the daemon's segment. Without one, nothing of it is there.
 */

#include <cluster/cluster.h>
#include <load/load.h>

#include "loop/segment.h"

struct sharing {
	struct cluster *cluster; /* NULL: the configuration has none */
	char *text;              /* of the configuration's cluster, to see that it has changed */
	char *user, *server_name, *sentinel, *secret_file;
	bool has_rules; /* of the store's, as of the start */
};

/*
 * Where rules are shared, `take` puts a document of them into force; the last good one at once. 0,
 * or -1 after saying why.
 */
int sharing_open(struct sharing *l, const struct config *config, const struct segment *segment,
                 const char *state, rules_take *take, void *take_arg, uint64_t now_ns);

/* Rules are the store's, and one of its documents is in force: a file's are not to be. */
bool sharing_has_rules(const struct sharing *l);
void sharing_close(struct sharing *l, uint64_t now_ns);

/* Of limits that a few hosts exceed by what each admits without a share. */
void sharing_warn(const struct config *config);

/* After a file was read again: what it says of the cluster takes a restart. */
void sharing_compare(const struct sharing *l, const struct config *config);

/* The descriptor to poll for reading, -1 for none; and when to come again. */
int sharing_fd(const struct sharing *l);
uint64_t sharing_run(struct sharing *l, uint64_t now_ns);

#endif

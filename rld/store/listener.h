/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_STORE_LISTENER_H
#define RLD_STORE_LISTENER_H

/*
 * What clients of the store tell each other: one connection, to any node, that hears a channel and
 * asks nothing. A node that goes, or falls silent, is left for the next one. Nothing that is told
 * meanwhile is heard, and where a user may not hear the channel nothing ever is.
 */

#include "connection.h"

/* All 0: nothing was tried as yet. */
struct listener {
	struct connection c;
	bool is_begun;
	uint64_t ping_ns;
};

/* One of those that answer, for the next try; NULL: there is none. */
typedef const struct store_address *listener_node(void *arg);

/* Do what can be done now. Returns when to come again without an event. */
uint64_t listener_run(struct listener *l, const struct store_options *options, int epoll,
                      struct tls_context *tls, listener_node *node, void *arg, uint64_t now_ns);

void listener_close(struct listener *l, uint64_t now_ns);

#endif

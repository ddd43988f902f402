/* SPDX-License-Identifier: BSD-2-Clause */
#include "listener.h"

#include <rl_admin.h>

#define PING_EVERY (5 * RL_SECOND) /* a node that does not answer it is silent */

static bool
find_node(struct listener *l, listener_node *node, void *arg)
{
	const struct store_address *a = node(arg);

	if (a)
		l->c.address = *a;
	return a != NULL;
}

/* The connection's own address is where the next one is written: nothing is connected then. */
static bool
begin(struct listener *l, const struct store_options *options, int epoll, struct tls_context *tls,
      listener_node *node, void *arg, uint64_t now_ns)
{
	const struct store_address *a = node(arg);

	if (!a)
		return false;
	connection_init(&l->c, options, epoll, tls, a, now_ns);
	l->c.channel = options->channel;
	l->is_begun = true;
	return true;
}

uint64_t
listener_run(struct listener *l, const struct store_options *options, int epoll,
             struct tls_context *tls, listener_node *node, void *arg, uint64_t now_ns)
{
	if (!options->channel ||
	    (!l->is_begun && !begin(l, options, epoll, tls, node, arg, now_ns)))
		return UINT64_MAX;
	if (l->c.stream.phase == STREAM_CLOSED && now_ns >= l->c.retry_ns &&
	    !find_node(l, node, arg))
		return UINT64_MAX;
	if (l->c.is_ready && now_ns >= l->ping_ns) {
		l->ping_ns = now_ns + PING_EVERY;
		connection_ping(&l->c, now_ns);
	}
	return connection_run(&l->c, now_ns);
}

void
listener_close(struct listener *l, uint64_t now_ns)
{
	if (l->is_begun && l->c.stream.phase != STREAM_CLOSED)
		connection_close(&l->c, now_ns);
}

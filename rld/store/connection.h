/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_STORE_CONNECTION_H
#define RLD_STORE_CONNECTION_H

/*
 * One node: connected, authenticated, given the scripts; then requests out and answers in, in
 * order.
 *
 *	closed --(back-off)--> looked up, connected, TLS --> hello --> ready
 *	   ^                                                           |
 *	   +--- refused, broken, or silent for CONNECTION_SILENT times the timeout
 *
 * A request is given up after the timeout: its `take` is called without a value, and the answer
 * that may come yet is dropped. While there is such an answer to come, the node counts as stalled,
 * and nothing more is asked of it. What is asked of a node is never waited for.
 */

#include "options.h"
#include "protocol.h"
#include "request.h"
#include "stream.h"
#include "times.h"

#define CONNECTION_SILENT 8 /* timeouts, until a stalled node is connected anew */
#define CONNECTION_REQUESTS_MAX \
	1024 /* that wait for an answer: more than that would wait too long for one */

struct connection {
	const struct store_options *options;
	struct store_address address;
	struct stream stream;
	struct protocol *protocol;
	struct requests asked;  /* in the order of their answers */
	struct requests unsure; /* durable, answered, and not yet known to be on a replica */
	bool is_ready, is_wanted;
	bool is_sentinel;        /* has no scripts, and may have no users */
	unsigned unwaited;       /* durable requests since the last WAIT */
	size_t given_up;         /* of those asked */
	uint64_t alone_until_ns; /* what is durable counts at once: there is no replica */
	uint64_t retry_ns, backoff_ns, heard_ns;
	uint64_t rtt_ns;    /* a mean of the last some */
	uint64_t connected; /* times */
	struct store_times times;
	uint64_t random;
	const char *channel; /* NULL, or this connection hears it and runs no script */
	char reported[200];  /* what was told of it last; "" it is well */
};

/* `address` as it is parsed. */
void connection_init(struct connection *c, const struct store_options *options, int epoll,
                     struct tls_context *tls, const struct store_address *address, uint64_t random);

/* Everything that waits is given up. */
void connection_close(struct connection *c, uint64_t now_ns);

/* Do what can be done now. Returns when to come again without an event. */
uint64_t connection_run(struct connection *c, uint64_t now_ns);

/* Whether something can be asked of it now. */
bool connection_takes(const struct connection *c, size_t size);

/* The request is the connection's from here on. Only where connection_takes(). */
void connection_ask(struct connection *c, struct request *r, uint64_t now_ns);

/* Answers to durable requests since the last call count once a replica has them. */
void connection_wait(struct connection *c, uint64_t now_ns);

/* Have it say that it is there. */
void connection_ping(struct connection *c, uint64_t now_ns);

/* Before something that is asked again for want of a script. */
void connection_load_scripts(struct connection *c, uint64_t now_ns);

#endif

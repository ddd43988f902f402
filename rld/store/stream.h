/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_STORE_STREAM_H
#define RLD_STORE_STREAM_H

/*
 * Bytes to a node and from it, on a socket that never blocks, with TLS or without: looked up,
 * connected, written from a buffer, read into the caller's.
 */

#include <stdint.h>
#include <sys/types.h>

#include "address.h"
#include "tls.h"

#define STREAM_OUT_MAX (4u << 20) /* that wait to be written */

enum stream_phase {
	STREAM_CLOSED,
	STREAM_LOOKUP,
	STREAM_CONNECT,
	STREAM_TLS,
	STREAM_OPEN
};

struct stream {
	enum stream_phase phase;
	int epoll, fd;
	uint32_t watched; /* events that epoll has */
	struct lookup *lookup;
	unsigned which; /* of its name's addresses: another, once one did not take the connection */
	struct tls_context *tls_context; /* NULL: without TLS */
	struct tls *tls;
	const struct store_address *address;
	char *out;
	size_t out_at, out_size, out_room;
	uint64_t sent, received; /* bytes, since it was made */
	char why[200];           /* it broke */
};

/* Closed as yet. Whoever waits for `epoll` is woken for it. */
void stream_init(struct stream *s, int epoll, struct tls_context *tls,
                 const struct store_address *address);

/* All return 0, or -1 where it is broken: `why` says how, and it is to be closed. */
int stream_connect(struct stream *s);
int stream_run(struct stream *s);

/* 0 as well where the buffer is full: look with stream_has_room() before. */
int stream_write(struct stream *s, const char *bytes, size_t size);
bool stream_has_room(const struct stream *s, size_t size);

/* Bytes that were read, 0 for none as yet. */
ssize_t stream_read(struct stream *s, char *to, size_t size);

void stream_close(struct stream *s);

#endif

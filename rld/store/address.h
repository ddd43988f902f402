/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_STORE_ADDRESS_H
#define RLD_STORE_ADDRESS_H

/* Where a node is, as text and for the kernel. */

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

#define STORE_HOST_MAX 254
#define STORE_ADDRESS_MAX (STORE_HOST_MAX + 8)

struct store_address {
	char host[STORE_HOST_MAX];
	unsigned port;
};

/* "host:port" or "[v6]:port"; false if it is none. */
bool address_parse(const char *text, struct store_address *to);

/* As it is parsed. */
void address_text(const struct store_address *a, char text[static STORE_ADDRESS_MAX]);

bool address_is_same(const struct store_address *a, const struct store_address *b);

/*
 * A name is looked up beside the caller, who never waits for it.
 *
 *	start, then done until it returns something else than -EAGAIN, then free
 */
struct lookup;

struct lookup *lookup_start(const struct store_address *a);

/*
 * 0: `to` is filled; -EAGAIN: not yet; -ENOENT: there is none, or the look-up failed. Of several
 * addresses it is the one of number `which`, counted round and round.
 */
int lookup_done(struct lookup *l, unsigned which, struct sockaddr_storage *to, socklen_t *size);

/* Also before it is done. One that can no more be stopped is left to itself. */
void lookup_free(struct lookup *l);

#endif

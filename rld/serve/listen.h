/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_LISTEN_H
#define RLD_LISTEN_H

/*
 * Where metrics are served: "unix:PATH", or an address of the loopback and a port. Nothing else,
 * for they tell what a host is doing and nobody is asked who they are.
 */

#include <sys/stat.h>
#include <sys/un.h>

struct listener {
	int fd;
	struct sockaddr_un unix_address; /* its path is to be removed; "" when there is none */
	struct stat made;                /* what stands there then, if nobody else has come */
	char text[128];                  /* where it listens, for people; port 0 is resolved */
};

/* 0, or -1 after saying why. */
int listen_open(struct listener *listener, const char *address);

/*
 * Remove the socket's name, if it is that still. May be called in a signal handler. The descriptor
 * has been closed by whoever served it.
 */
void listen_remove(const struct listener *listener);

#endif

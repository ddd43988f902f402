/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OVERLOAD_SERVER_H
#define OVERLOAD_SERVER_H

/* A pre-forked HTTP server on a unix socket that can be overloaded. */
#include "adaptive.h"

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#define SERVER_WORK_NS (2 * RL_MILLISECOND)  /* of CPU time, in each request */
#define SERVER_WAIT_NS (10 * RL_MILLISECOND) /* as for a database */
#define SERVER_WORKERS 64
#define SERVER_LIMIT_MAX 48 /* so that 16 are free to refuse, whatever was found */
#define SERVER_KEY "here"

struct server {
	struct sockaddr_un at; /* an abstract name, which the kernel chooses */
	socklen_t at_size;
	pid_t workers[SERVER_WORKERS];
};

/* Fork its workers, all on the CPU `cpu`. Without `limit` they take what comes. 0 or -errno. */
int server_start(struct server *s, const struct adaptive *limit, size_t cpu);

void server_stop(struct server *s);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_CLUSTER_SERVER_H
#define TESTS_CLUSTER_SERVER_H

/*
 * A redis-server of the test's own, or the program that $RL_TEST_SERVER names: in a directory of
 * its own below the test's, on a socket there and, if asked, on ports of the loopback. It ends with
 * the test.
 */

#include <stdbool.h>
#include <sys/types.h>

struct server {
	pid_t pid;
	char directory[128], socket[160];
	unsigned port;
};

/* A directory for all servers of this test; removed by server_clean(). */
const char *server_base(void);
void server_clean(void);

/* A port of the loopback that nobody has now. */
unsigned server_free_port(void);

/*
 * `more`: options in redis.conf's words, by lines; port 0: the socket alone. Waits until it
 * answers.
 */
void server_start(struct server *s, const char *name, unsigned port, const char *more);

/* Start it again where it was. */
void server_restart(struct server *s, const char *more);

void server_signal(const struct server *s, int signal);

/* Kill it and wait for its end. */
void server_kill(struct server *s);

#endif

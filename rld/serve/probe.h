/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RLD_PROBE_H
#define RLD_PROBE_H

/*
 * rld asks itself, the way a client does: over its listener, in its turn. What answers is the
 * loop that the question is asked from, so nothing here waits:
 *
 *	probe_start     an answer is wanted
 *	probe_run       connect, send, read: each as far as it goes; from the start again where
 *	                it fails, or after two seconds
 */

#include <rl_admin.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "base/log.h"

struct probe {
	struct sockaddr_storage to;
	socklen_t size;
	int fd; /* -1 between two tries */
	bool is_wanted;
	bool is_sent;
	uint64_t due_ns; /* this try ends, or the next begins */
	struct log_pace pace;
};

/* Of the socket that listens. */
void probe_open(struct probe *p, int listener);
void probe_close(struct probe *p);

void probe_start(struct probe *p, uint64_t now_ns);

/* Go on. True when the answer that was wanted has come, once. */
bool probe_run(struct probe *p, uint64_t now_ns);

/* It waits for a descriptor (-1: none) and its events, and for a time. */
int probe_fd(const struct probe *p);
short probe_events(const struct probe *p);
uint64_t probe_due_ns(const struct probe *p);

#endif

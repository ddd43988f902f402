/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef OVERLOAD_LOAD_H
#define OVERLOAD_LOAD_H

/*
 * Requests that come when they come, whether those before them were answered or not: as from many users who know
 * nothing of each other. (A client that waits for its answer before it asks again slows down with the server,
 * and overloads nothing.)
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct load {
	const struct sockaddr *to;
	socklen_t to_size;
	double per_second;
	double seconds;
	uint64_t in_time_ns; /* an answer later than this is of no use */
};

/* A time is from when the request was to be sent until its answer was there. */
struct load_result {
	size_t sent;
	size_t served;  /* 200 */
	size_t denied;  /* 503 */
	size_t lost;    /* no answer */
	size_t in_time; /* of those served */
	uint64_t p50_ns, p99_ns;
};

/* Send them all, and wait for all answers. 0 or -errno. */
int load_run(const struct load *load, struct load_result *result);

#endif

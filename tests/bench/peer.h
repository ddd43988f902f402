/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

/*
 * What people use to limit rates, as an honest user sets it up, behind one face. Each peer
 * keeps its state in its own file; its clients belong to the process that first asks.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bench.h"

#define PEER_BATCH 32

/* How many keys the workloads have, and slots for a table that they fill by half at most. */
extern uint64_t peer_keys;
uint64_t peer_slots(void); /* a power of two */

enum peer_limit_name {
	PEER_OPEN,    /* never reached */
	PEER_SHUT,    /* always */
	PEER_COUNTED, /* reached by each key, within one window */
	PEER_LIMITS
};

/* A sliding window of two counters, wherever the peer lets one choose. */
struct peer_limit {
	const char *name;
	uint32_t capacity;
	uint64_t window_ns;
};
extern const struct peer_limit peer_limits[PEER_LIMITS];

struct peer {
	const char *id;
	const char *label;
	/* Once, before any process asks: NULL, or why it cannot be had. */
	const char *(*start)(void);
	/* One request for each of `count` <= batch keys, with a NUL each, from any process. */
	void (*check)(enum peer_limit_name limit, const char *const *keys, size_t count,
	              bool *admitted);
	size_t batch;
	uint64_t n;    /* requests in a round, for about as long as the others' */
	bool is_local; /* memory of this machine: no server, no socket */
};

extern const struct peer peer_rl, peer_alone, peer_mutex, peer_mutexes, peer_spinlocks, peer_redis,
	peer_redis_pipelined, peer_redis_log, peer_memcached;

/* Nanoseconds since 1970, as peers without a clock of their own use it. */
uint64_t peer_now_ns(void);

/* Of two windows' counts, what the sliding window between them holds. */
static inline uint64_t
peer_used(uint64_t current, uint64_t previous, uint64_t now_ns, uint64_t window_ns)
{
	uint64_t left_ns = window_ns - now_ns % window_ns;

	return current + (uint64_t)((unsigned __int128)previous * left_ns / window_ns);
}

/*
 * A server of the peer's, on a socket in a private directory; it ends with the benchmark.
 * `path` is filled with the socket's path, argv holds "SOCKET" and "DIRECTORY" in their places.
 * NULL, or why it did not start.
 */
const char *peer_server_start(const char *const argv[], char path[static 128]);

/* A connection to it, or -errno. */
int peer_server_connect(const char *path);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_PEER_LOCKED_H
#define BENCH_PEER_LOCKED_H

/* Tables in shared memory, each behind a lock. */

#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "peer_table.h"
#include "shared/atomic.h"

#define PEER_SHARDS 256
#define PEER_SHARD_SHIFT 40 /* of the hash: bits that no table of a shard looks at */
#define PEER_SPINS 1000     /* before the CPU is given to somebody else, maybe to the holder */

struct peer_lock {
	pthread_mutex_t mutex;
	uint64_t spin;
	struct peer_table table;
} __attribute__((aligned(128)));

typedef bool peer_lock_check_fn(struct peer_lock *l, enum peer_limit_name limit, const char *key,
                                size_t len, uint64_t hash, uint64_t now_ns);

/* `count` locks, each with its share of the table; the same addresses in all processes. */
struct peer_lock *peer_locks_map(unsigned count);

static inline struct peer_lock *
peer_lock_of(struct peer_lock *locks, unsigned count, uint64_t hash)
{
	return &locks[hash >> PEER_SHARD_SHIFT & (count - 1)];
}

static inline bool
peer_lock_check_mutex(struct peer_lock *l, enum peer_limit_name limit, const char *key, size_t len,
                      uint64_t hash, uint64_t now_ns)
{
	bool is_admitted;

	if (pthread_mutex_lock(&l->mutex) == EOWNERDEAD)
		pthread_mutex_consistent(&l->mutex);
	is_admitted = peer_table_check(&l->table, limit, key, len, hash, now_ns);
	pthread_mutex_unlock(&l->mutex);
	return is_admitted;
}

static inline bool
peer_lock_check_spin(struct peer_lock *l, enum peer_limit_name limit, const char *key, size_t len,
                     uint64_t hash, uint64_t now_ns)
{
	bool is_admitted;

	for (unsigned i = 1; rl_atomic_load_relaxed(&l->spin) || !rl_atomic_cas(&l->spin, 0, 1);
	     i++)
		if (i % PEER_SPINS == 0)
			sched_yield();
		else
			rl_atomic_pause();
	is_admitted = peer_table_check(&l->table, limit, key, len, hash, now_ns);
	rl_atomic_store(&l->spin, 0);
	return is_admitted;
}

#endif

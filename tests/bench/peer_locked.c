/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables in shared memory, each behind a lock of its own: one robust mutex, 256 of them, and 256
 * spinlocks. A robust mutex survives the death of its holder, a spinlock does not: who is killed
 * while it holds one stops all others for ever.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "peer_table.h"
#include "shared/atomic.h"

#define SHARDS 256
#define SHARD_SHIFT 40 /* of the hash: bits that no table of a shard looks at */
#define SPINS 1000     /* before the CPU is given to somebody else, maybe to the holder */

struct lock {
	pthread_mutex_t mutex;
	uint64_t spin;
	struct peer_table table;
} __attribute__((aligned(128)));

static struct lock *one, *many, *spinning;
static bool is_populated; /* in this process, which asks one of them */

/* `count` locks, each with its share of the table; the same addresses in all processes. */
static struct lock *
locks_map(unsigned count)
{
	struct peer_table tables[SHARDS];
	pthread_mutexattr_t attributes;
	struct lock *locks = mmap(NULL, count * sizeof *locks, PROT_READ | PROT_WRITE,
	                          MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (locks == MAP_FAILED)
		bench_die("no memory for locks");
	peer_tables_map(tables, count, peer_slots(), MAP_SHARED);
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	for (unsigned i = 0; i < count; i++) {
		pthread_mutex_init(&locks[i].mutex, &attributes);
		locks[i].table = tables[i];
	}
	pthread_mutexattr_destroy(&attributes);
	return locks;
}

static void
populate(const struct lock *locks)
{
	if (!is_populated)
		peer_tables_populate(&locks->table, peer_slots());
	is_populated = true;
}

static inline bool
check_mutex(struct lock *l, enum peer_limit_name limit, const char *key, size_t len, uint64_t hash)
{
	uint64_t now_ns = peer_now_ns();
	bool is_admitted;

	if (pthread_mutex_lock(&l->mutex) == EOWNERDEAD)
		pthread_mutex_consistent(&l->mutex);
	is_admitted = peer_table_check(&l->table, limit, key, len, hash, now_ns);
	pthread_mutex_unlock(&l->mutex);
	return is_admitted;
}

static inline bool
check_spin(struct lock *l, enum peer_limit_name limit, const char *key, size_t len, uint64_t hash)
{
	uint64_t now_ns = peer_now_ns();
	bool is_admitted;

	for (unsigned i = 1; rl_atomic_load_relaxed(&l->spin) || !rl_atomic_cas(&l->spin, 0, 1);
	     i++)
		if (i % SPINS == 0)
			sched_yield();
		else
			rl_atomic_pause();
	is_admitted = peer_table_check(&l->table, limit, key, len, hash, now_ns);
	rl_atomic_store(&l->spin, 0);
	return is_admitted;
}

typedef bool check_fn(struct lock *l, enum peer_limit_name limit, const char *key, size_t len,
                      uint64_t hash);

/* The loop of all three: inlined, and so with a check of its own in each. */
static inline __attribute__((always_inline)) void
check_all(struct lock *locks, unsigned count, check_fn *check, enum peer_limit_name limit,
          const char *const *keys, size_t key_count, bool *admitted)
{
	populate(locks);
	for (size_t i = 0; i < key_count; i++) {
		size_t len = strlen(keys[i]);
		uint64_t hash = peer_hash(limit, keys[i], len);
		admitted[i] =
			check(&locks[hash >> SHARD_SHIFT & (count - 1)], limit, keys[i], len, hash);
	}
}

static void
check_one(enum peer_limit_name limit, const char *const *keys, size_t count, bool *admitted)
{
	check_all(one, 1, check_mutex, limit, keys, count, admitted);
}

static void
check_many(enum peer_limit_name limit, const char *const *keys, size_t count, bool *admitted)
{
	check_all(many, SHARDS, check_mutex, limit, keys, count, admitted);
}

static void
check_spinning(enum peer_limit_name limit, const char *const *keys, size_t count, bool *admitted)
{
	check_all(spinning, SHARDS, check_spin, limit, keys, count, admitted);
}

static const char *
start_one(void)
{
	one = locks_map(1);
	return NULL;
}

static const char *
start_many(void)
{
	many = locks_map(SHARDS);
	return NULL;
}

static const char *
start_spinning(void)
{
	spinning = locks_map(SHARDS);
	return NULL;
}

const struct peer peer_mutex = {
	"mutex", "one robust mutex, shared hash table", start_one, check_one, 1, 200000, true};
const struct peer peer_mutexes = {
	"mutexes", "256 robust mutexes, shared hash table", start_many, check_many, 1, 200000,
	true};
const struct peer peer_spinlocks = {"spinlocks",
                                    "256 spinlocks, not proof against a kill",
                                    start_spinning,
                                    check_spinning,
                                    1,
                                    200000,
                                    true};

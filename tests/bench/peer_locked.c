/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tables in shared memory, each behind a lock of its own: one robust mutex, 256 of them, and 256
 * spinlocks. A robust mutex survives the death of its holder, a spinlock does not: who is killed
 * while it holds one stops all others for ever.
 */
#include "peer_locked.h"

#include <sys/mman.h>

static struct peer_lock *one, *many, *spinning;
static bool is_populated; /* in this process, which asks one of them */

struct peer_lock *
peer_locks_map(unsigned count)
{
	struct peer_table tables[PEER_SHARDS];
	pthread_mutexattr_t attributes;
	struct peer_lock *locks = mmap(NULL, count * sizeof *locks, PROT_READ | PROT_WRITE,
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
populate(const struct peer_lock *locks)
{
	if (!is_populated)
		peer_tables_populate(&locks->table, peer_slots());
	is_populated = true;
}

/* The loop of all three: inlined, and so with a check of its own in each. */
static inline __attribute__((always_inline)) void
check_all(struct peer_lock *locks, unsigned count, peer_lock_check_fn *check,
          enum peer_limit_name limit, const char *const *keys, size_t key_count, bool *admitted)
{
	populate(locks);
	for (size_t i = 0; i < key_count; i++) {
		size_t len = strlen(keys[i]);
		uint64_t hash = peer_hash(limit, keys[i], len);
		admitted[i] = check(peer_lock_of(locks, count, hash), limit, keys[i], len, hash,
		                    peer_now_ns());
	}
}

static void
check_one(enum peer_limit_name limit, const char *const *keys, size_t count, bool *admitted)
{
	check_all(one, 1, peer_lock_check_mutex, limit, keys, count, admitted);
}

static void
check_many(enum peer_limit_name limit, const char *const *keys, size_t count, bool *admitted)
{
	check_all(many, PEER_SHARDS, peer_lock_check_mutex, limit, keys, count, admitted);
}

static void
check_spinning(enum peer_limit_name limit, const char *const *keys, size_t count, bool *admitted)
{
	check_all(spinning, PEER_SHARDS, peer_lock_check_spin, limit, keys, count, admitted);
}

static const char *
start_one(void)
{
	one = peer_locks_map(1);
	return NULL;
}

static const char *
start_many(void)
{
	many = peer_locks_map(PEER_SHARDS);
	return NULL;
}

static const char *
start_spinning(void)
{
	spinning = peer_locks_map(PEER_SHARDS);
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

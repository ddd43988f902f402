/* SPDX-License-Identifier: BSD-2-Clause */
/* One table in shared memory, behind a mutex that survives the death of its holder. */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

#include "peer_table.h"

static struct shared {
	pthread_mutex_t mutex;
	struct peer_table table;
} * shared;

static const char *
start(void)
{
	pthread_mutexattr_t attributes;

	shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
	              MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (shared == MAP_FAILED)
		return strerror(errno);
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&shared->mutex, &attributes);
	pthread_mutexattr_destroy(&attributes);
	return NULL;
}

static bool
check_one(enum peer_limit_name limit, const char *key)
{
	bool is_admitted;

	if (pthread_mutex_lock(&shared->mutex) == EOWNERDEAD)
		pthread_mutex_consistent(&shared->mutex);
	is_admitted = peer_table_check(&shared->table, limit, key, peer_now_ns());
	pthread_mutex_unlock(&shared->mutex);
	return is_admitted;
}

static void
check(enum peer_limit_name limit, const char *const *keys, size_t count, bool *admitted)
{
	for (size_t i = 0; i < count; i++)
		admitted[i] = check_one(limit, keys[i]);
}

const struct peer peer_mutex = {"mutex", "robust mutex, shared hash table", start, check, 1,
                                200000};

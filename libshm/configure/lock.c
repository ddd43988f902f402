/* SPDX-License-Identifier: BSD-2-Clause */
#include "configure/lock.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#define TRIES 500 /* of 10 ms */

/* The lock is on the file's second byte; the first is the sweeper's. */
static struct flock
second_byte(short type)
{
	return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = 1, .l_len = 1};
}

static bool
try_take(const struct rl_lock *lock)
{
	struct flock byte = second_byte(F_WRLCK);

	if (lock->fd < 0)
		return rl_atomic_cas(&lock->rl->handle->is_configuring, 0, 1);
	return fcntl(lock->fd, F_OFD_SETLK, &byte) == 0;
}

static int
take(struct rl *rl, struct rl_lock *lock, int tries)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	bool is_private = rl->handle->name[0] == '\0';

	lock->rl = rl;
	lock->fd = is_private ? -1 : rl_segment_reopen(&rl->segment, rl->handle->name);
	if (lock->fd < 0 && !is_private)
		return lock->fd;
	while (!try_take(lock)) {
		if (--tries <= 0) {
			if (lock->fd >= 0)
				close(lock->fd);
			return -EBUSY;
		}
		nanosleep(&pause, NULL);
	}
	return 0;
}

int
rl_lock_take(struct rl *rl, struct rl_lock *lock)
{
	return take(rl, lock, TRIES);
}

int
rl_lock_try(struct rl *rl, struct rl_lock *lock)
{
	return take(rl, lock, 1);
}

/* Not by closing alone: a child that was forked meanwhile has the descriptor, too. */
void
rl_lock_drop(struct rl_lock *lock)
{
	struct flock byte = second_byte(F_UNLCK);

	if (lock->fd < 0) {
		rl_atomic_store(&lock->rl->handle->is_configuring, 0);
		return;
	}
	fcntl(lock->fd, F_OFD_SETLK, &byte);
	close(lock->fd);
}

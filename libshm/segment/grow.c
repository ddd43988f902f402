/* SPDX-License-Identifier: BSD-2-Clause */
#include "segment/grow.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>

#include "rl.h"
#include "segment/memory_limit.h"

/* The kernel would kill for what it does not have. */
static bool
has_memory(uint64_t bytes)
{
	struct rl_memory memory;

	rl_memory_read("", &memory);
	return rl_memory_has(&memory, bytes);
}

/* Others would find a full disk until we knew. A disk of no size has no bounds. */
static bool
has_room(int fd, uint64_t bytes)
{
	struct statvfs disk;

	return fstatvfs(fd, &disk) < 0 || disk.f_blocks == 0 ||
	       bytes <= (uint64_t)disk.f_bavail * disk.f_frsize;
}

/*
 * Not ftruncate: a full file system must say so now, not by SIGBUS later. In pieces, because a
 * signal makes the kernel undo the whole piece in hand.
 */
int
rl_segment_grow(int fd, uint64_t from, uint64_t bytes)
{
	const uint64_t piece = 16 << 20;
	struct rlimit limit;

	if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && from + bytes > limit.rlim_cur)
		return -EFBIG; /* the kernel would send SIGXFSZ */
	if (!has_room(fd, bytes))
		return -ENOSPC;
	if (!has_memory(bytes))
		return RL_EMEMORY;
	for (uint64_t at = 0; at < bytes;) {
		uint64_t size = bytes - at < piece ? bytes - at : piece;
		int error = posix_fallocate(fd, (off_t)(from + at), (off_t)size);
		if (error == 0)
			at += size;
		else if (error != EINTR)
			return -error;
	}
	return 0;
}

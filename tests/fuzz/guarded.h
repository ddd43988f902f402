/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_GUARDED_H
#define RL_GUARDED_H

/*
 * Put an unreadable page before and after whatever this program maps, segments above all, so
 * that an access beyond either end ends it. Takes the place of libc's calls; include it once.
 */

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define GUARD_BYTES 4096

static size_t
guarded_bytes(size_t len)
{
	return (len + GUARD_BYTES - 1) / GUARD_BYTES * GUARD_BYTES + 2 * GUARD_BYTES;
}

__attribute__((visibility("default"))) void *
mmap(void *at, size_t len, int protection, int flags, int fd, off_t offset)
{
	char *room = at;

	if (!at)
		room = (char *)syscall(SYS_mmap, NULL, guarded_bytes(len), PROT_NONE,
		                       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (room == MAP_FAILED)
		return MAP_FAILED;
	if (!at)
		room += GUARD_BYTES;
	return (void *)syscall(SYS_mmap, room, len, protection, flags | MAP_FIXED, fd, offset);
}

__attribute__((visibility("default"))) int
munmap(void *at, size_t len)
{
	return (int)syscall(SYS_munmap, (char *)at - GUARD_BYTES, guarded_bytes(len));
}

#endif

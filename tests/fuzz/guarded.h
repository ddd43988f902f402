/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RL_GUARDED_H
#define RL_GUARDED_H

/*
 * Put an unreadable page before and after whatever this program maps, segments above all, so
 * that an access beyond either end ends it. Takes the place of libc's calls; include it once.
 */

#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define GUARD_BYTES 4096

static size_t
guarded_bytes(size_t len)
{
	return (len + GUARD_BYTES - 1) / GUARD_BYTES * GUARD_BYTES + 2 * GUARD_BYTES;
}

/* What was mapped so. Of more than that, the guards stay. */
static struct {
	char *at;
	size_t len;
} guarded[256];

#define GUARDED (sizeof guarded / sizeof guarded[0])

static size_t
guarded_at(const void *at)
{
	size_t i = 0;

	while (i < GUARDED && guarded[i].at != at)
		i++;
	return i;
}

/* Room for `len` bytes between two such pages. */
static char *
guarded_room(size_t len)
{
	size_t i = guarded_at(NULL);
	char *room = (char *)syscall(SYS_mmap, NULL, guarded_bytes(len), PROT_NONE,
	                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (room == MAP_FAILED)
		return room;
	if (i < GUARDED) {
		guarded[i].at = room + GUARD_BYTES;
		guarded[i].len = len;
	}
	return room + GUARD_BYTES;
}

__attribute__((visibility("default"))) void *
mmap(void *at, size_t len, int protection, int flags, int fd, off_t offset)
{
	char *room = at ? at : guarded_room(len);

	if (room == MAP_FAILED)
		return MAP_FAILED;
	return (void *)syscall(SYS_mmap, room, len, protection, flags | MAP_FIXED, fd, offset);
}

/*
 * All of a mapping goes with its guards. Where its beginning goes, the last page of that is one for
 * the rest.
 */
__attribute__((visibility("default"))) int
munmap(void *at, size_t len)
{
	char *from = (char *)at - GUARD_BYTES;
	size_t i = guarded_at(at);

	if (i == GUARDED || len > guarded[i].len)
		return (int)syscall(SYS_munmap, at, len);
	if (len == guarded[i].len) {
		guarded[i].at = NULL;
		return (int)syscall(SYS_munmap, from, guarded_bytes(len));
	}
	guarded[i].at += len;
	guarded[i].len -= len;
	syscall(SYS_mmap, from + len, GUARD_BYTES, PROT_NONE,
	        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	return (int)syscall(SYS_munmap, from, len);
}

/*
 * As the library calls it: for another mapping of the same, or to a place of its own, which has its
 * neighbours there.
 */
__attribute__((visibility("default"))) void *
mremap(void *at, size_t len, size_t next, int flags, ...)
{
	va_list more;
	void *got, *to;

	va_start(more, flags);
	to = flags & MREMAP_FIXED ? va_arg(more, void *) : guarded_room(next);
	va_end(more);
	if (to == MAP_FAILED)
		return MAP_FAILED;
	got = (void *)syscall(SYS_mremap, at, len, next, flags | MREMAP_FIXED, to);
	if (flags & MREMAP_FIXED) {
		if (got != MAP_FAILED)
			munmap(at, len); /* its guards */
	} else if (got == MAP_FAILED) {
		munmap(to, next);
	}
	return got;
}

#endif

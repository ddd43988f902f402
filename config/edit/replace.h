/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CONFIG_REPLACE_H
#define CONFIG_REPLACE_H

/*
 * Change a file so that whoever opens it, whenever the power fails, finds the old text or the
 * new one, whole. The new text goes into a file beside it, is brought to disk, takes the old
 * one's owner, group, mode and access list, and then its name.
 *
 * Who changes it holds a lock on it, flock(2), so that no change is lost between two of them.
 * The kernel drops the lock with the process. A killed one may leave the file beside it,
 * ".NAME.new", which the next change removes.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

struct locked_file {
	char *path; /* what it really is, symbolic links followed */
	int fd;
	struct stat was;
	char *text; /* what stands in it, `len` bytes and a NUL */
	size_t len;
};

/* Wait at most this long for another process that changes it. */
#define LOCK_WAIT_MS 5000

/*
 * Lock a regular file and read it. 0, or -errno: -EWOULDBLOCK another process holds it for
 * longer than wait_ms; -EISDIR and -EINVAL something that is no regular file.
 */
int file_lock(const char *path, unsigned wait_ms, struct locked_file *file);

/* Write the new text. -ESTALE somebody who asked for no lock has changed it meanwhile. */
int file_replace(const struct locked_file *file, const char *text, size_t len);

void file_unlock(struct locked_file *file);

#endif

/* SPDX-License-Identifier: BSD-2-Clause */
#include "textfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static int
write_whole(int fd, const char *text, size_t size)
{
	while (size > 0) {
		ssize_t wrote = write(fd, text, size);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return wrote < 0 ? -errno : -EIO;
		text += wrote;
		size -= (size_t)wrote;
	}
	return 0;
}

/* The collector is another user: whatever the umask, it may read. */
static int
write_file(const char *path, const char *text, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0644);
	int error;

	if (fd < 0)
		return -errno;
	error = fchmod(fd, 0644) < 0 ? -errno : write_whole(fd, text, size);
	if (close(fd) < 0 && error == 0)
		error = -errno;
	return error;
}

int
textfile_write(const char *path, const char *text, size_t size)
{
	char temporary[PATH_MAX];
	int length = snprintf(temporary, sizeof temporary, "%s.tmp", path);
	int error;

	if (length < 0 || (size_t)length >= sizeof temporary)
		return -ENAMETOOLONG;
	error = write_file(temporary, text, size);
	if (error == 0 && rename(temporary, path) < 0)
		error = -errno;
	if (error < 0)
		unlink(temporary);
	return error;
}

/* SPDX-License-Identifier: BSD-2-Clause */

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "text/file.h"

#define FIRST_ROOM 16384

/* Room for one more byte and a NUL. */
static int
grow(char **text, size_t *room)
{
	size_t more = *room ? *room * 2 : FIRST_ROOM;
	char *larger = realloc(*text, more);

	if (!larger)
		return -ENOMEM;
	*text = larger;
	*room = more;
	return 0;
}

/* O_NONBLOCK: a FIFO that nobody writes to is not waited for. To a regular file it is nothing. */
int
file_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), error = 0;
	struct stat now;

	if (fd < 0)
		return errno == ENXIO ? -EINVAL
		                      : -errno; /* a socket, or a device without a driver */
	if (fstat(fd, &now) < 0)
		error = -errno;
	else if (!S_ISREG(now.st_mode))
		error = S_ISDIR(now.st_mode) ? -EISDIR : -EINVAL;
	if (error == 0)
		return fd;
	close(fd);
	return error;
}

const char *
file_strerror(int error)
{
	return error == -EINVAL ? "is no regular file" : strerror(-error);
}

/* A file that tells its size, and is too large, is not read at all. */
static bool
is_too_large(int fd, size_t most)
{
	struct stat now;

	return fstat(fd, &now) == 0 && S_ISREG(now.st_mode) && (uint64_t)now.st_size > most;
}

static int
read_all(int fd, size_t most, char **text, size_t *len)
{
	size_t room = 0;
	ssize_t got = 1;

	for (*len = 0; got > 0; *len += (size_t)got) {
		if (*len > most)
			return -EFBIG;
		if (*len + 2 > room && grow(text, &room) < 0)
			return -ENOMEM;
		do
			got = read(fd, *text + *len, room - *len - 1);
		while (got < 0 && errno == EINTR);
		if (got < 0)
			return -errno;
	}
	(*text)[*len] = '\0';
	return 0;
}

int
file_read_fd(int fd, size_t most, char **text, size_t *len)
{
	int error;

	*text = NULL;
	error = is_too_large(fd, most) ? -EFBIG : read_all(fd, most, text, len);
	if (error < 0) {
		free(*text);
		*text = NULL;
	}
	return error;
}

int
file_read(const char *path, size_t most, char **text, size_t *len)
{
	int fd = file_open(path), error;

	*text = NULL;
	if (fd < 0)
		return fd;
	error = file_read_fd(fd, most, text, len);
	close(fd);
	return error;
}

int
file_write(int fd, const char *text, size_t len)
{
	while (len > 0) {
		ssize_t put = write(fd, text, len);

		if (put < 0 && errno != EINTR)
			return -errno;
		if (put > 0) {
			text += put;
			len -= (size_t)put;
		}
	}
	return 0;
}

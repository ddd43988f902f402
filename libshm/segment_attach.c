/* SPDX-License-Identifier: BSD-2-Clause */
/* Segments that are there: whose file it is, what it begins with, and its name. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "names.h"
#include "segment_file.h"
#include "trust.h"

static int
attach_fd(int fd, const struct rl_options *o, struct rl_segment *s)
{
	bool is_writable = !(o->flags & RL_OPEN_READONLY);
	bool must_trust = is_writable && !(o->flags & RL_OPEN_ANY_OWNER);
	struct rl_header header = {0};
	ssize_t have;
	int error;

	if (fstat(fd, &s->file) < 0)
		return -errno;
	if (!S_ISREG(s->file.st_mode))
		return RL_EFOREIGN;
	if (must_trust && !rl_trust_owner(&s->file, o))
		return RL_EOWNER;
	have = pread(fd, &header, sizeof header, 0);
	if (have < 0)
		return -errno;
	error = rl_segment_header_check(&header, (size_t)have, (uint64_t)s->file.st_size);
	if (error < 0)
		return error;
	if (must_trust && !rl_trust_mode(&s->file, o))
		return RL_EPUBLIC;
	return rl_segment_map(s, &header, fd, is_writable);
}

/* What opening a symlink, a socket or (by glibc's choice) a directory says. */
static bool
is_foreign_errno(int error)
{
	return error == ELOOP || error == ENXIO || error == EINVAL;
}

int
rl_segment_attach(const char *path, const struct rl_options *o, struct rl_segment *s)
{
	bool is_writable = !(o->flags & RL_OPEN_READONLY);
	/* O_NONBLOCK: something else under this name, a FIFO say, must not hold us up. */
	int fd = shm_open(path, (is_writable ? O_RDWR : O_RDONLY) | O_NONBLOCK, 0);
	int error;

	if (fd < 0)
		return is_foreign_errno(errno) ? RL_EFOREIGN : -errno;
	error = attach_fd(fd, o, s);
	close(fd);
	return error;
}

int
rl_segment_unlink(const char *name)
{
	char path[NAME_MAX];

	if (!name || !rl_names_shm(name, path))
		return -EINVAL;
	return shm_unlink(path) < 0 ? -errno : 0;
}

int
rl_segment_reopen(const struct rl_segment *s, const char *name)
{
	char path[NAME_MAX];
	struct stat file;
	int fd;

	if (!*name || !rl_names_shm(name, path))
		return -ENOENT;
	fd = shm_open(path, O_RDWR | O_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &file) == 0 && file.st_dev == s->file.st_dev && file.st_ino == s->file.st_ino)
		return fd;
	close(fd);
	return -ENOENT;
}

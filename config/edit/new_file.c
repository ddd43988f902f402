/* SPDX-License-Identifier: BSD-2-Clause */
#include "edit/new_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <text/file.h>
#include <unistd.h>

int
new_file_check(const char *path)
{
	struct stat there;

	if (lstat(path, &there) < 0)
		return 0;
	if (S_ISLNK(there.st_mode))
		return -EMLINK;
	return S_ISREG(there.st_mode) ? 0 : -EINVAL;
}

const char *
new_file_strerror(int error)
{
	return error == -EMLINK ? "is a symbolic link: name the file that is meant"
	                        : file_strerror(error);
}

/* In the directory of `path`, without a name: who is killed leaves nothing. Not every file system
 * can; -1. */
static int
open_unnamed(const char *path)
{
	char *copy = access("/proc/self/fd", X_OK) == 0 ? strdup(path) : NULL;
	int fd = copy ? open(dirname(copy), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600) : -1;

	free(copy);
	return fd;
}

/* Give it its name beside its place, unless it has that already. */
static int
give_name(struct new_file *file)
{
	char *end = file->temporary + strlen(file->path) + 1, from[40];
	unsigned random;

	if (file->is_named)
		return 0;
	snprintf(from, sizeof(from), "/proc/self/fd/%d", file->fd);
	do {
		if (getrandom(&random, sizeof(random), 0) != (ssize_t)sizeof(random))
			return -EIO;
		snprintf(end, strlen(end) + 1, "%06x", random & 0xffffff);
		file->is_named =
			linkat(AT_FDCWD, from, AT_FDCWD, file->temporary, AT_SYMLINK_FOLLOW) == 0;
	} while (!file->is_named && errno == EEXIST);
	return file->is_named ? 0 : -errno;
}

int
new_file_create(struct new_file *file, const char *path, mode_t mode)
{
	int error = new_file_check(path);

	*file = (struct new_file){.path = path, .fd = -1};
	if (error < 0)
		return error;
	if (asprintf(&file->temporary, "%s.XXXXXX", path) < 0) {
		file->temporary = NULL;
		return -ENOMEM;
	}
	file->fd = open_unnamed(path);
	file->is_named = file->fd < 0;
	if (file->is_named)
		file->fd = mkostemp(file->temporary, O_CLOEXEC);
	if (file->fd >= 0 && fchmod(file->fd, mode) == 0)
		return 0;
	error = -errno;
	new_file_abandon(file);
	return error;
}

/* A rename lasts once its directory is on the disk. */
static int
sync_directory(const char *path)
{
	char *copy = strdup(path);
	int fd = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	int error = fd >= 0 && fsync(fd) == 0 ? 0 : -errno;

	free(copy);
	if (fd >= 0)
		close(fd);
	return error;
}

static int
finish(struct new_file *file, bool is_durable, struct stat *made)
{
	int error = is_durable && fsync(file->fd) < 0 ? -errno : 0;

	if (error == 0)
		error = give_name(file);
	if (error == 0 && made && fstat(file->fd, made) < 0)
		error = -errno;
	if (close(file->fd) < 0 && error == 0)
		error = -errno;
	file->fd = -1;
	if (error == 0)
		error = new_file_check(file->path);
	if (error == 0 && rename(file->temporary, file->path) < 0)
		error = -errno;
	return error == 0 && is_durable ? sync_directory(file->path) : error;
}

int
new_file_commit(struct new_file *file, bool is_durable, struct stat *made)
{
	int error = finish(file, is_durable, made);

	if (error < 0) {
		new_file_abandon(file);
		return error;
	}
	free(file->temporary);
	*file = (struct new_file){.fd = -1};
	return 0;
}

void
new_file_abandon(struct new_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	if (file->is_named)
		unlink(file->temporary);
	free(file->temporary);
	*file = (struct new_file){.fd = -1};
}

int
new_file_end(struct new_file *file, int error, bool is_durable, struct stat *made)
{
	if (error == 0)
		return new_file_commit(file, is_durable, made);
	new_file_abandon(file);
	return error;
}

int
new_file_put(const char *path, mode_t mode, const char *text, size_t len, bool is_durable,
             struct stat *made)
{
	struct new_file file;
	int error = new_file_create(&file, path, mode);

	if (error < 0)
		return error;
	return new_file_end(&file, file_write(file.fd, text, len), is_durable, made);
}

void
file_remove_made(const char *path, const struct stat *made)
{
	struct stat there;

	/* An inode's number is given again soon. Its time is not. */
	if (lstat(path, &there) == 0 && there.st_dev == made->st_dev &&
	    there.st_ino == made->st_ino && there.st_mtim.tv_sec == made->st_mtim.tv_sec &&
	    there.st_mtim.tv_nsec == made->st_mtim.tv_nsec)
		unlink(path);
}

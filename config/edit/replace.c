/* SPDX-License-Identifier: BSD-2-Clause */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "edit/replace.h"
#include "text/file.h"

#define POLL_MS 20
#define XATTR_MAX 65536 /* bytes of names, or of a value: what the kernel allows */

static bool
is_same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

static bool
is_same_text(const struct stat *a, const struct stat *b)
{
	return is_same_file(a, b) && a->st_size == b->st_size &&
	       a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

static int
take_lock(int fd, unsigned *wait_ms)
{
	const struct timespec pause = {.tv_nsec = POLL_MS * 1000000L};

	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK || *wait_ms < POLL_MS)
			return -errno;
		*wait_ms -= POLL_MS;
		nanosleep(&pause, NULL);
	}
	return 0;
}

/* Open and lock; 1 if the name went to another file while we waited for the lock. */
static int
try_lock(struct locked_file *file, unsigned *wait_ms)
{
	struct stat now;
	int error;

	file->fd = file_open(file->path);
	if (file->fd < 0)
		return file->fd;
	error = take_lock(file->fd, wait_ms);
	if (error < 0)
		return error;
	/* Only now does nobody else change it. */
	if (fstat(file->fd, &file->was) < 0 || stat(file->path, &now) < 0)
		return errno == ENOENT ? 1 : -errno;
	return is_same_file(&now, &file->was) ? 0 : 1;
}

int
file_lock(const char *path, unsigned wait_ms, struct locked_file *file)
{
	int error;

	*file = (struct locked_file){.path = realpath(path, NULL), .fd = -1};
	if (!file->path)
		return -errno;
	while ((error = try_lock(file, &wait_ms)) == 1) {
		close(file->fd);
		file->fd = -1;
	}
	if (error == 0)
		error = file_read_fd(file->fd, CONFIG_BYTES_MAX, &file->text, &file->len);
	if (error < 0)
		file_unlock(file);
	return error;
}

void
file_unlock(struct locked_file *file)
{
	if (file->fd >= 0)
		close(file->fd);
	free(file->text);
	free(file->path);
	*file = (struct locked_file){.fd = -1};
}

/* Owner before mode: a change of owner may clear bits of the mode. */
static int
take_looks(int fd, const struct stat *of)
{
	struct stat now;

	if (fstat(fd, &now) < 0)
		return -errno;
	if ((now.st_uid != of->st_uid || now.st_gid != of->st_gid) &&
	    fchown(fd, of->st_uid, of->st_gid) < 0)
		return -errno;
	return fchmod(fd, of->st_mode & 07777) < 0 ? -errno : 0;
}

/* One extended attribute, as an access list is one. */
static int
copy_attribute(int from, int to, const char *name)
{
	char value[XATTR_MAX];
	ssize_t len = fgetxattr(from, name, value, sizeof(value));

	if (len < 0)
		return -errno;
	return fsetxattr(to, name, value, (size_t)len, 0) < 0 ? -errno : 0;
}

/* Labels of security modules are given by the kernel, and only it may insist on them. */
static int
take_attributes(int from, int to)
{
	char names[XATTR_MAX];
	ssize_t len = flistxattr(from, names, sizeof(names));

	if (len < 0)
		return errno == ENOTSUP ? 0 : -errno;
	for (char *name = names; name < names + len; name += strlen(name) + 1) {
		int error = copy_attribute(from, to, name);

		if (error < 0 && strncmp(name, "security.", 9) != 0)
			return error;
	}
	return 0;
}

static int
write_new(int dir, const char *name, const struct locked_file *file, const char *text, size_t len)
{
	int fd, error;

	if (unlinkat(dir, name, 0) < 0 && errno != ENOENT)
		return -errno;
	fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	error = file_write(fd, text, len);
	if (error == 0)
		error = take_looks(fd, &file->was);
	if (error == 0)
		error = take_attributes(file->fd, fd);
	if (error == 0 && fsync(fd) < 0)
		error = -errno;
	if (close(fd) < 0 && error == 0)
		error = -errno;
	return error;
}

/* Nobody who holds no lock may have written in the meantime. */
static int
see_unchanged(const struct locked_file *file)
{
	struct stat now;

	if (stat(file->path, &now) < 0)
		return -errno;
	return is_same_text(&now, &file->was) ? 0 : -ESTALE;
}

static int
replace_in(int dir, const char *base, const struct locked_file *file, const char *text, size_t len)
{
	char *name = NULL;
	int error;

	if (asprintf(&name, ".%s.new", base) < 0)
		return -ENOMEM;
	error = write_new(dir, name, file, text, len);
	if (error == 0)
		error = see_unchanged(file);
	if (error == 0 && renameat(dir, name, dir, base) < 0)
		error = -errno;
	if (error < 0)
		unlinkat(dir, name, 0);
	else if (fsync(dir) < 0)
		error = -errno;
	free(name);
	return error;
}

int
file_replace(const struct locked_file *file, const char *text, size_t len)
{
	const char *base = strrchr(file->path, '/') + 1; /* realpath() is absolute */
	char *parent = strndup(file->path, (size_t)(base - file->path));
	int dir, error;

	if (!parent)
		return -ENOMEM;
	dir = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	error = dir < 0 ? -errno : replace_in(dir, base, file, text, len);
	if (dir >= 0)
		close(dir);
	free(parent);
	return error;
}

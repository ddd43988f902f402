/* SPDX-License-Identifier: BSD-2-Clause */
/* What else a segment's name is good for than to open it. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "segment/segment.h"

#define FLAGS (O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)

static const struct rl_options whoever_made_it = {.flags = RL_OPEN_ANY_OWNER};

/* On a read-only disk the kernel does not check whether there is a file. */
static int
why_not_unlinked(const struct rl_path *path, int error)
{
	struct stat file;

	if (error == EPERM) /* of a directory with a sticky bit */
		return -EACCES;
	if (error == EISDIR) /* as a container engine makes one of a file that is not there */
		return RL_EFOREIGN;
	if (error != EROFS)
		return -error;
	return lstat(path->text, &file) < 0 && errno == ENOENT ? -ENOENT : RL_EMOUNT;
}

int
rl_segment_unlink(const char *name)
{
	struct rl_path path;
	int error = name ? rl_path_find(name, &whoever_made_it, &path) : -EINVAL;

	if (error < 0)
		return error;
	return unlink(path.text) == 0 ? 0 : why_not_unlinked(&path, errno);
}

int
rl_segment_reopen(const struct rl_segment *s, const char *name)
{
	struct rl_path path;
	struct stat file;
	int fd, error = *name ? rl_path_of(name, &s->origin->file, &path) : -ENOENT;

	if (error < 0)
		return error;
	fd = s->is_writable ? open(path.text, O_RDWR | FLAGS) : open(path.text, O_RDONLY | FLAGS);
	if (fd < 0)
		return -errno;
	if (fstat(fd, &file) == 0 && file.st_dev == s->origin->file.st_dev &&
	    file.st_ino == s->origin->file.st_ino)
		return fd;
	close(fd);
	return -ENOENT;
}

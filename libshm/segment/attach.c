/* SPDX-License-Identifier: BSD-2-Clause */
/* Segments that are there: whose file it is, what it begins with, and its name. */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "segment/attach.h"
#include "segment/clock.h"
#include "segment/header.h"
#include "segment/map.h"
#include "segment/table_place.h"
#include "segment/trust.h"

static int
attach_fd(int fd, const struct rl_options *o, struct rl_segment *s)
{
	bool is_writable = !(o->flags & RL_OPEN_READONLY);
	bool must_trust = is_writable && !(o->flags & RL_OPEN_ANY_OWNER);
	struct rl_header header = {0};
	ssize_t have;
	int error;

	if (fstat(fd, &s->origin->file) < 0)
		return -errno;
	if (!S_ISREG(s->origin->file.st_mode))
		return RL_EFOREIGN;
	if ((must_trust && !rl_trust_owner(&s->origin->file, o)) ||
	    !rl_path_counts(&s->origin->path, &s->origin->file, o))
		return RL_EOWNER;
	have = pread(fd, &header, sizeof header, 0);
	if (have < 0)
		return -errno;
	error = rl_segment_header_check(&header, (size_t)have, (uint64_t)s->origin->file.st_size);
	if (error < 0)
		return error;
	if (must_trust && !rl_trust_mode(&s->origin->file, o))
		return RL_EPUBLIC;
	error = rl_segment_map(s, &header, fd, is_writable);
	if (error == 0)
		error = rl_tables_fit(s, fd);
	if (error == 0)
		error = rl_segment_follow_clock(s, &header);
	if (error < 0)
		rl_segment_close(s);
	return error;
}

/* The errors of open(2) for a symlink, a socket or a directory. */
static bool
is_foreign_errno(int error)
{
	return error == ELOOP || error == ENXIO || error == EISDIR;
}

/* If stat(2) fails, a directory above is one that this user may not search. */
static int
why_not(const struct rl_path *path, int error)
{
	struct stat file;

	if (is_foreign_errno(error))
		return RL_EFOREIGN;
	if (error == EROFS)
		return RL_EMOUNT;
	if (error == EACCES && rl_path_is_own(path) && lstat(path->text, &file) < 0)
		return RL_EDIRECTORY;
	return -error;
}

int
rl_segment_attach(const char *name, const struct rl_options *o, struct rl_segment *s)
{
	bool is_writable = !(o->flags & RL_OPEN_READONLY);
	/* O_NONBLOCK: something else under this name, a FIFO say, must not hold us up. */
	int flags = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | (is_writable ? O_RDWR : O_RDONLY);
	int fd, error = rl_path_find(name, o, &s->origin->path);

	if (error < 0)
		return error;
	fd = open(s->origin->path.text, flags);
	if (fd < 0)
		return why_not(&s->origin->path, errno);
	error = attach_fd(fd, o, s);
	close(fd);
	return error;
}

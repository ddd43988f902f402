/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A segment gets its name only when it is whole. The creator fills a file that has no name
 * (O_TMPFILE in the directory that it is to be in) and then links it: link fails if the name is
 * taken, and a creator that is killed before leaves nothing, for the kernel drops a nameless
 * file with its last descriptor. So nobody ever sees half a segment, there is no "ready"
 * flag to wait for, and of two creators one wins and the other attaches to the winner's.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "segment/create.h"
#include "segment/grow.h"
#include "segment/header.h"
#include "segment/huge_pages.h"
#include "segment/map.h"

/* One that it has is not asked for again: that may be forbidden where it need not be. */
static int
set_group(int fd, gid_t group)
{
	struct stat file;

	if (fstat(fd, &file) < 0)
		return -errno;
	return file.st_gid == group || fchown(fd, (uid_t)-1, group) == 0 ? 0 : -errno;
}

/* Size, owner and permission, before anyone else can see the file. */
static int
prepare_file(int fd, const struct rl_options *o, uint64_t bytes)
{
	mode_t mode = o->mode != 0 ? o->mode : RL_MODE_DEFAULT;
	int error = rl_segment_grow(fd, 0, bytes);

	if (error == 0 && (o->flags & RL_OPEN_GROUP))
		error = set_group(fd, o->group);
	if (error < 0)
		return error;
	return fchmod(fd, mode) < 0 ? -errno : 0;
}

static int
link_file(int fd, const char *to)
{
	char from[64];

	snprintf(from, sizeof from, "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, from, AT_FDCWD, to, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	if (errno != ENOENT) /* without /proc, a privileged process can do it by the descriptor */
		return -errno;
	return linkat(fd, "", AT_FDCWD, to, AT_EMPTY_PATH) == 0 ? 0 : -errno;
}

static int
fill_file(int fd, const struct rl_options *o, const struct rl_geometry *g, struct rl_segment *s)
{
	struct rl_header header;
	int error = rl_segment_header_fill(&header, g);

	if (error == 0)
		error = prepare_file(fd, o, header.bytes);
	if (error == 0)
		error = rl_segment_map(s, &header, fd, true);
	if (error < 0)
		return error;
	memcpy(s->header, &header, sizeof header);
	return fstat(fd, &s->origin->file) < 0 ? -errno : 0;
}

/* A user who may not write the directory is not sent to one that strangers can write. */
static int
why_no_file(const struct rl_path *path, int error)
{
	if (error == ENOENT || error == EISDIR)
		return RL_ECREATE;
	if (error == EROFS)
		return RL_EMOUNT;
	return error == EACCES && rl_path_is_own(path) ? RL_EDIRECTORY : -error;
}

/* At its path, if it is not taken. */
static int
create(const struct rl_options *o, const struct rl_geometry *g, struct rl_segment *s)
{
	int fd = open(s->origin->path.directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	int error;

	if (fd < 0)
		return why_no_file(&s->origin->path, errno);
	error = fill_file(fd, o, g, s);
	if (error == 0)
		error = link_file(fd, s->origin->path.text);
	close(fd);
	if (error < 0)
		rl_segment_close(s);
	return error == -ENOENT ? RL_ECREATE : error;
}

/*
 * Creators take turns, or all of them would take the memory of a segment each before one wins.
 * The kernel ends the turn of one that dies; one that stops is waited for a second, then we go
 * ahead without. Returns a descriptor to close, or -1.
 */
static int
take_turn(const char *directory)
{
	const struct timespec pause = {.tv_nsec = 2000000};
	int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (int tries = 0; fd >= 0 && tries < 500; tries++) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			break;
		nanosleep(&pause, NULL);
	}
	return fd;
}

int
rl_segment_attach_or_create(const char *name, const struct rl_options *o,
                            const struct rl_geometry *g, struct rl_segment *s)
{
	int turn = take_turn(s->origin->path.directory);
	int error =
		rl_segment_attach(name, o, s); /* created by a process that held the lock first */
	bool is_ours = error == -ENOENT;

	if (is_ours)
		error = create(o, g, s);
	if (turn >= 0)
		close(turn);
	if (is_ours && error == 0 && g->huge_pages)
		rl_huge_pages_collapse(s->header, s->bytes);
	return error;
}

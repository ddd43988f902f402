/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a segment is or would be, for people. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "segment/memory_limit.h"
#include "segment/path.h"
#include "segment/segment.h"

/* A disk of no size has no bounds. */
static uint64_t
room_in(const char *directory)
{
	struct statvfs disk;

	if (statvfs(directory, &disk) < 0)
		return 0;
	return disk.f_blocks == 0 ? UINT64_MAX : (uint64_t)disk.f_bavail * disk.f_frsize;
}

/* As its header says. The revisions of another layout are no business of this library. */
static void
read_layout(struct rl_place *place)
{
	struct rl_header h = {0};
	int fd = open(place->path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return;
	if (pread(fd, &h, sizeof h, 0) > 0 && h.magic == RL_MAGIC)
		place->layout = h.layout;
	if (place->layout == RL_LAYOUT_VERSION)
		place->revision = h.revision;
	close(fd);
}

int
rl_place(const char *name, const struct rl_options *options, struct rl_place *place)
{
	static const struct rl_options defaults;
	const struct rl_options *o = options ? options : &defaults;
	struct rl_path path = {0};
	struct rl_memory memory;
	struct stat file;
	int error, found = rl_path_find(name ? name : "default", o, &path);

	*place = (struct rl_place){0};
	error = rl_segment_bytes(o, &place->bytes);
	if (error < 0 || found == -EINVAL || !rl_options_are_known(o))
		return -EINVAL;
	memcpy(place->path, path.text, sizeof place->path);
	place->own_layout = RL_LAYOUT_VERSION;
	place->own_revision = RL_LAYOUT_REVISION;
	place->is_there = lstat(path.text, &file) == 0;
	if (place->is_there && S_ISREG(file.st_mode))
		read_layout(place);
	place->is_own = rl_path_is_own(&path);
	place->room = room_in(path.directory);
	rl_memory_read("", &memory);
	place->memory = memory.left;
	memcpy(place->memory_by, memory.by, sizeof place->memory_by);
	return found;
}

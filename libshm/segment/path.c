/* SPDX-License-Identifier: BSD-2-Clause */
#include "segment/path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "segment/trust.h"

#define NAME_PREFIX "rl."

const char *rl_path_own = "/dev/shm/rl";

static bool
is_name(const char *name)
{
	static const char good[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t len = strlen(name);

	return len > 0 && len <= RL_NAME_MAX && strspn(name, good) == len;
}

static struct rl_path
path_in(const char *directory, const char *name)
{
	struct rl_path path = {.directory = directory};

	snprintf(path.text, sizeof path.text, "%s/" NAME_PREFIX "%s", directory, name);
	return path;
}

/* One that a stranger has planted, or may write, is as if it were not there. */
static bool
has_own(gid_t *members)
{
	struct stat file;

	if (!rl_path_own || lstat(rl_path_own, &file) < 0 || !S_ISDIR(file.st_mode) ||
	    file.st_uid != 0 || (file.st_mode & S_IWOTH))
		return false;
	*members = file.st_gid;
	return true;
}

bool
rl_path_is_own(const struct rl_path *path)
{
	return path->directory == rl_path_own;
}

/* Nobody but root and its members can give a file the group of rl's own directory. */
static bool
is_members(const struct stat *file, gid_t members)
{
	const struct rl_options o = {.flags = RL_OPEN_GROUP, .group = members};

	return rl_trust_owner(file, &o);
}

bool
rl_path_counts(const struct rl_path *path, const struct stat *file, const struct rl_options *o)
{
	const unsigned only_looks = RL_OPEN_READONLY | RL_OPEN_EXISTING | RL_OPEN_ANY_OWNER;

	if (!path->is_beside_own || rl_trust_owner(file, o))
		return true;
	return (o->flags & only_looks) && is_members(file, path->members);
}

int
rl_path_find(const char *name, const struct rl_options *o, struct rl_path *path)
{
	struct rl_path public;
	struct stat file, own;

	if (!is_name(name))
		return -EINVAL;
	public = path_in(RL_PATH_PUBLIC, name);
	public.is_beside_own = has_own(&public.members);
	*path = public.is_beside_own ? path_in(rl_path_own, name) : public;
	if (!public.is_beside_own || lstat(public.text, &file) < 0)
		return 0;
	if (lstat(path->text, &own) == 0)
		return rl_trust_owner(&file, o) ? RL_ETWICE : 0;
	if (rl_path_counts(&public, &file, o))
		*path = public;
	return 0;
}

int
rl_path_of(const char *name, const struct stat *file, struct rl_path *path)
{
	const char *const directories[] = {RL_PATH_PUBLIC, rl_path_own};
	struct stat there;

	for (size_t i = 0; i < 2 && directories[i]; i++) {
		*path = path_in(directories[i], name);
		if (lstat(path->text, &there) == 0 && there.st_dev == file->st_dev &&
		    there.st_ino == file->st_ino)
			return 0;
	}
	return -ENOENT;
}
